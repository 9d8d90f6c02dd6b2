"""Running a chain of element-wise NumPy calls block by block, so that what is between them stays in the cache."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from wherry.kernels.numpy.common import Array

# Elements of a block: a few float32 arrays of this size fit in a core's second-level cache.
BLOCK: Final = 1 << 15
_WHOLE: Final = BLOCK * 2


def by_blocks(body: Callable[..., Any], *arrays: Array) -> Array:
    """A new array like the first, filled by body(out, *arrays) on pieces of at most BLOCK elements.

    The arrays have one shape. The body writes to `out` and may use it as working space.
    """
    first = arrays[0]
    out = np.empty(first.shape, first.dtype)
    if first.size <= _WHOLE:
        body(out, *arrays)
        return out
    flat_out = out.reshape(-1)
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    for start in range(0, first.size, BLOCK):
        stop = start + BLOCK
        body(flat_out[start:stop], *[a[start:stop] for a in flat])
    return out


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Slices of rows with about BLOCK elements each; at least one row, one slice for a small matrix."""
    if rows * columns <= _WHOLE:
        return [slice(0, rows)]
    step = max(1, BLOCK // max(columns, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def as_rows(x: Array, axis: int) -> Array:
    """x as a C-contiguous matrix whose rows run along `axis`; nothing is copied where that is the last of a contiguous array."""
    if x.ndim == 0:
        return x.reshape(1, 1)
    axis %= x.ndim
    moved = x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)
    columns = moved.shape[-1]
    return np.ascontiguousarray(moved).reshape(moved.size // columns if columns else 0, columns)


def from_rows(matrix: Array, shape: tuple[int, ...], axis: int) -> Array:
    """A matrix of rows along `axis` back in the shape it came from, in C order."""
    if not shape or axis % len(shape) == len(shape) - 1:
        return matrix.reshape(shape)
    axis %= len(shape)
    moved = shape[:axis] + shape[axis + 1 :] + (shape[axis],)
    return np.ascontiguousarray(np.moveaxis(matrix.reshape(moved), -1, axis))
