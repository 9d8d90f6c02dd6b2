"""Kernels that make tensors."""

import math

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, kernel
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
