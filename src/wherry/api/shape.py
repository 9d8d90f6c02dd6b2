"""Public functions that change a shape and keep the elements. Source: paddle.tensor.manipulation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.arguments import AxisLike, axes_of, axis_of
from wherry.core import dtype as dt
from wherry.core.dtype import convert_dtype
from wherry.infermeta.common import broadcast_shapes as joint_shape
from wherry.infermeta.common import canonical_axis
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shape",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "expand",
    "expand_as",
    "is_empty",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "numel",
    "permute",
    "rank",
    "ravel",
    "reshape",
    "reshape_",
    "rot90",
    "shape",
    "squeeze",
    "squeeze_",
    "swapaxes",
    "swapdims",
    "t",
    "t_",
    "transpose",
    "transpose_",
    "unflatten",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
]
METHODS = [name for name in __all__ if name not in ("meshgrid", "shape")] + ["T", "mT"]

ShapeLike = int | Sequence[int] | Tensor | Any


def dims_of(first: Any, more: tuple[Any, ...]) -> Any:
    """A shape given as one argument, or as several integers."""
    if more and (more[-1] is None or isinstance(more[-1], str)):
        # The position of `name` in Paddle's signature.
        more = more[:-1]
    return (first, *more) if more else first


def reshape(x: Tensor, shape: ShapeLike, *more: int, name: str | None = None) -> Tensor:
    """x with another shape and the same elements.

    `shape` is a list, a tuple, an integer tensor, or several integers; 0 copies the dimension of x at that position (in a tensor
    without elements it is the size 0), one -1 stands for what is left. Shares x's memory where its strides allow. Raises ValueError
    where the numbers of elements differ. Source: paddle.reshape.
    """
    return _C_ops.reshape(x, dims_of(shape, more))


def reshape_(x: Tensor, shape: ShapeLike, *more: int, name: str | None = None) -> Tensor:
    """In-place twin of reshape: x itself gets the shape, and is returned. Source: paddle.reshape_."""
    return _C_ops.reshape_(x, dims_of(shape, more))


def view(x: Tensor, shape_or_dtype: Any, *more: int, name: str | None = None) -> Tensor:
    """x's memory with another shape, or read as another dtype.

    With a dtype of another width the last dimension changes so that the bytes stay the same; no gradient flows through that. Raises
    ValueError for a shape of another number of elements and for a last dimension that does not divide. Source: paddle.view.
    """
    if not more and isinstance(shape_or_dtype, (str, dt.DataType, type)):
        dtype = convert_dtype(shape_or_dtype)
        return x if dtype is x.dtype else _C_ops.view_dtype(x, dtype)
    return _C_ops.reshape(x, dims_of(shape_or_dtype, more))


def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """x's memory with the shape of `other`; raises ValueError where the numbers of elements differ. Source: paddle.view_as."""
    return _C_ops.reshape(x, other.impl.meta.shape)


def squeeze(x: Tensor, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """x without the axes of size 1, all of them or those named.

    A named axis of another size stays. Shares x's memory. Raises ValueError for an axis out of range. Source: paddle.squeeze.
    """
    return _C_ops.squeeze(x, axes_of(axis))


def squeeze_(x: Tensor, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """In-place twin of squeeze. Source: paddle.squeeze_."""
    return _C_ops.squeeze_(x, axes_of(axis))


def unsqueeze(x: Tensor, axis: AxisLike, name: str | None = None) -> Tensor:
    """x with axes of size 1 put in, one after the other: each axis counts in the shape made so far.

    Shares x's memory. Raises ValueError for an axis out of range. Source: paddle.unsqueeze.
    """
    return _C_ops.unsqueeze(x, axes_of(axis))


def unsqueeze_(x: Tensor, axis: AxisLike, name: str | None = None) -> Tensor:
    """In-place twin of unsqueeze. Source: paddle.unsqueeze_."""
    return _C_ops.unsqueeze_(x, axes_of(axis))


def ravel(input: Tensor) -> Tensor:
    """All axes made one. Source: paddle.ravel."""
    return _C_ops.flatten(input, 0, -1)


def unflatten(x: Tensor, axis: int, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The axis replaced by several, of the sizes in `shape` (one may be -1).

    Raises ValueError where their product is not the axis's size. Source: paddle.unflatten.
    """
    place = canonical_axis(axis_of(axis), x.impl.meta.ndim)
    old = x.impl.meta.shape
    sizes = axes_of(shape, "shape")
    known = 1
    for size in sizes:
        known *= size if size != -1 else 1
    if sizes.count(-1) > 1 or (known != old[place] if -1 not in sizes else known == 0 or old[place] % known != 0):
        raise ValueError(
            f"unflatten: expected sizes whose product is {old[place]}, the size of axis {axis} of shape {list(old)}, received {list(sizes)}"
        )
    sizes = tuple(old[place] // known if size == -1 else size for size in sizes)
    return _C_ops.reshape(x, old[:place] + sizes + old[place + 1 :])


def permutation(x: Tensor, perm: Any, more: tuple[Any, ...], name: str) -> Any:
    """The permutation meant by one sequence, by two axes to exchange, or by one integer an axis."""
    if more and (more[-1] is None or isinstance(more[-1], str)):
        more = more[:-1]
    if len(more) == 1:
        return exchanged(x, axis_of(perm), axis_of(more[0]), name)
    return (perm, *more) if more else perm


def exchanged(x: Tensor, first: int, second: int, name: str) -> list[int]:
    """The permutation that exchanges two axes."""
    ndim = x.impl.meta.ndim
    perm = list(range(max(ndim, 1)))
    a, b = canonical_axis(first, ndim), canonical_axis(second, ndim)
    perm[a], perm[b] = perm[b], perm[a]
    return perm[:ndim]


def transpose(x: Tensor, perm: Any, *more: int, name: str | None = None) -> Tensor:
    """x with its axes in the order of `perm`, a view.

    `perm` has one entry for each axis, negative ones counting from the end; two integers instead exchange two axes. Raises ValueError for
    a perm of another length or with an axis named twice. Source: paddle.transpose.
    """
    return _C_ops.transpose(x, permutation(x, perm, more, "transpose"))


def transpose_(x: Tensor, perm: Any, *more: int, name: str | None = None) -> Tensor:
    """In-place twin of transpose. Source: paddle.transpose_."""
    return _C_ops.transpose_(x, permutation(x, perm, more, "transpose_"))


swapaxes = transpose
swapdims = transpose


def permute(input: Tensor, dims: Any, *more: int) -> Tensor:
    """input with its axes in the order of `dims`, one sequence or several integers. Source: paddle.permute."""
    return _C_ops.transpose(input, (dims, *more) if more else dims)


def _t_perm(input: Tensor) -> tuple[int, ...]:
    ndim = input.impl.meta.ndim
    if ndim > 2:
        raise ValueError(
            f"t: expected a tensor of at most two dimensions, received shape {list(input.shape)}; use transpose"
        )
    return tuple(range(ndim))[::-1]


def t(input: Tensor, name: str | None = None) -> Tensor:
    """A matrix with rows and columns exchanged, a view; a tensor of fewer dimensions as it is.

    Raises ValueError for more than two dimensions. Source: paddle.t.
    """
    return _C_ops.transpose(input, _t_perm(input))


def t_(input: Tensor, name: str | None = None) -> Tensor:
    """In-place twin of t. Source: paddle.t_."""
    return _C_ops.transpose_(input, _t_perm(input))


def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """The last two axes exchanged, a view; raises ValueError for fewer than two dimensions. Source: paddle.matrix_transpose."""
    ndim = x.impl.meta.ndim
    if ndim < 2:
        raise ValueError(
            f"matrix_transpose: expected a tensor of at least two dimensions, received shape {list(x.shape)}"
        )
    return _C_ops.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def _reversed(x: Tensor) -> Tensor:
    """The axes in reverse order, a view. Source: paddle.Tensor.T."""
    return _C_ops.transpose(x, tuple(range(x.impl.meta.ndim))[::-1])


T = property(_reversed, doc=_reversed.__doc__)
mT = property(matrix_transpose, doc="The last two axes exchanged, a view. Source: paddle.Tensor.mT.")


def moveaxis(x: Tensor, source: Any, destination: Any, name: str | None = None) -> Tensor:
    """Some axes moved to other places, the rest in their order; a view.

    `source` and `destination` are integers or lists of one length. Raises ValueError for axes out of range or named twice.
    Source: paddle.moveaxis.
    """
    ndim = x.impl.meta.ndim
    old = [canonical_axis(a, ndim, "source") for a in axes_of(source, "source")]
    new = [canonical_axis(a, ndim, "destination") for a in axes_of(destination, "destination")]
    if len(old) != len(new):
        raise ValueError(
            f"moveaxis: expected source and destination of one length, received {source} and {destination}"
        )
    for name_, axes in (("source", old), ("destination", new)):
        if len(set(axes)) != len(axes):
            raise ValueError(f"moveaxis: expected different axes in {name_}, received {axes}")
    perm = [a for a in range(ndim) if a not in old]
    for place, axis in sorted(zip(new, old)):
        perm.insert(place, axis)
    return _C_ops.transpose(x, tuple(perm))


def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> Tensor:
    """x turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    Raises ValueError for fewer than two dimensions and for axes that are not two different ones. Source: paddle.rot90.
    """
    ndim = x.impl.meta.ndim
    plane = axes_of(axes, "axes")
    if ndim < 2 or len(plane) != 2:
        raise ValueError(
            f"rot90: expected two axes of a tensor of at least two dimensions, received {list(plane)} for shape {list(x.shape)}"
        )
    first, second = (canonical_axis(a, ndim, "axes") for a in plane)
    if first == second:
        raise ValueError(f"rot90: expected two different axes, received {list(plane)}")
    k = axis_of(k, "k") % 4
    if k == 0:
        return _C_ops.assign(x)
    if k == 2:
        return _C_ops.flip(x, (first, second))
    perm = exchanged(x, first, second, "rot90")
    if k == 1:
        return _C_ops.transpose(_C_ops.flip(x, (second,)), perm)
    return _C_ops.flip(_C_ops.transpose(x, perm), (second,))


def expand(x: Tensor, shape: ShapeLike, *more: int, name: str | None = None) -> Tensor:
    """x with its dimensions of size 1 repeated to a shape, without a copy; -1 keeps a dimension.

    The result shares x's memory and refuses in-place changes. Raises ValueError for a shape that x does not broadcast to.
    Source: paddle.expand.
    """
    return _C_ops.expand(x, dims_of(shape, more))


def broadcast_to(x: Tensor, shape: ShapeLike, *more: int, name: str | None = None) -> Tensor:
    """Another name of expand. Source: paddle.broadcast_to."""
    return _C_ops.expand(x, dims_of(shape, more))


def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """x expanded to y's shape. Source: paddle.expand_as."""
    return _C_ops.expand(x, y.impl.meta.shape)


def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """The shape two shapes broadcast to, as a list; a -1 takes the other's size.

    Raises ValueError for shapes that do not broadcast together. Source: paddle.broadcast_shape.
    """
    x, y = axes_of(x_shape, "x_shape"), axes_of(y_shape, "y_shape")
    if -1 in x or -1 in y:
        ndim = max(len(x), len(y))
        left, right = (1,) * (ndim - len(x)) + x, (1,) * (ndim - len(y)) + y
        pairs = [(b if a == -1 and b != 1 else a, a if b == -1 and a != 1 else b) for a, b in zip(left, right)]
        x, y = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    return list(joint_shape(x, y))


def broadcast_shapes(*shapes: Sequence[int]) -> list[int]:
    """The shape several shapes broadcast to, as a list. Source: paddle.broadcast_shapes."""
    result: list[int] = []
    for shape in shapes:
        result = broadcast_shape(result, shape)
    return result


def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """The tensors, all expanded to their common shape.

    Raises ValueError for shapes that do not broadcast together, TypeError for dtypes that differ. Source: paddle.broadcast_tensors.
    """
    tensors = list(input)
    if not tensors:
        raise ValueError("broadcast_tensors: expected at least one tensor, received none")
    shape: tuple[int, ...] = ()
    for position, tensor in enumerate(tensors):
        if tensor.dtype is not tensors[0].dtype:
            raise TypeError(
                f"broadcast_tensors: expected tensors of one dtype, received {tensors[0].dtype.name} and, at position {position}, "
                f"{tensor.dtype.name}"
            )
        shape = joint_shape(shape, tensor.impl.meta.shape)
    return [_C_ops.expand(tensor, shape) for tensor in tensors]


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinate tensors of the grid that 1-D (or 0-D) tensors span, given one by one or as a list.

    `indexing` is "ij" (the result's axes in the order of the tensors) or "xy" (the first two exchanged). Raises ValueError
    for tensors of more dimensions. Source: paddle.meshgrid.
    """
    indexing = kwargs.pop("indexing", "ij")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"meshgrid: unexpected argument {next(iter(kwargs))!r}")
    tensors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: expected indexing 'ij' or 'xy', received {indexing!r}")
    for position, tensor in enumerate(tensors):
        if tensor.impl.meta.ndim > 1:
            raise ValueError(
                f"meshgrid: expected 1-D tensors, received shape {list(tensor.shape)} at position {position}"
            )
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    sizes = tuple(tensors[i].impl.meta.size for i in order)
    grids = []
    for position, tensor in enumerate(tensors):
        alone = [1] * len(order)
        alone[order.index(position)] = tensor.impl.meta.size
        grids.append(_C_ops.expand(_C_ops.reshape(tensor, tuple(alone)), sizes))
    return grids


def _at_least(inputs: tuple[Any, ...], widen: Any) -> Any:
    from wherry.api.creation import to_tensor

    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    results = [widen(value if isinstance(value, Tensor) else to_tensor(value)) for value in inputs]
    return results[0] if len(results) == 1 else results


def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """Each input with at least one dimension: one tensor for one input, else a list. Source: paddle.atleast_1d."""
    return _at_least(inputs, lambda x: _C_ops.reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """Each input with at least two dimensions, new ones in front. Source: paddle.atleast_2d."""
    return _at_least(inputs, lambda x: x if x.ndim >= 2 else _C_ops.unsqueeze(x, (0,) * (2 - x.ndim)))


def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """Each input with at least three dimensions: a vector becomes [1, n, 1], a matrix [m, n, 1]. Source: paddle.atleast_3d."""
    return _at_least(inputs, lambda x: x if x.ndim >= 3 else _C_ops.unsqueeze(x, ((0, 0, 0), (0, 2), (2,))[x.ndim]))


def shape(input: Tensor) -> Tensor:
    """The dimensions as an int64 tensor. Source: paddle.shape."""
    result: Tensor = tensor_from_array(np.array(input.impl.meta.shape, np.int64))
    return result


def rank(input: Tensor) -> Tensor:
    """The number of dimensions as a 0-D int32 tensor. Source: paddle.rank."""
    result: Tensor = tensor_from_array(np.array(input.impl.meta.ndim, np.int32))
    return result


def numel(x: Tensor, name: str | None = None) -> Tensor:
    """The number of elements as a 0-D int64 tensor. Source: paddle.numel."""
    result: Tensor = tensor_from_array(np.array(x.impl.meta.size, np.int64))
    return result


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Whether there are no elements, as a 0-D bool tensor. Source: paddle.is_empty."""
    result: Tensor = tensor_from_array(np.array(x.impl.meta.size == 0))
    return result
