"""Searching and sorting."""

from typing import Any

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, BOOL, INTEGER, REAL, kernel
from wherry.kernels.numpy.common import Array

_ORDERED = BOOL + REAL


def _index(values: Any, dtype: DataType | None) -> Array:
    return np.asarray(values, np.int64 if dtype is None else dtype.numpy)


def _comparable(x: Array) -> Array:
    """float16 and bfloat16 as float32: the order is the same and NumPy sorts it."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def _arg(function: Any, x: Array, axis: int, keepdims: bool, flatten: bool, dtype: DataType | None) -> Array:
    x = _comparable(x)
    if x.ndim == 0:
        return _index(0, dtype)
    if flatten:
        found = function(x.reshape(-1))
        return _index(np.reshape(found, (1,) * x.ndim) if keepdims else found, dtype)
    return _index(function(x, axis=axis, keepdims=keepdims), dtype)


@kernel("argmax", _ORDERED)
def argmax(x: Array, axis: int, keepdims: bool, flatten: bool, dtype: DataType | None) -> Array:
    """Place of the first maximum; a NaN is one."""
    return _arg(np.argmax, x, axis, keepdims, flatten, dtype)


@kernel("argmin", _ORDERED)
def argmin(x: Array, axis: int, keepdims: bool, flatten: bool, dtype: DataType | None) -> Array:
    """Place of the first minimum; a NaN is one."""
    return _arg(np.argmin, x, axis, keepdims, flatten, dtype)


def _order(x: Array, axis: int, descending: bool) -> Array:
    """A stable order; descending, equal elements keep theirs and NaN comes first."""
    x = _comparable(x)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backwards, axis)


@kernel("argsort", _ORDERED)
def argsort(x: Array, axis: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    """Sorted values and where they were; always stable."""
    if x.ndim == 0:
        return np.array(x), np.zeros((), np.int64)
    indices = np.ascontiguousarray(_order(x, axis, descending))
    return np.take_along_axis(x, indices, axis), indices


@kernel("topk", _ORDERED)
def topk(x: Array, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """The k largest (or smallest), in order; NaN counts as the largest."""
    if x.ndim == 0:
        return np.array(x), np.zeros((), np.int64)
    indices = np.take(_order(x, axis, largest), np.arange(k), axis=axis)
    return np.take_along_axis(x, indices, axis), indices


def _cumulative(x: Array, axis: int, dtype: DataType | None, later_wins: Any) -> tuple[Array, Array]:
    if x.ndim == 0:
        return np.array(x), _index(0, dtype)
    compared = _comparable(x)
    ufunc = np.maximum if later_wins is np.greater_equal else np.minimum
    best = ufunc.accumulate(compared, axis=axis)
    places = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    # An element is the extremum so far where it equals it; a NaN is one from then on.
    hits = np.where((compared == best) | np.isnan(compared) if x.dtype.kind in "fV" else compared == best, places, 0)
    indices = np.maximum.accumulate(hits, axis=axis)
    return best.astype(x.dtype), _index(indices, dtype)


@kernel("cummax", _ORDERED)
def cummax(x: Array, axis: int, dtype: DataType | None) -> tuple[Array, Array]:
    """Running maxima and the last place of each."""
    return _cumulative(x, axis, dtype, np.greater_equal)


@kernel("cummin", _ORDERED)
def cummin(x: Array, axis: int, dtype: DataType | None) -> tuple[Array, Array]:
    """Running minima and the last place of each."""
    return _cumulative(x, axis, dtype, np.less_equal)


@kernel("nonzero", ALL)
def nonzero(condition: Array) -> Array:
    """Indices of elements that are not zero, in row-major order."""
    return np.argwhere(condition != 0).astype(np.int64)


@kernel("masked_select", ALL)
def masked_select(x: Array, mask: Array) -> Array:
    """Where the mask is true, in row-major order."""
    return x[mask].reshape(-1)


@kernel("masked_spread", ALL)
def masked_spread(mask: Array, values: Array) -> Array:
    """Zeros, with the values where the mask is true."""
    out = np.zeros(mask.shape, values.dtype)
    out[mask] = values
    return out


@kernel("unique", ALL)
def unique(
    x: Array,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: tuple[int, ...],
    dtype: DataType | None,
) -> tuple[Array, Array, Array, Array]:
    """Sorted distinct values (or slices along the axis); first places, inverse and counts."""
    half = x.dtype.itemsize == 2 and x.dtype.kind in "fV"
    values, first, inverse, counts = np.unique(_comparable(x), True, True, True, axis=axis[0] if axis else None)
    values = values.astype(x.dtype) if half else values
    return values, _index(first, dtype), _index(inverse.reshape(-1), dtype), _index(counts, dtype)


@kernel("unique_consecutive", ALL)
def unique_consecutive(x: Array, axis: tuple[int, ...], dtype: DataType | None) -> tuple[Array, Array, Array]:
    """One of each run of equal values (or slices along the axis)."""
    place = axis[0] if axis else 0
    moved = np.moveaxis(x, place, 0) if axis else x.reshape(-1)
    count = moved.shape[0]
    rows = moved.reshape(count, -1) if count else moved.reshape(0, 1)
    starts = np.ones(count, np.bool_)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    places = np.flatnonzero(starts)
    out = moved[starts]
    counts = np.diff(np.append(places, count))
    return np.moveaxis(out, 0, place) if axis else out, _index(np.cumsum(starts) - 1, dtype), _index(counts, dtype)


@kernel("searchsorted", REAL)
def searchsorted(sorted_sequence: Array, values: Array, out_int32: bool, right: bool) -> Array:
    """Where each value would be inserted, row by row where the sequence has rows."""
    dtype = np.int32 if out_int32 else np.int64
    sequence, values = _comparable(sorted_sequence), _comparable(values)
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side="right" if right else "left")).astype(dtype)
    # Counting the smaller elements needs rows x length x values, so it goes by the rank in the merged row instead.
    length, count = sequence.shape[-1], values.shape[-1]
    both = [values, sequence] if not right else [sequence, values]
    order = np.argsort(np.concatenate(both, axis=-1), axis=-1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(length + count), order.shape), axis=-1)
    mine = rank[..., :count] if not right else rank[..., length:]
    within = np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1, kind="stable")
    return (mine - within).astype(dtype)


@kernel("bincount", INTEGER)
def bincount(x: Array, weights: Array | None, minlength: int) -> Array:
    """How often each number occurs, or the sum of its weights."""
    if x.size and x.min() < 0:
        raise ValueError(f"expected numbers of at least 0, received {int(x.min())}")
    found = np.bincount(x, None if weights is None else weights.astype(np.float64), minlength)
    if weights is None:
        return found.astype(np.int64)
    return found.astype(np.float64 if weights.dtype == np.float64 else np.float32)


@kernel("one_hot", INTEGER)
def one_hot(x: Array, num_classes: int) -> Array:
    """1 at the class of each element."""
    if x.size and (x.min() < 0 or x.max() >= num_classes):
        raise ValueError(f"expected classes in [0, {num_classes}), received {int(x.min())} to {int(x.max())}")
    out = np.zeros((*x.shape, num_classes), np.float32)
    np.put_along_axis(out, x[..., None].astype(np.int64), np.float32(1), -1)
    return out
