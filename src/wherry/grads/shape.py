"""Derivative rules of the operations that change a shape."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, unbroadcast


def reshape_grad(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    """For every operation that keeps the elements and their order."""
    return ops.reshape(out_grad, x_meta.shape)


def expand_grad(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, x_meta)


def transpose_grad(ops: Ops, perm: tuple[int, ...], out_grad: Value) -> Value:
    ndim = len(perm)
    inverse = [0] * ndim
    for i, axis in enumerate(perm):
        inverse[axis % ndim] = i
    return ops.transpose(out_grad, tuple(inverse))
