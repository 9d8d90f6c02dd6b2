"""Derivative rules of the reductions."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value
from wherry.infermeta.reduction import kept_shape, reduced_count


def keep(ops: Ops, value: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool) -> Value:
    """A reduced value with sizes of 1 where axes were, so that it broadcasts against the input."""
    if keepdim or not axis or value.meta.ndim == x_meta.ndim:
        return value
    return ops.reshape(value, kept_shape(x_meta.shape, axis))


def expand_reduced(ops: Ops, value: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool) -> Value:
    """A reduced value spread over the input's shape again, as a view."""
    return ops.expand(keep(ops, value, x_meta, axis, keepdim), x_meta.shape)


def sum_grad(ops: Ops, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value) -> Value:
    # A change of dtype is undone while the gradient is small.
    if out_grad.meta.dtype is not x_meta.dtype:
        if out_grad.meta.dtype.is_complex and not x_meta.dtype.is_complex:
            out_grad = ops.real(out_grad)
        out_grad = ops.cast(out_grad, x_meta.dtype)
    return expand_reduced(ops, out_grad, x_meta, axis, keepdim)


def mean_grad(ops: Ops, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value) -> Value:
    count = reduced_count(x_meta.shape, axis)
    return expand_reduced(ops, ops.scale(out_grad, 1.0 / count if count else 0.0), x_meta, axis, keepdim)
