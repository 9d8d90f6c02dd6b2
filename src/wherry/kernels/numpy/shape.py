"""Kernels that change a shape and keep the elements; nearly all return views."""

import math

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, kernel
from wherry.infermeta.shape import expanded, flattened, reshaped, squeezed_axes, unsqueezed
from wherry.kernels.numpy.common import Array


@kernel("reshape", ALL)
def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """A view where strides allow, else a copy."""
    if 0 in shape or x.size == 0:
        shape = reshaped(x.shape, shape)
    return x.reshape(shape)


@kernel("expand", ALL)
def expand(x: Array, shape: tuple[int, ...]) -> Array:
    """A view with strides of 0."""
    if -1 in shape or not shape:
        shape = expanded(x.shape, shape)
    if math.prod(shape) == x.size:
        # Nothing is repeated, so the view may be written to; NumPy's broadcast never may.
        return x.reshape(shape)
    return np.broadcast_to(x, shape)


@kernel("squeeze", ALL)
def squeeze(x: Array, axis: tuple[int, ...]) -> Array:
    """A view without the axes of size 1."""
    return x.squeeze(squeezed_axes(x.shape, axis))


@kernel("unsqueeze", ALL)
def unsqueeze(x: Array, axis: tuple[int, ...]) -> Array:
    """A view with axes of size 1 put in."""
    return x.reshape(unsqueezed(x.shape, axis))


@kernel("transpose", ALL)
def transpose(x: Array, perm: tuple[int, ...]) -> Array:
    """A view with permuted axes."""
    return x.transpose(perm)


@kernel("flatten", ALL)
def flatten(x: Array, start_axis: int, stop_axis: int) -> Array:
    """A view where strides allow, else a copy."""
    return x.reshape(flattened(x.shape, start_axis, stop_axis))


@kernel("view_dtype", ALL)
def view_dtype(x: Array, dtype: DataType) -> Array:
    """The same bytes read as another dtype; a view where the last axis is contiguous, else of a copy."""
    if dtype.itemsize != x.dtype.itemsize and x.strides[-1] != x.itemsize:
        x = np.ascontiguousarray(x)
    return x.view(dtype.numpy)
