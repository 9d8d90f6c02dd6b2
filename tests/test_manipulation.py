"""Public functions of shape, slicing, gather and scatter: argument forms, results by NumPy, and refusals with the facts in them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.nn.functional.padding import pad

A = np.arange(6.0).reshape(2, 3)
B = np.arange(24.0).reshape(2, 3, 4)


def tensor(value: Any, **options: Any) -> Any:
    """A tensor in NumPy's dtype, floats in double precision."""
    return paddle.to_tensor(np.asarray(value), **options)


def a() -> Any:
    return tensor(A)


def b() -> Any:
    return tensor(B)


def integers(*values: Any) -> Any:
    return tensor(np.array(values, np.int64))


def arrays(result: Any) -> Any:
    return [t.numpy() for t in result] if isinstance(result, list) else result.numpy()


RESULTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "reshape by integers": (lambda: a().reshape(3, 2), A.reshape(3, 2)),
    "reshape by a tensor": (lambda: a().reshape(integers(3, 2)), A.reshape(3, 2)),
    "reshape by a list with tensors": (lambda: a().reshape([tensor(3), -1]), A.reshape(3, 2)),
    "reshape with a name": (lambda: paddle.reshape(a(), [6], "x"), A.reshape(6)),
    "view": (lambda: a().view([3, -1]), A.reshape(3, 2)),
    "view as bytes": (lambda: a().view("uint8"), A.view(np.uint8)),
    "view_as": (lambda: a().view_as(paddle.zeros([6])), A.reshape(6)),
    "squeeze by a tensor": (lambda: a().reshape([1, 6, 1]).squeeze(tensor(0)), A.reshape(6, 1)),
    "unsqueeze by a list": (lambda: a().unsqueeze([0, -1]), A[None, :, :, None]),
    "ravel": (lambda: a().ravel(), A.ravel()),
    "unflatten": (lambda: b().unflatten(-1, [2, -1]), B.reshape(2, 3, 2, 2)),
    "transpose by two axes": (lambda: b().transpose(0, 2), B.transpose(2, 1, 0)),
    "transpose by integers": (lambda: b().transpose(2, 0, 1), B.transpose(2, 0, 1)),
    "swapaxes": (lambda: b().swapaxes(0, -1), B.swapaxes(0, -1)),
    "permute": (lambda: b().permute(2, 0, 1), B.transpose(2, 0, 1)),
    "t": (lambda: a().t(), A.T),
    "T": (lambda: b().T, B.T),
    "mT": (lambda: b().mT, B.swapaxes(1, 2)),
    "moveaxis": (lambda: b().moveaxis([0, 1], [-1, 0]), np.moveaxis(B, [0, 1], [-1, 0])),
    "moveaxis by one": (lambda: b().moveaxis(0, 1), np.moveaxis(B, 0, 1)),
    "rot90": (lambda: b().rot90(1, [0, 2]), np.rot90(B, 1, (0, 2))),
    "rot90 back": (lambda: b().rot90(-1, [2, 1]), np.rot90(B, -1, (2, 1))),
    "rot90 twice": (lambda: b().rot90(2), np.rot90(B, 2)),
    "rot90 not": (lambda: b().rot90(4), B),
    "expand": (lambda: a().expand(2, -1, -1), np.stack([A, A])),
    "broadcast_to": (lambda: paddle.broadcast_to(a(), [1, 2, 3]), A[None]),
    "expand_as": (lambda: a().expand_as(paddle.zeros([2, 2, 3])), np.stack([A, A])),
    "broadcast_tensors": (
        lambda: paddle.broadcast_tensors([tensor([1.0, 2.0]), tensor([[3.0], [4.0]])]),
        np.broadcast_arrays([1.0, 2.0], [[3.0], [4.0]]),
    ),
    "meshgrid": (
        lambda: paddle.meshgrid(tensor([1, 2]), tensor([3, 4, 5])),
        np.meshgrid([1, 2], [3, 4, 5], indexing="ij"),
    ),
    "meshgrid xy": (
        lambda: paddle.meshgrid([tensor([1, 2]), tensor([3, 4, 5])], indexing="xy"),
        np.meshgrid([1, 2], [3, 4, 5]),
    ),
    "atleast_2d": (
        lambda: paddle.atleast_2d(tensor([1.0, 2.0]), tensor(3.0)),
        [np.array([[1.0, 2.0]]), np.array([[3.0]])],
    ),
    "atleast_3d": (lambda: paddle.atleast_3d(a()), A[:, :, None]),
    "shape": (lambda: paddle.shape(b()), [2, 3, 4]),
    "rank": (lambda: paddle.rank(b()), 3),
    "numel": (lambda: b().numel(), 24),
    "is_empty": (lambda: paddle.is_empty(paddle.zeros([0, 2])), True),
    "hstack": (lambda: paddle.hstack([a(), a()]), np.hstack([A, A])),
    "hstack of numbers": (lambda: paddle.hstack([tensor(1.0), tensor(2.0)]), [1.0, 2.0]),
    "vstack": (lambda: paddle.vstack([tensor([1, 2]), tensor([3, 4])]), [[1, 2], [3, 4]]),
    "dstack": (lambda: paddle.dstack([a(), a()]), np.dstack([A, A])),
    "column_stack": (lambda: paddle.column_stack([tensor([1.0, 2.0]), a()]), np.column_stack([[1.0, 2.0], A])),
    "block_diag": (
        lambda: paddle.block_diag([a(), tensor([7.0, 8.0])]),
        [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0], [0, 0, 0, 7, 8]],
    ),
    "chunk": (lambda: b().chunk(2, -1), np.split(B, 2, -1)),
    "split": (lambda: b().split([1, -1], axis=tensor(1)), np.split(B, [1], 1)),
    "tensor_split": (lambda: b().tensor_split(3, 2), np.array_split(B, 3, 2)),
    "tensor_split out of order": (lambda: b().tensor_split([3, 1], 2), [B[..., :3], B[..., 3:1], B[..., 1:]]),
    "hsplit": (lambda: paddle.hsplit(b(), [1, 2]), np.hsplit(B, [1, 2])),
    "vsplit": (lambda: b().vsplit(2), np.vsplit(B, 2)),
    "dsplit": (lambda: b().dsplit(2), np.dsplit(B, 2)),
    "unstack": (lambda: b().unstack(1, 3), [B[:, i] for i in range(3)]),
    "tile": (lambda: a().tile(tensor([2, 1])), np.tile(A, (2, 1))),
    "repeat_interleave": (lambda: a().repeat_interleave(2), np.repeat(A, 2)),
    "repeat_interleave by a tensor": (
        lambda: a().repeat_interleave(integers(2, 0, 1), -1),
        np.repeat(A, [2, 0, 1], -1),
    ),
    "slice": (lambda: paddle.slice(b(), [0, 2], tensor([0, -3]), [1, 9]), B[0:1, :, -3:9]),
    "crop": (lambda: paddle.crop(b(), [2, -1, 2], [0, 1, 1]), B[:, 1:, 1:3]),
    "narrow": (lambda: b().narrow(2, -2, 2), B[:, :, -2:]),
    "roll": (lambda: a().roll(1), np.roll(A, 1)),
    "slice_scatter": (
        lambda: a().slice_scatter(paddle.ones([2, 1], dtype="float64"), [1], [0], [3], [2]),
        [[1, 1, 1], [1, 4, 1]],
    ),
    "select_scatter": (lambda: a().select_scatter(tensor([8.0, 9.0], dtype="float64"), 1, -1), [[0, 1, 8], [3, 4, 9]]),
    "gather": (lambda: paddle.gather(a(), integers([2], [0]), axis=tensor(1)), A[:, [2, 0]]),
    "scatter_nd": (lambda: paddle.scatter_nd(integers([1], [1], [0]), tensor([1.0, 2, 3]), [3]), [3, 3, 0]),
    "index_add": (
        lambda: paddle.index_add(a(), integers(0, 0), 1, paddle.ones([2, 2], dtype="float64"), alpha=3),
        [[6, 1, 2], [9, 4, 5]],
    ),
    "index_put": (
        lambda: paddle.index_put(a(), (tensor([True, False]), integers(1)), tensor(9.0, dtype="float64")),
        [[0, 9, 2], [3, 4, 5]],
    ),
    "index_fill": (lambda: paddle.index_fill(a(), integers(0, -1), 1, 9), [[9, 1, 9], [9, 4, 9]]),
    "take_along_axis": (lambda: paddle.take_along_axis(a(), integers([2]), 1), A[:, 2:]),
    "take_along_axis without broadcasting": (lambda: paddle.take_along_axis(a(), integers([2, 0]), 1, False), [[2, 0]]),
    "put_along_axis of a number": (lambda: paddle.put_along_axis(a(), integers([0]), 9.0, 1), [[9, 1, 2], [9, 4, 5]]),
    "scatter_reduce": (
        lambda: paddle.scatter_reduce(a(), 1, integers([1, 1]), tensor(A[:1, 1:] * 2), "prod"),
        [[0, 8, 2], [3, 4, 5]],
    ),
    "pad the last axis": (lambda: pad(a(), [1, 0]), np.pad(A, ((0, 0), (1, 0)))),
    "pad every axis": (lambda: pad(a(), [1, 0, 0, 2], value=5.0), np.pad(A, ((1, 0), (0, 2)), constant_values=5)),
    "pad from the right": (lambda: pad(a(), [1, 0, 0, 2], pad_from_left_axis=False), np.pad(A, ((0, 2), (1, 0)))),
    "pad NCL": (lambda: pad(b(), [1, 2], "reflect"), np.pad(B, ((0, 0), (0, 0), (1, 2)), "reflect")),
    "pad NLC": (lambda: pad(b(), [1, 2], "replicate", data_format="NLC"), np.pad(B, ((0, 0), (1, 2), (0, 0)), "edge")),
    "pad NHWC": (
        lambda: pad(b().unsqueeze(0), [1, 2, 3, 4], "circular", data_format="NHWC"),
        np.pad(B[None], ((0, 0), (3, 4), (1, 2), (0, 0)), "wrap"),
    ),
    "crop by padding": (lambda: pad(b(), [-1, 1]), np.pad(B, ((0, 0), (0, 0), (0, 1)))[..., 1:]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_result(name: str) -> None:
    call, expected = RESULTS[name]
    got = arrays(call())
    if isinstance(got, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            np.testing.assert_array_equal(one, other)
            assert one.shape == np.shape(other)
    else:
        assert got.shape == np.shape(expected)
        np.testing.assert_array_equal(got, expected)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    "reshape to another size": (lambda: a().reshape([4, 2]), ValueError, ("6", "[4, 2]", "8")),
    "reshape with two -1": (lambda: a().reshape([-1, -1]), ValueError, ("-1",)),
    "reshape that does not divide": (lambda: a().reshape([4, -1]), ValueError, ("6", "4")),
    "reshape with a negative size": (lambda: a().reshape([-2, 3]), ValueError, ("-2",)),
    "reshape with 0 for no dimension": (lambda: tensor(1.0).reshape([0]), ValueError, ("0", "[]")),
    "reshape by floats": (lambda: a().reshape([3.0, 2]), TypeError, ("float",)),
    "view that does not divide": (lambda: paddle.zeros([2, 3]).view("float64"), ValueError, ("[2, 3]", "float64")),
    "squeeze": (lambda: a().squeeze(7), ValueError, ("7", "2")),
    "unsqueeze": (lambda: a().unsqueeze(3), ValueError, ("3", "[2, 3]")),
    "flatten backwards": (lambda: b().flatten(2, 1), ValueError, ("2", "1")),
    "transpose too short": (lambda: b().transpose([1, 0]), ValueError, ("3", "[1, 0]", "2")),
    "transpose twice": (lambda: b().transpose([0, 0, 1]), ValueError, ("[0, 0, 1]",)),
    "t": (lambda: b().t(), ValueError, ("[2, 3, 4]",)),
    "mT": (lambda: tensor([1.0]).mT, ValueError, ("[1]",)),
    "moveaxis": (lambda: b().moveaxis([0, 1], [1]), ValueError, ("[0, 1]", "[1]")),
    "expand": (lambda: a().expand([2, 4]), ValueError, ("[2, 3]", "[2, 4]", "3", "4")),
    "expand to fewer": (lambda: a().expand([3]), ValueError, ("[2, 3]", "[3]")),
    "expand a new axis by -1": (lambda: a().expand([-1, 2, 3]), ValueError, ("-1",)),
    "broadcast_tensors": (
        lambda: paddle.broadcast_tensors([a(), paddle.zeros([4], dtype="float64")]),
        ValueError,
        ("3", "4"),
    ),
    "meshgrid": (lambda: paddle.meshgrid(a(), a()), ValueError, ("[2, 3]",)),
    "concat": (lambda: paddle.concat([a(), paddle.zeros([3, 4], dtype="float64")]), ValueError, ("[2, 3]", "[3, 4]")),
    "concat axis": (lambda: paddle.concat([a(), a()], 4), ValueError, ("4", "2")),
    "concat dtypes": (lambda: paddle.concat([a(), paddle.zeros([2, 3])]), TypeError, ("float64", "float32")),
    "concat numbers": (lambda: paddle.concat([tensor(1.0), tensor(2.0)]), ValueError, ("0-D",)),
    "concat nothing": (lambda: paddle.concat([]), ValueError, ("empty",)),
    "concat a tensor": (lambda: paddle.concat(a()), ValueError, ("list",)),
    "stack": (lambda: paddle.stack([a(), b()]), ValueError, ("[2, 3]", "[2, 3, 4]")),
    "split": (lambda: a().split(2, 1), ValueError, ("2", "3")),
    "split by a negative number": (lambda: a().split(-1), ValueError, ("-1",)),
    "split sections": (lambda: a().split([1, 1], 1), ValueError, ("3", "[1, 1]", "2")),
    "unstack": (lambda: a().unstack(1, 2), ValueError, ("3", "2")),
    "tile": (lambda: a().tile([-1]), ValueError, ("-1",)),
    "flip twice": (lambda: a().flip([0, 0]), ValueError, ("[0, 0]",)),
    "roll": (lambda: a().roll([1, 2], 0), ValueError, ("[1, 2]",)),
    "slice": (lambda: paddle.slice(a(), [2], [0], [1]), ValueError, ("2",)),
    "slice_scatter lengths": (
        lambda: a().slice_scatter(paddle.ones([2, 1], dtype="float64"), [0, 1], [0], [2], [1]),
        ValueError,
        ("[0, 1]", "[0]"),
    ),
    "slice_scatter strides": (
        lambda: a().slice_scatter(paddle.ones([2, 3], dtype="float64"), [0, 1], [0, 0], [2, 3], [1]),
        ValueError,
        ("[0, 1]", "[1]"),
    ),
    "strided_slice lengths": (
        lambda: paddle.strided_slice(a(), [0, 1], [0, 0], [2, 3], [1]),
        ValueError,
        ("[0, 1]", "[1]"),
    ),
    "slice lengths": (lambda: paddle.slice(a(), [0, 1], [0], [1]), ValueError, ("[0, 1]", "[0]")),
    "strided_slice": (lambda: paddle.strided_slice(a(), [0], [0], [1], [0]), ValueError, ("0",)),
    "crop": (lambda: paddle.crop(a(), [2, 3], [0, 1]), ValueError, ("[2, 3]", "[0, 1]")),
    "as_strided": (lambda: a().as_strided([2, 2], [3, 3]), ValueError, ("6",)),
    "unfold": (lambda: a().unfold(1, 4, 1), ValueError, ("4", "3")),
    "pad mode": (lambda: pad(b(), [1, 1], "mirror"), ValueError, ("mirror", "reflect")),
    "pad too far": (lambda: pad(b(), [4, 0], "reflect"), ValueError, ("4",)),
    "pad layout": (lambda: pad(b(), [1, 1], data_format="NCHW"), ValueError, ("NCHW", "NCL")),
    "gather axis": (lambda: paddle.gather(b(), integers(0), axis=-4), ValueError, ("-4", "3")),
    "gather": (lambda: paddle.gather(a(), integers(0, 2)), IndexError, ("2", "axis 0", "size 2", "position 1")),
    "gather below": (lambda: paddle.gather(a(), integers(-3)), IndexError, ("-3", "size 2")),
    "gather by floats": (lambda: paddle.gather(a(), tensor([0.0])), TypeError, ("float64",)),
    "gather by a matrix": (lambda: paddle.gather(a(), integers([0, 1])), ValueError, ("[1, 2]",)),
    "gather_nd": (lambda: paddle.gather_nd(a(), integers([0, 3])), IndexError, ("3", "axis 1")),
    "gather_nd depth": (lambda: paddle.gather_nd(a(), integers([0, 0, 0])), ValueError, ("2", "[1, 3]")),
    "scatter": (lambda: paddle.scatter(a(), integers(5), tensor(A[:1])), IndexError, ("5", "size 2")),
    "scatter rows": (lambda: paddle.scatter(a(), integers(0, 1), tensor(A[:1])), ValueError, ("[2, 3]", "[1, 3]")),
    "scatter dtype": (
        lambda: paddle.scatter(a(), integers(0), paddle.zeros([1, 3])),
        TypeError,
        ("float64", "float32"),
    ),
    "index_select": (lambda: paddle.index_select(a(), integers(3), 1), IndexError, ("3", "axis 1", "size 3")),
    "index_sample": (lambda: paddle.index_sample(a(), integers([0], [-1])), IndexError, ("-1",)),
    "index_put": (
        lambda: paddle.index_put(a(), (integers(2),), tensor(0.0, dtype="float64")),
        IndexError,
        ("2", "size 2"),
    ),
    "take": (lambda: paddle.take(a(), integers(6)), IndexError, ("6",)),
    "take_along_axis": (lambda: paddle.take_along_axis(a(), integers([3]), 1), IndexError, ("3", "axis 1")),
    "put_along_axis": (lambda: paddle.put_along_axis(a(), integers([-4]), 0.0, 1), IndexError, ("-4", "axis 1")),
    "put_along_axis reduce": (
        lambda: paddle.put_along_axis(a(), integers([0]), 0.0, 1, "max"),
        ValueError,
        ("max", "amax"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    call, error, facts = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    for fact in facts:
        assert fact in str(caught.value), (fact, str(caught.value))


@pytest.mark.parametrize("function", ["concat", "stack", "gather", "index_select"])
def test_out_is_refused_by_name(function: str) -> None:
    x = paddle.zeros([2])
    first = [x, x] if function in ("concat", "stack") else x
    more = () if function in ("concat", "stack") else (integers(0),)
    with pytest.raises(NotImplementedError, match="out"):
        getattr(paddle, function)(first, *more, out=x)


def test_views_share_memory_and_copies_do_not() -> None:
    x = tensor(B)
    views = (
        x.reshape([6, 4]),
        x.squeeze(),
        x.unsqueeze(0),
        x.transpose([2, 0, 1]),
        x.T,
        x.flatten(),
        x[0],
        x.split(2)[1],
    )
    views += (
        x.unbind(1)[0],
        x.diagonal(),
        paddle.strided_slice(x, [2], [3], [0], [-2]),
        x.as_strided([2], [1]),
        x.unfold(2, 2, 1),
    )
    copies = (
        x.flip(0),
        x.roll(1),
        x.tile([1]),
        x.gather(integers(0)),
        x[[0]],
        paddle.concat([x]),
        x.repeat_interleave(1, 0),
    )
    x[...] = 0.0
    for view in views:
        assert not view.numpy().any()
    for copy in copies:
        assert copy.numpy().any()


def test_in_place_twins() -> None:
    x = paddle.arange(6, dtype="float64")
    y = x.reshape_([1, 2, 3])
    assert y is x and x.shape == [1, 2, 3]
    assert x.squeeze_(0).shape == [2, 3] and x.unsqueeze_(1).shape == [2, 1, 3]
    assert (
        x.flatten_().shape == [6] and x.reshape_([2, 3]).transpose_([1, 0]).shape == [3, 2] and x.t_().shape == [2, 3]
    )
    x.scatter_(integers(0), paddle.ones([1, 3], dtype="float64"))
    x.index_add_(integers(0, 0), 1, paddle.ones([2, 2], dtype="float64"))
    x.index_fill_(integers(1), 1, -1)
    x.index_put_((integers(1), integers(2)), tensor(50.0, dtype="float64"))
    x.put_along_axis_(integers([0]), 2.0, 1, "mul")
    np.testing.assert_array_equal(x.numpy(), [[6, -1, 1], [10, -1, 50]])
    assert x.inplace_version > 0


def test_the_last_of_several_writers_gets_the_gradient() -> None:
    updates = tensor(np.ones((3, 2)), stop_gradient=False)
    paddle.scatter(paddle.zeros([2, 2], dtype="float64"), integers(0, 0, 1), updates).sum().backward()
    np.testing.assert_array_equal(updates.grad.numpy(), [[0, 0], [1, 1], [1, 1]])


def test_gradient_of_a_product_with_zeros() -> None:
    x = tensor([2.0, 3.0], stop_gradient=False)
    values = tensor([0.0, 5.0, 0.0, 7.0], stop_gradient=False)
    paddle.put_along_axis(x, integers(0, 0, 1, 1), values, 0, "mul").sum().backward()
    np.testing.assert_array_equal(values.grad.numpy(), [10, 0, 21, 0])
    np.testing.assert_array_equal(x.grad.numpy(), [0, 0])


def test_a_maximum_shares_its_gradient_between_ties() -> None:
    x = tensor([2.0, 3.0], stop_gradient=False)
    values = tensor([2.0, 1.0, 2.0], stop_gradient=False)
    paddle.put_along_axis(x, integers(0, 0, 0), values, 0, "amax").sum().backward()
    np.testing.assert_allclose(values.grad.numpy(), [1 / 3, 0, 1 / 3])
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1])
