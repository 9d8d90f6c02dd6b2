"""Derivative rules of the operations that take a part of a tensor, pad it, or turn it round."""

from typing import Any

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value
from wherry.infermeta.slicing import slice_key

Ints = tuple[int, ...]


def strided_slice_grad(
    ops: Ops, x_meta: Meta, axes: Ints, starts: Ints, ends: Ints, strides: Ints, out_grad: Value
) -> Value:
    key = slice_key(x_meta.ndim, axes, starts, ends, strides)
    return ops.getitem_basic_grad(out_grad, key + (Ellipsis,), x_meta.shape)


def slice_grad(ops: Ops, input_meta: Meta, axes: Ints, starts: Ints, ends: Ints, out_grad: Value) -> Value:
    key = slice_key(input_meta.ndim, axes, starts, ends, (1,) * len(axes))
    return ops.getitem_basic_grad(out_grad, key + (Ellipsis,), input_meta.shape)


def flip_grad(ops: Ops, axis: Ints, out_grad: Value) -> Value:
    return ops.flip(out_grad, axis)


def roll_grad(ops: Ops, shifts: Ints, axis: Ints, out_grad: Value) -> Value:
    return ops.roll(out_grad, tuple(-s for s in shifts), axis)


def pad_grad(ops: Ops, paddings: Ints, out_grad: Value) -> Value:
    # What was added is cropped, what was cropped is filled with zeros.
    return ops.pad(out_grad, tuple(-p for p in paddings), 0.0)


def pad_mode_grad_rule(ops: Ops, x_meta: Meta, paddings: Ints, mode: str, out_grad: Value) -> Value:
    return ops.pad_mode_grad(out_grad, paddings, mode, x_meta.shape)


def pad_mode_double_grad(ops: Ops, paddings: Ints, mode: str, out_grad: Value) -> Value:
    return ops.pad_mode(out_grad, paddings, mode)


def as_strided_grad_rule(ops: Ops, input_meta: Meta, dims: Ints, stride: Ints, offset: int, out_grad: Value) -> Value:
    return ops.as_strided_grad(out_grad, dims, stride, offset, input_meta.shape)


def as_strided_double_grad(ops: Ops, dims: Ints, stride: Ints, offset: int, out_grad: Value) -> Value:
    return ops.as_strided(out_grad, dims, stride, offset)


def diagonal_grad(ops: Ops, x_meta: Meta, offset: int, axis1: int, axis2: int, out_grad: Value) -> Value:
    zeros = ops.full(x_meta.shape, 0.0, out_grad.meta.dtype, None)
    return ops.diagonal_scatter(zeros, out_grad, offset, axis1, axis2)


def diagonal_scatter_grad_x(ops: Ops, y_meta: Meta, offset: int, axis1: int, axis2: int, out_grad: Value) -> Value:
    zeros = ops.full(y_meta.shape, 0.0, out_grad.meta.dtype, None)
    return ops.diagonal_scatter(out_grad, zeros, offset, axis1, axis2)


def diagonal_scatter_grad_y(ops: Ops, offset: int, axis1: int, axis2: int, out_grad: Value) -> Value:
    return ops.diagonal(out_grad, offset, axis1, axis2)


def tensor_unfold_grad_rule(ops: Ops, input_meta: Meta, axis: int, size: int, step: int, out_grad: Value) -> Value:
    return ops.tensor_unfold_grad(out_grad, axis, size, step, input_meta.shape)


def tensor_unfold_double_grad(ops: Ops, axis: int, size: int, step: int, out_grad: Value) -> Any:
    return ops.tensor_unfold(out_grad, axis, size, step)
