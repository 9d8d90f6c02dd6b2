"""Derivative rules of convolution: three bilinear operations, each the transpose of the others."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj

Ints = tuple[int, ...]


def conv_grad_x(
    ops: Ops, x_meta: Meta, filter: Value, out_grad: Value, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Value:
    return ops.conv_grad_input(out_grad, conj(ops, filter), x_meta.shape[2:], strides, paddings, dilations, groups)


def conv_grad_w(
    ops: Ops, x: Value, filter_meta: Meta, out_grad: Value, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Value:
    return ops.conv_grad_filter(conj(ops, x), out_grad, filter_meta.shape[2:], strides, paddings, dilations, groups)


def conv_grad_input_grad_out_grad(
    ops: Ops, filter: Value, x_grad_grad: Value, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Value:
    return ops.conv(x_grad_grad, conj(ops, filter), strides, paddings, dilations, groups)


def conv_grad_input_grad_filter(
    ops: Ops,
    out_grad: Value,
    filter_meta: Meta,
    x_grad_grad: Value,
    strides: Ints,
    paddings: Ints,
    dilations: Ints,
    groups: int,
) -> Value:
    return ops.conv_grad_filter(
        x_grad_grad, conj(ops, out_grad), filter_meta.shape[2:], strides, paddings, dilations, groups
    )


def conv_grad_filter_grad_x(
    ops: Ops,
    x_meta: Meta,
    out_grad: Value,
    filter_grad_grad: Value,
    strides: Ints,
    paddings: Ints,
    dilations: Ints,
    groups: int,
) -> Value:
    return ops.conv_grad_input(
        conj(ops, out_grad), filter_grad_grad, x_meta.shape[2:], strides, paddings, dilations, groups
    )


def conv_grad_filter_grad_out_grad(
    ops: Ops, x: Value, filter_grad_grad: Value, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Value:
    return ops.conv(conj(ops, x), filter_grad_grad, strides, paddings, dilations, groups)
