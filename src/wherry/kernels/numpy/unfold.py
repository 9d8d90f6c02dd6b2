"""Windows as columns and back, sums of weighted rows, and maxima of windows of uneven steps."""

import itertools
import math
from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import FLOATING_OR_COMPLEX, NUMERIC, REAL, kernel
from wherry.kernels.numpy.common import Array, in_float32
from wherry.kernels.numpy.conv import _padded, _places, _windows
from wherry.kernels.numpy.scatter import in_bounds

Ints = tuple[int, ...]


@kernel("unfold", NUMERIC)
def unfold(x: Array, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Array:
    """Every window as a column; outside x there are zeros."""
    places = _places(x.shape[2:], kernel_sizes, strides, paddings, dilations)
    windows = _windows(_padded(x, paddings), kernel_sizes, strides, dilations, places)
    return np.array(windows, order="C").reshape(x.shape[0], x.shape[1] * math.prod(kernel_sizes), math.prod(places))


@kernel("fold", NUMERIC)
@in_float32
def fold(x: Array, output_sizes: Ints, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Array:
    """The transpose of unfold: columns added where their windows lie; one step for each position in the kernel."""
    places = _places(output_sizes, kernel_sizes, strides, paddings, dilations)
    batch, channels = x.shape[0], x.shape[1] // math.prod(kernel_sizes)
    columns = x.reshape(batch, channels, *kernel_sizes, *places)
    room = [size + paddings[2 * i] + paddings[2 * i + 1] for i, size in enumerate(output_sizes)]
    total = np.zeros((batch, channels, *room), x.dtype)
    for offset in itertools.product(*(range(k) for k in kernel_sizes)):
        where = tuple(
            slice(o * d, o * d + (n - 1) * s + 1, s) for o, d, n, s in zip(offset, dilations, places, strides)
        )
        total[(..., *where)] += columns[(slice(None), slice(None), *offset)]
    real = tuple(slice(paddings[2 * i], paddings[2 * i] + size) for i, size in enumerate(output_sizes))
    return np.ascontiguousarray(total[(..., *real)])


def bag_matrix(x: Array, weights: Array, rows: int) -> Any:
    """The sparse matrix [bags, rows] of the weights; an index of -1 is no element."""
    from scipy.sparse import csr_matrix

    bags, count = x.shape
    if x.size and int(x.min()) < -1:
        raise IndexError(f"expected indices of -1 (nothing) or in [0, {rows}), received {int(x.min())}")
    in_bounds(np.maximum(x, 0) if rows else x + 1, max(rows, 1), 0)
    real = x >= 0
    if real.all():
        starts = np.arange(bags + 1, dtype=np.int64) * count
        return csr_matrix((weights.reshape(-1), x.reshape(-1), starts), (bags, rows))
    starts = np.concatenate(([0], np.cumsum(real.sum(axis=1))))
    return csr_matrix((weights[real], x[real], starts), (bags, rows))


@kernel("embedding_bag", FLOATING_OR_COMPLEX)
@in_float32
def embedding_bag(x: Array, weight: Array, per_sample_weights: Array) -> Array:
    """For each bag the weighted sum of its rows."""
    matrix = bag_matrix(x, per_sample_weights, weight.shape[0])
    return np.asarray(matrix @ np.ascontiguousarray(weight))


@kernel("embedding_bag_grad_weight", FLOATING_OR_COMPLEX)
@in_float32
def embedding_bag_grad_weight(x: Array, per_sample_weights: Array, out_grad: Array, rows: int) -> Array:
    """The transpose with respect to the rows (no conjugation): each gradient, weighted, added to the rows of its bag."""
    matrix = bag_matrix(x, per_sample_weights, rows)
    return np.asarray(matrix.T @ np.ascontiguousarray(out_grad))


@kernel("embedding_bag_grad_samples", FLOATING_OR_COMPLEX)
@in_float32
def embedding_bag_grad_samples(x: Array, weight: Array, out_grad: Array) -> Array:
    """The transpose with respect to the weights (no conjugation): products of a bag's gradient with its rows, one step for each column."""
    rows = weight.shape[0]
    out = np.zeros(x.shape, out_grad.dtype)
    if not rows:
        in_bounds(x + 1, 1, 0)
        return out
    index = in_bounds(np.maximum(x, 0), rows, 0)
    for column in range(x.shape[1]):
        np.einsum("ij,ij->i", weight[index[:, column]], out_grad, out=out[:, column])
    out[x < 0] = 0
    return out


def fractional_bounds(size: int, output: int, kernel: int, u: float) -> tuple[Array, Array]:
    """(starts, ends) of `output` windows along an axis of `size`, pseudorandom by u in (0, 1).

    Without a kernel size they are disjoint and share the axis (Graham, 2014); in float32, as Paddle counts them.
    """
    steps = output - 1 if kernel else output
    if not steps:
        start = np.array([size - kernel])
        return start, start + kernel
    alpha = np.float32(size - kernel) / np.float32(steps)
    u = np.float32(u)
    if not kernel:
        base = size // output
        u *= min(np.float32(base + 2) / alpha - 1, np.float32(size + 1 - base) / alpha - np.float32(output - 1))
    edges = ((np.arange(output + 1, dtype=np.float32) + u) * alpha).astype(np.int64) - int(u * alpha)
    starts = np.clip(edges[:-1], 0, size - 1)
    ends = starts + kernel if kernel else edges[1:]
    return starts, np.clip(ends, starts + 1, size)


@kernel("fractional_max_pool", REAL)
def fractional_max_pool(x: Array, output_size: Ints, kernel_size: Ints, random_u: float) -> tuple[Array, Array]:
    """Maxima and where they are; one step for each position inside a window. The first of equal maxima wins; a NaN is a maximum."""
    count = len(output_size)
    lead, spatial = x.shape[: x.ndim - count], x.shape[x.ndim - count :]
    bounds = [fractional_bounds(s, o, k, random_u) for s, o, k in zip(spatial, output_size, kernel_size)]
    best = index = None
    for offset in itertools.product(*(range(int((ends - starts).max())) for starts, ends in bounds)):
        # A window shorter than the longest looks at its last element again.
        places = [np.minimum(starts + o, ends - 1) for (starts, ends), o in zip(bounds, offset)]
        flat = np.zeros(output_size, np.int32)
        for i, line in enumerate(places):
            step = math.prod(spatial[i + 1 :])
            flat += (line * step).astype(np.int32).reshape([-1 if j == i else 1 for j in range(count)])
        value = x.reshape(*lead, math.prod(spatial))[..., flat.reshape(-1)].reshape(lead + output_size)
        if best is None or index is None:
            best, index = value, np.broadcast_to(flat, value.shape).copy()
            continue
        better = value > best
        if x.dtype.kind not in "iu":
            better |= np.isnan(value) & ~np.isnan(best)
            better &= ~np.isnan(best)
        np.copyto(best, value, where=better)
        np.copyto(index, flat, where=better)
    assert best is not None and index is not None
    return best, index
