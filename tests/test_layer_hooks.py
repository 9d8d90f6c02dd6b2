"""Hooks around a layer's forward: what they may return, when they are added and removed, and what they see of exceptions."""

import pytest

import wherry as paddle
from wherry import nn


class Product(nn.Layer):
    def forward(self, x, times=1.0):
        return x * times


def handed_on(layer, inputs, kwargs):
    return inputs[0], kwargs


def without_kwargs(layer, inputs, kwargs):
    return inputs, None


def listed(layer, inputs, kwargs):
    return [inputs, kwargs]


def with_a_third(layer, inputs, kwargs):
    return inputs, kwargs, 1


@pytest.mark.parametrize(
    ("hook", "error", "text"),
    [
        (handed_on, TypeError, "expected a tuple as the inputs in its result, received Tensor"),
        (without_kwargs, TypeError, "expected a dict as the kwargs in its result, received NoneType"),
        (listed, RuntimeError, "expected None or a tuple (inputs, kwargs), received list"),
        (with_a_third, RuntimeError, "expected None or a tuple (inputs, kwargs), received a tuple of 3"),
    ],
)
def test_what_a_hook_with_kwargs_returns_is_checked(hook, error, text):
    layer = Product()
    layer.register_forward_pre_hook(hook, with_kwargs=True)
    with pytest.raises(error) as caught:
        layer(paddle.ones([2, 2]), times=2.0)
    assert str(caught.value) == (
        f"forward pre-hook {hook.__name__} of Product: {text}\n"
        f"  the hook is defined at {__file__}:{hook.__code__.co_firstlineno}, in {hook.__name__}"
    )


def test_results_of_plain_hooks():
    x = paddle.to_tensor([1.0, 2.0])
    for result, expected in (
        (lambda i: i[0] * 2, [2.0, 4.0]),
        (lambda i: (i[0], 3.0), [3.0, 6.0]),
        (lambda i: None, [1.0, 2.0]),
    ):
        layer = Product()
        layer.register_forward_pre_hook(lambda own, inputs, f=result: f(inputs))
        assert layer(x).tolist() == expected
    layer = Product()
    layer.register_forward_pre_hook(lambda own, inputs, kwargs: ([inputs[0] * 5], kwargs), with_kwargs=True)
    assert layer(x, times=2.0).tolist() == [10.0, 20.0]
    layer.register_forward_post_hook(lambda own, inputs, output: "anything")
    assert layer(x) == "anything"


def test_hooks_that_are_added_and_removed_during_a_call():
    layer, order = Product(), []

    def first(own, inputs):
        order.append("first")
        removed.remove()
        itself.remove()
        layer.register_forward_pre_hook(lambda own, inputs: order.append("added"))
        layer.register_forward_post_hook(lambda own, inputs, output: order.append("added after"))

    itself = layer.register_forward_pre_hook(first)
    removed = layer.register_forward_pre_hook(lambda own, inputs: order.append("removed"))
    layer(paddle.ones([1]))
    assert order == ["first", "added after"], "the one before waits for the next call"
    layer(paddle.ones([1]))
    assert order == ["first", "added after", "added", "added after"]


def test_hooks_that_always_run_see_what_there_is_and_hide_no_exception():
    class Fails(nn.Layer):
        def forward(self, x):
            raise ValueError("of forward")

    def raises(own, inputs, output):
        raise KeyError("of the hook")

    seen = []
    for kind, name in ((Fails, "forward"), (Product, "post hook"), (Product, "pre-hook")):
        layer = kind()
        if name == "post hook":
            layer.register_forward_post_hook(lambda own, inputs, output: 1 // 0)
        if name == "pre-hook":
            layer.register_forward_pre_hook(lambda own, inputs: 1 // 0)
        layer.register_forward_post_hook(raises, always_call=True)
        layer.register_forward_post_hook(lambda own, inputs, output, n=name: seen.append((n, output)), always_call=True)
        with (
            pytest.warns(RuntimeWarning, match=r"always_call=True\) of \w+ raised KeyError: 'of the hook'") as warned,
            pytest.raises((ValueError, ZeroDivisionError)) as caught,
        ):
            layer(paddle.to_tensor([7.0]))
        assert caught.type is (ValueError if kind is Fails else ZeroDivisionError)
        assert f"is defined at {__file__}:{raises.__code__.co_firstlineno}" in str(warned[0].message)
        assert warned[0].filename == __file__
    assert [(name, None if output is None else output.tolist()) for name, output in seen] == [
        ("forward", None),
        ("post hook", [7.0]),
        ("pre-hook", None),
    ]


def test_what_is_no_function_is_no_hook():
    layer = Product()
    for register in (
        layer.register_forward_pre_hook,
        layer.register_forward_post_hook,
        layer.register_forward_hook,
        layer.register_state_dict_hook,
    ):
        with pytest.raises(TypeError, match=r"expected a callable, received int"):
            register(3)
