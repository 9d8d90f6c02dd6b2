"""Kernels that take a part of a tensor, pad it, or turn it round."""

from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import ALL, FLOATING_OR_COMPLEX, NUMERIC, kernel
from wherry.infermeta.slicing import pad_pairs, padded, slice_key
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.scatter import add_at


@kernel("strided_slice", ALL)
def strided_slice(
    x: Array, axes: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    """A view."""
    return x[slice_key(x.ndim, axes, starts, ends, strides)]


@kernel("slice", ALL)
def slice_(input: Array, axes: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...]) -> Array:
    """A view."""
    return input[slice_key(input.ndim, axes, starts, ends, (1,) * len(axes))]


@kernel("flip", ALL)
def flip(x: Array, axis: tuple[int, ...]) -> Array:
    """A copy with the axes reversed."""
    return np.flip(x, axis).copy()


@kernel("roll", ALL)
def roll(x: Array, shifts: tuple[int, ...], axis: tuple[int, ...]) -> Array:
    """A copy with the elements shifted round."""
    if not axis:
        return np.roll(x, shifts[0])
    return np.roll(x, shifts, axis)


@kernel("pad", ALL)
def pad(x: Array, paddings: tuple[int, ...], pad_value: Any) -> Array:
    """The input in the middle of a constant."""
    out = np.full(padded(x.shape, paddings), np.asarray(pad_value).astype(x.dtype), x.dtype)
    source, target = [], []
    for dim, (before, after) in zip(x.shape, pad_pairs(x.ndim, paddings)):
        source.append(slice(max(-before, 0), dim - max(-after, 0)))
        target.append(slice(max(before, 0), max(before, 0) + dim + min(before, 0) + min(after, 0)))
    out[tuple(target)] = x[tuple(source)]
    return out


def _sources(size: int, before: int, after: int, mode: str) -> Array:
    """For each position of a padded axis, the position in the input that it repeats."""
    places = np.arange(-before, size + after)
    if mode == "replicate":
        return places.clip(0, size - 1)
    if mode == "circular":
        return places % size
    if size == 1:
        return np.zeros_like(places)
    places = np.abs(places) % (2 * size - 2)
    return np.minimum(places, 2 * size - 2 - places)


@kernel("pad_mode", ALL)
def pad_mode(x: Array, paddings: tuple[int, ...], mode: str) -> Array:
    """The input with its own elements repeated around it."""
    if x.size == 0:
        return np.empty(padded(x.shape, paddings), x.dtype)
    for axis, (before, after) in enumerate(pad_pairs(x.ndim, paddings)):
        if before != 0 or after != 0:
            x = x.take(_sources(x.shape[axis], before, after, mode), axis)
    return x if any(paddings) else x.copy()


@kernel("pad_mode_grad", FLOATING_OR_COMPLEX)
def pad_mode_grad(grad: Array, paddings: tuple[int, ...], mode: str, shape: tuple[int, ...]) -> Array:
    """Each padded element's gradient added to the element that it repeats."""
    positions = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    result = np.zeros(shape, grad.dtype)
    add_at(result, pad_mode(positions, paddings, mode), grad)
    return result


@kernel("as_strided", ALL)
def as_strided(input: Array, dims: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Array:
    """A view over the input's elements in their order; a copy where they are not contiguous."""
    flat = np.ascontiguousarray(input).reshape(-1)
    if 0 in dims:
        return flat[:0].reshape(dims)
    steps = tuple(s * flat.itemsize for s in stride)
    view = np.ndarray(dims, flat.dtype, flat, offset * flat.itemsize, steps)
    # A copy's elements lie apart: no base would tell that a write to one is a write to another.
    return view if input.flags.c_contiguous else np.array(view, order="C")


@kernel("as_strided_grad", FLOATING_OR_COMPLEX)
def as_strided_grad(
    grad: Array, dims: tuple[int, ...], stride: tuple[int, ...], offset: int, shape: tuple[int, ...]
) -> Array:
    """The gradients of all views of an element added up."""
    result = np.zeros(shape, grad.dtype)
    add_at(result, as_strided(np.arange(result.size), dims, stride, offset), grad)
    return result


@kernel("diagonal", ALL)
def diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    """A view."""
    # Beyond the matrix every offset is as good as the first one there.
    offset = max(min(offset, x.shape[axis2]), -x.shape[axis1])
    view = x.diagonal(offset, axis1, axis2)
    # NumPy hands diagonals out read-only.
    view.flags.writeable = x.flags.writeable
    return view


@kernel("diagonal_scatter", ALL)
def diagonal_scatter(x: Array, y: Array, offset: int, axis1: int, axis2: int) -> Array:
    """A copy of x with y on the diagonal."""
    out = x.copy()
    diagonal(out, offset, axis1, axis2)[...] = y
    return out


@kernel("tensor_unfold", ALL)
def tensor_unfold(input: Array, axis: int, size: int, step: int) -> Array:
    """Windows along the axis, as a view."""
    if input.ndim == 0:
        return input.reshape(1)[:size]
    axis = axis % input.ndim
    windows = (input.shape[axis] - size) // step + 1
    dims = input.shape[:axis] + (windows,) + input.shape[axis + 1 :] + (size,)
    if 0 in dims:
        return input.reshape(-1)[:0].reshape(dims)
    steps = list(input.strides) + [input.strides[axis]]
    steps[axis] *= step if windows > 1 else 1
    if input.flags.c_contiguous:
        return np.ndarray(dims, input.dtype, input, 0, tuple(steps))
    return np.lib.stride_tricks.as_strided(input, dims, steps)


@kernel("tensor_unfold_grad", NUMERIC)
def tensor_unfold_grad(grad: Array, axis: int, size: int, step: int, shape: tuple[int, ...]) -> Array:
    """The gradients of all windows over an element added up."""
    result = np.zeros(shape, grad.dtype)
    add_at(result, tensor_unfold(np.arange(result.size).reshape(shape), axis, size, step), grad)
    return result
