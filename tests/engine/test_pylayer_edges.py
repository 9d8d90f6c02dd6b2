"""PyLayer at its edges: kinds of arguments and results, how it is written, refusals."""

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer

Pair = namedtuple("Pair", "first second")


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def layer(forward, backward) -> Any:
    return type("Made", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def flat(values: Any) -> list[paddle.Tensor]:
    if isinstance(values, paddle.Tensor):
        return [values]
    return [t for v in values if isinstance(v, (paddle.Tensor, list, tuple)) for t in flat(v)]


@pytest.mark.parametrize(
    ("forward", "backward", "args", "kwargs", "expected"),
    [
        (lambda ctx, a, b=None: a * b, lambda ctx, g: (g, g * 10.0), "x", {"b": "w"}, (1.0, 10.0)),
        (lambda ctx, a=None, b=None: a * b, lambda ctx, g: (g, g * 10.0), "", {"b": "x", "a": "w"}, (1.0, 10.0)),
        (lambda ctx, p: p[0] * p[1], lambda ctx, g: [[g, g * 10.0]], [["x", "w"]], {}, (1.0, 10.0)),
        (lambda ctx, p: p[0] * p[2], lambda ctx, g: ((g, g * 10.0),), [["x", 7, "w"]], {}, (1.0, 10.0)),
        (lambda ctx, p, b: p[0] * b, lambda ctx, g: (None, g), [["x", "x"], "w"], {}, (None, 1.0)),
        (lambda ctx, p, b: p[0] * b, lambda ctx, g: ([None, g], g), [("x", "x"), "w"], {}, (1.0, 1.0)),
        (lambda ctx, d, b: d["x"] * b, lambda ctx, g: g, [{"x": "x"}, "w"], {}, (None, 1.0)),
        (lambda ctx, n, a, none: a * n, lambda ctx, g: g * 3.0, [3, "x", None], {}, (3.0, None)),
    ],
    ids=["keyword", "keywords in their order", "list", "mixed list", "None for a list", "None in a list", "dict", "plain"],
)  # fmt: skip
def test_arguments(forward, backward, args, kwargs, expected) -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def filled(value):
        if isinstance(value, str):
            return {"x": x, "w": w}[value]
        if isinstance(value, dict):
            return {k: filled(v) for k, v in value.items()}
        return type(value)(filled(v) for v in value) if isinstance(value, (list, tuple)) else value

    out = layer(forward, backward).apply(*[filled(a) for a in args], **{k: filled(v) for k, v in kwargs.items()})
    out.sum().backward()
    assert [None if t.grad is None else t.grad[0].item() for t in (x, w)] == list(expected)


@pytest.mark.parametrize(
    ("forward", "backward", "kind", "arrived"),
    [
        (lambda ctx, a: (a * 2.0,), lambda ctx, g: g, tuple, 1),
        (lambda ctx, a: [a * 2.0, a * 3.0], lambda ctx, g, h: g + h, list, 2),
        (lambda ctx, a: Pair(a * 2.0, "text"), lambda ctx, g: g, Pair, 1),
        (lambda ctx, a: (None, a * 2.0, 5), lambda ctx, g: g, tuple, 1),
        (lambda ctx, a: (a * 2.0, [a * 3.0, a * 4.0]), lambda ctx, g, h: g + h[0] + h[1], tuple, 3),
        (lambda ctx, a: ([a * 2.0, "text", a * 3.0], a * 4.0), lambda ctx, g, h: g[0] + g[1] + h, tuple, 3),
        (lambda ctx, a: (Pair(a * 2.0, a * 3.0), None), lambda ctx, g: g[0] + g[1], tuple, 2),
    ],
)
def test_results(forward, backward, kind, arrived) -> None:
    x = leaf([1.0, 2.0])
    returned = layer(forward, backward).apply(x)
    tensors = flat(returned)
    assert type(returned) is kind and len(tensors) == arrived
    assert len({t.grad_fn for t in tensors}) == 1 and not any(t.stop_gradient for t in tensors)
    paddle.autograd.backward([t.sum() for t in tensors])
    assert x.grad.tolist() == [arrived, arrived]


@pytest.mark.parametrize(
    ("result", "found"),
    [
        (None, "NoneType"),
        (3, "int"),
        ({"y": 1}, "dict"),
        ((), "none"),
        ((1, "a"), "int, str"),
        (iter([1]), "list_iterator"),
    ],
)
def test_a_forward_without_tensors_is_refused(result, found) -> None:
    with pytest.raises(ValueError) as caught:
        layer(lambda ctx, a: result, lambda ctx, g: g).apply(leaf([1.0]))
    assert str(caught.value) == (
        f"Made.forward: expected at least one Tensor, or a list of them, among its results, received {found}"
    )


class Methods(PyLayer):
    def forward(self, ctx, a):
        return a * 2.0

    def backward(self, ctx, g):
        return g


class BackwardMethod(PyLayer):
    @staticmethod
    def forward(ctx, a):
        return a * 2.0

    def backward(self, ctx, g):
        return g


class ClassMethods(PyLayer):
    @classmethod
    def forward(cls, ctx, a):
        return a * 2.0

    @classmethod
    def backward(cls, ctx, g):
        return g * 5.0


class Plain(PyLayer):
    def forward(ctx, a):
        return a * 2.0

    def backward(ctx, g):
        return g * 5.0


class OnlyForward(PyLayer):
    @staticmethod
    def forward(ctx, a):
        return a * 2.0


def place(function) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno}, in {function.__qualname__}"


def test_how_forward_and_backward_are_written() -> None:
    x = leaf([1.0])
    for kind in (ClassMethods, Plain):
        x.clear_gradient(False)
        kind.apply(x).backward()
        kind().apply(x)
        assert x.grad.item() == 5.0
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'") as caught:
        Methods.apply(x)
    assert caught.value.__notes__ == [
        "Methods.forward is called with the context and the arguments of apply (a static method); "
        f"it is defined at {place(Methods.forward)}"
    ]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'g'") as caught:
        BackwardMethod.apply(x).backward()
    assert caught.value.__notes__[0] == (
        "BackwardMethod.backward is called with the context and 1 gradients, one for each tensor (or list of them) of forward's results; "
        f"it is defined at {place(BackwardMethod.backward)}"
    )
    assert caught.value.__notes__[1].startswith("raised in the backward of BackwardMethod, which was recorded at ")


def test_a_type_error_inside_backward_is_left_as_it_is() -> None:
    with pytest.raises(TypeError) as caught:
        layer(lambda ctx, a: a * 2.0, lambda ctx, g: g + "text").apply(leaf([1.0])).backward()
    (note,) = caught.value.__notes__
    assert note.startswith("raised in the backward of Made, ")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(NotImplementedError, match=r"^Nothing has no static method forward\(ctx, \.\.\.\)$"):
        type("Nothing", (PyLayer,), {}).apply(leaf([1.0]))
    y = OnlyForward.apply(leaf([1.0]))
    with pytest.raises(NotImplementedError) as caught:
        y.backward()
    assert str(caught.value) == "OnlyForward has no static method backward(ctx, *grads), which its gradient needs"


ODD = [
    (lambda g: (v for v in [g, g]), TypeError, "expected a Tensor, None, or a tuple of them, received generator"),
    (lambda g: {"a": g, "b": g}, TypeError, "expected a Tensor, None, or a tuple of them, received dict"),
    (lambda g: "ab", TypeError, "expected a Tensor, None, or a tuple of them, received str"),
    (lambda g: g.numpy(), TypeError, "expected a Tensor, None, or a tuple of them, received ndarray"),
    (lambda g: (g, "b"), TypeError, "expected Tensors or None, received str at position 1"),
    (lambda g: (g, [g]), TypeError, "expected Tensors or None, received list at position 1"),
    (lambda g: (g, g, None), ValueError, "expected 2 gradients, one for each tensor (or list of them) that forward took, received 3"),
    (lambda g: None, ValueError, "expected 2 gradients, one for each tensor (or list of them) that forward took, received 1"),
    (lambda g: (g, g.sum()), ValueError, "expected a gradient of shape [1] at position 1, as the input's, received []"),
    (lambda g: (g.reshape([1, 1]), g), ValueError, "expected a gradient of shape [1] at position 0, as the input's, received [1, 1]"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "error", "text"), ODD)
def test_an_odd_result_of_backward_is_refused_by_class_and_line(result, error, text) -> None:
    x, w = leaf([1.0]), leaf([2.0])
    y = layer(lambda ctx, a, b: a * b, lambda ctx, g: result(g)).apply(x, w)
    with pytest.raises(error) as caught:
        y.backward()
    first, second, third = str(caught.value).split("\n")
    assert first == f"Made.backward: {text}"
    assert second.startswith(f"  Made.backward is defined at {__file__}:")
    assert third.startswith(f"  raised in the backward of Made, which was recorded at {__file__}:")
    assert x.grad is None and w.grad is None and paddle.is_grad_enabled()


def test_lists_of_another_length_are_refused() -> None:
    x = leaf([1.0])
    for result, found in (([None], "1 of them"), (x, "Tensor")):
        y = layer(lambda ctx, p, a: p[0] * a, lambda ctx, g, r=result: (r, g)).apply([x, x], x)
        with pytest.raises(
            ValueError, match=f"expected a list of 2 gradients at position 0, as the input's, received {found}"
        ):
            y.backward()


def test_a_gradient_of_another_dtype_is_cast_to_the_inputs() -> None:
    for dtype in ("float32", "float16", "complex128", "int64", "bool"):
        x = leaf([1.0])
        layer(lambda ctx, a: a * 2.0, lambda ctx, g, d=dtype: g.astype(d)).apply(x).backward()
        assert x.grad.dtype == paddle.float64 and x.grad.item() == 1.0


def test_a_tensor_subclass_is_a_gradient() -> None:
    class Marked(paddle.Tensor):
        pass

    x = leaf([1.0])
    layer(lambda ctx, a: a * 2.0, lambda ctx, g: Marked(np.array([5.0]))).apply(x).backward()
    assert x.grad.item() == 5.0 and type(x.grad) is paddle.Tensor
