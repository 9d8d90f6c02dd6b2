"""Derivative rules of searching and sorting: a gradient goes back to where its value came from."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value


def _put_back(ops: Ops, x_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    if x_meta.ndim == 0:
        return out_grad
    zeros = ops.full(x_meta.shape, 0.0, out_grad.meta.dtype, None)
    return ops.put_along_axis(zeros, indices, out_grad, axis, "add", True)


def argsort_grad(ops: Ops, x_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    return _put_back(ops, x_meta, indices, axis, out_grad)


def topk_grad(ops: Ops, x_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    return _put_back(ops, x_meta, indices, axis, out_grad)


def cum_extremum_grad(ops: Ops, x_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    return _put_back(ops, x_meta, indices, axis, out_grad)


def masked_select_grad(ops: Ops, mask: Value, out_grad: Value) -> Value:
    return ops.masked_spread(mask, out_grad)


def masked_spread_grad(ops: Ops, mask: Value, out_grad: Value) -> Value:
    return ops.masked_select(out_grad, mask)
