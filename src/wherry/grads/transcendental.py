"""Derivative rules of functions of one tensor. Holomorphic functions multiply with the conjugate of the derivative."""

import math

from wherry.grads.common import Ops, Value, conj


def _times(ops: Ops, out_grad: Value, slope: Value) -> Value:
    return ops.multiply(out_grad, conj(ops, slope))


def zero_grad(ops: Ops, out_grad: Value) -> Value:
    """For every function that is constant between its jumps."""
    return ops.full_like(out_grad, 0.0)


def abs_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.sign(x))


def neg_grad(ops: Ops, out_grad: Value) -> Value:
    return ops.neg(out_grad)


def sign_grad(ops: Ops, x: Value, out: Value, out_grad: Value) -> Value:
    if not x.meta.dtype.is_complex:
        return ops.full_like(out_grad, 0.0)
    # Only the part across the direction turns it: (g - s Re(conj(s) g)) / |x|, and 0 at 0.
    along = ops.real(ops.multiply(ops.conj(out), out_grad))
    across = ops.subtract(out_grad, ops.multiply(out, along))
    length = ops.abs(x)
    at_zero = ops.equal(length, 0.0)
    across = ops.where(at_zero, 0.0, across)
    return ops.divide(across, ops.where(at_zero, 1.0, length))


def square_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.scale(x, 2.0))


def sqrt_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return ops.divide(ops.scale(out_grad, 0.5), conj(ops, out))


def rsqrt_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.scale(ops.multiply(ops.square(out), out), -0.5))


def reciprocal_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.neg(ops.square(out)))


def exp_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, out)


def expm1_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.scale(out, 1.0, 1.0))


def log_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.divide(out_grad, conj(ops, x))


def log1p_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.divide(out_grad, conj(ops, ops.scale(x, 1.0, 1.0)))


def log2_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.divide(out_grad, conj(ops, ops.scale(x, math.log(2.0))))


def log10_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.divide(out_grad, conj(ops, ops.scale(x, math.log(10.0))))


def sin_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.cos(x))


def cos_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.neg(ops.sin(x)))


def tan_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.scale(ops.square(out), 1.0, 1.0))


def sinh_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.cosh(x))


def cosh_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.sinh(x))


def tanh_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.scale(ops.square(out), -1.0, 1.0))


def _beside_one(ops: Ops, x: Value) -> tuple[Value, Value]:
    """1 - x and 1 + x. Of a complex x part by part, so that a zero imaginary part keeps its sign: it tells the side of a cut."""
    if not x.meta.dtype.is_complex:
        return ops.scale(x, -1.0, 1.0), ops.scale(x, 1.0, 1.0)
    real, imag = ops.real(x), ops.imag(x)
    return ops.complex(ops.scale(real, -1.0, 1.0), ops.neg(imag)), ops.complex(ops.scale(real, 1.0, 1.0), imag)


def _arc_slope(ops: Ops, x: Value) -> Value:
    """1 / sqrt(1 - x^2), of its two roots: exact near the ends, and on the right branch everywhere."""
    less, more = _beside_one(ops, x)
    if x.meta.dtype.is_complex:
        return ops.multiply(ops.rsqrt(less), ops.rsqrt(more))
    return ops.rsqrt(ops.multiply(less, more))


def asin_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, _arc_slope(ops, x))


def acos_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.neg(_times(ops, out_grad, _arc_slope(ops, x)))


def atan_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.divide(out_grad, conj(ops, ops.scale(ops.square(x), 1.0, 1.0)))


def asinh_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    if not x.meta.dtype.is_complex:
        # The square would overflow long before its root.
        return ops.divide(out_grad, ops.hypot(x, ops.full_like(x, 1.0)))
    return _times(ops, out_grad, ops.rsqrt(ops.scale(ops.square(x), 1.0, 1.0)))


def acosh_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    less, more = _beside_one(ops, x)
    # The two roots apart: their product overflows first.
    return _times(ops, out_grad, ops.multiply(ops.rsqrt(ops.neg(less)), ops.rsqrt(more)))


def atanh_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    less, more = _beside_one(ops, x)
    return ops.divide(ops.divide(out_grad, conj(ops, less)), conj(ops, more))


def sigmoid_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return _times(ops, out_grad, ops.multiply(out, ops.scale(out, -1.0, 1.0)))


def erf_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    slope = ops.exp(ops.neg(ops.square(x)))
    return ops.multiply(out_grad, ops.scale(slope, 2.0 / math.sqrt(math.pi)))


def erfinv_grad(ops: Ops, out: Value, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.scale(ops.exp(ops.square(out)), math.sqrt(math.pi) / 2.0))


def lgamma_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.digamma(x))


def digamma_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.polygamma(x, 1))


def polygamma_grad(ops: Ops, x: Value, n: int, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.polygamma(x, n + 1))


def frac_grad(ops: Ops, out_grad: Value) -> Value:
    return out_grad
