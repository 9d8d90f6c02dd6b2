"""Hooks on a node of the graph, before and after its derivative rules; what `grad_fn` tells of itself."""

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def lists(values):
    return [None if v is None else v.tolist() for v in values]


def product(register):
    """Gradients of sum(x * w) at x = (1, 2), w = (3, 4), after `register` has put hooks on the product's node."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    register(y.grad_fn)
    y.sum().backward()
    return [None if t.grad is None else t.grad.tolist() for t in (x, w)]


def test_hooks_see_the_gradients_of_inputs_and_outputs_in_order() -> None:
    seen: list[object] = []

    def register(node) -> None:
        node.register_hook(lambda inputs, outputs: seen.append(("after", lists(inputs), lists(outputs))))
        node.register_prehook(lambda outputs: seen.append(("before", lists(outputs))))

    assert product(register) == [[3.0, 4.0], [1.0, 2.0]]
    assert seen == [("before", [[1.0, 1.0]]), ("after", [[3.0, 4.0], [1.0, 2.0]], [[1.0, 1.0]])]


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (lambda i, o: None, [[3.0, 4.0], [1.0, 2.0]]),
        (lambda i, o: i, [[3.0, 4.0], [1.0, 2.0]]),
        (lambda i, o: [g * 2.0 for g in i], [[6.0, 8.0], [2.0, 4.0]]),
        (lambda i, o: (None, i[1]), [None, [1.0, 2.0]]),
        (lambda i, o: (i[0].scale_(5.0), None)[1], [[15.0, 20.0], [1.0, 2.0]]),
        (lambda i, o: (o[0].scale_(5.0), None)[1], [[3.0, 4.0], [1.0, 2.0]]),
    ],
)
def test_what_a_hook_returns_or_writes_takes_the_place_of_the_inputs_gradients(hook, expected) -> None:
    assert product(lambda node: node.register_hook(hook)) == expected


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (lambda o: None, [[3.0, 4.0], [1.0, 2.0]]),
        (lambda o: (o[0] * 2.0,), [[6.0, 8.0], [2.0, 4.0]]),
        (lambda o: (o[0].scale_(3.0), None)[1], [[9.0, 12.0], [3.0, 6.0]]),
        (lambda o: (None,), [None, None]),
    ],
)
def test_a_prehook_changes_what_arrives(hook, expected) -> None:
    assert product(lambda node: node.register_prehook(hook)) == expected


def test_paddles_name() -> None:
    assert product(lambda node: node._register_post_hook(lambda i, o: [i[0] * 2.0, i[1]])) == [[6.0, 8.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("hook", "error", "text"),
    [
        (lambda i, o: 3, TypeError, "expected a tuple of 2 gradients or None as its result, received int"),
        (lambda i, o: i[0], TypeError, "expected a tuple of 2 gradients or None as its result, received Tensor"),
        (lambda i, o: [i[0]], ValueError, "expected a tuple of 2 gradients or None as its result, received 1"),
        (lambda i, o: (i[0], 4), TypeError, "expected a Tensor or None as its result at position 1, received int"),
        (
            lambda i, o: (i[0].sum(), i[1]),
            ValueError,
            "expected a gradient of float64[2] as its result at position 0, received float64[]",
        ),
    ],
)
def test_an_odd_result_is_refused_by_name_and_line(hook, error, text) -> None:
    with pytest.raises(error) as caught:
        product(lambda node: node.register_hook(hook))
    first, second, third = str(caught.value).split("\n")
    assert first == f"the hook <lambda>: {text}"
    assert second == f"  the hook is defined at {__file__}:{hook.__code__.co_firstlineno}, in <lambda>"
    assert third.startswith("  raised in the backward of multiply, which was recorded at ")


def test_handles_and_where_there_are_none() -> None:
    x = leaf([1.0])
    y = x * 2.0
    handle = y.grad_fn.register_hook(lambda i, o: (i[0] * 3.0,))
    assert handle.remove()
    with pytest.warns(RuntimeWarning, match="removed before"):
        assert not handle.remove()
    y.backward()
    assert x.grad.item() == 2.0
    with pytest.raises(TypeError, match="register_hook: expected a callable, received int"):
        y.grad_fn.register_hook(3)
    with pytest.raises(TypeError, match="register_prehook: expected a callable, received int"):
        y.grad_fn.register_prehook(3)
    with pytest.raises(
        ValueError, match=r"expected the node of an operation, received that of a leaf tensor float64\[1\]"
    ):
        x.grad_fn.register_hook(lambda i, o: i)


def test_nodes_with_several_outputs_and_custom_nodes() -> None:
    class Two(PyLayer):
        @staticmethod
        def forward(ctx, a, b):
            return a * 2.0, b * 3.0

        @staticmethod
        def backward(ctx, g, h):
            return g * 2.0, h * 3.0

    seen: list[object] = []
    x, y = leaf([2.0]), leaf([3.0])
    p, q = Two.apply(x, y)
    p.grad_fn.register_hook(lambda i, o: seen.append((lists(i), lists(o))))
    (p + q * 10.0).backward()
    z = leaf([1.0, 2.0, 3.0, 4.0])
    first, _ = paddle.split(z, 2)
    first.grad_fn.register_prehook(lambda o: seen.append(lists(o)))
    first.sum().backward()
    assert seen == [([[2.0], [30.0]], [[1.0], [10.0]]), [[1.0, 1.0], None]]
    assert (x.grad.item(), y.grad.item()) == (2.0, 30.0)
    assert z.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_node_hook_is_part_of_the_graph_under_create_graph() -> None:
    x = leaf([2.0])
    y = x * x
    y.grad_fn.register_hook(lambda i, o: tuple(g * x for g in i))
    (first,) = paddle.grad(y, x, create_graph=True)
    assert first.item() == 8.0
    # y's node, and its hook, take no part in the second derivative of 2 x x.
    assert paddle.grad(first, x)[0].item() == 8.0


def test_the_chain_of_nodes() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    z = y.sum()
    node = z.grad_fn
    assert [n.op_name() for n in (node, *node.next_functions, *y.grad_fn.next_functions)] == [
        "sum", "multiply", "accumulation", "accumulation",
    ]  # fmt: skip
    assert node.next_functions == [y.grad_fn]
    assert y.grad_fn.next_functions == [x.grad_fn, w.grad_fn]
    assert paddle.ones([1]).grad_fn is None
    frozen = x * paddle.ones([2], "float64")
    assert frozen.grad_fn.next_functions == [x.grad_fn]
