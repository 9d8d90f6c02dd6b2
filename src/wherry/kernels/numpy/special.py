"""Special functions, and arithmetic with whole numbers."""

import math
from typing import Any

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import BOOL, FLOAT, INTEGER, kernel, register
from wherry.kernels.numpy.common import Array, in_float32
from wherry.kernels.numpy.transcendental import of_integers

# Beyond it the exponential overflows every dtype, and the third term of the asymptotic series is below rounding.
_LARGE = 1e10


def _bessel(x: Array, order: int, scaled: bool) -> Array:
    """The modified Bessel function of the first kind, of a whole order: even or odd as the order is."""
    from scipy import special

    size = np.absolute(x)
    named: dict[Any, Any] = {
        (0, False): special.i0,
        (1, False): special.i1,
        (0, True): special.i0e,
        (1, True): special.i1e,
    }
    function = named.get((order, scaled))
    if function is not None:
        value = function(size)
    else:
        value = (special.ive if scaled else special.iv)(np.asarray(order, x.dtype), size)
    # SciPy has no value for the largest arguments; the asymptotic series has two terms there.
    large = size > _LARGE
    far = np.where(large, size, x.dtype.type(_LARGE))
    tail = (1.0 - (4.0 * order * order - 1.0) / (8.0 * far)) / np.sqrt(2.0 * np.pi * far) if scaled else math.inf
    value = np.where(large, tail, value).astype(x.dtype)
    return np.asarray(np.copysign(value, x) if order % 2 else value)


@kernel("i0", FLOAT)
@in_float32
def i0(x: Array) -> Array:
    """Of order 0."""
    return _bessel(x, 0, False)


@kernel("i0e", FLOAT)
@in_float32
def i0e(x: Array) -> Array:
    """Of order 0, times exp(-abs(x))."""
    return _bessel(x, 0, True)


@kernel("i1", FLOAT)
@in_float32
def i1(x: Array) -> Array:
    """Of order 1."""
    return _bessel(x, 1, False)


@kernel("i1e", FLOAT)
@in_float32
def i1e(x: Array) -> Array:
    """Of order 1, times exp(-abs(x))."""
    return _bessel(x, 1, True)


@kernel("bessel_i", FLOAT)
@in_float32
def bessel_i(x: Array, order: int, scaled: bool) -> Array:
    """Of any whole order."""
    return _bessel(x, order, scaled)


@kernel("logit", FLOAT)
@in_float32
def logit(x: Array, eps: float) -> Array:
    """log(x / (1 - x)) of x brought into [eps, 1 - eps]; NaN outside [0, 1] where eps is 0."""
    from scipy import special

    if eps > 0.0:
        x = np.maximum(np.minimum(x, x.dtype.type(1.0 - eps)), x.dtype.type(eps))
    return np.asarray(special.logit(x))


def _refuse_negative(x: Array, y: Array) -> None:
    for name, array in (("x", x), ("y", y)):
        if (array < 0).any():
            raise ValueError(f"expected no negative element in {name}, received {float(array.min())}")


@kernel("gammaincc", FLOAT)
@in_float32
def gammaincc(x: Array, y: Array) -> Array:
    """SciPy's."""
    from scipy import special

    _refuse_negative(x, y)
    return np.asarray(special.gammaincc(x, y))


@kernel("gammainc", FLOAT)
@in_float32
def gammainc(x: Array, y: Array) -> Array:
    """SciPy's."""
    from scipy import special

    _refuse_negative(x, y)
    return np.asarray(special.gammainc(x, y))


@kernel("gamma_density", FLOAT)
@in_float32
def gamma_density(x: Array, y: Array) -> Array:
    """y ** (x - 1) * exp(-y) / gamma(x); 0 at the poles of gamma and for infinite arguments."""
    from scipy import special

    power = special.xlogy(x - x.dtype.type(1.0), y) - y - special.gammaln(x)
    none = (np.isinf(x) | np.isinf(y)) | ((x <= 0) & (x == np.floor(x)))
    return np.asarray(np.where(none, x.dtype.type(0.0), np.exp(power) * special.gammasgn(x)))


def _sine_pi(x: Array, quarters: int) -> Array:
    """sin(pi x + quarters pi / 2), exact at whole and half numbers however large: x is reduced first, which has no rounding."""
    whole = np.rint(x)
    rest = np.pi * (x - whole)
    value = np.cos(rest) if quarters % 2 else np.sin(rest)
    return np.where((whole % 2 != 0) != (quarters % 4 > 1), -value, value)


@kernel("sinc", FLOAT)
@in_float32
def sinc(x: Array) -> Array:
    """1 at 0, and at infinity the limit 0."""
    none = (x == 0) | np.isinf(x)
    safe = np.where(none, x.dtype.type(1.0), x)
    value = _sine_pi(safe, 0) / (x.dtype.type(np.pi) * safe)
    return np.asarray(np.where(none, (x == 0).astype(x.dtype), value))


@kernel("sinc_derivative", FLOAT)
@in_float32
def sinc_derivative(x: Array, order: int) -> Array:
    """The derivative of sinc of an order.

    Near 0 by its series: the recurrence divides by x. Farther out by it: x s(n) + n s(n-1) is the n-th derivative of sin(pi x) / pi.
    """
    wide = x.astype(np.float64)
    z = np.pi * wide
    near = np.absolute(z) < order + 2.0
    endless = np.isinf(wide)
    small = np.where(near, z, 0.0)
    # Terms (-1)^k z^(2k - n) / ((2k - n)! (2k + 1)) from the first that is left after n derivatives.
    series = np.zeros_like(wide)
    first = (order + 1) // 2
    term = (-1.0) ** first * small ** (2 * first - order) / math.factorial(2 * first - order)
    for k in range(first, first + 20 + order):
        series += term / (2 * k + 1)
        power = 2 * k - order
        term = -term * small * small / ((power + 1) * (power + 2))
    series *= np.pi**order
    far = np.where(near | endless, 1.0, wide)
    value = _sine_pi(far, 0) / (np.pi * far)
    for n in range(1, order + 1):
        value = (np.pi ** (n - 1) * _sine_pi(far, n) - n * value) / far
    return np.asarray(np.where(near, series, np.where(endless, 0.0, value)).astype(x.dtype))


for _name, _function in (
    ("i0", i0),
    ("i0e", i0e),
    ("i1", i1),
    ("i1e", i1e),
    ("bessel_i", bessel_i),
    ("logit", logit),
    ("sinc", sinc),
    ("sinc_derivative", sinc_derivative),
):
    register(_name, of_integers(_function), INTEGER + BOOL)

register("gcd", np.gcd, INTEGER, out=True)
register("lcm", np.lcm, INTEGER, out=True)


@kernel("frexp", (dt.float32, dt.float64))
def frexp(x: Array) -> tuple[Array, Array]:
    """The exponent in x's dtype."""
    mantissa, exponent = np.frexp(x)
    finite = np.isfinite(x)
    return np.asarray(mantissa), np.where(finite, exponent, 0).astype(x.dtype)
