"""Convolution of any number of spatial axes: windows as columns, then one matrix product for each group.

The loops run over positions inside the kernel, never over batch or places.
"""

import itertools
import math

import numpy as np

from wherry.dispatch.kernel_factory import FLOATING_OR_COMPLEX, kernel
from wherry.infermeta.nn import conv_output_size
from wherry.kernels.numpy.common import Array, in_float32

Ints = tuple[int, ...]


def _places(spatial: Ints, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Ints:
    return tuple(
        conv_output_size(spatial[i], kernel_size[i], strides[i], paddings[2 * i], paddings[2 * i + 1], dilations[i])
        for i in range(len(spatial))
    )


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


def _columns(x: Array, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int) -> Array:
    """[batch, groups, channels / groups * kernel, places]."""
    batch, channels = x.shape[:2]
    places = _places(x.shape[2:], kernel_size, strides, paddings, dilations)
    if math.prod(kernel_size) == 1 and set(strides) == {1} and not any(paddings):
        return np.ascontiguousarray(x).reshape(batch, groups, channels // groups, math.prod(places))
    if any(paddings):
        x = np.pad(x, [(0, 0), (0, 0), *zip(paddings[::2], paddings[1::2])])
    windows = _windows(x, kernel_size, strides, dilations, places)
    rows = channels // groups * math.prod(kernel_size)
    return np.ascontiguousarray(windows).reshape(batch, groups, rows, math.prod(places))


@kernel("conv", FLOATING_OR_COMPLEX)
@in_float32
def conv(x: Array, filter: Array, strides: Ints, paddings: Ints, dilations: Ints, groups: int) -> Array:
    """Cross-correlation, as networks call convolution."""
    kernel_size = filter.shape[2:]
    places = _places(x.shape[2:], kernel_size, strides, paddings, dilations)
    columns = _columns(x, kernel_size, strides, paddings, dilations, groups)
    weights = filter.reshape(groups, filter.shape[0] // groups, -1)
    return np.matmul(weights, columns).reshape(x.shape[0], filter.shape[0], *places)


@kernel("conv_grad_filter", FLOATING_OR_COMPLEX)
@in_float32
def conv_grad_filter(
    x: Array, out_grad: Array, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Array:
    """The transpose of conv with respect to the filter (no conjugation)."""
    columns = _columns(x, kernel_size, strides, paddings, dilations, groups)
    batch, filters = out_grad.shape[:2]
    grads = out_grad.reshape(batch, groups, filters // groups, -1)
    if batch == 0:
        return np.zeros((filters, x.shape[1] // groups, *kernel_size), x.dtype)
    total = np.matmul(grads, columns.swapaxes(-1, -2)).sum(axis=0)
    return total.reshape(filters, x.shape[1] // groups, *kernel_size)


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
    grads = np.ascontiguousarray(out_grad).reshape(batch, groups, filters // groups, -1)
    columns = np.matmul(weights, grads).reshape(batch, channels, *kernel_size, *places)
    room = tuple(size + paddings[2 * i] + paddings[2 * i + 1] for i, size in enumerate(spatial_size))
    # Where the places do not reach the end (a stride that leaves a rest), or go beyond it, there must be room for both.
    room = tuple(
        max(r, (places[i] - 1) * strides[i] + dilations[i] * (kernel_size[i] - 1) + 1) for i, r in enumerate(room)
    )
    total = np.zeros((batch, channels, *room), columns.dtype)
    for offset in itertools.product(*(range(k) for k in kernel_size)):
        where = tuple(
            slice(o * d, o * d + (n - 1) * s + 1, s) for o, d, n, s in zip(offset, dilations, places, strides)
        )
        total[(..., *where)] += columns[(slice(None), slice(None), *offset)]
    real = tuple(slice(paddings[2 * i], paddings[2 * i] + size) for i, size in enumerate(spatial_size))
    return np.ascontiguousarray(total[(..., *real)])
