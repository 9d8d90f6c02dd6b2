"""Derivative rules of activations: a fused kernel where nothing is recorded, else the formula."""

import math
from collections.abc import Callable

from wherry.grads.common import Ops, Value, conj, plain


def _masked(ops: Ops, mask: Value, grad: Value) -> Value:
    """The gradient where the mask holds, else 0: where the function is constant, whatever arrives (a product would make NaN of 0 * inf)."""
    return ops.where(mask, grad, 0.0)


def _times(ops: Ops, grad: Value, slope: Value) -> Value:
    return ops.multiply(grad, conj(ops, slope))


def _one_minus(ops: Ops, x: Value) -> Value:
    return ops.scale(x, -1.0, 1.0, True)


def _near(ops: Ops, x: Value, bound: float) -> Value:
    """x within bounds beyond which a slope does not move: an infinity would meet a factor of 0."""
    return x if x.meta.dtype.is_complex else ops.clip(x, -bound, bound)


def relu_grad_x(ops: Ops, out: Value, out_grad: Value) -> Value:
    if plain(out):
        return ops.relu_grad(out, out_grad)
    return _masked(ops, ops.greater_than(out, 0.0), out_grad)


def relu6_grad_x(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _masked(ops, ops.logical_and(ops.greater_than(out, 0.0), ops.less_than(out, 6.0)), out_grad)


def hardtanh_grad_x(ops: Ops, x: Value, out_grad: Value, t_min: float, t_max: float) -> Value:
    if plain(x):
        return ops.hardtanh_grad(x, out_grad, t_min, t_max)
    return _masked(ops, ops.logical_and(ops.greater_than(x, t_min), ops.less_than(x, t_max)), out_grad)


def leaky_relu_grad_x(ops: Ops, x: Value, out_grad: Value, negative_slope: float) -> Value:
    if plain(x):
        return ops.leaky_relu_grad(x, out_grad, negative_slope)
    return ops.where(ops.greater_equal(x, 0.0), out_grad, ops.scale(out_grad, negative_slope))


def threshold_grad_x(ops: Ops, x: Value, out_grad: Value, threshold: float) -> Value:
    if plain(x):
        return ops.threshold_grad(x, out_grad, threshold)
    return _masked(ops, ops.greater_than(x, threshold), out_grad)


def hardshrink_grad_x(ops: Ops, x: Value, out_grad: Value, threshold: float) -> Value:
    if plain(x):
        return ops.hardshrink_grad(x, out_grad, threshold)
    # The ends are not shrunk.
    return _masked(ops, ops.greater_equal(ops.abs(x), threshold), out_grad)


def softshrink_grad_x(ops: Ops, x: Value, out_grad: Value, threshold: float) -> Value:
    if plain(x):
        return ops.softshrink_grad(x, out_grad, threshold)
    return _masked(ops, ops.greater_than(ops.abs(x), threshold), out_grad)


def hardsigmoid_grad_x(ops: Ops, out: Value, out_grad: Value, slope: float) -> Value:
    if plain(out):
        return ops.hardsigmoid_grad(out, out_grad, slope)
    inside = ops.logical_and(ops.greater_than(out, 0.0), ops.less_than(out, 1.0))
    return _masked(ops, inside, ops.scale(out_grad, slope))


def hardswish_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.hardswish_grad(x, out_grad)
    middle = _times(ops, out_grad, ops.scale(x, 1.0 / 3.0, 0.5, True))
    inner = ops.where(ops.less_equal(x, -3.0), ops.full_like(x, 0.0), middle)
    return ops.where(ops.greater_equal(x, 3.0), out_grad, inner)


def _exponential(
    ops: Ops, x: Value, out_grad: Value, above: float, below: float, rate: float, at_zero: Callable[..., Value]
) -> Value:
    """above * g for positive x, below * exp(x * rate) * g for negative; the exponential never sees a positive x."""
    negative = ops.minimum(x, ops.full_like(x, 0.0))
    curve = ops.scale(ops.exp(ops.scale(negative, rate)), below)
    return ops.where(at_zero(x, 0.0), ops.scale(out_grad, above), ops.multiply(out_grad, curve))


def elu_grad_x(ops: Ops, x: Value, out_grad: Value, alpha: float) -> Value:
    if plain(x):
        return ops.elu_grad(x, out_grad, alpha)
    return _exponential(ops, x, out_grad, 1.0, alpha, 1.0, ops.greater_than)


def selu_grad_x(ops: Ops, x: Value, out_grad: Value, scale: float, alpha: float) -> Value:
    if plain(x):
        return ops.selu_grad(x, out_grad, scale, alpha)
    return _exponential(ops, x, out_grad, scale, scale * alpha, 1.0, ops.greater_than)


def celu_grad_x(ops: Ops, x: Value, out_grad: Value, alpha: float) -> Value:
    if plain(x):
        return ops.celu_grad(x, out_grad, alpha)
    return _exponential(ops, x, out_grad, 1.0, 1.0, 1.0 / alpha, ops.greater_equal)


def silu_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.silu_grad(x, out_grad)
    # s (1 + x (1 - s)), with 1 - s as the sigmoid of -x: exact in both tails.
    near = _near(ops, x, 800.0)
    s = ops.sigmoid(near)
    rest = ops.sigmoid(ops.scale(near, -1.0))
    return _times(ops, out_grad, ops.multiply(s, ops.scale(ops.multiply(near, rest), 1.0, 1.0, True)))


def mish_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.mish_grad(x, out_grad)
    near = _near(ops, x, 800.0)
    t = ops.tanh(ops.softplus(near, 1.0, 20.0))
    curve = ops.multiply(ops.multiply(near, ops.sigmoid(near)), _one_minus(ops, ops.square(t)))
    return ops.multiply(out_grad, ops.add(t, curve))


def softplus_grad_x(ops: Ops, x: Value, out_grad: Value, beta: float, threshold: float) -> Value:
    if plain(x):
        return ops.softplus_grad(x, out_grad, beta, threshold)
    steep = ops.scale(x, beta)
    return ops.where(ops.greater_than(steep, threshold), out_grad, ops.multiply(out_grad, ops.sigmoid(steep)))


def logsigmoid_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.logsigmoid_grad(x, out_grad)
    return ops.multiply(out_grad, ops.sigmoid(ops.scale(x, -1.0)))


def softsign_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.softsign_grad(x, out_grad)
    return ops.divide(out_grad, ops.square(ops.scale(ops.abs(x), 1.0, 1.0, True)))


def tanh_shrink_grad_x(ops: Ops, x: Value, out_grad: Value) -> Value:
    if plain(x):
        return ops.tanh_shrink_grad(x, out_grad)
    return ops.multiply(out_grad, ops.square(ops.tanh(x)))


def gelu_grad_x(ops: Ops, x: Value, out_grad: Value, approximate: bool) -> Value:
    if plain(x):
        return ops.gelu_grad(x, out_grad, approximate)
    x = _near(ops, x, 64.0)
    if approximate:
        c = math.sqrt(2.0 / math.pi)
        square = ops.square(x)
        t = ops.tanh(ops.multiply(ops.scale(x, c), ops.scale(square, 0.044715, 1.0, True)))
        inner = ops.scale(ops.scale(square, 3 * 0.044715, 1.0, True), c)
        curve = ops.multiply(ops.multiply(x, _one_minus(ops, ops.square(t))), inner)
        slope = ops.scale(ops.add(ops.scale(t, 1.0, 1.0, True), curve), 0.5)
    else:
        phi = ops.scale(ops.exp(ops.scale(ops.square(x), -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        cdf = ops.scale(ops.erf(ops.scale(x, math.sqrt(0.5))), 0.5, 0.5, True)
        slope = ops.add(cdf, ops.multiply(x, phi))
    return ops.multiply(out_grad, slope)


def softmax_grad_x(ops: Ops, out: Value, out_grad: Value, axis: int) -> Value:
    if plain(out):
        return ops.softmax_grad(out, out_grad, axis)
    weighted = ops.multiply(out, out_grad)
    total = ops.sum(weighted, (axis,), None, True)
    return ops.subtract(weighted, ops.multiply(out, total))


def log_softmax_grad_x(ops: Ops, out: Value, out_grad: Value, axis: int) -> Value:
    if plain(out):
        return ops.log_softmax_grad(out, out_grad, axis)
    total = ops.sum(out_grad, (axis,), None, True)
    return ops.subtract(out_grad, ops.multiply(ops.exp(out), total))
