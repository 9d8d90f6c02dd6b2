"""Sums, means and products over axes."""

from typing import Any, Final

import numpy as np

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, kernel
from wherry.infermeta.reduction import reduced_count
from wherry.kernels.numpy.common import Array

HALF: Final = (dt.float16.numpy, dt.bfloat16.numpy)
_add_reduce: Final[Any] = np.add.reduce


@kernel("sum", ALL)
def sum(x: Array, axis: tuple[int, ...], dtype: DataType | None, keepdim: bool) -> Array:
    """Sum over the axes (all where empty); bool and int32 add up in int64, float16 and bfloat16 in float32."""
    axes = axis if axis and x.ndim else None
    if dtype is not None:
        return _sum_in(x, dtype.numpy, axes, keepdim)
    kind = x.dtype.kind
    if (kind == "f" and x.itemsize > 2) or kind == "c":
        return _add_reduce(x, axis=axes, keepdims=keepdim)
    if kind == "b" or x.dtype == np.int32:
        return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.int64)
    return _sum_in(x, x.dtype, axes, keepdim)


def _sum_in(x: Array, dtype: "np.dtype", axes: tuple[int, ...] | None, keepdim: bool) -> Array:
    if dtype in HALF:
        return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.float32).astype(dtype)
    if dtype.kind == "b":
        # A sum is true where it is not zero; terms may cancel.
        return sum(x, axes or (), None, keepdim) != 0
    if x.dtype != dtype:
        x = x.astype(dtype)
    return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=dtype)


@kernel("mean", ALL)
def mean(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Mean over the axes (all where empty); NaN of nothing. Integers round towards zero; bool is whether any is true."""
    axes = axis if axis and x.ndim else None
    kind = x.dtype.kind
    if x.dtype in HALF:
        total = _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.float32)
        return (total / reduced_count(x.shape, axis)).astype(x.dtype)
    if kind == "f" or kind == "c":
        return _add_reduce(x, axis=axes, keepdims=keepdim) / reduced_count(x.shape, axis)
    total = _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.int64)
    if kind == "b":
        return total != 0
    count = max(reduced_count(x.shape, axis), 1)
    return (np.sign(total) * (np.abs(total) // count)).astype(x.dtype)
