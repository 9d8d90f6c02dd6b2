"""Views: what shares, what a history follows, what is refused; each case with values worked out by hand."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.core.errors import PermissionDeniedError


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def constant(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64))


def test_detach_shares_memory_and_version_but_no_history() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 2.0
    d = y.detach()
    d.multiply_(w)
    assert y.tolist() == [6.0, 16.0] and y.inplace_version == d.inplace_version == 1
    assert not d.stop_gradient
    y.sum().backward()
    # y was written by a tensor without its history: what it is a function of did not change.
    assert x.grad.tolist() == [2.0, 2.0] and w.grad is None
    d.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "x[0]": lambda x: x[0],
    "x[:, ::-1]": lambda x: x[:, ::-1],
    "reshape": lambda x: x.reshape([6]),
    "flatten": lambda x: x.flatten(),
    "T": lambda x: x.T,
    "unsqueeze": lambda x: x.unsqueeze(1),
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x: x.unbind(1)[1],
    "split": lambda x: paddle.split(x, 3, 1)[2],
    "unfold": lambda x: x.unfold(1, 3, 1),
    "as_strided": lambda x: paddle.as_strided(x, [2, 2], [3, 1]),
    "strided_slice": lambda x: paddle.strided_slice(x, [1], [0], [3], [2]),
    "moveaxis": lambda x: paddle.moveaxis(x, 0, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_made_inside_no_grad_refuses_what_its_base_could_not_follow(name: str) -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    with paddle.no_grad():
        view = VIEWS[name](y)
    again = view[...]
    for target in (view, again):
        assert target.stop_gradient
        with pytest.raises(PermissionDeniedError, match=r"multiply_: expected a tensor whose base is known.*no_grad"):
            target.multiply_(leaf(np.full(target.shape, 2.0)))
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    assert y.inplace_version == 0
    # What is not recorded may be written: the history of the base stays what it is.
    view.multiply_(constant(2.0))
    expected = x.numpy()
    VIEWS_OF_ARRAYS[name](expected)[...] *= 2.0
    np.testing.assert_array_equal(y.numpy(), expected)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 3)))


VIEWS_OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "x[0]": lambda x: x[0],
    "x[:, ::-1]": lambda x: x,
    "reshape": lambda x: x,
    "flatten": lambda x: x,
    "T": lambda x: x,
    "unsqueeze": lambda x: x,
    "diagonal": lambda x: x.reshape(-1)[0:6:4],
    "unbind": lambda x: x[:, 1],
    "split": lambda x: x[:, 2],
    "unfold": lambda x: x,
    "as_strided": lambda x: x[:, :2],
    "strided_slice": lambda x: x[:, ::2],
    "moveaxis": lambda x: x,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_inside_no_grad_leaves_histories_as_they_are(name: str) -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 3.0
    view = VIEWS[name](y)
    sibling = y[1]
    with paddle.no_grad():
        view.zero_()
    assert view.numpy().sum() == 0.0 and not view.stop_gradient
    (view.sum() + sibling.sum() + y.sum()).backward()
    expected = np.full((2, 3), 3.0)
    expected[1] += 3.0
    VIEWS_OF_ARRAYS[name](expected)[...] += 3.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("name", VIEWS)
def test_writes_to_the_leaf_behind_a_view_are_refused_and_allowed_inside_no_grad(name: str) -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    view = VIEWS[name](x)
    with pytest.raises(PermissionDeniedError, match=r"zero_|fill_: expected a tensor that is no view of a leaf"):
        view.zero_()
    with pytest.raises(PermissionDeniedError, match="setitem: expected a tensor that is no view of a leaf"):
        view[...] = 1.0
    np.testing.assert_array_equal(x.numpy(), np.arange(6.0).reshape(2, 3))
    assert x.inplace_version == 0
    with paddle.no_grad():
        view.zero_()
    assert x.is_leaf and not x.stop_gradient and x.inplace_version == 1
    (view.sum() + x.sum()).backward()
    expected = np.ones((2, 3))
    VIEWS_OF_ARRAYS[name](expected)[...] += 1.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_gradient_through_elements_that_a_view_repeats_is_their_sum() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    wide, windows = y.expand([2, 3]), y.unfold(0, 2, 1)
    y.scale_(10.0)
    assert wide.tolist() == [[10.0, 20.0, 30.0]] * 2 and windows.tolist() == [[10.0, 20.0], [20.0, 30.0]]
    (grad,) = paddle.grad((wide * constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum(), x, retain_graph=True)
    assert grad.tolist() == [50.0, 70.0, 90.0]
    (grad,) = paddle.grad((windows * constant([[1.0, 2.0], [3.0, 4.0]])).sum(), x)
    assert grad.tolist() == [10.0, 50.0, 40.0]


def test_windows_over_a_view_share_its_memory() -> None:
    x = leaf(np.arange(12.0).reshape(3, 4))
    y = x * 1.0
    windows = y.diagonal(1).unfold(0, 2, 1)
    windows[1].zero_()
    assert y.diagonal(1).tolist() == [1.0, 0.0, 0.0] and windows.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    windows.sum().backward()
    assert x.grad.nonzero().tolist() == [[0, 1]]


def test_strides_over_a_view_that_is_not_contiguous_are_a_copy_of_separate_elements() -> None:
    y = leaf(np.arange(6.0).reshape(2, 3)) * 1.0
    windows = paddle.as_strided(y.T, [2, 2], [1, 1])
    windows[0].zero_()
    assert windows.tolist() == [[0.0, 0.0], [3.0, 1.0]]
    assert y.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_parts_of_complex_numbers_are_views() -> None:
    z = paddle.to_tensor(np.array([1 + 2j, 3 + 4j]), stop_gradient=False)
    w = leaf([10.0, 20.0])
    y = z * 1.0
    real, pairs = paddle.real(y), paddle.as_real(y)
    real.multiply_(w)
    assert y.tolist() == [10 + 2j, 60 + 4j] and pairs.tolist() == [[10.0, 2.0], [60.0, 4.0]]
    paddle.imag(y)[1:].scale_(5.0)
    paddle.as_complex(pairs)[0] = 7.0
    assert y.tolist() == [7 + 0j, 60 + 20j]
    (paddle.as_real(y) * constant([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert z.grad.tolist() == [0j, 60 + 20j]
    assert w.grad.tolist() == [0.0, 9.0]


def test_pairs_that_lie_apart_are_copied() -> None:
    x = constant(np.arange(4.0).reshape(2, 2))
    z = paddle.as_complex(x.T)
    z[0] = 0.0
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]] and z.tolist() == [0j, 1 + 3j]


def test_a_view_in_another_dtype_shares_memory_without_history() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    bits = y.view("int64")
    bits.zero_()
    halves = y.view("float32")
    halves.add_(paddle.ones([4], "float32"))
    assert y.inplace_version == 2 and (y.numpy().view("float32") == 1.0).all()
    halves.multiply_(paddle.to_tensor(np.full(4, 2.0, "float32"), stop_gradient=False))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_view_that_the_user_has_cut_off_stays_so() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    view = y[:1]
    view.stop_gradient = True
    y.scale_(2.0)
    assert view.stop_gradient and view.tolist() == [2.0]
    view.add_(x[:1] * 3.0)
    assert not view.stop_gradient
    y.sum().backward()
    # Of the first element only what was added needs a gradient.
    assert x.grad.tolist() == [3.0, 2.0]


def test_a_leaf_over_the_memory_of_a_buffer_stays_a_leaf() -> None:
    buffer = constant([1.0, 2.0])
    view = buffer[:1]
    view.stop_gradient = False
    buffer.scale_(3.0)
    assert view.is_leaf
    (view * 2.0).sum().backward()
    assert view.grad.tolist() == [2.0]


def test_multiple_outputs_of_one_call_can_be_written() -> None:
    x = leaf(np.arange(6.0).reshape(3, 2))
    y = x * 1.0
    first, second, third = y.unbind(0)
    first.zero_()
    third.copy_(second)
    third.multiply_(second)
    assert y.tolist() == [[0.0, 0.0], [2.0, 3.0], [4.0, 9.0]]
    y.sum().backward()
    # copy_ is not recorded: of third = 1 * second the gradient is the factor, and second's is 1 + third's old value.
    assert x.grad.tolist() == [[0.0, 0.0], [3.0, 4.0], [2.0, 3.0]]


@pytest.mark.parametrize("recorded", [True, False])
def test_older_views_go_on_when_their_base_is_transposed(recorded: bool) -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    row, all_of_it = y[1], y[...]
    with paddle.set_grad_enabled(recorded):
        y.transpose_([1, 0])
    assert y.shape == [3, 2] and y.inplace_version == 1
    row.scale_(10.0)
    assert y.tolist() == [[0.0, 30.0], [1.0, 40.0], [2.0, 50.0]]
    y[0] = constant([7.0, 8.0])
    assert row.tolist() == [8.0, 40.0, 50.0] and all_of_it.tolist() == [[7.0, 1.0, 2.0], [8.0, 40.0, 50.0]]
    weights = constant(np.arange(1.0, 7.0).reshape(3, 2))
    for loss in ((y * weights).sum(), (all_of_it * weights.T).sum()):
        (grad,) = paddle.grad(loss, x, retain_graph=True)
        assert grad.tolist() == [[0.0, 3.0, 5.0], [0.0, 40.0, 60.0]]


TWINS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "reshape_": (lambda x: x.reshape_([3, 2]), (3, 2)),
    "flatten_": (lambda x: x.flatten_(), (6,)),
    "unsqueeze_": (lambda x: x.unsqueeze_(0), (1, 2, 3)),
    "transpose_": (lambda x: x.transpose_([1, 0]), (3, 2)),
    "t_": (lambda x: x.t_(), (3, 2)),
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("of_a_view", [False, True])
def test_a_shape_changed_in_place_keeps_memory_and_gradient(name: str, of_a_view: bool) -> None:
    change, shape = TWINS[name]
    for recorded in (True, False):
        x = leaf(np.arange(6.0).reshape(2, 3))
        base = x * 1.0
        y = base[:, :] if of_a_view else base
        before = y.detach()
        with paddle.set_grad_enabled(recorded):
            assert change(y) is y
        assert tuple(y.shape) == shape and y.inplace_version == 1 and not y.stop_gradient
        y.scale_(2.0)
        assert before.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
        weights = np.arange(1.0, 7.0)
        expected = 2.0 * (weights.reshape(3, 2).T if name in ("transpose_", "t_") else weights.reshape(2, 3))
        (grad,) = paddle.grad((y * constant(weights.reshape(shape))).sum(), x, retain_graph=True)
        np.testing.assert_array_equal(grad.numpy(), expected)
        if of_a_view:
            (grad,) = paddle.grad(base.sum(), x)
            np.testing.assert_array_equal(grad.numpy(), np.full((2, 3), 2.0))


def test_a_reshape_that_strides_do_not_allow_moves_the_tensor_and_leaves_its_views() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = (x * 1.0).T
    column = y[:, 1]
    y.reshape_([2, 3])
    y.zero_()
    column.scale_(10.0)
    assert column.tolist() == [30.0, 40.0, 50.0] and y.tolist() == [[0.0] * 3] * 2
    (column.sum() + y.sum()).backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]]


def test_a_leaf_that_changes_shape_inside_no_grad_stays_a_leaf() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    view = x[:1]
    with paddle.no_grad():
        x.reshape_([2, 2])
    assert x.is_leaf and x.shape == [2, 2] and not x.stop_gradient
    with paddle.no_grad():
        x.zero_()
    assert view.tolist() == [0.0] and x.is_leaf
    (x * constant([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_cast_in_place_leaves_views_behind_with_their_history() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[1:]
    y.scale_(5.0)
    y.cast_("float32")
    assert y.dtype is paddle.float32 and view.dtype is paddle.float64
    assert y.inplace_version == 2 and view.inplace_version == 1
    view.scale_(2.0)
    y.scale_(0.0)
    assert view.tolist() == [20.0, 30.0]
    (view.sum() + y.sum()).backward()
    assert x.grad.tolist() == [0.0, 10.0, 10.0]


def test_a_cast_in_place_to_the_same_dtype_changes_nothing() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    view = y[:1]
    y.cast_("float64")
    y.zero_()
    assert view.tolist() == [0.0]


def test_a_cast_in_place_inside_no_grad_keeps_the_history() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    with paddle.no_grad():
        y.cast_("float32")
        x.cast_("float32")
    assert x.is_leaf and not y.stop_gradient
    y.sum().backward()
    assert x.dtype is paddle.float32
    z = x * 3.0
    z.cast_("int32")
    assert z.stop_gradient and z.tolist() == [3, 6]


def test_detach_in_place_makes_views_follow_what_comes() -> None:
    x, w = leaf([1.0, 2.0]), leaf([5.0])
    y = x * 1.0
    row = y[:1]
    assert y.detach_() is y and y.stop_gradient and y.is_leaf
    row_grad = paddle.grad((row * 3.0).sum(), x)[0]
    assert row_grad.tolist() == [3.0, 0.0]
    y.scale_(2.0)
    assert row.stop_gradient and row.tolist() == [2.0]
    row.multiply_(w)
    assert not y.stop_gradient
    y.sum().backward()
    assert w.grad.tolist() == [2.0] and x.grad is None


def test_detach_in_place_of_a_view_leaves_its_base() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    view = y[:1]
    view.detach_()
    view.multiply_(leaf([4.0]))
    assert y.tolist() == [4.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_detach_in_place_after_a_change_of_shape_reaches_older_views() -> None:
    y = leaf([[1.0, 2.0]]) * 1.0
    row = y[0]
    y.transpose_([1, 0])
    y.detach_()
    w = leaf([5.0, 6.0])
    row.multiply_(w)
    assert y.tolist() == [[5.0], [12.0]] and not y.stop_gradient
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 2.0]


def test_set_makes_a_view_of_the_source() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    source = x * 1.0
    y = constant([0.0]) + 0.0
    older = y[:]
    assert y.set_(source, [2], [2], 8) is y and y.tolist() == [2.0, 4.0]
    y.scale_(10.0)
    assert source.tolist() == [1.0, 20.0, 3.0, 40.0] and older.tolist() == [0.0]
    source.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 1.0, 10.0]
    assert y.set_().shape == [0]
    assert y.set_(source).shape == [4] and y._is_shared_buffer_with(source)
    with pytest.raises(TypeError, match="source of x's dtype float64, received float32"):
        y.set_(paddle.ones([2], "float32"))
    with pytest.raises(ValueError, match="whole elements"):
        y.set_(source, [1], [1], 3)
    with pytest.raises(ValueError, match="as_strided"):
        y.set_(source, [5])
    assert y.tolist() == source.tolist()


def test_resize_keeps_the_first_elements_where_they_are() -> None:
    x = leaf(np.arange(6.0))
    y = x * 1.0
    view = y[1:3]
    y.resize_([2, 2])
    y.scale_(3.0)
    assert view.tolist() == [3.0, 6.0]
    view.scale_(2.0)
    assert y.tolist() == [[0.0, 6.0], [12.0, 9.0]]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0, 6.0, 3.0, 0.0, 0.0]
    z = constant([1.0, 2.0]) + 0.0
    assert z.resize_([2, 2], fill_zero=True).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    with pytest.raises(TypeError, match="expected a list or tuple"):
        z.resize_(3)


def test_data_that_is_assigned_is_shared() -> None:
    x = leaf([1.0, 2.0])
    view = x[:1]
    data = constant([[3.0], [4.0], [5.0]])
    x.data = data
    data.scale_(2.0)
    assert x.tolist() == [[6.0], [8.0], [10.0]] and x.is_leaf and not x.stop_gradient
    assert view.tolist() == [1.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [[12.0], [16.0], [20.0]]
    y = x * 1.0
    with pytest.raises(ValueError, match="which the tensor's history is of"):
        y.data = constant([1.0])
    with pytest.raises(TypeError, match="use set_value for an array"):
        x.data = np.zeros(3)


def test_tensors_made_from_tensors() -> None:
    x = leaf([1.0, 2.0])
    shared = paddle.Tensor(x)
    assert shared.stop_gradient and shared.is_leaf
    copied, cast = copy.copy(x), paddle.Tensor(x, "float32")
    with paddle.no_grad():
        x.zero_()
    assert shared.tolist() == [0.0, 0.0] and shared.inplace_version == 1
    assert copied.tolist() == cast.tolist() == [1.0, 2.0] and not copied.stop_gradient


def test_arrays_that_are_handed_out_are_copies() -> None:
    x = leaf([1.0, 2.0])
    for array in (x.numpy(), np.asarray(x), np.array(x), x.detach().numpy()):
        array[0] = 9.0
    assert x.tolist() == [1.0, 2.0]


def test_hooks_and_kept_gradients_belong_to_the_value_at_their_time() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grads()
    view = y[:1]
    view.register_hook(lambda g: seen.append(g.tolist()))
    y.scale_(3.0)
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 5.0 + view).sum().backward()
    # As in Paddle: the gradient of y before scale_ is kept, and seen by the first hook.
    assert seen == [[7.0, 5.0], [21.0, 15.0]]
    assert y.grad.tolist() == [21.0, 15.0] and x.grad.tolist() == [42.0, 30.0]


def test_a_gradient_is_a_tensor_that_may_be_written() -> None:
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    grad = x.grad
    grad.scale_(10.0)
    (x * 1.0).sum().backward()
    assert x.grad.tolist() == [21.0, 21.0] and x.grad is grad and grad.inplace_version == 2
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    (x * 3.0).sum().backward()
    x.clear_grad()
    assert grad.tolist() == [0.0, 0.0] and x.grad is grad
    x.clear_grad(set_to_zero=False)
    assert x.grad is None


def test_a_gradient_that_is_assigned_is_copied() -> None:
    x = leaf([1.0, 2.0])
    for given in (constant([1.0, 1.0]), constant([1.0]).expand([2])):
        x.grad = given
        (x * 3.0).sum().backward()
        assert x.grad.tolist() == [4.0, 4.0] and given.tolist() == [1.0, 1.0]


MOVES: dict[str, Callable[[Any], Any]] = {
    "transpose_": lambda y: y.transpose_([1, 0]),
    "reshape_": lambda y: y.reshape_([3, 2]),
    "cast_": lambda y: y.cast_("float32"),
    "resize_": lambda y: y.resize_([2]),
    "set_": lambda y: y.set_(constant([1.0]) + 0.0),
    "set_ to a view of itself": lambda y: y.set_(y[0]),
    "data": lambda y: setattr(y, "data", constant(np.ones((2, 3)))),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_tensor_that_has_moved_is_freed_without_the_collector(name: str) -> None:
    y = leaf(np.arange(6.0).reshape(2, 3)) * 1.0
    view, read = y[0], weakref.ref(y)
    MOVES[name](y)
    y.zero_()
    (y.sum() + view.sum()).backward()
    gc.collect()
    gc.disable()
    try:
        del view, y
        assert read() is None
    finally:
        gc.enable()
