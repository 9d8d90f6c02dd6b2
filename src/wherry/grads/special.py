"""Derivative rules of special functions, by identities that stay exact where a quotient would not."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, unbroadcast


def i0_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _bessel_grad(ops, x, 0, False, out_grad)


def i0e_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _bessel_grad(ops, x, 0, True, out_grad)


def i1_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _bessel_grad(ops, x, 1, False, out_grad)


def i1e_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return _bessel_grad(ops, x, 1, True, out_grad)


def bessel_i_grad(ops: Ops, x: Value, order: int, scaled: bool, out_grad: Value) -> Value:
    return _bessel_grad(ops, x, order, scaled, out_grad)


def _bessel_grad(ops: Ops, x: Value, order: int, scaled: bool, out_grad: Value) -> Value:
    """The derivative is the mean of the neighbouring orders: no division by x."""
    dtype = x.meta.dtype
    x = _wide(ops, x)
    above = ops.bessel_i(x, order + 1, scaled)
    slope = above if order == 0 else ops.scale(ops.add(ops.bessel_i(x, order - 1, scaled), above), 0.5)
    if scaled:
        slope = ops.subtract(slope, ops.multiply(ops.sign(x), ops.bessel_i(x, order, scaled)))
    return ops.multiply(out_grad, _narrow(ops, slope, dtype))


def _wide(ops: Ops, x: Value) -> Value:
    """Half precision as float32, for terms that nearly cancel."""
    return ops.cast(x, dt.float32) if x.meta.dtype in (dt.float16, dt.bfloat16) else x


def _narrow(ops: Ops, x: Value, dtype: dt.DataType) -> Value:
    return x if x.meta.dtype is dtype else ops.cast(x, dtype)


def logit_grad(ops: Ops, x: Value, eps: float, out_grad: Value) -> Value:
    low, high = (eps, 1.0 - eps) if eps > 0.0 else (0.0, 1.0)
    outside = ops.logical_or(ops.less_than(x, low), ops.greater_than(x, high))
    # Elements outside are not divided by: one of them may be 0 or 1.
    inside = ops.where(outside, 0.5, x)
    slope = ops.divide(out_grad, ops.multiply(inside, ops.scale(inside, -1.0, 1.0)))
    return ops.where(outside, 0.0 if eps > 0.0 else float("nan"), slope)


def gammaincc_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.neg(ops.multiply(out_grad, ops.gamma_density(x, y))), y.meta)


def gammainc_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.multiply(out_grad, ops.gamma_density(x, y)), y.meta)


def gamma_density_grad_y(ops: Ops, x: Value, y: Value, out_grad: Value) -> Value:
    """The density of one less minus the density: no division by y."""
    shape, times = _wide(ops, x), _wide(ops, y)
    slope = ops.subtract(ops.gamma_density(ops.scale(shape, 1.0, -1.0), times), ops.gamma_density(shape, times))
    return unbroadcast(ops, ops.multiply(out_grad, _narrow(ops, slope, y.meta.dtype)), y.meta)


def sinc_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.sinc_derivative(x, 1))


def sinc_derivative_grad(ops: Ops, x: Value, order: int, out_grad: Value) -> Value:
    return ops.multiply(out_grad, ops.sinc_derivative(x, order + 1))


def frexp_grad(ops: Ops, x_meta: Meta, exponent: Value, mantissa_grad: Value) -> Value:
    two = ops.full(x_meta.shape, 2.0, mantissa_grad.meta.dtype, None)
    return ops.multiply(mantissa_grad, ops.elementwise_pow(two, ops.neg(exponent)))
