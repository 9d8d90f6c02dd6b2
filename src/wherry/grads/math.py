"""Derivative rules of the element-wise operations."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, unbroadcast


def add_grad_x(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, x_meta)


def add_grad_y(ops: Ops, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, y_meta)


def multiply_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, y)), x_meta)


def multiply_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, x)), y_meta)
