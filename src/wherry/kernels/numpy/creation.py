"""Kernels that make tensors."""

import math
from typing import Any

import numpy as np

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.sizes import arange_length
from wherry.dispatch.kernel_factory import ALL, INTEGER, REAL, kernel
from wherry.kernels.numpy.common import Array


@kernel("full", ALL)
def full(shape: tuple[int, ...], value: complex, dtype: DataType | None) -> Array:
    """Every element `value`; a value out of an integer dtype's range wraps, as in C."""
    return _filled(shape, value, np.dtype(np.float32) if dtype is None else dtype.numpy)


@kernel("full_like", ALL)
def full_like(x: Array, value: complex, dtype: DataType | None) -> Array:
    """`full` of x's shape and, where no dtype is given, its dtype."""
    return _filled(x.shape, value, x.dtype if dtype is None else dtype.numpy)


def _filled(shape: tuple[int, ...], value: complex, dtype: "np.dtype") -> Array:
    # Zeroed pages come from the system for nothing; -0.0 has a bit set.
    if not value and (not isinstance(value, float) or math.copysign(1.0, value) > 0.0):
        return np.zeros(shape, dtype)
    out = np.empty(shape, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        value = value.real
    try:
        out.fill(value)
    except (OverflowError, ValueError):
        out.fill(_wrapped(value, dtype))
    return out


def _wrapped(value: complex, dtype: "np.dtype") -> "np.generic":
    """What a C cast makes of a number that an integer dtype cannot hold: NaN and infinities the smallest value."""
    real = value.real
    if not math.isfinite(real):
        real = np.iinfo(np.int64).min
    bits = int(real) & (2 ** (8 * dtype.itemsize) - 1)
    return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype.newbyteorder("<"))[0]


@kernel("empty", ALL)
def empty(shape: tuple[int, ...], dtype: DataType | None) -> Array:
    """Memory as it comes."""
    return np.empty(shape, np.float32 if dtype is None else dtype.numpy)


@kernel("empty_like", ALL)
def empty_like(x: Array, dtype: DataType | None) -> Array:
    """Memory as it comes, of x's shape."""
    return np.empty(x.shape, x.dtype if dtype is None else dtype.numpy)


@kernel("arange", REAL)
def arange(start: Any, end: Any, step: Any, dtype: DataType | None) -> Array:
    """start + i * step, each element rounded once (no sum that drifts)."""
    dtype = dt.float32 if dtype is None else dtype
    length = arange_length(start, end, step, dtype)
    index = np.arange(length, dtype=np.int64)
    if dtype.is_integer:
        return (int(start) + index * int(step)).astype(dtype.numpy)
    return (float(start) + index * float(step)).astype(dtype.numpy)


def _spaced(start: float, stop: float, num: int) -> Array:
    # Counted from the nearer end, so that both ends are exact and the values mirror each other.
    index = np.arange(num, dtype=np.float64)
    if num <= 1:
        return np.full(num, start, np.float64)
    step = (stop - start) / (num - 1)
    return np.where(index < num // 2, start + index * step, stop - (num - 1 - index) * step)


@kernel("linspace", REAL)
def linspace(start: Any, stop: Any, num: int, dtype: DataType | None) -> Array:
    """num values from start to stop, both included; an integer dtype cuts them towards zero."""
    return _spaced(float(start), float(stop), num).astype(np.float32 if dtype is None else dtype.numpy)


@kernel("logspace", REAL)
def logspace(start: Any, stop: Any, num: int, base: Any, dtype: DataType | None) -> Array:
    """Powers of base with evenly spaced exponents."""
    return np.power(float(base), _spaced(float(start), float(stop), num)).astype(
        np.float32 if dtype is None else dtype.numpy
    )


@kernel("eye", ALL)
def eye(num_rows: int, num_columns: int, dtype: DataType | None) -> Array:
    """Ones on the diagonal."""
    columns = num_rows if num_columns < 0 else num_columns
    return np.eye(num_rows, columns, dtype=np.float32 if dtype is None else dtype.numpy)


@kernel("assign", ALL)
def assign(x: Array) -> Array:
    """A copy in C order."""
    return np.array(x, order="C")


def _keep_triangle(x: Array, diagonal: int, lower: bool) -> Array:
    rows, columns = x.shape[-2:]
    below = np.arange(columns) - np.arange(rows)[:, np.newaxis]
    return np.where(below <= diagonal if lower else below >= diagonal, x, np.zeros((), x.dtype))


@kernel("tril", ALL)
def tril(x: Array, diagonal: int) -> Array:
    """Zeros above the diagonal."""
    return _keep_triangle(x, diagonal, True)


@kernel("triu", ALL)
def triu(x: Array, diagonal: int) -> Array:
    """Zeros below the diagonal."""
    return _keep_triangle(x, diagonal, False)


@kernel("tril_indices", INTEGER)
def tril_indices(rows: int, cols: int, offset: int, dtype: DataType | None) -> Array:
    """Row and column numbers of the lower triangle, row by row."""
    keep = np.arange(cols) - np.arange(rows)[:, np.newaxis] <= offset
    return np.stack(np.nonzero(keep)).astype(np.int64 if dtype is None else dtype.numpy)


@kernel("triu_indices", INTEGER)
def triu_indices(rows: int, cols: int, offset: int, dtype: DataType | None) -> Array:
    """Row and column numbers of the upper triangle, row by row."""
    keep = np.arange(cols) - np.arange(rows)[:, np.newaxis] >= offset
    return np.stack(np.nonzero(keep)).astype(np.int64 if dtype is None else dtype.numpy)


@kernel("diag", ALL)
def diag(x: Array, offset: int, padding_value: float) -> Array:
    """A vector on the diagonal of a matrix filled with padding_value; or a copy of a matrix's diagonal."""
    if x.ndim == 2:
        return np.array(np.diagonal(x, offset))
    vector = x.reshape(-1)
    size = vector.size + abs(offset)
    out = _filled((size, size), padding_value, x.dtype)
    index = np.arange(vector.size)
    out[index + max(0, -offset), index + max(0, offset)] = vector
    return out


@kernel("diag_grad", ALL)
def diag_grad(out_grad: Array, shape: tuple[int, ...], offset: int) -> Array:
    """The diagonal of a matrix's gradient back as the vector, or a diagonal's gradient back in its matrix."""
    if len(shape) < 2:
        return np.array(np.diagonal(out_grad, offset)).reshape(shape)
    out = np.zeros(shape, out_grad.dtype)
    vector = out_grad.reshape(-1)
    index = np.arange(vector.size)
    out[index + max(0, -offset), index + max(0, offset)] = vector
    return out


@kernel("diag_embed", ALL)
def diag_embed(input: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Zero beside the diagonal."""
    length = input.shape[-1]
    size = length + abs(offset)
    out = np.zeros(input.shape[:-1] + (size, size), input.dtype)
    index = np.arange(length)
    out[..., index + max(0, -offset), index + max(0, offset)] = input
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


@kernel("fill", ALL)
def fill(x: Array, value: Any) -> Array:
    """x's shape and dtype, one value."""
    return np.full(x.shape, value, x.dtype)
