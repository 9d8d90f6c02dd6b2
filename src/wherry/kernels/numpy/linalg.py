"""Products and decompositions of matrices."""

import math

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import COMPLEX, INTEGER, kernel, register
from wherry.kernels.numpy.common import Array, in_float32


@kernel("matmul", INTEGER + (dt.float32, dt.float64) + COMPLEX)
def matmul(x: Array, y: Array, transpose_x: bool, transpose_y: bool) -> Array:
    """np.matmul; transposes are views that BLAS takes as flags."""
    if transpose_x and x.ndim > 1:
        x = x.mT
    if transpose_y and y.ndim > 1:
        y = y.mT
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous:
        # One product with all rows beats one for each matrix of the batch.
        lead = x.shape[:-1]
        return np.matmul(x.reshape(math.prod(lead), x.shape[-1]), y).reshape(lead + y.shape[-1:])
    return np.asarray(np.matmul(x, y))


register("matmul", in_float32(matmul), (dt.float16, dt.bfloat16))
