"""softmax and log_softmax with their derivatives, a few rows at a time so that each block stays in the cache."""

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.kernels.numpy.blocks import as_rows, from_rows, row_blocks
from wherry.kernels.numpy.common import Array, in_float32


@kernel("softmax", FLOAT)
@in_float32
def softmax(x: Array, axis: int) -> Array:
    """exp(x - max) over its sum."""
    rows = as_rows(x, axis)
    out = np.empty_like(rows)
    if rows.size:
        for block in row_blocks(*rows.shape):
            part = out[block]
            np.subtract(rows[block], rows[block].max(axis=1, keepdims=True), out=part)
            np.exp(part, out=part)
            part /= part.sum(axis=1, keepdims=True)
    return from_rows(out, x.shape, axis)


@kernel("softmax_grad", FLOAT)
@in_float32
def softmax_grad(out: Array, out_grad: Array, axis: int) -> Array:
    """out * (g - sum(out * g))."""
    rows, grads = as_rows(out, axis), as_rows(out_grad, axis)
    result = np.empty_like(rows)
    for block in row_blocks(*rows.shape):
        part = result[block]
        np.multiply(rows[block], grads[block], out=part)
        part -= rows[block] * part.sum(axis=1, keepdims=True)
    return from_rows(result, out.shape, axis)


@kernel("log_softmax", FLOAT)
@in_float32
def log_softmax(x: Array, axis: int) -> Array:
    """x - max - log(sum(exp(x - max)))."""
    rows = as_rows(x, axis)
    out = np.empty_like(rows)
    if rows.size:
        for block in row_blocks(*rows.shape):
            part = out[block]
            np.subtract(rows[block], rows[block].max(axis=1, keepdims=True), out=part)
            part -= np.log(np.exp(part).sum(axis=1, keepdims=True))
    return from_rows(out, x.shape, axis)


@kernel("log_softmax_grad", FLOAT)
@in_float32
def log_softmax_grad(out: Array, out_grad: Array, axis: int) -> Array:
    """g - exp(out) * sum(g)."""
    rows, grads = as_rows(out, axis), as_rows(out_grad, axis)
    result = np.empty_like(rows)
    for block in row_blocks(*rows.shape):
        part = result[block]
        np.exp(rows[block], out=part)
        part *= -grads[block].sum(axis=1, keepdims=True)
        part += grads[block]
    return from_rows(result, out.shape, axis)
