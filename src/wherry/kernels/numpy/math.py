"""Kernels of arithmetic between tensors, and with numbers."""

import math
from typing import Any

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import (
    ALL,
    BOOL,
    COMPLEX,
    FLOAT,
    FLOATING_OR_COMPLEX,
    INTEGER,
    NUMERIC,
    REAL,
    kernel,
    register,
)
from wherry.infermeta.math import is_whole
from wherry.kernels.numpy.common import Array, in_float32

HALF = (dt.float16, dt.bfloat16)
_NOT_HALF = BOOL + INTEGER + (dt.float32, dt.float64) + COMPLEX

register("add", np.add, ALL, out=True)
register("subtract", np.subtract, NUMERIC, out=True)
register("multiply", np.multiply, ALL, out=True)
register("divide", np.true_divide, FLOATING_OR_COMPLEX, out=True)
register("maximum", np.maximum, REAL, out=True)
register("minimum", np.minimum, REAL, out=True)
register("fmax", np.fmax, REAL, out=True)
register("fmin", np.fmin, REAL, out=True)
register("maximum", np.logical_or, BOOL, out=True)
register("minimum", np.logical_and, BOOL, out=True)
register("floor_divide", np.floor_divide, FLOAT, out=True)
register("remainder", np.remainder, FLOAT, out=True)
register("elementwise_pow", np.power, FLOATING_OR_COMPLEX, out=True)
register("atan2", np.arctan2, FLOAT, out=True)
register("hypot", np.hypot, FLOAT, out=True)
register("copysign", np.copysign, FLOAT, out=True)
register("nextafter", np.nextafter, (dt.float32, dt.float64), out=True)
register("logaddexp", in_float32(np.logaddexp), HALF)
register("logaddexp", np.logaddexp, (dt.float32, dt.float64), out=True)


def _float32(x: Array) -> Array:
    return x.astype(np.float32)


@kernel("divide", BOOL + INTEGER)
def divide_integers(x: Array, y: Array) -> Array:
    """True division; the result is float32."""
    return np.asarray(np.true_divide(_float32(x), _float32(y)))


@kernel("hypot", BOOL + INTEGER)
def hypot_integers(x: Array, y: Array) -> Array:
    """In float32."""
    return np.asarray(np.hypot(_float32(x), _float32(y)))


@kernel("copysign", BOOL + INTEGER)
def copysign_integers(x: Array, y: Array) -> Array:
    """Integers stay integers; numbers without sign keep their value."""
    if x.dtype.kind != "i":
        return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, y.shape)))
    size = np.absolute(x)
    return np.where(y < 0, -size, size)


@kernel("logaddexp", BOOL + INTEGER)
def logaddexp_integers(x: Array, y: Array) -> Array:
    """In float32."""
    return np.asarray(np.logaddexp(_float32(x), _float32(y)))


@kernel("atan2", BOOL + INTEGER)
def atan2_integers(x: Array, y: Array) -> Array:
    """In float64."""
    return np.asarray(np.arctan2(x.astype(np.float64), y.astype(np.float64)))


def _refuse_zero(y: Array) -> None:
    """NumPy would give 0 for an integer divided by zero."""
    if not y.all():
        at = np.argwhere(np.asarray(y == 0))[0].tolist()
        raise ValueError(
            f"expected integers other than 0 to divide by, received 0 in y at {at}; "
            "mask the zeros, or divide floating tensors"
        )


@kernel("floor_divide", INTEGER)
def floor_divide_integers(x: Array, y: Array) -> Array:
    """Rounded towards minus infinity."""
    _refuse_zero(y)
    return np.asarray(np.floor_divide(x, y))


@kernel("remainder", INTEGER)
def remainder_integers(x: Array, y: Array) -> Array:
    """The sign of y."""
    _refuse_zero(y)
    return np.asarray(np.remainder(x, y))


@kernel("trunc_divide", REAL)
def trunc_divide(x: Array, y: Array) -> Array:
    """Rounded towards zero."""
    if x.dtype.kind not in "iu":
        return np.asarray(np.trunc(np.true_divide(x, y)))
    _refuse_zero(y)
    quotient = np.asarray(np.floor_divide(x, y))
    if x.dtype.kind == "i":
        # The floor is one too low where the quotient is negative and not exact.
        quotient += ((x < 0) != (y < 0)) & (quotient * y != x)
    return quotient


@kernel("heaviside", REAL)
def heaviside(x: Array, y: Array) -> Array:
    """0, y or 1 by the sign of x; 0 for NaN."""
    return np.where(x == 0, y, (x > 0).astype(x.dtype))


@kernel("elementwise_pow", INTEGER)
def power_of_integers(x: Array, y: Array) -> Array:
    """Wraps on overflow, as integer multiplication does."""
    _refuse_negative_exponent(y)
    return np.asarray(np.power(x, y))


def _refuse_negative_exponent(y: Array) -> None:
    if y.dtype.kind == "i" and (y < 0).any():
        raise ValueError(
            f"expected exponents >= 0 for integers, received {int(y.min())}: the result is a fraction; "
            "cast the base to a floating dtype first"
        )


@kernel("pow", _NOT_HALF)
def pow(x: Array, y: complex) -> Array:
    """x to the power of a number; small exponents are multiplications."""
    if x.dtype.kind in "biu":
        if isinstance(y, complex):
            x = x.astype(np.complex64)
        elif x.dtype.kind == "b" or not is_whole(y):
            x = _float32(x)
        else:
            return _integer_power(x, int(y))
    elif isinstance(y, complex) and x.dtype.kind != "c":
        x = x.astype(np.complex128 if x.dtype == np.float64 else np.complex64)
    if y == 2:
        return np.asarray(np.square(x))
    if y == 1:
        return np.array(x)
    if y == 3:
        return np.asarray(x * x * x)
    if y == 0.5:
        return np.asarray(np.sqrt(x))
    if y == -1:
        return np.asarray(np.reciprocal(x))
    if y == 0:
        return np.ones_like(x, order="C", subok=False)
    if y.imag == 0 and y.real < 0 and is_whole(y.real) and x.dtype.kind == "c":
        # NumPy divides by the positive power, which overflows to NaN where this one vanishes; and 1 / inf is NaN there.
        return np.asarray(np.power(np.where(np.isinf(x), x.dtype.type(0), np.reciprocal(x)), -y))
    return np.asarray(np.power(x, y))


register("pow", in_float32(pow), HALF)


def _integer_power(x: Array, y: int) -> Array:
    """By squaring, in x's dtype; an exponent beyond its range is not cut."""
    if y < 0:
        raise ValueError(
            f"expected an exponent >= 0 for integers, received {y}: the result is a fraction; "
            "cast the base to a floating dtype first"
        )
    result = np.ones_like(x, order="C", subok=False)
    base = np.array(x)
    while y:
        if y & 1:
            result *= base
        y >>= 1
        if y:
            base *= base
    return result


def number_in(value: complex, dtype: "np.dtype[Any]") -> Any:
    """A Python number in a dtype, cut and wrapped as in C where that is an integer one."""
    if dtype.kind in "iu":
        real = value.real
        if not math.isfinite(real):
            raise ValueError(f"expected a finite number for a tensor of dtype {dtype.name}, received {value}")
        bits = int(real) & ((1 << 8 * dtype.itemsize) - 1)
        if dtype.kind == "i" and bits >> (8 * dtype.itemsize - 1):
            bits -= 1 << 8 * dtype.itemsize
        return dtype.type(bits)
    if dtype.kind == "b":
        return np.bool_(value != 0)
    if isinstance(value, complex) and dtype.kind != "c":
        raise ValueError(
            f"expected a real number for a tensor of dtype {dtype.name}, received {value}; cast the tensor first"
        )
    return dtype.type(value)


def _number_beside(value: complex, dtype: "np.dtype[Any]") -> Any:
    """A number that meets an array in the array's dtype: Python's floats do so by themselves, and faster."""
    if dtype.kind == "f" and not isinstance(value, complex):
        return float(value)
    return number_in(value, dtype)


@kernel("scale", INTEGER + (dt.float32, dt.float64) + COMPLEX)
def scale(x: Array, scale: complex, bias: complex, bias_after_scale: bool) -> Array:
    """scale * x + bias, or scale * (x + bias)."""
    if bias == 0:
        # Not even added: -0.0 + 0.0 is 0.0.
        if scale == -1:
            return np.asarray(np.negative(x))
        return np.asarray(np.multiply(x, _number_beside(scale, x.dtype)))
    factor, term = _number_beside(scale, x.dtype), _number_beside(bias, x.dtype)
    if scale == 1:
        return np.asarray(np.add(x, term))
    if bias_after_scale:
        out = np.asarray(np.multiply(x, factor))
        out += term
    else:
        out = np.asarray(np.add(x, term))
        out *= factor
    return out


register("scale", in_float32(scale), HALF)


@kernel("scale", BOOL)
def scale_bool(x: Array, scale: complex, bias: complex, bias_after_scale: bool) -> Array:
    """Bool arithmetic: * is and, + is or."""
    factor, term = scale != 0, bias != 0
    return np.asarray((x & factor) | term if bias_after_scale else (x | term) & factor)


@kernel("clip", FLOAT)
def clip(x: Array, min: float, max: float) -> Array:
    """NaN stays; an infinite bound is none."""
    if min == float("-inf"):
        return np.array(x) if max == float("inf") else np.asarray(np.minimum(x, x.dtype.type(max)))
    out = np.asarray(np.maximum(x, x.dtype.type(min)))
    return out if max == float("inf") else np.minimum(out, x.dtype.type(max), out=out)


@kernel("clip", INTEGER)
def clip_integers(x: Array, min: float, max: float) -> Array:
    """Fractions of bounds are dropped; a bound outside the dtype's range is its end."""
    info = np.iinfo(x.dtype)
    return np.asarray(np.minimum(np.maximum(x, _bound(min, info)), _bound(max, info)))


def _bound(value: float, info: "np.iinfo[Any]") -> Any:
    if value <= info.min:
        return info.dtype.type(info.min)
    if value >= info.max:
        return info.dtype.type(info.max)
    return info.dtype.type(int(value))


@kernel("lerp", (dt.float32, dt.float64) + COMPLEX)
def lerp(x: Array, y: Array, weight: Array) -> Array:
    """x + weight * (y - x)."""
    out = np.asarray(weight * (y - x))
    if out.shape == np.broadcast_shapes(out.shape, x.shape):
        out += x
        return out
    return np.asarray(x + out)


register("lerp", in_float32(lerp), HALF)


@kernel("nan_to_num", FLOAT)
def nan_to_num(x: Array, nan: float, posinf: float, neginf: float) -> Array:
    """A copy with NaN and the infinities replaced; a number out of the dtype's range becomes its largest finite one."""
    out = np.array(x)
    bound = finite_max(dt.from_numpy(x.dtype))
    for mask, value in ((np.isnan(x), nan), (np.isposinf(x), posinf), (np.isneginf(x), neginf)):
        out[mask] = value if math.isnan(value) else min(max(value, -bound), bound)
    return out


@kernel("nan_to_num", INTEGER + BOOL)
def nan_to_num_integers(x: Array, nan: float, posinf: float, neginf: float) -> Array:
    """A copy."""
    return np.array(x)


def finite_max(dtype: dt.DataType) -> float:
    """The largest finite number of a floating dtype."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]


@kernel("nan_to_num", COMPLEX)
def nan_to_num_complex(x: Array, nan: float, posinf: float, neginf: float) -> Array:
    """Part by part."""
    out = np.empty_like(x, order="C", subok=False)
    out.real = nan_to_num(x.real, nan, posinf, neginf)
    out.imag = nan_to_num(x.imag, nan, posinf, neginf)
    return out
