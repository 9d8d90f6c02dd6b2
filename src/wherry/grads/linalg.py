"""Derivative rules of linear algebra."""

import math

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, unbroadcast


def _as_matrix(ops: Ops, value: Value, row: bool) -> Value:
    """A vector as a matrix of one row or one column; a matrix as it is."""
    if value.meta.ndim != 1:
        return value
    return ops.reshape(value, (1, value.meta.shape[0]) if row else (value.meta.shape[0], 1))


def _out_grad_as_matrix(ops: Ops, out_grad: Value, x_ndim: int, y_ndim: int) -> Value:
    """The gradient with the axes put back that matmul leaves out for vectors."""
    shape = out_grad.meta.shape
    if x_ndim == 1 and y_ndim == 1:
        return ops.reshape(out_grad, (1, 1))
    if x_ndim == 1:
        return ops.reshape(out_grad, shape[:-1] + (1,) + shape[-1:])
    if y_ndim == 1:
        return ops.reshape(out_grad, shape + (1,))
    return out_grad


def _reduced(ops: Ops, grad: Value, meta: Meta) -> Value:
    """The gradient summed over broadcast batch axes, in the input's shape (a vector's was a matrix until here)."""
    if meta.ndim != 1:
        return unbroadcast(ops, grad, meta)
    lead = grad.meta.ndim - 2
    if lead:
        grad = ops.sum(grad, tuple(range(lead)), None, False)
    return ops.reshape(grad, meta.shape)


def matmul_grad_x(
    ops: Ops, x_meta: Meta, y: Value, out_grad: Value, transpose_x: bool, transpose_y: bool
) -> Value:
    transposed = transpose_x and x_meta.ndim > 1
    grad = _out_grad_as_matrix(ops, out_grad, x_meta.ndim, y.meta.ndim)
    if y.meta.ndim == 1:
        y, transpose_y = _as_matrix(ops, y, False), False
    y = conj(ops, y)
    if transposed:
        return _reduced(ops, ops.matmul(y, grad, transpose_y, True), x_meta)
    return _reduced(ops, ops.matmul(grad, y, False, not transpose_y), x_meta)


def matmul_grad_y(
    ops: Ops, x: Value, y_meta: Meta, out_grad: Value, transpose_x: bool, transpose_y: bool
) -> Value:
    transposed = transpose_y and y_meta.ndim > 1
    if y_meta.ndim == 2 and x.meta.ndim > 2 and not transpose_x:
        # The batch axes of x are more rows: one product sums over them.
        rows = math.prod(x.meta.shape[:-1])
        grad = ops.reshape(out_grad, (rows, out_grad.meta.shape[-1]))
        x = ops.reshape(conj(ops, x), (rows, x.meta.shape[-1]))
    else:
        grad = _out_grad_as_matrix(ops, out_grad, x.meta.ndim, y_meta.ndim)
        if x.meta.ndim == 1:
            x, transpose_x = _as_matrix(ops, x, True), False
        x = conj(ops, x)
    if transposed:
        return _reduced(ops, ops.matmul(grad, x, True, transpose_x), y_meta)
    return _reduced(ops, ops.matmul(x, grad, not transpose_x, False), y_meta)
