"""Sums, differences and choices among tensors. Source: paddle.tensor.math, paddle.tensor.manipulation."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import axis_of, refuse_out
from wherry.api.join import tensor_list
from wherry.core import dtype as dt
from wherry.infermeta.common import broadcast_shapes, canonical_axis
from wherry.tensor.tensor import Tensor

__all__ = [
    "add_n",
    "cumulative_trapezoid",
    "diff",
    "masked_scatter",
    "masked_scatter_",
    "multiplex",
    "reduce_as",
    "renorm",
    "renorm_",
    "shard_index",
    "trapezoid",
]
METHODS = __all__


def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """x with the elements where the mask is true replaced by those of `value`, in row-major order.

    x and the bool mask broadcast; value has x's dtype, any shape, and at least as many elements as are replaced (else ValueError). x and
    value get gradients. Source: paddle.masked_scatter.
    """
    if mask.dtype is not dt.bool_:
        raise TypeError(f"masked_scatter: expected a bool mask, received {mask.dtype.name}")
    if x.dtype is not value.dtype:
        raise TypeError(
            f"masked_scatter: expected x and value of one dtype, received {x.dtype.name}, {value.dtype.name}"
        )
    shape = broadcast_shapes(x.impl.meta.shape, mask.impl.meta.shape)
    if mask.impl.meta.shape != shape:
        mask = _C_ops.expand(mask, shape)
    count = int(_C_ops.sum(_C_ops.cast(mask, dt.int64), (), None, False))
    if value.size < count:
        raise ValueError(
            f"masked_scatter: expected a value for each of the {count} elements that the mask selects, received {value.size}"
        )
    used = _C_ops.slice(_C_ops.reshape(value, (-1,)), (0,), (0,), (count,))
    return _C_ops.where(mask, _C_ops.masked_spread(mask, used), x)


def masked_scatter_(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """In-place `masked_scatter`; the mask broadcasts to x (else ValueError). Source: paddle.masked_scatter_."""
    shape = x.impl.meta.shape
    if broadcast_shapes(shape, mask.impl.meta.shape) != shape:
        raise ValueError(
            f"masked_scatter_: expected a mask that broadcasts to {list(shape)}, received {list(mask.shape)}"
        )
    x[...] = masked_scatter(x, mask, value)
    return x


def add_n(inputs: Tensor | Sequence[Tensor], name: str | None = None) -> Tensor:
    """Sum of a list of tensors of one shape and dtype; a single tensor is copied.

    A 0-D tensor stands beside tensors of one element, whose shape the sum takes. Raises ValueError for an empty list and for
    tensors that differ. Source: paddle.add_n.
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else tensor_list(inputs, "add_n")
    if not tensors:
        raise ValueError("add_n: expected at least one Tensor, received an empty list")
    first = max(tensors, key=lambda t: t.ndim)
    for position, tensor in enumerate(tensors):
        if tensor.dtype is not first.dtype:
            raise ValueError(
                f"add_n: expected one dtype, received {tensor.dtype.name} at {position} beside {first.dtype.name}"
            )
        if tensor.impl.meta.shape != first.impl.meta.shape and not (tensor.ndim == 0 and first.size == 1):
            raise ValueError(
                f"add_n: expected tensors of one shape, received {list(tensor.shape)} at {position} and {list(first.shape)}"
            )
    total = _C_ops.assign(tensors[0])
    for tensor in tensors[1:]:
        total = _C_ops.add(total, tensor)
    return total


def _between_neighbours(x: Tensor, axis: int, operation: Any) -> Tensor:
    """operation(x[1:], x[:-1]) along an axis; nothing where there are no two elements."""
    length = x.shape[axis]
    later = _C_ops.slice(x, (axis,), (min(1, length),), (length,))
    earlier = _C_ops.slice(x, (axis,), (0,), (max(length - 1, 0),))
    return operation(later, earlier)


def diff(
    x: Tensor,
    n: int = 1,
    axis: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, taken n times; of bool tensors whether they differ.

    `prepend` and `append` are joined to x first and have its dtype. Raises ValueError for n < 1 or an axis that x has not. Source:
    paddle.diff.
    """
    refuse_out(out)
    if n < 1:
        raise ValueError(f"diff: expected n of at least 1, received {n}")
    if x.ndim == 0:
        raise ValueError("diff: expected a tensor of at least one dimension, received a 0-D tensor")
    place = canonical_axis(axis_of(axis), x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = _C_ops.concat(parts, place)
    operation = _C_ops.logical_xor if x.dtype.is_bool else _C_ops.subtract
    for _ in range(n):
        x = _between_neighbours(x, place, operation)
    return x


def _trapezoids(y: Tensor, x: Tensor | None, dx: Any, axis: int, name: str) -> tuple[Tensor, int]:
    """The areas between neighbours, and the axis."""
    if x is not None and dx is not None:
        raise ValueError(f"{name}: expected x or dx, received both")
    for tensor, which in ((y, "y"), (x, "x")):
        if tensor is not None and not tensor.dtype.is_floating:
            raise TypeError(f"{name}: expected a floating tensor for {which}, received {tensor.dtype.name}; cast it")
    if y.ndim == 0:
        raise ValueError(f"{name}: expected a tensor of at least one dimension, received a 0-D tensor")
    place = canonical_axis(axis_of(axis), y.ndim)
    sums = _between_neighbours(y, place, _C_ops.add)
    if x is not None:
        if x.ndim == 1:
            steps = diff(x)
            dx = _C_ops.reshape(steps, tuple(-1 if i == place else 1 for i in range(y.ndim)))
        else:
            dx = diff(x, axis=place)
    if isinstance(dx, Tensor):
        if x is None and dx.ndim > 1:
            raise ValueError(f"{name}: expected dx of at most one dimension, received shape {list(dx.shape)}")
        return _C_ops.scale(_C_ops.multiply(sums, dx), 0.5), place
    return _C_ops.scale(sums, 0.5 * (1.0 if dx is None else float(dx))), place


def trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Integral along an axis by the trapezoidal rule.

    `x` holds the places of the samples (one dimension, or as many as y), or `dx` is the distance between them (1 by default). Floating
    tensors. Raises ValueError where both are given. Source: paddle.trapezoid.
    """
    areas, place = _trapezoids(y, x, dx, axis, "trapezoid")
    return _C_ops.sum(areas, (place,), None, False)


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Running integrals along an axis by the trapezoidal rule, one fewer than samples.

    Arguments as for `trapezoid`. Source: paddle.cumulative_trapezoid.
    """
    areas, place = _trapezoids(y, x, dx, axis, "cumulative_trapezoid")
    return _C_ops.cumsum(areas, place, False)


def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """x summed over the axes that broadcasting `target` to x's shape adds or repeats, in target's shape.

    bool and int32 give int64, as for `sum`. Raises ValueError where target's shape does not broadcast to x's. Source: paddle.reduce_as.
    """
    have, want = x.impl.meta.shape, target.impl.meta.shape
    lead = len(have) - len(want)
    if lead < 0 or any(w not in (1, h) for h, w in zip(have[lead:], want)):
        raise ValueError(
            f"reduce_as: expected a target whose shape broadcasts to {list(have)}, received one of shape {list(want)}"
        )
    axes = tuple(range(lead)) + tuple(lead + i for i, w in enumerate(want) if w == 1 and have[lead + i] != 1)
    return _C_ops.reshape(_C_ops.sum(x, axes, None, False), want) if axes else _C_ops.assign(x)


def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """x with each slice along an axis whose p-norm is above `max_norm` scaled down to it.

    Floating or complex x; p > 0 may be infinite. Raises ValueError for another p, a negative max_norm, or an axis that x has not. Source:
    paddle.renorm.
    """
    if not p > 0 or max_norm < 0:
        raise ValueError(f"renorm: expected p > 0 and max_norm >= 0, received p = {p} and max_norm = {max_norm}")
    if not x.dtype.is_differentiable:
        raise TypeError(f"renorm: expected a floating or complex tensor, received {x.dtype.name}; cast it")
    if x.ndim == 0:
        raise ValueError("renorm: expected a tensor of at least one dimension, received a 0-D tensor")
    place = canonical_axis(axis_of(axis), x.ndim)
    rest = tuple(i for i in range(x.ndim) if i != place)
    norms = _C_ops.p_norm(x, float(p), rest, True) if rest else _C_ops.abs(x)
    over = _C_ops.greater_than(norms, _C_ops.full((), float(max_norm), norms.dtype))
    # Norms that stay are not divided by: one of them may be 0.
    divisor = _C_ops.where(over, norms, _C_ops.full((), 1.0, norms.dtype))
    factor = _C_ops.divide(_C_ops.full((), float(max_norm), norms.dtype), divisor)
    factor = _C_ops.where(over, factor, _C_ops.full((), 1.0, norms.dtype))
    return _C_ops.multiply(x, factor)


def renorm_(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """In-place `renorm`: the result is written to x. Source: paddle.renorm_."""
    # From a copy: what is written to may not be what the derivative needs.
    x[...] = renorm(_C_ops.assign(x), p, axis, max_norm)
    return x


def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """Row i of the result is row i of the input that `index` names for it.

    inputs: at least two tensors of one dtype and shape, of two dimensions or more. index: int32 or int64, a column [rows, 1] of at most as
    many rows. Raises ValueError for other shapes, IndexError for a number that names no input. Source: paddle.multiplex.
    """
    return _C_ops.multiplex(tensor_list(inputs, "multiplex"), index)


def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """Indices counted within a shard, where `index_num` of them are split evenly over `nshards`; elsewhere `ignore_value`.

    input: int32 or int64, at least two dimensions. Raises ValueError for indices outside [0, index_num), or numbers that make no sense.
    Source: paddle.shard_index.
    """
    if input.dtype is not dt.int32 and input.dtype is not dt.int64:
        raise TypeError(f"shard_index: expected int32 or int64, received {input.dtype.name}")
    if input.ndim < 2:
        raise ValueError(f"shard_index: expected at least two dimensions, received shape {list(input.shape)}")
    if index_num <= 0 or nshards <= 0 or not 0 <= shard_id < nshards:
        raise ValueError(
            "shard_index: expected index_num > 0, nshards > 0 and shard_id in [0, nshards), received "
            f"index_num = {index_num}, nshards = {nshards}, shard_id = {shard_id}"
        )
    if input.size and not 0 <= int(_C_ops.min(input, (), False)) <= int(_C_ops.max(input, (), False)) < index_num:
        raise ValueError(f"shard_index: expected indices in [0, {index_num}), received others")
    size = _C_ops.full((), math.ceil(index_num / nshards), input.dtype)
    mine = _C_ops.equal(_C_ops.floor_divide(input, size), _C_ops.full((), shard_id, input.dtype))
    return _C_ops.where(mine, _C_ops.remainder(input, size), _C_ops.full((), ignore_value, input.dtype))
