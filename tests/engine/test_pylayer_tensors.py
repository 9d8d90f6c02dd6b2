"""What a PyLayer writes to, returns unchanged, saves, is handed and hands back: nobody else's tensor changes."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer
from wherry.autograd.py_layer import once_differentiable


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def layer(forward, backward) -> Any:
    return type("Made", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def place(function) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno}, in {function.__qualname__}"


# What forward writes to, or returns unchanged.


def test_an_input_written_in_forward_and_returned_is_the_output() -> None:
    def forward(ctx, a):
        return a.scale_(3.0)

    made = layer(forward, lambda ctx, g: g * 3.0)
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    z = made.apply(y)
    assert z is y and z.tolist() == [[3.0, 6.0], [9.0, 12.0]]
    z.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_a_view_written_in_forward_changes_the_history_of_its_base() -> None:
    made = layer(lambda ctx, a: a.scale_(3.0), lambda ctx, g: g * 3.0)
    for through_base in (True, False):
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        y = x * 1.0
        row = y[0]
        z = made.apply(row)
        assert z is row and y.tolist() == [[3.0, 6.0], [3.0, 4.0]]
        (y.sum() if through_base else z.sum() * 10.0).backward()
        assert x.grad.tolist() == ([[3.0, 3.0], [1.0, 1.0]] if through_base else [[30.0, 30.0], [0.0, 0.0]])


def test_a_leaf_written_in_forward_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Made\.forward .*a leaf Tensor float64\[1\] with stop_gradient=False"):
        layer(lambda ctx, a: a.scale_(3.0), lambda ctx, g: g).apply(leaf([1.0]))


def test_an_input_returned_unchanged_keeps_its_own_history() -> None:
    reversal = layer(lambda ctx, a: a, lambda ctx, g: g * -1.0)
    x = leaf([2.0])
    y = x * 3.0
    z = reversal.apply(y)
    assert z is not y and z.item() == 6.0
    (z * 10.0 + y).backward()
    assert x.grad.item() == 3.0 * (1.0 - 10.0)
    twice = layer(lambda ctx, a: (a, a), lambda ctx, g, h: g * 2.0 + h * 3.0)
    p, q = twice.apply(x * 1.0)
    x.clear_gradient(False)
    (p + q * 10.0).backward()
    assert x.grad.item() == 32.0


def test_writing_to_an_input_that_was_returned_unchanged_writes_to_both() -> None:
    same = layer(lambda ctx, a: a, lambda ctx, g: g * 5.0)
    x = leaf([1.0])
    y = x * 1.0
    z = same.apply(y)
    z.scale_(2.0)
    assert y.item() == 2.0
    (y + z).backward()
    assert x.grad.item() == 20.0, "both are 2 z now, and the way to z goes through the layer"
    with pytest.raises(RuntimeError, match="view of a leaf"):
        same.apply(x).scale_(2.0)
    assert x.item() == 1.0


def test_mark_not_inplace_makes_another_tensor_of_a_written_input() -> None:
    def forward(ctx, a):
        ctx.mark_not_inplace(a)
        return a.scale_(2.0)

    x = leaf([1.0])
    y = x * 1.0
    z = layer(forward, lambda ctx, g: g * 2.0).apply(y)
    assert z is not y and y.grad_fn.op_name() == "multiply" and z.tolist() == y.tolist() == [2.0]
    z.backward()
    assert x.grad.item() == 2.0


def test_tensors_from_elsewhere_that_forward_returns_stay_what_they_are() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    inner = w * 7.0
    network = paddle.nn.BatchNorm1D(1)
    for foreign in (w, inner, network._mean):
        before = (foreign.stop_gradient, foreign.grad_fn, foreign.is_leaf)
        y = layer(lambda ctx, a, f=foreign: f, lambda ctx, g: g * 3.0).apply(x)
        assert y is not foreign and (foreign.stop_gradient, foreign.grad_fn, foreign.is_leaf) == before
    inner.backward()
    assert w.grad.item() == 7.0 and x.grad is None
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_marks_take_tensors_and_flags_take_bools() -> None:
    def marking(name: str, value: object) -> Any:
        return layer(lambda ctx, a: (getattr(ctx, name)(value), a * 2.0)[1], lambda ctx, g: g)

    x = leaf([1.0])
    for name in ("mark_not_inplace", "mark_non_differentiable"):
        with pytest.raises(TypeError, match=f"^{name}: expected Tensors or None, received int at position 0$"):
            marking(name, 3).apply(x)
        assert not marking(name, None).apply(x).stop_gradient
    for name in ("set_materialize_grads", "set_grad_in_dtype_consistent"):
        with pytest.raises(TypeError, match=f"^{name}: expected True or False, received int$"):
            marking(name, 1).apply(x)
        assert not marking(name, False).apply(x).stop_gradient


def test_integer_outputs_need_no_gradient_and_get_none() -> None:
    arrived: list[object] = []
    made = layer(lambda ctx, a: (a * 2.0, a.astype("int64")), lambda ctx, g, h: (arrived.append(h), g)[1])
    x = leaf([1.0])
    y, whole = made.apply(x)
    assert whole.stop_gradient and whole.grad_fn is None
    y.backward()
    assert arrived[0].dtype == paddle.int64 and arrived[0].tolist() == [0]


# What is saved.


def saving(*values: object) -> Any:
    """A layer that saves the values ("a" stands for its input) and puts what it gets back into `seen`."""

    def forward(ctx, a):
        ctx.save_for_backward(*[a if isinstance(v, str) and v == "a" else v for v in values])
        return a * 2.0

    def backward(ctx, g):
        seen.append(ctx.saved_tensor())
        return g

    seen: list[Any] = []
    made = layer(forward, backward)
    made.seen = seen
    return made


def test_whatever_is_saved_comes_back() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    made = saving("a", None, 3, "text", [w, 4])
    made.apply(x).backward()
    ((a, none, three, text, listed),) = made.seen
    assert (a.tolist(), none, three, text) == ([1.0], None, 3, "text")
    assert type(listed) is list and listed[0].tolist() == [2.0] and listed[1] == 4
    with pytest.raises(RuntimeError, match=r"the tensor saved_tensor\(\)\[1\]\[0\] \(float64\[1\]\)"):
        held = w * 1.0
        y = saving(1, [held]).apply(x)
        held.scale_(2.0)
        y.backward()


def test_nothing_saved_is_none_and_the_last_call_counts() -> None:
    x = leaf([1.0])
    got: list[object] = []
    layer(lambda ctx, a: a * 2.0, lambda ctx, g: (got.extend([ctx.saved_tensor(), ctx.saved_tensors]), g)[1]).apply(
        x
    ).backward()

    def forward(ctx, a):
        ctx.save_for_backward(a, a)
        ctx.save_for_backward(a * 7.0)
        return a * 2.0

    layer(forward, lambda ctx, g: (got.append([t.item() for t in ctx.saved_tensor()]), g)[1]).apply(x).backward()
    assert got == [None, (), [7.0]]


def test_saving_after_forward_is_refused() -> None:
    def backward(ctx, g):
        ctx.save_for_backward(g)
        return g

    y = layer(lambda ctx, a: a * 2.0, backward).apply(leaf([1.0]))
    with pytest.raises(RuntimeError, match="^Made: save_for_backward belongs in forward, and was called after it"):
        y.backward()


def test_a_context_outside_of_backward() -> None:
    contexts: list[Any] = []

    def forward(ctx, a):
        out = a * 2.0
        contexts.append(ctx)
        ctx.save_for_backward(a, out)
        assert [t.item() for t in ctx.saved_tensor()] == [3.0, 6.0]
        return out

    x = leaf([3.0])
    y = layer(forward, lambda ctx, g: g).apply(x)
    assert [t.item() for t in contexts[0].saved_tensor()] == [3.0, 6.0]
    with paddle.no_grad():
        y.scale_(2.0)
    with pytest.raises(
        RuntimeError, match=r"Made: the tensor saved_tensor\(\)\[1\] .* was modified by an inplace operation"
    ):
        contexts[0].saved_tensor()
    y.backward()
    with pytest.raises(RuntimeError, match="^Made: what forward saved was freed after backward"):
        contexts[0].saved_tensor()


def test_backward_inside_itself_still_finds_what_was_saved() -> None:
    depth: list[int] = []

    def backward(ctx, g):
        if len(depth) < 2:
            depth.append(1)
            y.backward(retain_graph=True)
        return g * ctx.saved_tensor()[0]

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a * 0.5

    x = leaf([3.0])
    y = layer(forward, backward).apply(x)
    y.backward(retain_graph=True)
    assert len(depth) == 2 and x.grad.item() == 9.0


# What backward is handed, and hands back.


def test_backward_may_write_to_the_gradient_it_gets() -> None:
    scaled = layer(lambda ctx, a: a * 2.0, lambda ctx, g: g.scale_(2.0))
    x, w = leaf([1.0]), leaf([1.0])
    seed = paddle.to_tensor(np.array([7.0]))
    (scaled.apply(x) + w).backward(seed)
    assert (x.grad.item(), w.grad.item(), seed.item()) == (14.0, 7.0, 7.0)
    gx, gw = paddle.grad(scaled.apply(x) + w, [x, w], create_graph=True)
    assert (gx.item(), gw.item()) == (2.0, 1.0)


def test_what_backward_returned_may_be_changed_afterwards() -> None:
    own = paddle.to_tensor(np.array([5.0]))
    x = leaf([1.0])
    kept: list[paddle.Tensor] = []
    made = layer(lambda ctx, a, b: a * b, lambda ctx, g: (kept.append(g), own)[1:] + (g,))
    w = leaf([1.0])
    made.apply(x, w).backward()
    with paddle.no_grad():
        own.scale_(100.0)
        kept[0].scale_(100.0)
    assert (x.grad.item(), w.grad.item()) == (5.0, 1.0)


def test_the_incoming_gradient_returned_once_differentiable_is_not_taken_from_others() -> None:
    made = layer(lambda ctx, v: v * 1.0, once_differentiable(lambda ctx, g: g))
    x, a = leaf([2.0]), leaf([1.0])
    p = a * 3.0
    z = made.apply(x * x) + p * p * x
    ga = paddle.grad(z, a, create_graph=True)[0]
    assert paddle.grad(ga, x)[0].item() == 18.0


def test_once_differentiable_unpacks_once_and_refuses_by_name() -> None:
    unpacked: list[int] = []

    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    made = layer(forward, once_differentiable(lambda ctx, g: [g * 2.0 * ctx.saved_tensor()[0]]))
    x = leaf([2.0])
    with paddle.autograd.saved_tensors_hooks(
        lambda t: t.numpy(), lambda a: (unpacked.append(1), paddle.to_tensor(a))[1]
    ):
        y = made.apply(x)
    y.backward(retain_graph=True)
    assert x.grad.item() == 4.0 and len(unpacked) == 1
    (first,) = paddle.grad(y, x, create_graph=True)
    with pytest.raises(RuntimeError, match="is marked once_differentiable: its gradient has no derivative"):
        paddle.grad(first, x)


def test_once_differentiable_errors_are_placed_at_the_users_function() -> None:
    def backward(ctx, g):
        return g, g

    y = layer(lambda ctx, a: a * 2.0, once_differentiable(backward)).apply(leaf([1.0]))
    with pytest.raises(ValueError, match="received 2") as caught:
        y.backward()
    assert f"Made.backward is defined at {place(backward)}" in str(caught.value)


def test_an_unpack_hook_s_stop_iteration_stays_one() -> None:
    def unpack(packed: object) -> None:
        raise StopIteration("mine")

    made = saving("a")
    with paddle.autograd.saved_tensors_hooks(lambda t: t, unpack):
        y = made.apply(leaf([1.0]))
    with pytest.raises(StopIteration, match="mine"):
        y.backward()


def test_other_names() -> None:
    assert paddle.autograd.Function is PyLayer
    assert paddle.autograd.py_layer.PyLayerContext is paddle.autograd.PyLayerContext
    assert paddle.autograd.py_layer.once_differentiable is once_differentiable
