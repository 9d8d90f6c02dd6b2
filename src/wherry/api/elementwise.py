"""Small element-wise functions made of other operations. Source: paddle.tensor.math."""

import math

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor

__all__ = ["deg2rad", "isneginf", "isposinf", "isreal", "ldexp", "ldexp_", "rad2deg"]
METHODS = __all__


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.is_differentiable else _C_ops.cast(x, dt.float32)


def deg2rad(x: Tensor, name: str | None = None) -> Tensor:
    """Degrees as radians, element by element.

    Shape of x. Floating dtypes; integers give float32. Source: paddle.deg2rad.
    """
    return _C_ops.scale(_floating(x), math.pi / 180.0)


def rad2deg(x: Tensor, name: str | None = None) -> Tensor:
    """Radians as degrees, element by element.

    Shape of x. Floating dtypes; integers give float32. Source: paddle.rad2deg.
    """
    return _C_ops.scale(_floating(x), 180.0 / math.pi)


def _refuse_complex(x: Tensor) -> None:
    if x.dtype.is_complex:
        raise TypeError(f"expected a real tensor, received {x.dtype.name}; complex numbers have no signed infinity")


def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is plus infinity.

    Shape of x, bool. Raises TypeError for a complex tensor. Source: paddle.isposinf.
    """
    _refuse_complex(x)
    return _C_ops.logical_and(_C_ops.isinf(x), _C_ops.greater_than(x, _zero_like(x)))


def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is minus infinity.

    Shape of x, bool. Raises TypeError for a complex tensor. Source: paddle.isneginf.
    """
    _refuse_complex(x)
    return _C_ops.logical_and(_C_ops.isinf(x), _C_ops.less_than(x, _zero_like(x)))


def _zero_like(x: Tensor) -> Tensor:
    return _C_ops.full((), 0, x.dtype)


def isreal(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the imaginary part of each element is 0; true everywhere for a real tensor.

    Shape of x, bool. Source: paddle.isreal.
    """
    if not x.dtype.is_complex:
        return _C_ops.full_like(x, True, dt.bool_)
    imaginary = _C_ops.imag(x)
    return _C_ops.equal(imaginary, _zero_like(imaginary))


def ldexp(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """x times 2 to the power y, element by element, with broadcasting.

    float64 where x or y is, else float32. Source: paddle.ldexp.
    """
    dtype = dt.float64 if dt.float64 in (x.dtype, y.dtype) else dt.float32
    two = _C_ops.full((), 2.0, dtype)
    return _C_ops.multiply(_C_ops.cast(x, dtype), _C_ops.elementwise_pow(two, _C_ops.cast(y, dtype)))


def ldexp_(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """In-place `ldexp`: the result is written to x, of a floating dtype. Source: paddle.ldexp_."""
    power = _C_ops.elementwise_pow(_C_ops.full((), 2.0, x.dtype), _C_ops.cast(y, x.dtype))
    return _C_ops.multiply_(x, power)
