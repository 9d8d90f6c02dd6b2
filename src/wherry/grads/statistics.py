"""Derivative rules of frequencies and choices among tensors."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value
from wherry.grads.gather import grown, zeros


def mode_grad(ops: Ops, x_meta: Meta, indices: Value, axis: int, keepdim: bool, out_grad: Value) -> Value:
    if x_meta.ndim == 0:
        return out_grad
    if not keepdim:
        place = axis % x_meta.ndim
        shape = x_meta.shape[:place] + (1,) + x_meta.shape[place + 1 :]
        indices, out_grad = ops.reshape(indices, shape), ops.reshape(out_grad, shape)
    return ops.put_along_axis(zeros(ops, x_meta, out_grad), indices, out_grad, axis, "add", True)


def multiplex_grad(ops: Ops, inputs_meta: list[Meta], index: Value, out_grad: Value) -> list[Value]:
    column = ops.reshape(index, index.meta.shape[:1] + (1,) * (out_grad.meta.ndim - 1))
    return [
        grown(ops, ops.where(ops.equal(column, position), out_grad, 0.0), meta)
        for position, meta in enumerate(inputs_meta)
    ]
