"""Derivative rules of the operations that join, split and repeat tensors."""

from typing import Any

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value
from wherry.infermeta.join import tiled


def concat_grad(ops: Ops, x_meta: list[Meta], axis: int, out_grad: Value) -> list[Value]:
    return list(ops.split(out_grad, tuple(meta.shape[axis] for meta in x_meta), axis))


def stack_grad(ops: Ops, axis: int, out_grad: Value) -> list[Value]:
    return list(ops.unbind(out_grad, axis))


def split_grad(ops: Ops, axis: int, out_grad: list[Value]) -> Value:
    return ops.concat(out_grad, axis)


def unbind_grad(ops: Ops, axis: int, out_grad: list[Value]) -> Value:
    return ops.stack(out_grad, axis)


def tile_grad(ops: Ops, x_meta: Meta, repeat_times: tuple[int, ...], out_grad: Value) -> Value:
    shape, repeats = tiled(x_meta.shape, repeat_times)
    pairs: list[int] = []
    for repeat, dim in zip(repeats, shape):
        pairs += [repeat, dim]
    if 0 in pairs:
        return ops.full(x_meta.shape, 0.0, out_grad.meta.dtype, None)
    if not pairs:
        return out_grad
    total = ops.sum(ops.reshape(out_grad, tuple(pairs)), tuple(range(0, len(pairs), 2)), None, False)
    return ops.reshape(total, x_meta.shape)


def repeat_interleave_grad(ops: Ops, x_meta: Meta, repeats: int, axis: int, out_grad: Value) -> Value:
    if repeats == 0 or x_meta.size == 0:
        return ops.full(x_meta.shape, 0.0, out_grad.meta.dtype, None)
    at = axis % x_meta.ndim + 1
    split: tuple[Any, ...] = x_meta.shape[:at] + (repeats,) + x_meta.shape[at:]
    return ops.sum(ops.reshape(out_grad, split), (at,), None, False)
