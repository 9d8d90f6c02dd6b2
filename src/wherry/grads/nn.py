"""Derivative rules of embedding, dropout and normalisation."""

import math
from typing import Any

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, plain


def embedding_grad_weight(ops: Ops, x: Value, weight_meta: Meta, out_grad: Value, padding_idx: int) -> Value:
    return ops.embedding_grad(x, out_grad, weight_meta.shape[0], padding_idx)


def embedding_grad_grad(ops: Ops, x: Value, weight_grad_grad: Value, padding_idx: int) -> Value:
    return ops.embedding(x, weight_grad_grad, padding_idx)


def dropout_grad(ops: Ops, mask: Value, out_grad: Value, p: float, upscale: bool) -> Value:
    kept = ops.multiply(out_grad, ops.cast(mask, out_grad.meta.dtype))
    return ops.scale(kept, 1.0 / (1.0 - p)) if upscale and p < 1.0 else kept


def _normalised(ops: Ops, x: Value, scale: Value, out_grad: Value, axes: Any, epsilon: float) -> tuple[Value, Value]:
    """The gradient of x, and g * xhat, from formulas that know that mean and variance depend on x."""
    centred = ops.subtract(x, ops.mean(x, axes, True))
    variance = ops.mean(ops.square(centred), axes, True)
    inverse = ops.rsqrt(ops.scale(variance, 1.0, epsilon, True))
    hat = ops.multiply(centred, inverse)
    weighted = out_grad if scale is None else ops.multiply(out_grad, scale)
    projected = ops.multiply(hat, ops.mean(ops.multiply(weighted, hat), axes, True))
    inner = ops.subtract(ops.subtract(weighted, ops.mean(weighted, axes, True)), projected)
    return ops.multiply(inverse, inner), ops.multiply(out_grad, hat)


def _affine(ops: Ops, value: Value, meta: Meta | None, needed: bool) -> Value:
    if meta is None or not needed:
        return None
    return ops.reshape(value, meta.shape) if value.meta.shape != meta.shape else value


def layer_norm_rule(
    ops: Ops,
    x: Value,
    scale: Value,
    bias_meta: Meta | None,
    mean: Value,
    variance: Value,
    out_grad: Value,
    epsilon: float,
    begin_norm_axis: int,
    needs_grad: tuple[bool, ...],
) -> tuple[Value, Value, Value]:
    scale_meta = None if scale is None else scale.meta
    if plain(x):
        grads = ops.layer_norm_grad(x, scale, mean, variance, out_grad, epsilon, begin_norm_axis)
        return grads[0], _affine(ops, grads[1], scale_meta, True), _affine(ops, grads[2], bias_meta, True)
    shape = (math.prod(x.meta.shape[:begin_norm_axis]), math.prod(x.meta.shape[begin_norm_axis:]))
    grads = ops.reshape(out_grad, shape)
    weight = None if scale is None else ops.reshape(scale, (1, shape[1]))
    x_grad, by_hat = _normalised(ops, ops.reshape(x, shape), weight, grads, (1,), epsilon)
    scale_grad = ops.sum(by_hat, (0,), None, False) if needs_grad[1] else None
    bias_grad = ops.sum(grads, (0,), None, False) if needs_grad[2] else None
    return (
        ops.reshape(x_grad, x.meta.shape),
        _affine(ops, scale_grad, scale_meta, needs_grad[1]),
        _affine(ops, bias_grad, bias_meta, needs_grad[2]),
    )


def batch_norm_rule(
    ops: Ops,
    x: Value,
    scale: Value,
    bias_meta: Meta | None,
    mean: Value,
    variance: Value,
    out_grad: Value,
    epsilon: float,
    needs_grad: tuple[bool, ...],
) -> tuple[Value, Value, Value]:
    scale_meta = None if scale is None else scale.meta
    if plain(x):
        grads = ops.batch_norm_grad(x, scale, mean, variance, out_grad, epsilon)
        return grads[0], _affine(ops, grads[1], scale_meta, True), _affine(ops, grads[2], bias_meta, True)
    axes = (0, *range(2, x.meta.ndim))
    row = (1, x.meta.shape[1], *(1,) * (x.meta.ndim - 2))
    weight = None if scale is None else ops.reshape(scale, row)
    x_grad, by_hat = _normalised(ops, x, weight, out_grad, axes, epsilon)
    scale_grad = ops.sum(by_hat, axes, None, False) if needs_grad[1] else None
    bias_grad = ops.sum(out_grad, axes, None, False) if needs_grad[2] else None
    return (
        x_grad,
        _affine(ops, scale_grad, scale_meta, needs_grad[1]),
        _affine(ops, bias_grad, bias_meta, needs_grad[2]),
    )
