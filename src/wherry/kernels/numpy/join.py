"""Kernels that join, split and repeat tensors."""

import numpy as np

from wherry.dispatch.kernel_factory import ALL, INTEGER, kernel
from wherry.infermeta.join import split_sizes
from wherry.kernels.numpy.common import Array


@kernel("concat", ALL)
def concat(x: list[Array], axis: int) -> Array:
    """The tensors one after the other."""
    return np.concatenate(x, axis)


@kernel("stack", ALL)
def stack(x: list[Array], axis: int) -> Array:
    """The tensors along a new axis."""
    ndim = x[0].ndim + 1
    key = (slice(None),) * (axis + ndim if axis < 0 else axis) + (None,)
    return np.concatenate([a[key] for a in x], axis)


@kernel("split", ALL)
def split(x: Array, sections: tuple[int, ...], axis: int) -> list[Array]:
    """Views, one after the other."""
    axis = axis + x.ndim if axis < 0 else axis
    before = (slice(None),) * axis
    start = 0
    pieces = []
    for size in split_sizes(x.shape[axis], sections):
        pieces.append(x[before + (slice(start, start + size),)])
        start += size
    return pieces


@kernel("split_with_num", ALL)
def split_with_num(x: Array, num: int, axis: int) -> list[Array]:
    """Views of equal size."""
    pieces: list[Array] = split(x, (x.shape[axis] // num,) * num, axis)
    return pieces


@kernel("unbind", ALL)
def unbind(input: Array, axis: int) -> list[Array]:
    """A view for each position of the axis."""
    first = np.moveaxis(input, axis, 0)
    return [first[i, ...] for i in range(first.shape[0])]


@kernel("tile", ALL)
def tile(x: Array, repeat_times: tuple[int, ...]) -> Array:
    """Repeats of the whole along each axis."""
    return np.tile(x, repeat_times)


@kernel("repeat_interleave", ALL)
def repeat_interleave(x: Array, repeats: int, axis: int) -> Array:
    """Repeats of each element along the axis."""
    return np.repeat(x, repeats, axis)


@kernel("repeat_index", INTEGER)
def repeat_index(repeats: Array) -> Array:
    """0 as often as the first repeat says, 1 as often as the second ..."""
    if repeats.size and repeats.min() < 0:
        raise ValueError(f"expected repeats >= 0, received {int(repeats.min())} at position {int(repeats.argmin())}")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)
