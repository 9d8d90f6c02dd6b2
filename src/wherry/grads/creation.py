"""Derivative rules of operations that make tensors from tensors, and of draws."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value


def assign_grad(ops: Ops, out_grad: Value) -> Value:
    return out_grad


def tril_grad(ops: Ops, out_grad: Value, diagonal: int) -> Value:
    return ops.tril(out_grad, diagonal)


def triu_grad(ops: Ops, out_grad: Value, diagonal: int) -> Value:
    return ops.triu(out_grad, diagonal)


def diag_grad(ops: Ops, x_meta: Meta, out_grad: Value, offset: int) -> Value:
    return ops.diag_grad(out_grad, x_meta.shape, offset)


def diag_grad_grad(ops: Ops, out_grad_meta: Meta, x_grad_grad: Value, offset: int) -> Value:
    return ops.diag_grad(x_grad_grad, out_grad_meta.shape, offset)


def draw_grad(ops: Ops, out_grad: Value) -> Value:
    """A draw does not follow its input."""
    return ops.full_like(out_grad, 0.0)


def diag_embed_grad(ops: Ops, out_grad: Value, offset: int, dim1: int, dim2: int) -> Value:
    return ops.diagonal(out_grad, offset, dim1, dim2)


def fill_grad(ops: Ops, x_meta: Meta) -> Value:
    return ops.full(x_meta.shape, 0.0, x_meta.dtype, None)
