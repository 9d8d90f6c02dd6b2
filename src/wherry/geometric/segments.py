"""Rows put together by the number of their segment. Source: paddle.geometric.math."""

from typing import Any

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor


def gathered(rows: Tensor, numbers: Tensor, count: int, operation: str) -> Tensor:
    """The rows with each number in [0, count) added up ("sum"), or their "mean", "max" or "min"; 0 where there are none.

    `numbers` is 1-D. A mean of integers is rounded towards zero. Equal maxima share the gradient.
    """
    shape = (count, *rows.shape[1:])
    zeros = _C_ops.full(shape, 0, rows.dtype)
    # Of no elements a sum is as good as any, and keeps their place in the graph.
    if operation in ("max", "min") and rows.size and count:
        column = _C_ops.reshape(numbers, (-1,) + (1,) * (rows.ndim - 1))
        indices = _C_ops.expand(column, tuple(rows.shape))
        return _C_ops.put_along_axis(zeros, indices, rows, 0, "amax" if operation == "max" else "amin", False)
    total = _C_ops.index_add(zeros, numbers, rows, 0)
    if operation == "sum" or not rows.size:
        return total
    counts = _C_ops.bincount(numbers, None, count)
    counts = _C_ops.maximum(counts, _C_ops.full((), 1, counts.dtype))
    counts = _C_ops.cast(_C_ops.reshape(counts, (-1,) + (1,) * (rows.ndim - 1)), rows.dtype)
    return _C_ops.divide(total, counts) if rows.dtype.is_differentiable else _C_ops.trunc_divide(total, counts)


def index_row(index: Any, name: str) -> Tensor:
    """Node or segment numbers as a 1-D tensor; raises for other dtypes and shapes."""
    if index.dtype is not dt.int32 and index.dtype is not dt.int64:
        raise TypeError(f"expected int32 or int64 for {name}, received {index.dtype.name}")
    if index.ndim == 2 and index.shape[1] == 1:
        return _C_ops.reshape(index, (-1,))
    if index.ndim != 1:
        raise ValueError(f"expected {name} of shape [n] or [n, 1], received {list(index.shape)}")
    return index


def _segments(data: Tensor, segment_ids: Tensor, operation: str) -> Tensor:
    function = f"segment_{operation}"
    if data.dtype.is_bool or data.dtype.is_complex:
        raise TypeError(f"{function}: expected real numbers, received {data.dtype.name}")
    if data.ndim == 0:
        raise ValueError(f"{function}: expected data of at least one dimension, received a 0-D tensor")
    ids = index_row(segment_ids, "segment_ids")
    if ids.shape[0] != data.shape[0]:
        raise ValueError(f"{function}: expected an id for each of the {data.shape[0]} rows, received {ids.shape[0]}")
    if ids.shape[0] == 0:
        return _C_ops.assign(data)
    length = ids.shape[0]
    later, earlier = _C_ops.slice(ids, (0,), (1,), (length,)), _C_ops.slice(ids, (0,), (0,), (length - 1,))
    if bool(_C_ops.any(_C_ops.less_than(later, earlier), (), False)) or int(_C_ops.min(ids, (), False)) < 0:
        raise ValueError(f"{function}: expected segment_ids of at least 0 that never fall, received others; sort them")
    return gathered(data, ids, int(_C_ops.max(ids, (), False)) + 1, operation)


def segment_sum(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Sums of the rows with the same segment id; 0 for an id that does not occur.

    segment_ids: int32 or int64, one for each row, from 0 and never falling (else ValueError). The result has a row for each id up to the
    last. Source: paddle.geometric.segment_sum.
    """
    return _segments(data, segment_ids, "sum")


def segment_mean(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Means of the rows with the same segment id; see `segment_sum`. Source: paddle.geometric.segment_mean."""
    return _segments(data, segment_ids, "mean")


def segment_min(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Minima of the rows with the same segment id; see `segment_sum`. Equal ones share the gradient. Source: paddle.geometric.segment_min."""
    return _segments(data, segment_ids, "min")


def segment_max(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Maxima of the rows with the same segment id; see `segment_sum`. Equal ones share the gradient. Source: paddle.geometric.segment_max."""
    return _segments(data, segment_ids, "max")
