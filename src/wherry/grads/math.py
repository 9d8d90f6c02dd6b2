"""Derivative rules of arithmetic between tensors, and with numbers."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, difference, unbroadcast


def add_grad_x(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, x_meta)


def add_grad_y(ops: Ops, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, y_meta)


def subtract_grad_x(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, x_meta)


def subtract_grad_y(ops: Ops, y_meta: Meta, out_grad: Value) -> Value:
    return ops.neg(unbroadcast(ops, out_grad, y_meta))


def multiply_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, y)), x_meta)


def multiply_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, x)), y_meta)


def divide_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.divide(out_grad, conj(ops, y)), x_meta)


def divide_grad_y(ops: Ops, y: Value, out: Value, out_grad: Value) -> Value:
    # -g x / y^2, with the quotient that is there already.
    slope = ops.neg(ops.divide(out, y))
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, slope)), y.meta)


def remainder_grad_x(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, out_grad, x_meta)


def remainder_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    times = ops.floor_divide(x, y)
    # Where y fits in x no time the remainder is x, whatever arrives.
    moved = ops.where(ops.equal(times, 0.0), 0.0, ops.multiply(out_grad, times))
    return ops.neg(unbroadcast(ops, moved, y.meta))


def _larger_share(ops: Ops, larger: Value, smaller: Value, out_grad: Value, meta: Meta) -> Value:
    """The gradient where `larger` is the larger, half of it at ties, 0 elsewhere (also where either is NaN)."""
    tie = ops.where(ops.equal(larger, smaller), ops.scale(out_grad, 0.5), 0.0)
    return unbroadcast(ops, ops.where(ops.greater_than(larger, smaller), out_grad, tie), meta)


def maximum_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return _larger_share(ops, x, y, out_grad, x.meta)


def maximum_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return _larger_share(ops, y, x, out_grad, y.meta)


def minimum_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return _larger_share(ops, y, x, out_grad, x.meta)


def minimum_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return _larger_share(ops, x, y, out_grad, y.meta)


def fmax_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    chosen = ops.logical_or(ops.greater_equal(x, y), ops.isnan(y))
    return unbroadcast(ops, ops.where(chosen, out_grad, 0.0), x.meta)


def fmax_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    chosen = ops.logical_or(ops.greater_equal(x, y), ops.isnan(y))
    return unbroadcast(ops, ops.where(chosen, 0.0, out_grad), y.meta)


def fmin_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    chosen = ops.logical_or(ops.less_equal(x, y), ops.isnan(y))
    return unbroadcast(ops, ops.where(chosen, out_grad, 0.0), x.meta)


def fmin_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    chosen = ops.logical_or(ops.less_equal(x, y), ops.isnan(y))
    return unbroadcast(ops, ops.where(chosen, 0.0, out_grad), y.meta)


def _atan2_grad(ops: Ops, x: Value, y: Value, other: Value, out_grad: Value) -> Value:
    """g times other / r / r (the square of r could overflow or vanish); 0 where r is infinite, and at the origin."""
    radius = ops.hypot(x, y)
    flat = ops.logical_or(ops.equal(radius, 0.0), ops.isinf(radius))
    length = ops.where(flat, 1.0, radius)
    side = ops.where(flat, 0.0, other)
    return ops.multiply(out_grad, ops.divide(ops.divide(side, length), length))


def atan2_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, _atan2_grad(ops, x, y, y, out_grad), x.meta)


def atan2_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return ops.neg(unbroadcast(ops, _atan2_grad(ops, x, y, x, out_grad), y.meta))


def _hypot_grad(ops: Ops, side: Value, out: Value, out_grad: Value) -> Value:
    # At 0 the shortest of all subgradients: 0 / 1. An infinite side is the whole length.
    length = ops.where(ops.equal(out, 0.0), 1.0, out)
    slope = ops.where(ops.isinf(side), ops.sign(side), ops.divide(side, length))
    return unbroadcast(ops, ops.multiply(out_grad, slope), side.meta)


def hypot_grad_x(ops: Ops, x: Value, out: Value, out_grad: Value) -> Value:
    return _hypot_grad(ops, x, out, out_grad)


def hypot_grad_y(ops: Ops, y: Value, out: Value, out_grad: Value) -> Value:
    return _hypot_grad(ops, y, out, out_grad)


def heaviside_grad_x(ops: Ops, x_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.full_like(out_grad, 0.0), x_meta)


def heaviside_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.where(ops.equal(x, 0.0), out_grad, 0.0), y_meta)


def copysign_grad_x(ops: Ops, x: Value, out: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, ops.multiply(ops.sign(x), ops.sign(out))), x.meta)


def copysign_grad_y(ops: Ops, y_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.full_like(out_grad, 0.0), y_meta)


def logaddexp_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, ops.sigmoid(difference(ops, x, y))), x.meta)


def logaddexp_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, ops.sigmoid(difference(ops, y, x))), y.meta)


def elementwise_pow_grad_x(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    # y x^(y - 1), and 0 at x = y = 0, where the power is infinite, and where it vanishes for an infinite y.
    both_zero = ops.logical_and(ops.equal(x, 0.0), ops.equal(y, 0.0))
    base = ops.where(both_zero, 1.0, x)
    power = ops.elementwise_pow(base, ops.scale(y, 1.0, -1.0))
    # Only for an infinite y: the derivative of this with respect to x needs a finite one.
    gone = ops.logical_and(ops.equal(power, 0.0), ops.isinf(y))
    slope = ops.multiply(ops.where(gone, 0.0, y), power)
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, slope)), x.meta)


def elementwise_pow_grad_y(ops: Ops, x: Value, y: Value, out: Value, out_grad: Value) -> Value:
    # x^y log x, whose limit at x = 0 is 0 for y > 0 (and 0 is taken at y = 0).
    size = ops.real(y) if y.meta.dtype.is_complex else y
    vanishing = ops.logical_and(ops.equal(x, 0.0), ops.greater_equal(size, 0.0))
    # x^y falls faster than log x grows.
    vanishing = ops.logical_or(vanishing, ops.logical_and(ops.equal(out, 0.0), ops.isinf(x)))
    slope = ops.multiply(out, ops.log(ops.where(vanishing, 1.0, x)))
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, slope)), y.meta)


def pow_grad(ops: Ops, x: Value, y: complex, out_grad: Value) -> Value:
    if y == 0:
        return ops.full_like(out_grad, 0.0)
    if y == 1:
        return out_grad
    # A complex exponent makes the power complex, even where it is 1.
    slope = x if y == 2 and not isinstance(y, complex) else ops.pow(x, y - 1)
    return ops.multiply(out_grad, conj(ops, ops.scale(slope, y)))


def scale_grad(ops: Ops, scale: complex, out_grad: Value) -> Value:
    return ops.scale(out_grad, scale.conjugate())


def clip_grad(ops: Ops, x: Value, min: float, max: float, out_grad: Value) -> Value:
    # The bounds belong to the inside; NaN is outside.
    inside = ops.logical_and(ops.greater_equal(x, min), ops.less_equal(x, max))
    return ops.where(inside, out_grad, 0.0)


def lerp_grad_x(ops: Ops, x_meta: Meta, weight: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, ops.scale(weight, -1.0, 1.0))), x_meta)


def lerp_grad_y(ops: Ops, y_meta: Meta, weight: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, weight)), y_meta)


def lerp_grad_weight(ops: Ops, x: Value, y: Value, weight_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, conj(ops, ops.subtract(y, x))), weight_meta)


def nan_to_num_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    if not x.meta.dtype.is_complex:
        return ops.where(ops.isfinite(x), out_grad, 0.0)
    real = ops.where(ops.isfinite(ops.real(x)), ops.real(out_grad), 0.0)
    return ops.complex(real, ops.where(ops.isfinite(ops.imag(x)), ops.imag(out_grad), 0.0))
