"""Searching and sorting. Source: paddle.tensor.search."""

from collections import namedtuple
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import AxisLike, DTypeLike, axes_of, axis_of, dtype_of
from wherry.tensor.tensor import Tensor

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "bincount",
    "bucketize",
    "kthvalue",
    "masked_select",
    "nonzero",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]
METHODS = __all__

TopKRetType = namedtuple("TopKRetType", ["values", "indices"])


def argmax(
    x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: DTypeLike = "int64", name: str | None = None
) -> Tensor:
    """Place of the first maximum along an axis, or among all elements with axis=None.

    dtype: int32 or int64. Raises ValueError for an axis that x has not, another dtype, or nothing to choose from.
    Source: paddle.argmax.
    """
    return _C_ops.argmax(x, 0 if axis is None else axis_of(axis), keepdim, axis is None, dtype_of(dtype))


def argmin(
    x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: DTypeLike = "int64", name: str | None = None
) -> Tensor:
    """Place of the first minimum along an axis, or among all elements with axis=None. Source: paddle.argmin."""
    return _C_ops.argmin(x, 0 if axis is None else axis_of(axis), keepdim, axis is None, dtype_of(dtype))


def sort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None) -> Tensor:
    """The elements in order along an axis; NaN counts as the largest. The order of equals is always kept.

    Raises ValueError for an axis that x has not, TypeError for complex x. Source: paddle.sort.
    """
    return _C_ops.argsort(x, axis_of(axis), descending, stable)[0]


def argsort(
    x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Tensor:
    """The indices (int64) that sort x along an axis; see `sort`. Source: paddle.argsort."""
    return _C_ops.argsort(x, axis_of(axis), descending, stable)[1]


def topk(
    x: Tensor,
    k: Any,
    axis: int | None = None,
    largest: bool = True,
    sorted: bool = True,
    name: str | None = None,
) -> TopKRetType:
    """The k largest (or smallest) elements along an axis (the last by default), in order, and their indices.

    k: an integer or a one-element tensor. Raises ValueError for a k outside [1, length of the axis]. Source: paddle.topk.
    """
    return TopKRetType(*_C_ops.topk(x, int(k), -1 if axis is None else axis_of(axis), largest, sorted))


def kthvalue(
    x: Tensor, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis (the last by default) and its index. Source: paddle.kthvalue."""
    place = -1 if axis is None else axis_of(axis)
    values, indices = _C_ops.topk(x, int(k), place, False, True)
    if x.ndim == 0:
        return values, indices
    place %= x.ndim
    values, indices = (_C_ops.slice(t, (place,), (k - 1,), (k,)) for t in (values, indices))
    if keepdim:
        return values, indices
    return _C_ops.squeeze(values, (place,)), _C_ops.squeeze(indices, (place,))


def nonzero(x: Tensor, as_tuple: bool = False, *, out: Tensor | None = None) -> Any:
    """The indices of elements that are not zero: a row for each, or with as_tuple a tensor for each axis.

    Raises ValueError for a 0-D tensor. Source: paddle.nonzero.
    """
    if out is not None:
        raise NotImplementedError("nonzero: the argument out is not supported")
    rows = _C_ops.nonzero(x)
    if not as_tuple:
        return rows
    return tuple(rows[:, i] for i in range(x.ndim))


def argwhere(input: Tensor) -> Tensor:
    """The indices of elements that are not zero, a row for each. Source: paddle.argwhere."""
    return nonzero(input)


def masked_select(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The elements where the mask is true, in row-major order; x and mask broadcast.

    Raises TypeError for a mask that is not bool, ValueError for shapes that do not broadcast. Source: paddle.masked_select.
    """
    if x.shape != mask.shape:
        from wherry.infermeta.common import broadcast_shapes

        shape = broadcast_shapes(tuple(x.shape), tuple(mask.shape))
        x, mask = _C_ops.expand(x, shape), _C_ops.expand(mask, shape)
    return _C_ops.masked_select(x, mask)


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: AxisLike = None,
    dtype: DTypeLike = "int64",
    sorted: bool = True,
    name: str | None = None,
) -> Any:
    """The distinct elements in order (or distinct slices along an axis), and what is asked for beside them.

    return_index: first place of each; return_inverse: for each element its place in the result; return_counts. dtype: int32 or int64, of those. Raises
    ValueError for another dtype or an axis that x has not. Source: paddle.unique.
    """
    axes = axes_of(axis)
    found = _C_ops.unique(x, return_index, return_inverse, return_counts, axes, dtype_of(dtype))
    wanted = (True, return_index, return_inverse, return_counts)
    result = tuple(t for t, w in zip(found, wanted) if w)
    return result[0] if len(result) == 1 else result


def unique_consecutive(
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: AxisLike = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Any:
    """One of each run of equal elements (or slices along an axis), and what is asked for. Source: paddle.unique_consecutive."""
    found = _C_ops.unique_consecutive(x, axes_of(axis), dtype_of(dtype))
    result = tuple(t for t, w in zip(found, (True, return_inverse, return_counts)) if w)
    return result[0] if len(result) == 1 else result


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None
) -> Tensor:
    """Where each value would be inserted into the sorted last axis. Source: paddle.searchsorted."""
    return _C_ops.searchsorted(sorted_sequence, values, out_int32, right)


def bucketize(
    x: Tensor, sorted_sequence: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None
) -> Tensor:
    """The bucket of each element between one-dimensional boundaries. Source: paddle.bucketize."""
    if sorted_sequence.ndim != 1:
        raise ValueError(
            f"bucketize: expected one-dimensional boundaries, received shape {list(sorted_sequence.shape)}"
        )
    return _C_ops.searchsorted(sorted_sequence, x, out_int32, right)


def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0, name: str | None = None) -> Tensor:
    """How often each number occurs in a 1-D tensor of integers, or the sum of its weights. Source: paddle.bincount."""
    return _C_ops.bincount(x, weights, int(minlength))
