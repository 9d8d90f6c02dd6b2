"""Recording modes: nesting, exceptions, decorators, and what they do not touch."""

import numpy as np
import pytest

import wherry as paddle


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_an_exception_restores_the_mode() -> None:
    for mode in (paddle.no_grad, lambda: paddle.set_grad_enabled(False)):
        with pytest.raises(KeyError), mode():
            assert not paddle.is_grad_enabled()
            raise KeyError
        assert paddle.is_grad_enabled()


def test_set_grad_enabled_acts_as_soon_as_it_is_called() -> None:
    mode = paddle.set_grad_enabled(False)
    try:
        assert not paddle.is_grad_enabled()
        with mode:
            assert not paddle.is_grad_enabled()
        assert paddle.is_grad_enabled()
    finally:
        paddle.set_grad_enabled(True)


def test_one_object_may_be_entered_twice() -> None:
    mode = paddle.no_grad()
    with mode:
        with mode:
            assert not paddle.is_grad_enabled()
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()


def test_decorators_with_and_without_brackets_keep_name_and_recursion() -> None:
    @paddle.no_grad
    def bare(depth: int) -> int:
        "Doc."
        assert not paddle.is_grad_enabled()
        return bare(depth - 1) + 1 if depth else 0

    assert bare(3) == 3
    assert (bare.__name__, bare.__doc__) == ("bare", "Doc.")
    assert paddle.is_grad_enabled()


def test_a_graph_from_outside_runs_backward_inside_no_grad() -> None:
    x = leaf([3.0])
    y = x * x
    with paddle.no_grad():
        y.backward()
    assert x.grad.item() == 6.0


def test_create_graph_records_inside_no_grad_and_the_mode_stays() -> None:
    x = leaf([3.0])
    y = x * x * x
    with paddle.no_grad():
        first = paddle.grad(y, x, create_graph=True)[0]
        assert not paddle.is_grad_enabled()
    assert paddle.grad(first, x)[0].item() == 18.0


def test_a_plain_backward_records_nothing() -> None:
    x = leaf([3.0])
    (g,) = paddle.grad(x * x, x)
    assert g.stop_gradient and g.grad_fn is None
    (x * x).backward()
    assert x.grad.stop_gradient and x.grad.grad_fn is None


def test_stop_gradient_cuts_at_the_time_of_the_call() -> None:
    x, frozen = leaf([2.0]), leaf([5.0])
    frozen.stop_gradient = True
    y = x * frozen
    frozen.stop_gradient = False
    y.backward()
    assert x.grad.item() == 5.0 and frozen.grad is None


def test_integer_results_never_ask_for_gradients() -> None:
    x = leaf([2.0, 1.0])
    assert (x > 1.0).stop_gradient
    assert paddle.argsort(x).stop_gradient
    assert x.astype("int64").stop_gradient
