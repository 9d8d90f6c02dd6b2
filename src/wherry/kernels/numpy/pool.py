"""Pooling. The loops run over the positions inside a window, never over windows or batch."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from wherry.core.pooling import adaptive_bounds, output_sizes
from wherry.dispatch.kernel_factory import FLOAT, INTEGER, REAL, kernel
from wherry.kernels.numpy.common import Array, in_float32, kept

Ints = tuple[int, ...]
_ALL = np.ones((), np.bool_)


def _lowest(dtype: np.dtype) -> float | int:
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf


def _padded(x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, out: Ints, fill: float) -> Array:
    """x with room for every window, the last ones of ceil_mode included."""
    count = len(kernel_size)
    widths = [(0, 0)] * (x.ndim - count)
    needed = False
    for i in range(count):
        before = paddings[2 * i]
        size = x.shape[x.ndim - count + i]
        after = max(0, (out[i] - 1) * strides[i] + kernel_size[i] - size - before)
        needed = needed or before > 0 or after > 0
        widths.append((before, after))
    return np.pad(x, widths, constant_values=fill) if needed else x


def _windows(x: Array, kernel_size: Ints, strides: Ints, out: Ints) -> Iterator[tuple[Ints, Array]]:
    """For each position inside a window, a view of that element of all windows."""
    for offset in itertools.product(*(range(k) for k in kernel_size)):
        where = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offset, out, strides))
        yield offset, x[(..., *where)]


@kernel("max_pool", REAL)
def max_pool(x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, ceil_mode: bool) -> Array:
    """Maxima of windows; a NaN is a maximum."""
    out = output_sizes(x.shape[x.ndim - len(kernel_size) :], kernel_size, strides, paddings, ceil_mode)
    padded = _padded(x, kernel_size, strides, paddings, out, _lowest(x.dtype))
    best: Array | None = None
    for _, value in _windows(padded, kernel_size, strides, out):
        if best is None:
            best = value.copy()
        else:
            np.maximum(best, value, out=best)
    assert best is not None
    return best


@kernel("max_pool_grad", FLOAT)
def max_pool_grad(
    x: Array, out: Array, out_grad: Array, kernel_size: Ints, strides: Ints, paddings: Ints, ceil_mode: bool
) -> Array:
    """Each gradient at the first of its window's maxima."""
    count = len(kernel_size)
    lead, spatial, places = x.shape[: x.ndim - count], x.shape[x.ndim - count :], out.shape[x.ndim - count :]
    padded = _padded(x, kernel_size, strides, paddings, places, _lowest(x.dtype))
    grads = out_grad.astype(np.float32) if out_grad.dtype.itemsize == 2 else out_grad
    total = np.zeros(padded.shape, grads.dtype)
    left = np.ones(out.shape, np.bool_)
    nan = np.isnan(out)
    with_nan = bool(nan.any())
    overlapping = any(s < k for s, k in zip(strides, kernel_size))
    for offset, value in _windows(padded, kernel_size, strides, places):
        hit = value == out
        if with_nan:
            hit |= nan & np.isnan(value)
        hit &= left
        left ^= hit
        where = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offset, places, strides))
        if overlapping:
            total[(..., *where)] += kept(grads, hit)
        else:
            total[(..., *where)] = kept(grads, hit)
    real = tuple(slice(paddings[2 * i], paddings[2 * i] + spatial[i]) for i in range(count))
    return np.ascontiguousarray(total[(..., *real)]).reshape(lead + spatial).astype(x.dtype, copy=False)


@kernel("max_pool_with_index", REAL)
def max_pool_with_index(
    x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, ceil_mode: bool
) -> tuple[Array, Array]:
    """The first of equal maxima wins; a NaN is a maximum."""
    spatial = x.shape[x.ndim - len(kernel_size) :]
    out = output_sizes(spatial, kernel_size, strides, paddings, ceil_mode)
    padded = _padded(x, kernel_size, strides, paddings, out, _lowest(x.dtype))
    steps = [math.prod(spatial[i + 1 :]) for i in range(len(spatial))]
    corner = np.zeros(out, np.int32)
    for i, n in enumerate(out):
        line = (np.arange(n) * strides[i] - paddings[2 * i]) * steps[i]
        corner += line.reshape([-1 if j == i else 1 for j in range(len(out))]).astype(np.int32)
    best = np.full(x.shape[: x.ndim - len(out)] + out, _lowest(x.dtype), x.dtype)
    index = np.zeros(best.shape, np.int32)
    with_nan = x.dtype.kind not in "iu" and x.size > 0 and bool(np.isnan(np.min(x)))
    padded_windows = padded is not x
    started: Array | None = None
    for offset, value in _windows(padded, kernel_size, strides, out):
        if started is None and not padded_windows:
            best[...] = value
            index[...] = corner
            started = _ALL
            continue
        better = value > best
        if with_nan:
            better |= np.isnan(value) & ~np.isnan(best)
            better &= ~np.isnan(best)
        if not padded_windows:
            np.copyto(best, value, where=better)
            np.copyto(index, corner + np.int32(sum(o * s for o, s in zip(offset, steps))), where=better)
            continue
        inside = _inside(offset, out, strides, paddings, spatial)
        # A window's first real element counts even where it is no larger than the start value (-inf).
        if started is None:
            better |= inside
            started = np.broadcast_to(inside, best.shape).copy()
        else:
            better |= inside & ~started
            started |= inside
        better &= inside
        np.copyto(best, value, where=better)
        np.copyto(index, corner + np.int32(sum(o * s for o, s in zip(offset, steps))), where=better)
    return best, index


def _inside(offset: Ints, out: Ints, strides: Ints, paddings: Ints, spatial: Ints) -> Array:
    """Which windows have a real element, not padding, at this position."""
    mask = np.ones(out, np.bool_)
    for i, n in enumerate(out):
        place = np.arange(n) * strides[i] - paddings[2 * i] + offset[i]
        good = (place >= 0) & (place < spatial[i])
        mask &= good.reshape([-1 if j == i else 1 for j in range(len(out))])
    return mask


@kernel("adaptive_max_pool_with_index", REAL)
def adaptive_max_pool_with_index(x: Array, output_size: Ints) -> tuple[Array, Array]:
    """Maxima of windows that share each axis evenly; one step for each window, whatever the batch."""
    count = len(output_size)
    lead, spatial = x.shape[: x.ndim - count], x.shape[x.ndim - count :]
    best = np.empty(lead + output_size, x.dtype)
    index = np.empty(lead + output_size, np.int32)
    places = np.arange(math.prod(spatial), dtype=np.int32).reshape(spatial)
    bounds = [adaptive_bounds(size, n) for size, n in zip(spatial, output_size)]
    if x.size == 0:
        # Windows without elements: NaN, as in Paddle.
        best.fill(np.nan if x.dtype.kind not in "iu" else 0)
        index.fill(0)
        return best, index
    for cell in itertools.product(*(range(n) for n in output_size)):
        where = tuple(slice(*bounds[i][c]) for i, c in enumerate(cell))
        window = x[(..., *where)].reshape(*lead, -1)
        at = window.argmax(axis=-1)
        best[(..., *cell)] = np.take_along_axis(window, at[..., None], -1)[..., 0]
        index[(..., *cell)] = places[where].reshape(-1)[at]
    return best, index


def _flat_index(index: Array, lead: int, spatial: int) -> Array:
    """Places in the whole array of places that are flat over the spatial axes."""
    rows = index.reshape(lead, index.size // lead if lead else 0).astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= spatial):
        raise IndexError(f"expected indices in [0, {spatial}), received {int(rows.min())} to {int(rows.max())}")
    rows += np.arange(lead, dtype=np.int64)[:, None] * spatial
    return rows.reshape(-1)


@kernel("max_pool_scatter", FLOAT + INTEGER)
@in_float32
def max_pool_scatter(value: Array, index: Array, spatial_size: Ints, overlapping: bool) -> Array:
    """Each value at its index, added up where windows overlap."""
    lead_shape = value.shape[: value.ndim - len(spatial_size)]
    spatial = math.prod(spatial_size)
    lead = math.prod(lead_shape)
    if not lead * spatial:
        # Windows of padding alone; what they hold has no place to go.
        return np.zeros(lead_shape + spatial_size, value.dtype)
    places = _flat_index(index, lead, spatial)
    if overlapping:
        out = np.bincount(places, value.reshape(-1), lead * spatial).astype(value.dtype)
    else:
        out = np.zeros(lead * spatial, value.dtype)
        out[places] = value.reshape(-1)
    return out.reshape(lead_shape + spatial_size)


@kernel("max_pool_gather", FLOAT + INTEGER)
def max_pool_gather(x: Array, index: Array, spatial_axes: int) -> Array:
    """The values at the indices."""
    lead_axes = x.ndim - spatial_axes
    places = _flat_index(index, math.prod(x.shape[:lead_axes]), math.prod(x.shape[lead_axes:]))
    return x.reshape(-1)[places].reshape(index.shape)


def _counts(spatial: Ints, kernel_size: Ints, strides: Ints, paddings: Ints, out: Ints, exclusive: bool) -> Array:
    """What each window's sum is divided by: its real elements, or with the padding (but nothing beyond it)."""
    counts = np.ones(out)
    for i, n in enumerate(out):
        start = np.arange(n) * strides[i] - paddings[2 * i]
        end = np.minimum(start + kernel_size[i], spatial[i] + paddings[2 * i + 1])
        if exclusive:
            start, end = np.maximum(start, 0), np.minimum(end, spatial[i])
        counts *= np.maximum(end - start, 1).reshape([-1 if j == i else 1 for j in range(len(out))])
    return counts


@kernel("avg_pool", FLOAT)
@in_float32
def avg_pool(x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, ceil_mode: bool, exclusive: bool) -> Array:
    """Means of windows."""
    spatial = x.shape[x.ndim - len(kernel_size) :]
    out = output_sizes(spatial, kernel_size, strides, paddings, ceil_mode)
    total = np.zeros(x.shape[: x.ndim - len(out)] + out, x.dtype)
    for _, value in _windows(_padded(x, kernel_size, strides, paddings, out, 0), kernel_size, strides, out):
        total += value
    total /= _counts(spatial, kernel_size, strides, paddings, out, exclusive)
    return total


@kernel("avg_pool_backward", FLOAT)
@in_float32
def avg_pool_backward(
    out_grad: Array,
    spatial_size: Ints,
    kernel_size: Ints,
    strides: Ints,
    paddings: Ints,
    ceil_mode: bool,
    exclusive: bool,
) -> Array:
    """The transpose of avg_pool: every window's share to each of its elements."""
    count = len(kernel_size)
    out = out_grad.shape[out_grad.ndim - count :]
    lead = out_grad.shape[: out_grad.ndim - count]
    room = tuple(
        max(spatial_size[i] + paddings[2 * i], (out[i] - 1) * strides[i] + kernel_size[i]) for i in range(count)
    )
    total = np.zeros(lead + room, out_grad.dtype)
    share = out_grad / _counts(spatial_size, kernel_size, strides, paddings, out, exclusive).astype(out_grad.dtype)
    for _, place in _windows(total, kernel_size, strides, out):
        place += share
    real = tuple(slice(paddings[2 * i], paddings[2 * i] + spatial_size[i]) for i in range(count))
    return np.ascontiguousarray(total[(..., *real)])
