"""Public functions of gather, scatter and their kin. Source: paddle.tensor.manipulation, paddle.tensor.search."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import axes_of, axis_of, refuse_out
from wherry.infermeta.common import broadcast_shapes, canonical_axis
from wherry.tensor.indexing import value_of
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = [
    "gather",
    "index_add",
    "index_add_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_select",
    "put_along_axis",
    "put_along_axis_",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_nd",
    "scatter_reduce",
    "take_along_axis",
    "take_along_dim",
]
METHODS = __all__


def gather(
    x: Tensor,
    index: Tensor,
    axis: int | Tensor | None = None,
    name: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The slices of x along an axis (0 where None) that index names, in its order.

    index: integers, 1-D or [n, 1], negative ones counting from the end; a 0-D index drops the axis. Raises IndexError for an index
    out of bounds, ValueError for an axis out of range or an index of more dimensions. Source: paddle.gather.
    """
    refuse_out(out)
    return _C_ops.gather(x, index, 0 if axis is None else axis_of(axis))


def index_select(
    x: Tensor, index: Tensor, axis: int = 0, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The slices of x along an axis that a 1-D index names, in its order.

    Raises IndexError for an index out of bounds, ValueError for an axis out of range or an index of more dimensions.
    Source: paddle.index_select.
    """
    refuse_out(out)
    return _C_ops.index_select(x, index, axis)


def scatter(
    x: Tensor,
    index: Tensor,
    updates: Tensor,
    overwrite: bool = True,
    name: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x with rows replaced by updates; of several updates for a row the last stays.

    Without `overwrite` the rows named are set to zero and all their updates added. index: integers, 1-D; updates: a row of x's shape
    and dtype for each. Raises IndexError for an index out of bounds, ValueError for shapes, TypeError for dtypes. Source: paddle.scatter.
    """
    refuse_out(out)
    return _C_ops.scatter(x, index, updates, overwrite)


def scatter_(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Tensor:
    """In-place twin of scatter. Source: paddle.scatter_."""
    return _C_ops.scatter_(x, index, updates, overwrite)


def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape with updates added at the positions that the last dimension of index holds.

    As scatter_nd_add, on zeros. Source: paddle.scatter_nd.
    """
    zeros = _C_ops.full(axes_of(shape, "shape"), 0.0, updates.dtype, None)
    return _C_ops.scatter_nd_add(zeros, index, updates)


def _scaled(value: Tensor, alpha: Any) -> Tensor:
    return value if alpha == 1 else _C_ops.scale(value, alpha, 0.0, True)


def index_add(
    x: Tensor,
    index: Tensor,
    axis: int,
    value: Tensor,
    alpha: Any = 1,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of x with alpha times the slices of value added along an axis where index says; repeated indices add up.

    index: integers, 1-D; value: x's shape but for the axis, and x's dtype. Raises IndexError for an index out of bounds, ValueError for
    shapes, TypeError for dtypes. Source: paddle.index_add.
    """
    refuse_out(out)
    return _C_ops.index_add(x, index, _scaled(value, alpha), axis)


def index_add_(x: Tensor, index: Tensor, axis: int, value: Tensor, alpha: Any = 1, name: str | None = None) -> Tensor:
    """In-place twin of index_add. Source: paddle.index_add_."""
    return _C_ops.index_add_(x, index, _scaled(value, alpha), axis)


def _put_indices(x: Tensor, indices: Any, function: str) -> tuple[list[Tensor], Any]:
    """The index tensors of index_put, masks replaced by positions, and the spec that goes with them."""
    if not isinstance(indices, (list, tuple)) or not indices:
        raise ValueError(f"{function}: expected a non-empty tuple of index Tensors, received {type(indices).__name__}")
    shape = x.impl.meta.shape
    result: list[Tensor] = []
    for index in indices:
        if not isinstance(index, Tensor):
            raise TypeError(f"{function}: expected Tensors in indices, received {type(index).__name__}")
        if not index.dtype.is_bool:
            result.append(index)
            continue
        array = index.impl.array
        axis = len(result)
        if array.shape != shape[axis : axis + array.ndim] or array.ndim == 0:
            raise IndexError(
                f"{function}: expected a mask that fits axis {axis} of shape {list(shape)}, received {list(array.shape)}"
            )
        result += [tensor_from_array(places) for places in array.nonzero()]
    if len(result) > len(shape):
        raise IndexError(
            f"{function}: expected at most {len(shape)} indices for shape {list(shape)}, received {len(result)}"
        )
    return result, ((Ellipsis,), tuple(range(len(result))))


def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Tensor, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """A copy of x with value put, or added where `accumulate`, at the places that index tensors name together.

    indices: a tuple of integer tensors that broadcast together, one for each leading axis, or bool masks; value broadcasts to the places. Of
    several values for a place the last stays, or all add up. Raises IndexError for an index out of bounds, ValueError for shapes, TypeError
    for a value of another dtype. Source: paddle.index_put.
    """
    tensors, spec = _put_indices(x, indices, "index_put")
    return _C_ops.setitem_advanced(x, value, tensors, spec, accumulate)


def index_put_(
    x: Tensor, indices: Sequence[Tensor], value: Tensor, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """In-place twin of index_put. Source: paddle.index_put_."""
    tensors, spec = _put_indices(x, indices, "index_put_")
    return _C_ops.setitem_advanced_(x, value, tensors, spec, accumulate)


def _fill(x: Tensor, index: Tensor, axis: int, value: Any, function: str) -> tuple[Any, ...]:
    place = canonical_axis(axis_of(axis), x.impl.meta.ndim)
    if index.impl.meta.ndim != 1:
        raise ValueError(f"{function}: expected a 1-D index, received shape {list(index.shape)}")
    if isinstance(value, Tensor) and value.impl.meta.size != 1:
        raise ValueError(
            f"{function}: expected a number or a one-element Tensor as value, received shape {list(value.shape)}"
        )
    value = value_of(value, x)
    if value.impl.meta.ndim:
        value = _C_ops.reshape(value, ())
    return x, value, [index], ((Ellipsis,), (place,)), False


def index_fill(x: Tensor, index: Tensor, axis: int, value: Any, name: str | None = None) -> Tensor:
    """A copy of x with the slices along an axis that a 1-D index names set to a number.

    Raises IndexError for an index out of bounds, ValueError for an axis out of range. Source: paddle.index_fill.
    """
    return _C_ops.setitem_advanced(*_fill(x, index, axis, value, "index_fill"))


def index_fill_(x: Tensor, index: Tensor, axis: int, value: Any, name: str | None = None) -> Tensor:
    """In-place twin of index_fill. Source: paddle.index_fill_."""
    return _C_ops.setitem_advanced_(*_fill(x, index, axis, value, "index_fill_"))


def _meet(arr: Tensor, indices: Tensor, axis: int, function: str) -> tuple[int, tuple[int, ...]]:
    """The axis, and the shape both have after broadcasting in all axes but that one."""
    have, want = arr.impl.meta.shape, indices.impl.meta.shape
    if len(have) != len(want):
        raise ValueError(
            f"{function}: expected arr and indices of as many dimensions, received shapes {list(have)} and {list(want)}"
        )
    if not have:
        raise ValueError(f"{function}: expected tensors of at least one dimension, received 0-D tensors")
    place = canonical_axis(axis_of(axis), len(have))
    joint = broadcast_shapes(have[:place] + (1,) + have[place + 1 :], want[:place] + (1,) + want[place + 1 :])
    return place, joint


def take_along_axis(
    arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True, *, out: Tensor | None = None
) -> Tensor:
    """For each position of indices, the element of arr at that position but along the axis at the index.

    indices: integers, as many dimensions as arr, negative ones counting from the end; with `broadcast` both broadcast to each other in
    the other axes, without it indices may be smaller than arr. Raises IndexError for an index out of bounds, ValueError for shapes.
    Source: paddle.take_along_axis.
    """
    refuse_out(out)
    if broadcast:
        place, joint = _meet(arr, indices, axis, "take_along_axis")
        arr = _expanded(arr, place, joint)
        indices = _expanded(indices, place, joint)
    return _C_ops.take_along_axis(arr, indices, axis)


take_along_dim = take_along_axis


def _expanded(x: Tensor, axis: int, joint: tuple[int, ...]) -> Tensor:
    shape = joint[:axis] + (x.impl.meta.shape[axis],) + joint[axis + 1 :]
    return x if shape == x.impl.meta.shape else _C_ops.expand(x, shape)


def _put(arr: Tensor, indices: Tensor, values: Any, axis: int, broadcast: bool, function: str) -> tuple[Tensor, Tensor]:
    """Indices and values in the shape in which they are put."""
    if broadcast:
        place, joint = _meet(arr, indices, axis, function)
        if joint[:place] + joint[place + 1 :] != arr.impl.meta.shape[:place] + arr.impl.meta.shape[place + 1 :]:
            raise ValueError(
                f"{function}: expected indices that broadcast to arr of shape {list(arr.shape)} but along axis {place}, received "
                f"{list(indices.shape)}"
            )
        indices = _expanded(indices, place, joint)
    if not isinstance(values, Tensor):
        values = value_of(values, arr)
    shape = indices.impl.meta.shape
    if broadcast or values.impl.meta.ndim == 0:
        values = values if values.impl.meta.shape == shape else _C_ops.expand(values, shape)
    return indices, values


def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """A copy of arr with values put, for each position of indices, at that position but along the axis at the index.

    reduce: "assign" (the last of several values stays), "add", "mul" or "multiply", "mean", "amax", "amin"; without `include_self` the
    elements of arr that are reached take no part. values: a number or a tensor of arr's dtype that broadcasts to indices. With
    `broadcast` indices broadcast to arr in the other axes. Gradients of a maximum are shared evenly between ties. Raises IndexError for an
    index out of bounds, ValueError for shapes and another reduce, TypeError for dtypes. Source: paddle.put_along_axis.
    """
    indices, values = _put(arr, indices, values, axis, broadcast, "put_along_axis")
    return _C_ops.put_along_axis(arr, indices, values, axis, reduce, include_self)


def put_along_axis_(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """In-place twin of put_along_axis. Source: paddle.put_along_axis_."""
    indices, values = _put(arr, indices, values, axis, broadcast, "put_along_axis_")
    return _C_ops.put_along_axis_(arr, indices, values, axis, reduce, include_self)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with the elements of src added along an axis where index says. Source: paddle.scatter_add."""
    return put_along_axis(input, index, src, dim, "add", True, False)


def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place twin of scatter_add. Source: paddle.scatter_add_."""
    return put_along_axis_(input, index, src, dim, "add", True, False)


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of input with the elements of src reduced in along an axis where index says.

    reduce: "sum", "prod", "mean", "amax" or "amin"; raises ValueError for another. Source: paddle.scatter_reduce.
    """
    names = {"sum": "add", "prod": "mul", "mean": "mean", "amax": "amax", "amin": "amin"}
    if reduce not in names:
        raise ValueError(f"scatter_reduce: expected reduce to be one of {list(names)}, received {reduce!r}")
    return put_along_axis(input, index, src, dim, names[reduce], include_self, False)
