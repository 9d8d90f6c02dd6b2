"""PyLayer: gradients by user code, its checks, and how it sits in the graph."""

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer, gradcheck, gradgradcheck


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x * x * 3.0


class Affine(PyLayer):
    """factor * x + w, with a plain argument between the tensors."""

    @staticmethod
    def forward(ctx, x, factor, w):
        ctx.factor = factor
        ctx.asked = ctx.needs_input_grad
        return x * factor + w, "label"

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, g


def answering(result):
    class Answering(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return result(g)

    return Answering


def test_forward_is_not_recorded_and_backward_is_the_users() -> None:
    x = leaf([2.0, -1.0])
    y = Cube.apply(x)
    assert y.grad_fn is not None and not y.stop_gradient
    (y * 10.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [120.0, 30.0])


def test_derivatives_of_every_order() -> None:
    x = leaf([2.0, -1.0])
    assert gradcheck(Cube.apply, x)
    assert gradgradcheck(Cube.apply, x)
    first = paddle.grad(Cube.apply(x).sum(), x, create_graph=True)[0]
    second = paddle.grad(first.sum(), x, create_graph=True)[0]
    np.testing.assert_allclose(second.numpy(), [12.0, -6.0])
    np.testing.assert_allclose(paddle.grad(second.sum(), x)[0].numpy(), [6.0, 6.0])


def test_plain_arguments_get_no_gradient_and_plain_results_come_back() -> None:
    x, w = leaf([1.0]), leaf([5.0])
    y, label = Affine.apply(x, 3, w)
    assert label == "label" and y.item() == 8.0
    y.backward()
    assert (x.grad.item(), w.grad.item()) == (3.0, 1.0)


def test_the_same_tensor_twice_gets_the_sum() -> None:
    x = leaf([1.0])
    answering(lambda g: (g, g * 10.0)).apply(x, x).backward()
    assert x.grad.item() == 11.0


def test_frozen_inputs_may_get_none_or_be_left_out() -> None:
    for result in (lambda g: (g * 2.0, None), lambda g: g * 2.0):
        x, frozen = leaf([1.0]), leaf([1.0]).detach()
        answering(result).apply(x, frozen).backward()
        assert x.grad.item() == 2.0 and frozen.grad is None
    with_nothing = Affine.apply(leaf([1.0]).detach(), 3, leaf([1.0]).detach())[0]
    assert with_nothing.stop_gradient and with_nothing.grad_fn is None


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda g: (g, g, g), ValueError, r"Answering\.backward: expected 2 gradients.*received 3"),
        (lambda g: g, ValueError, r"Answering\.backward: expected 2 gradients.*received 1"),
        (lambda g: (g, 1.0), TypeError, r"Answering\.backward.*float at position 1"),
        (lambda g: (g, g.sum()), ValueError, r"shape \[2\] at position 1.*\[\]"),
    ],
)
def test_what_backward_returns_is_checked_before_anything_is_stored(result, error, text) -> None:
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    out = answering(result).apply(x, y)
    with pytest.raises(error, match=text):
        out.sum().backward()
    assert x.grad is None and y.grad is None


def test_a_saved_tensor_that_was_changed_is_refused() -> None:
    x = leaf([1.0, 2.0]) * 1.0
    y = Cube.apply(x)
    x.scale_(2.0)
    with pytest.raises(RuntimeError, match=r"(?s)inplace.*test_pylayer\.py"):
        y.sum().backward()


def test_a_second_backward_needs_retain_graph() -> None:
    x = leaf([1.0])
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 6.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


class TwoWays(PyLayer):
    materialize = True
    arrived: list[object] = []

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(TwoWays.materialize)
        return x * 2.0, x * 3.0

    @staticmethod
    def backward(ctx, a, b):
        TwoWays.arrived.append(b)
        return a * 2.0


def test_outputs_without_a_gradient_give_zeros_or_none(monkeypatch) -> None:
    for materialize in (True, False):
        monkeypatch.setattr(TwoWays, "materialize", materialize)
        monkeypatch.setattr(TwoWays, "arrived", [])
        x = leaf([1.0, 1.0])
        TwoWays.apply(x)[0].sum().backward()
        (b,) = TwoWays.arrived
        if materialize:
            np.testing.assert_array_equal(b.numpy(), [0.0, 0.0])
        else:
            assert b is None
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_an_output_that_is_marked_carries_no_gradient() -> None:
    class Marks(PyLayer):
        @staticmethod
        def forward(ctx, x):
            aside = x * 5.0
            ctx.mark_non_differentiable(aside)
            return x * 2.0, aside

        @staticmethod
        def backward(ctx, g, ignored):
            return g * 2.0

    x = leaf([1.0])
    y, aside = Marks.apply(x)
    assert aside.stop_gradient and not y.stop_gradient
    y.backward()
    assert x.grad.item() == 2.0


def test_backward_inside_backward() -> None:
    class Recompute(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            inner = ctx.saved_tensor()[0].detach()
            inner.stop_gradient = False
            assert not paddle.is_grad_enabled()
            with paddle.enable_grad():
                again = inner * inner * inner
            again.backward(g)
            return inner.grad

    x = leaf([2.0])
    Recompute.apply(Recompute.apply(x)).backward()
    assert x.grad.item() == 9 * 2.0**8


def test_the_users_exception_comes_through_and_the_mode_is_restored() -> None:
    def fail(g):
        raise KeyError("mine")

    out = answering(fail).apply(leaf([1.0]), leaf([1.0]))
    with pytest.raises(KeyError, match="mine"):
        out.backward()
    assert paddle.is_grad_enabled()
