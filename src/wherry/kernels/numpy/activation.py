"""Activation kernels, and the kernels of their first derivatives.

The derivative of most is out_grad times a function of x. Those that are piecewise linear have second derivatives of zero.
"""

from typing import Final

import numpy as np

from wherry.dispatch.kernel_factory import COMPLEX, FLOAT, kernel
from wherry.kernels.numpy.blocks import by_blocks
from wherry.kernels.numpy.common import Array, in_float32, kept
from wherry.kernels.numpy.transcendental import sigmoid_complex


def _relu_body(out: Array, x: Array) -> None:
    # NumPy's maximum of two arrays is several times as fast as that of an array and a number.
    np.maximum(x, np.zeros_like(out), out=out)


@kernel("relu", FLOAT)
def relu(x: Array) -> Array:
    """max(x, 0)."""
    return by_blocks(_relu_body, x)


@kernel("relu_grad", FLOAT)
def relu_grad(out: Array, out_grad: Array) -> Array:
    """out_grad where out is positive, else 0."""
    return kept(out_grad, out > 0)


@kernel("relu6", FLOAT)
@in_float32
def relu6(x: Array) -> Array:
    """x cut to [0, 6]."""
    return np.clip(x, 0, 6)


@kernel("hardtanh", FLOAT)
@in_float32
def hardtanh(x: Array, t_min: float, t_max: float) -> Array:
    """x cut to [t_min, t_max]."""
    return np.clip(x, t_min, t_max)


@kernel("hardtanh_grad", FLOAT)
def hardtanh_grad(x: Array, out_grad: Array, t_min: float, t_max: float) -> Array:
    """out_grad inside the interval, 0 at its ends and outside."""
    return kept(out_grad, (x > t_min) & (x < t_max))


@kernel("leaky_relu", FLOAT)
@in_float32
def leaky_relu(x: Array, negative_slope: float) -> Array:
    """x, or negative_slope * x where x is negative."""
    out = np.multiply(x, negative_slope)
    if 0.0 <= negative_slope <= 1.0:
        # 0 * inf is the one product the maximum would not hide.
        return np.maximum(x, out) if negative_slope else np.maximum(x, 0)
    return np.where(x >= 0, x, out)


@kernel("leaky_relu_grad", FLOAT)
@in_float32
def leaky_relu_grad(x: Array, out_grad: Array, negative_slope: float) -> Array:
    """out_grad, times negative_slope where x is negative."""
    return np.where(x >= 0, out_grad, out_grad * out_grad.dtype.type(negative_slope))


@kernel("threshold", FLOAT)
@in_float32
def threshold(x: Array, threshold: float, value: float) -> Array:
    """x above the threshold, else value."""
    return np.where((x > threshold) | np.isnan(x), x, x.dtype.type(value))


@kernel("threshold_grad", FLOAT)
def threshold_grad(x: Array, out_grad: Array, threshold: float) -> Array:
    """out_grad where x is above the threshold, else 0."""
    return kept(out_grad, x > threshold)


@kernel("hardshrink", FLOAT)
@in_float32
def hardshrink(x: Array, threshold: float) -> Array:
    """x, or 0 where it lies strictly inside (-threshold, threshold)."""
    return np.where((x > -threshold) & (x < threshold), x.dtype.type(0), x)


@kernel("hardshrink_grad", FLOAT)
def hardshrink_grad(x: Array, out_grad: Array, threshold: float) -> Array:
    """out_grad outside the open interval (-threshold, threshold), else 0."""
    return kept(out_grad, (x >= threshold) | (x <= -threshold))


@kernel("softshrink", FLOAT)
@in_float32
def softshrink(x: Array, threshold: float) -> Array:
    """x moved towards zero by threshold, 0 within it."""
    out = np.clip(x, -threshold, threshold)
    return np.subtract(x, out)


@kernel("softshrink_grad", FLOAT)
def softshrink_grad(x: Array, out_grad: Array, threshold: float) -> Array:
    """out_grad outside [-threshold, threshold], else 0."""
    return kept(out_grad, (x > threshold) | (x < -threshold))


@kernel("hardsigmoid", FLOAT)
@in_float32
def hardsigmoid(x: Array, slope: float, offset: float) -> Array:
    """slope * x + offset, cut to [0, 1]."""
    out = np.asarray(np.multiply(x, slope))
    out += offset
    return np.clip(out, 0, 1, out=out)


@kernel("hardsigmoid_grad", FLOAT)
@in_float32
def hardsigmoid_grad(out: Array, out_grad: Array, slope: float) -> Array:
    """slope * out_grad where the output lies strictly inside (0, 1)."""
    return kept(np.asarray(out_grad * out_grad.dtype.type(slope)), (out > 0) & (out < 1))


@kernel("hardswish", FLOAT)
@in_float32
def hardswish(x: Array) -> Array:
    """x * clip(x + 3, 0, 6) / 6."""
    gate = np.asarray(np.add(x, 3))
    np.clip(gate, 0, 6, out=gate)
    # -inf times a closed gate is 0, the limit.
    gate *= np.maximum(x, -3)
    gate /= 6
    return gate


@kernel("hardswish_grad", FLOAT)
@in_float32
def hardswish_grad(x: Array, out_grad: Array) -> Array:
    """The slope is 0 up to -3, 1 from 3 on, x / 3 + 1 / 2 between."""
    slope = np.asarray(np.clip(x, -3, 3))
    slope /= 3
    slope += 0.5
    slope[x <= -3] = 0
    slope[x >= 3] = 1
    return slope * out_grad


@kernel("elu", FLOAT)
@in_float32
def elu(x: Array, alpha: float) -> Array:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return np.where(x >= 0, x, np.expm1(np.minimum(x, 0)) * x.dtype.type(alpha))


@kernel("elu_grad", FLOAT)
@in_float32
def elu_grad(x: Array, out_grad: Array, alpha: float) -> Array:
    """out_grad, times alpha * exp(x) where x is not positive."""
    return np.where(x > 0, out_grad, out_grad * np.exp(np.minimum(x, 0)) * x.dtype.type(alpha))


@kernel("selu", FLOAT)
@in_float32
def selu(x: Array, scale: float, alpha: float) -> Array:
    """scale * x, or scale * alpha * (exp(x) - 1) where x is not positive."""
    return np.where(x > 0, x * x.dtype.type(scale), np.expm1(np.minimum(x, 0)) * x.dtype.type(scale * alpha))


@kernel("selu_grad", FLOAT)
@in_float32
def selu_grad(x: Array, out_grad: Array, scale: float, alpha: float) -> Array:
    """out_grad times scale, or times scale * alpha * exp(x) where x is not positive."""
    slope = np.where(x > 0, x.dtype.type(scale), np.exp(np.minimum(x, 0)) * x.dtype.type(scale * alpha))
    return np.multiply(slope, out_grad)


@kernel("celu", FLOAT)
@in_float32
def celu(x: Array, alpha: float) -> Array:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    low = np.minimum(x, 0) if alpha > 0 else np.maximum(x, 0)
    grown = np.expm1(low / x.dtype.type(alpha)) * x.dtype.type(alpha)
    return np.maximum(x, 0) + np.minimum(grown, 0)


@kernel("celu_grad", FLOAT)
@in_float32
def celu_grad(x: Array, out_grad: Array, alpha: float) -> Array:
    """out_grad where x is not negative, else out_grad * exp(x / alpha)."""
    low = np.minimum(x, 0) if alpha > 0 else np.maximum(x, 0)
    grown = np.exp(low / x.dtype.type(alpha))
    if alpha > 0:
        return np.where(x >= 0, out_grad, out_grad * grown)
    return out_grad * ((x > 0).astype(x.dtype) + grown * (x > 0))


def _sigmoid_body(out: Array, x: Array) -> None:
    """sigmoid(x) into out; exp(-x) overflows to infinity where the sigmoid is zero."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    np.divide(1, out, out=out)


# Below this both sigmoid(x) and x * sigmoid(x) are zero; it stands in for -inf, whose product with 0 is NaN.
_FAR: Final = 800.0


def _above(x: Array, bound: float) -> Array:
    """max(x, bound)."""
    return np.maximum(x, np.full(x.shape, bound, x.dtype))


def _below(x: Array, bound: float) -> Array:
    """min(x, bound)."""
    return np.minimum(x, np.full(x.shape, bound, x.dtype))


def _silu_body(out: Array, x: Array) -> None:
    _sigmoid_body(out, x)
    out *= _above(x, -_FAR)


def _silu_grad_body(out: Array, x: Array, out_grad: Array) -> None:
    # s * (1 + x * (1 - s)) with s = sigmoid(x); beyond +-800 the product x * (1 - s) is zero.
    _sigmoid_body(out, x)
    rest = np.asarray(np.subtract(1, out))
    rest *= np.clip(x, -_FAR, _FAR)
    rest += 1
    out *= rest
    out *= out_grad


@kernel("silu", FLOAT)
@in_float32
def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return by_blocks(_silu_body, x)


@kernel("silu_grad", FLOAT)
@in_float32
def silu_grad(x: Array, out_grad: Array) -> Array:
    """out_grad times the derivative of x * sigmoid(x)."""
    return by_blocks(_silu_grad_body, x, out_grad)


@kernel("silu", COMPLEX)
def silu_complex(x: Array) -> Array:
    """x times its sigmoid, in which no exponential overflows."""
    return x * sigmoid_complex(x)


@kernel("silu_grad", COMPLEX)
def silu_grad_complex(x: Array, out_grad: Array) -> Array:
    """out_grad times the conjugate of the derivative."""
    return out_grad * np.conj(sigmoid_complex(x) * (1 + x * sigmoid_complex(-x)))


def _tanh_softplus(out: Array, x: Array) -> None:
    # tanh(log(1 + e)) = w / (w + 2) with w = e * (e + 2), e = exp(x); it is 1 from x = 20 on, far before w overflows.
    e = np.asarray(np.exp(_below(x, 20.0)))
    w = np.asarray(e + 2)
    w *= e
    np.divide(w, w + 2, out=out)


def _mish_body(out: Array, x: Array) -> None:
    _tanh_softplus(out, x)
    out *= _above(x, -_FAR)


def _mish_grad_body(out: Array, x: Array, out_grad: Array) -> None:
    _tanh_softplus(out, x)
    s = np.empty_like(out)
    _sigmoid_body(s, x)
    s *= 1 - out * out
    s *= np.clip(x, -_FAR, _FAR)
    out += s
    out *= out_grad


@kernel("mish", FLOAT)
@in_float32
def mish(x: Array) -> Array:
    """x * tanh(softplus(x))."""
    return by_blocks(_mish_body, x)


@kernel("mish_grad", FLOAT)
@in_float32
def mish_grad(x: Array, out_grad: Array) -> Array:
    """out_grad times tanh(softplus(x)) + x * sigmoid(x) * (1 - tanh(softplus(x))^2)."""
    return by_blocks(_mish_grad_body, x, out_grad)


@kernel("softplus", FLOAT)
@in_float32
def softplus(x: Array, beta: float, threshold: float) -> Array:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    scaled = x * x.dtype.type(beta)
    # max(z, 0) + log1p(exp(-|z|)): no overflow, and no loss where exp(z) is small.
    out = np.asarray(np.log1p(np.exp(-np.abs(scaled))))
    out += np.maximum(scaled, 0)
    out /= beta
    return np.where(scaled > threshold, x, out)


@kernel("softplus_grad", FLOAT)
@in_float32
def softplus_grad(x: Array, out_grad: Array, beta: float, threshold: float) -> Array:
    """out_grad * sigmoid(beta * x); out_grad itself above the threshold."""
    scaled = np.asarray(x * x.dtype.type(beta))
    s = np.empty_like(scaled)
    _sigmoid_body(s, scaled)
    return np.where(scaled > threshold, out_grad, out_grad * s)


@kernel("logsigmoid", FLOAT)
@in_float32
def logsigmoid(x: Array) -> Array:
    """min(x, 0) - log(1 + exp(-|x|))."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@kernel("logsigmoid_grad", FLOAT)
@in_float32
def logsigmoid_grad(x: Array, out_grad: Array) -> Array:
    """out_grad * sigmoid(-x)."""
    s = np.empty(x.shape, x.dtype)
    _sigmoid_body(s, np.asarray(-x))
    return s * out_grad


@kernel("softsign", FLOAT)
@in_float32
def softsign(x: Array) -> Array:
    """x / (1 + |x|); the limits +-1 at infinity."""
    out = np.asarray(np.abs(x))
    out = np.where(np.isinf(out), x.dtype.type(1), out / (1 + out))
    return np.copysign(out, x)


@kernel("softsign_grad", FLOAT)
@in_float32
def softsign_grad(x: Array, out_grad: Array) -> Array:
    """out_grad / (1 + |x|)^2."""
    root = 1 / (1 + np.abs(x))
    return out_grad * root * root


@kernel("tanh_shrink", FLOAT)
@in_float32
def tanh_shrink(x: Array) -> Array:
    """x - tanh(x), from its series near zero, where the difference would cancel."""
    x2 = x * x
    series = x * x2 * (1 / 3 + x2 * (-2 / 15 + x2 * (17 / 315 + x2 * (-62 / 2835 + x2 * (1382 / 155925)))))
    return np.where(x2 < 0.01, series, x - np.tanh(x)).astype(x.dtype, copy=False)


@kernel("tanh_shrink_grad", FLOAT)
@in_float32
def tanh_shrink_grad(x: Array, out_grad: Array) -> Array:
    """out_grad * tanh(x)^2."""
    t = np.asarray(np.tanh(x))
    t = t * t
    return t * out_grad


# gelu -----------------------------------------------------------------------------------------------------------------
# The normal distribution's tail is exp(-a^2 / 2) * r(a); this quotient of polynomials is r to 7e-9 of itself on [0, 16],
# all coefficients positive, so no step cancels. Fitted by weighted least squares to erfcx(a / sqrt(2)) / 2.
_TOP: Final = (0.5000000035355932, 0.44110801016149237, 0.1853286988460443, 0.04134153211400044, 0.004222101701985321)
_BOTTOM: Final = (
    1.0,
    1.680101078147158,
    1.211178523073611,
    0.4749993071669789,
    0.10363339175218449,
    0.010583141662435376,
)
_INV_SQRT_2PI: Final = 0.3989422804014327
_TANH_A: Final = 0.7978845608028654  # sqrt(2 / pi)
_TANH_B: Final = 0.044715


def _tail(x: Array) -> tuple[Array, Array, Array]:
    """For float32: a = min(|x|, 16), exp(-a^2 / 2), and the normal tail's quotient r(a)."""
    a = _below(np.abs(x), 16.0)
    bell = np.asarray(a * a)
    bell *= -0.5
    np.exp(bell, out=bell)
    top = np.asarray(a * _TOP[4])
    for c in _TOP[3:0:-1]:
        top += c
        top *= a
    top += _TOP[0]
    bottom = np.asarray(a * _BOTTOM[5])
    for c in _BOTTOM[4:0:-1]:
        bottom += c
        bottom *= a
    bottom += _BOTTOM[0]
    top /= bottom
    return a, bell, top


def _gelu_body(out: Array, x: Array) -> None:
    # x * Phi(x) = max(x, 0) - |x| * tail(|x|): relative accuracy in the negative tail too, and the limits at infinity.
    a, bell, ratio = _tail(x)
    ratio *= bell
    ratio *= a
    np.maximum(x, np.zeros_like(out), out=out)
    out -= ratio


def _gelu_grad_body(out: Array, x: Array, out_grad: Array) -> None:
    # Phi(x) + x * phi(x): tail and bell share the exponential. t is the slope at -|x|; the slope at |x| is 1 - t.
    a, bell, t = _tail(x)
    t *= bell
    bell *= _INV_SQRT_2PI
    bell *= a
    t -= bell
    np.multiply(t, -2, out=out)
    out += 1
    out *= x > 0
    out += t
    out *= out_grad


def _gelu_body_double(out: Array, x: Array) -> None:
    from scipy.special import ndtr

    np.multiply(ndtr(x), _above(x, -64.0), out=out)


def _gelu_grad_body_double(out: Array, x: Array, out_grad: Array) -> None:
    from scipy.special import ndtr

    near = np.clip(x, -64, 64)
    bell = np.asarray(near * near)
    bell *= -0.5
    np.exp(bell, out=bell)
    bell *= _INV_SQRT_2PI
    bell *= near
    np.add(ndtr(x), bell, out=out)
    out *= out_grad


def _gelu_tanh_body(out: Array, x: Array) -> None:
    # 0.5 * (1 + tanh(u)) is sigmoid(2u), which keeps its accuracy in the negative tail.
    near = np.clip(x, -64, 64)
    u = np.asarray(near * near)
    u *= 2 * _TANH_A * _TANH_B
    u += 2 * _TANH_A
    u *= near
    _sigmoid_body(out, u)
    out *= _above(x, -64.0)


def _gelu_tanh_grad_body(out: Array, x: Array, out_grad: Array) -> None:
    # s + x * s * (1 - s) * v' with s = sigmoid(v), v = 2u.
    near = np.clip(x, -64, 64)
    square = np.asarray(near * near)
    v = np.asarray(square * (2 * _TANH_A * _TANH_B))
    v += 2 * _TANH_A
    v *= near
    _sigmoid_body(out, v)
    square *= 6 * _TANH_A * _TANH_B
    square += 2 * _TANH_A
    square *= near
    square *= 1 - out
    square += 1
    out *= square
    out *= out_grad


@kernel("gelu", FLOAT)
@in_float32
def gelu(x: Array, approximate: bool) -> Array:
    """x times the normal distribution function, or its tanh form."""
    if approximate:
        return by_blocks(_gelu_tanh_body, x)
    return by_blocks(_gelu_body if x.dtype == np.float32 else _gelu_body_double, x)


@kernel("gelu_grad", FLOAT)
@in_float32
def gelu_grad(x: Array, out_grad: Array, approximate: bool) -> Array:
    """out_grad times gelu's derivative."""
    if approximate:
        return by_blocks(_gelu_tanh_grad_body, x, out_grad)
    return by_blocks(_gelu_grad_body if x.dtype == np.float32 else _gelu_grad_body_double, x, out_grad)
