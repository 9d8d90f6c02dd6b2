"""Reductions."""

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, kernel
from wherry.kernels.numpy.common import Array, in_float32


@kernel("sum", ALL)
@in_float32
def sum(x: Array, axis: tuple[int, ...], dtype: DataType | None, keepdim: bool) -> Array:
    """Sum over the axes (all where empty); bool and small integers add up in int64."""
    axes = axis if axis else None
    if dtype is not None:
        return np.sum(x.astype(dtype.numpy), axis=axes, keepdims=keepdim)
    return np.sum(x, axis=axes, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "biu" else None)
