"""Convolution of any number of spatial axes: windows as columns, then one matrix product for each group.

A few examples are worked on at a time, so that their columns stay in the cache and are written to the same memory again.
The loops run over such parts of the batch and over positions inside the kernel, never over places.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from wherry.dispatch.kernel_factory import FLOATING_OR_COMPLEX, kernel
from wherry.infermeta.nn import conv_output_size
from wherry.kernels.numpy.common import Array, in_float32

Ints = tuple[int, ...]
# Bytes of columns that are worked on at a time.
_COLUMN_BYTES: Final = 1 << 21


def _places(spatial: Ints, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Ints:
    return tuple(
        conv_output_size(spatial[i], kernel_size[i], strides[i], paddings[2 * i], paddings[2 * i + 1], dilations[i])
        for i in range(len(spatial))
    )


def _padded(x: Array, paddings: Ints) -> Array:
    """x with zeros around its spatial axes; x itself where there are none."""
    if not any(paddings):
        return x
    sizes = [size + paddings[2 * i] + paddings[2 * i + 1] for i, size in enumerate(x.shape[2:])]
    out = np.zeros((*x.shape[:2], *sizes), x.dtype)
    inner = tuple(slice(paddings[2 * i], paddings[2 * i] + size) for i, size in enumerate(x.shape[2:]))
    out[(..., *inner)] = x
    return out


def _windows(padded: Array, kernel_size: Ints, strides: Ints, dilations: Ints, places: Ints) -> Array:
    """A view [batch, channels, kernel..., places...] of every window's elements."""
    steps = padded.strides
    count = len(kernel_size)
    shape = padded.shape[:2] + kernel_size + places
    strided = (
        steps[:2]
        + tuple(steps[2 + i] * dilations[i] for i in range(count))
        + tuple(steps[2 + i] * strides[i] for i in range(count))
    )
    return np.lib.stride_tricks.as_strided(padded, shape, strided, writeable=False)


def _parts(batch: int, bytes_each: int) -> Iterator[slice]:
    step = max(1, _COLUMN_BYTES // max(bytes_each, 1))
    for start in range(0, batch, step):
        yield slice(start, min(start + step, batch))


def _columns(
    x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Iterator[tuple[slice, Array]]:
    """Part after part of the batch with its columns [part, groups, channels / groups * kernel, places]."""
    batch, channels = x.shape[:2]
    places = _places(x.shape[2:], kernel_size, strides, paddings, dilations)
    area, rows = math.prod(places), channels // groups * math.prod(kernel_size)
    padded = _padded(x, paddings)
    if math.prod(kernel_size) == 1 and set(strides) == {1}:
        yield slice(0, batch), np.ascontiguousarray(padded).reshape(batch, groups, rows, area)
        return
    windows = _windows(padded, kernel_size, strides, dilations, places)
    memory: Array | None = None
    for part in _parts(batch, groups * rows * area * x.dtype.itemsize):
        count = part.stop - part.start
        if memory is None:
            memory = np.empty((count, *windows.shape[1:]), x.dtype)
        columns = memory[:count]
        np.copyto(columns, windows[part])
        yield part, columns.reshape(count, groups, rows, area)


@kernel("conv", FLOATING_OR_COMPLEX)
@in_float32
def conv(x: Array, filter: Array, strides: Ints, paddings: Ints, dilations: Ints, groups: int) -> Array:
    """Cross-correlation, as networks call convolution."""
    kernel_size = filter.shape[2:]
    places = _places(x.shape[2:], kernel_size, strides, paddings, dilations)
    batch, filters = x.shape[0], filter.shape[0]
    weights = filter.reshape(groups, filters // groups, -1)
    out = np.empty((batch, groups, filters // groups, math.prod(places)), x.dtype)
    for part, columns in _columns(x, kernel_size, strides, paddings, dilations, groups):
        np.matmul(weights, columns, out=out[part])
    return out.reshape(batch, filters, *places)


@kernel("conv_grad_filter", FLOATING_OR_COMPLEX)
@in_float32
def conv_grad_filter(
    x: Array, out_grad: Array, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Array:
    """The transpose of conv with respect to the filter (no conjugation)."""
    batch, filters = out_grad.shape[:2]
    channels = x.shape[1] // groups
    grads = out_grad.reshape(batch, groups, filters // groups, math.prod(out_grad.shape[2:]))
    total = np.zeros((groups, filters // groups, channels * math.prod(kernel_size)), x.dtype)
    for part, columns in _columns(x, kernel_size, strides, paddings, dilations, groups):
        total += np.matmul(grads[part], columns.swapaxes(-1, -2)).sum(axis=0)
    return total.reshape(filters, channels, *kernel_size)


@kernel("conv_grad_input", FLOATING_OR_COMPLEX)
@in_float32
def conv_grad_input(
    out_grad: Array, filter: Array, spatial_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Array:
    """The transpose of conv with respect to the input (no conjugation)."""
    batch, filters = out_grad.shape[:2]
    channels = filter.shape[1] * groups
    kernel_size, places = filter.shape[2:], out_grad.shape[2:]
    weights = filter.reshape(groups, filters // groups, -1).swapaxes(-1, -2)
    # Where the places do not reach the end (a stride that leaves a rest), or go beyond it, there must be room for both.
    room = tuple(
        max(
            size + paddings[2 * i] + paddings[2 * i + 1],
            (places[i] - 1) * strides[i] + dilations[i] * (kernel_size[i] - 1) + 1,
        )
        for i, size in enumerate(spatial_size)
    )
    add = _add_rows if set(strides) == {1} and all(places) else _add_windows
    total = add(out_grad, weights, channels, kernel_size, room, strides, dilations)
    real = tuple(slice(paddings[2 * i], paddings[2 * i] + size) for i, size in enumerate(spatial_size))
    return np.ascontiguousarray(total[(..., *real)])


def _add_windows(
    out_grad: Array, weights: Array, channels: int, kernel_size: Ints, room: Ints, strides: Ints, dilations: Ints
) -> Array:
    """Every window's share added where the window lies: for each position in the kernel one strided sum."""
    batch, places = out_grad.shape[0], out_grad.shape[2:]
    groups, rows, filters = weights.shape
    grads = np.ascontiguousarray(out_grad).reshape(batch, groups, filters, math.prod(places))
    total = np.zeros((batch, channels, *room), out_grad.dtype)
    for part in _parts(batch, groups * rows * math.prod(places) * out_grad.dtype.itemsize):
        columns = np.matmul(weights, grads[part]).reshape(-1, channels, *kernel_size, *places)
        for offset in itertools.product(*(range(k) for k in kernel_size)):
            where = tuple(
                slice(o * d, o * d + (n - 1) * s + 1, s) for o, d, n, s in zip(offset, dilations, places, strides)
            )
            total[(part, slice(None), *where)] += columns[(slice(None), slice(None), *offset)]
    return total


def _add_rows(
    out_grad: Array, weights: Array, channels: int, kernel_size: Ints, room: Ints, strides: Ints, dilations: Ints
) -> Array:
    """As _add_windows for strides of 1, on flat memory.

    The gradients lie in rows as wide as the padded input, zeros at their ends; then the share of a position in the kernel
    is added to one long run of memory that begins at the position's offset.
    """
    batch, places = out_grad.shape[0], out_grad.shape[2:]
    groups, rows, filters = weights.shape
    steps = [math.prod(room[i + 1 :]) for i in range(len(room))]
    run = sum((n - 1) * step for n, step in zip(places, steps)) + 1
    area = math.prod(room)
    total = np.zeros((batch, channels, area), out_grad.dtype)
    corner: Any = tuple(slice(0, n) for n in places)
    offsets = [
        sum(o * d * step for o, d, step in zip(offset, dilations, steps))
        for offset in itertools.product(*(range(k) for k in kernel_size))
    ]
    wide: Array | None = None
    memory: Array | None = None
    for part in _parts(batch, groups * rows * run * out_grad.dtype.itemsize):
        count = part.stop - part.start
        if wide is None or memory is None:
            wide = np.zeros((count, groups * filters, area), out_grad.dtype)
            memory = np.empty((count, groups, rows, run), out_grad.dtype)
        wide[:count].reshape(count, groups * filters, *room)[(..., *corner)] = out_grad[part]
        grads = wide[:count].reshape(count, groups, filters, area)[..., :run]
        columns = memory[:count]
        np.matmul(weights, grads, out=columns)
        shares = columns.reshape(count, channels, len(offsets), run)
        for i, offset in enumerate(offsets):
            total[part, :, offset : offset + run] += shares[:, :, i]
    return total.reshape(batch, channels, *room)
