"""Derivative rules of the cast and of what chooses by a mask."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, unbroadcast


def cast_grad(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return ops.cast(out_grad, x_meta.dtype)


def where_grad_x(ops: Ops, condition: Value, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.where(condition, out_grad, 0.0), x_meta)


def where_grad_y(ops: Ops, condition: Value, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.where(condition, 0.0, out_grad), y_meta)


def masked_fill_grad(ops: Ops, x_meta: Meta, mask: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.masked_fill(out_grad, mask, 0.0), x_meta)
