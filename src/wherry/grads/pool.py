"""Derivative rules of pooling: a maximum's gradient goes to where it was found; an average is linear."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, plain

Ints = tuple[int, ...]


def max_pool_rule(
    ops: Ops,
    x: Value,
    out: Value,
    out_grad: Value,
    kernel_size: Ints,
    strides: Ints,
    paddings: Ints,
    ceil_mode: bool,
) -> Value:
    if plain(x):
        return ops.max_pool_grad(x, out, out_grad, kernel_size, strides, paddings, ceil_mode)
    index = ops.max_pool_with_index(x, kernel_size, strides, paddings, ceil_mode)[1]
    return max_pool_with_index_rule(ops, x.meta, index, out_grad, kernel_size, strides)


def max_pool_with_index_rule(
    ops: Ops, x_meta: Meta, index: Value, out_grad: Value, kernel_size: Ints, strides: Ints
) -> Value:
    overlapping = any(s < k for s, k in zip(strides, kernel_size))
    return ops.max_pool_scatter(out_grad, index, x_meta.shape[x_meta.ndim - len(kernel_size) :], overlapping)


def adaptive_max_pool_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value, output_size: Ints) -> Value:
    return ops.max_pool_scatter(out_grad, index, x_meta.shape[x_meta.ndim - len(output_size) :], True)


def max_pool_scatter_grad(ops: Ops, index: Value, out_grad: Value, spatial_size: Ints) -> Value:
    return ops.max_pool_gather(out_grad, index, len(spatial_size))


def max_pool_gather_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value, spatial_axes: int) -> Value:
    return ops.max_pool_scatter(out_grad, index, x_meta.shape[x_meta.ndim - spatial_axes :], True)


def avg_pool_grad(
    ops: Ops,
    x_meta: Meta,
    out_grad: Value,
    kernel_size: Ints,
    strides: Ints,
    paddings: Ints,
    ceil_mode: bool,
    exclusive: bool,
) -> Value:
    spatial = x_meta.shape[x_meta.ndim - len(kernel_size) :]
    return ops.avg_pool_backward(out_grad, spatial, kernel_size, strides, paddings, ceil_mode, exclusive)


def avg_pool_backward_grad(
    ops: Ops,
    x_grad_grad: Value,
    kernel_size: Ints,
    strides: Ints,
    paddings: Ints,
    ceil_mode: bool,
    exclusive: bool,
) -> Value:
    return ops.avg_pool(x_grad_grad, kernel_size, strides, paddings, ceil_mode, exclusive)
