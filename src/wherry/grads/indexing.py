"""Derivative rules of `x[key]` and `x[key] = value`."""

from typing import Any

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, unbroadcast

Spec = tuple[Any, ...]


def squeezed_meta(meta: Meta, ndim: int) -> Meta:
    """The meta without the ones in front that a region has not."""
    return meta.with_shape(meta.shape[max(0, meta.ndim - ndim) :])


def unbroadcast_value(ops: Ops, grad: Value, meta: Meta) -> Value:
    """The gradient of an assigned value, whose shape may have more leading ones than the region."""
    grad = unbroadcast(ops, grad, squeezed_meta(meta, grad.meta.ndim))
    return grad if grad.meta.shape == meta.shape else ops.reshape(grad, meta.shape)


def zero(ops: Ops, like: Value) -> Value:
    return ops.full((), 0.0, like.meta.dtype, None)


def getitem_basic_grad_rule(ops: Ops, x_meta: Meta, spec: Spec, out_grad: Value) -> Value:
    return ops.getitem_basic_grad(out_grad, spec, x_meta.shape)


def getitem_basic_double_grad(ops: Ops, spec: Spec, out_grad: Value) -> Value:
    return ops.getitem_basic(out_grad, spec)


def setitem_basic_grad_x(ops: Ops, spec: Spec, out_grad: Value) -> Value:
    return ops.setitem_basic(out_grad, zero(ops, out_grad), spec)


def setitem_basic_grad_value(ops: Ops, value_meta: Meta, spec: Spec, out_grad: Value) -> Value:
    return unbroadcast_value(ops, ops.getitem_basic(out_grad, spec), value_meta)


def getitem_advanced_grad_rule(ops: Ops, x_meta: Meta, indices: list[Value], spec: Spec, out_grad: Value) -> Value:
    return ops.getitem_advanced_grad(out_grad, indices, spec, x_meta.shape)


def getitem_advanced_double_grad(ops: Ops, indices: list[Value], spec: Spec, out_grad: Value) -> Value:
    return ops.getitem_advanced(out_grad, indices, spec)


def setitem_advanced_grad_x(ops: Ops, indices: list[Value], spec: Spec, accumulate: bool, out_grad: Value) -> Value:
    if accumulate:
        return out_grad
    return ops.setitem_advanced(out_grad, zero(ops, out_grad), indices, spec, False)


def setitem_advanced_grad_value(
    ops: Ops, value_meta: Meta, indices: list[Value], spec: Spec, accumulate: bool, out_grad: Value
) -> Value:
    if accumulate:
        grad = ops.getitem_advanced(out_grad, indices, spec)
    else:
        grad = ops.setitem_advanced_grad(out_grad, indices, spec)
    return unbroadcast_value(ops, grad, value_meta)


def setitem_advanced_double_grad(ops: Ops, grad_meta: Meta, indices: list[Value], spec: Spec, out_grad: Value) -> Value:
    zeros = ops.full(grad_meta.shape, 0.0, out_grad.meta.dtype, None)
    return ops.setitem_advanced(zeros, out_grad, indices, spec, False)
