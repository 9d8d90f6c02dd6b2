"""Products of matrices and vectors."""

import math

import numpy as np

from wherry.core import dtype as dt
from wherry.core.sizes import cross_axis, diagonal_length
from wherry.dispatch.kernel_factory import COMPLEX, INTEGER, NUMERIC, kernel, register
from wherry.kernels.numpy.common import Array, in_float32


@kernel("matmul", INTEGER + (dt.float32, dt.float64) + COMPLEX)
def matmul(x: Array, y: Array, transpose_x: bool, transpose_y: bool) -> Array:
    """np.matmul; transposes are views that BLAS takes as flags."""
    if transpose_x and x.ndim > 1:
        x = x.T if x.ndim == 2 else x.swapaxes(-1, -2)
    if transpose_y and y.ndim > 1:
        y = y.T if y.ndim == 2 else y.swapaxes(-1, -2)
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous:
        # One product with all rows beats one for each matrix of the batch.
        lead = x.shape[:-1]
        return x.reshape(math.prod(lead), x.shape[-1]).dot(y).reshape(lead + y.shape[-1:])
    if x.ndim == 2 and y.ndim == 2:
        # The same BLAS call with half of np.matmul's overhead.
        return x.dot(y)
    return np.matmul(x, y)  # type: ignore[no-any-return]


register("matmul", in_float32(matmul), (dt.float16, dt.bfloat16))


register("bmm", in_float32(np.matmul), NUMERIC)
register("mv", in_float32(np.matmul), NUMERIC)


@kernel("dot", NUMERIC)
@in_float32
def dot(x: Array, y: Array) -> Array:
    """Row by row, without conjugation."""
    if x.ndim == 1:
        return np.asarray(np.dot(x, y))
    return np.sum(x * y, axis=-1, dtype=x.dtype)


@kernel("addmm", NUMERIC)
@in_float32
def addmm(input: Array, x: Array, y: Array, beta: float, alpha: float) -> Array:
    """beta * input + alpha * x y; as in BLAS, what is multiplied by 0 is not looked at."""
    product = np.matmul(x, y) if alpha else np.zeros((*x.shape[:-1], y.shape[-1]), x.dtype)
    if alpha != 1.0 and alpha:
        product = product * alpha
    if beta == 0.0:
        return (product + np.zeros(input.shape, x.dtype)).astype(x.dtype, copy=False)
    return (product + (input if beta == 1.0 else input * beta)).astype(x.dtype, copy=False)


@kernel("kron", NUMERIC)
@in_float32
def kron(x: Array, y: Array) -> Array:
    """Each element of x times all of y."""
    ndim = max(x.ndim, y.ndim)
    xs = (1,) * (ndim - x.ndim) + x.shape
    ys = (1,) * (ndim - y.ndim) + y.shape
    left = x.reshape(tuple(size for a in xs for size in (a, 1)))
    right = y.reshape(tuple(size for b in ys for size in (1, b)))
    return np.asarray(left * right).reshape(tuple(a * b for a, b in zip(xs, ys)))


@kernel("trace", NUMERIC)
@in_float32
def trace(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    """Sum of a diagonal."""
    return np.asarray(np.trace(x, offset, axis1, axis2, dtype=x.dtype))


@kernel("trace_grad", NUMERIC)
def trace_grad(out_grad: Array, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Array:
    """The gradient at every place of the diagonal, zero elsewhere."""
    out = np.zeros(shape, out_grad.dtype)
    moved = np.moveaxis(out, (axis1, axis2), (-2, -1))
    index = np.arange(diagonal_length(moved.shape[-2], moved.shape[-1], offset))
    moved[..., index + max(0, -offset), index + max(0, offset)] = out_grad[..., np.newaxis]
    return out


@kernel("cross", NUMERIC)
@in_float32
def cross(x: Array, y: Array, axis: int) -> Array:
    """x1 y2 - x2 y1 and so on, round the axis of size 3."""
    x, y = np.broadcast_arrays(x, y)
    at = cross_axis(x.shape, axis)
    a, b = np.moveaxis(x, at, 0), np.moveaxis(y, at, 0)
    parts = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return np.stack(parts, axis=at)
