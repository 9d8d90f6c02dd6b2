"""Functions of the values of a sparse tensor: those that leave zeros zero. Source: paddle.sparse.unary."""

import math
from collections.abc import Callable
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import DTypeLike, dtype_of
from wherry.api.sparse_tensor import SparseCooTensor, SparseCsrTensor
from wherry.core import dtype as dt
from wherry.sparse.arguments import Sparse, sparse_of
from wherry.tensor.tensor import Tensor

__all__ = [
    "abs",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "coalesce",
    "deg2rad",
    "expm1",
    "isnan",
    "log1p",
    "neg",
    "pow",
    "rad2deg",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]


def on_values(x: Any, operation: Callable[[Tensor], Tensor], function: str) -> Any:
    """The operation applied to the values; positions stay."""
    return sparse_of(x, function).with_values(operation(x.values()))


def abs(x: Sparse, name: str | None = None) -> Sparse:
    """Magnitudes of the values. Source: paddle.sparse.abs."""
    return on_values(x, _C_ops.abs, "abs")


def asin(x: Sparse, name: str | None = None) -> Sparse:
    """Inverse sine of the values. Source: paddle.sparse.asin."""
    return on_values(x, _C_ops.asin, "asin")


def asinh(x: Sparse, name: str | None = None) -> Sparse:
    """Inverse hyperbolic sine of the values. Source: paddle.sparse.asinh."""
    return on_values(x, _C_ops.asinh, "asinh")


def atan(x: Sparse, name: str | None = None) -> Sparse:
    """Inverse tangent of the values. Source: paddle.sparse.atan."""
    return on_values(x, _C_ops.atan, "atan")


def atanh(x: Sparse, name: str | None = None) -> Sparse:
    """Inverse hyperbolic tangent of the values. Source: paddle.sparse.atanh."""
    return on_values(x, _C_ops.atanh, "atanh")


def expm1(x: Sparse, name: str | None = None) -> Sparse:
    """exp(value) - 1. Source: paddle.sparse.expm1."""
    return on_values(x, _C_ops.expm1, "expm1")


def log1p(x: Sparse, name: str | None = None) -> Sparse:
    """log(1 + value). Source: paddle.sparse.log1p."""
    return on_values(x, _C_ops.log1p, "log1p")


def neg(x: Sparse, name: str | None = None) -> Sparse:
    """Values with the other sign. Source: paddle.sparse.neg."""
    return on_values(x, _C_ops.neg, "neg")


def sin(x: Sparse, name: str | None = None) -> Sparse:
    """Sine of the values. Source: paddle.sparse.sin."""
    return on_values(x, _C_ops.sin, "sin")


def sinh(x: Sparse, name: str | None = None) -> Sparse:
    """Hyperbolic sine of the values. Source: paddle.sparse.sinh."""
    return on_values(x, _C_ops.sinh, "sinh")


def sqrt(x: Sparse, name: str | None = None) -> Sparse:
    """Square root of the values. Source: paddle.sparse.sqrt."""
    return on_values(x, _C_ops.sqrt, "sqrt")


def square(x: Sparse, name: str | None = None) -> Sparse:
    """Squares of the values. Source: paddle.sparse.square."""
    return on_values(x, _C_ops.square, "square")


def tan(x: Sparse, name: str | None = None) -> Sparse:
    """Tangent of the values. Source: paddle.sparse.tan."""
    return on_values(x, _C_ops.tan, "tan")


def tanh(x: Sparse, name: str | None = None) -> Sparse:
    """Hyperbolic tangent of the values. Source: paddle.sparse.tanh."""
    return on_values(x, _C_ops.tanh, "tanh")


def isnan(x: Sparse, name: str | None = None) -> Sparse:
    """Whether each value is not a number, in bool. Source: paddle.sparse.isnan."""
    return on_values(x, _C_ops.isnan, "isnan")


def pow(x: Sparse, factor: float, name: str | None = None) -> Sparse:
    """Values to the power of factor. Source: paddle.sparse.pow."""
    return on_values(x, lambda values: _C_ops.pow(values, float(factor)), "pow")


def _times(values: Tensor, factor: float) -> Tensor:
    if not (values.dtype.is_floating or values.dtype.is_complex):
        values = _C_ops.cast(values, dt.float32)
    return _C_ops.scale(values, factor, 0.0, True)


def rad2deg(x: Sparse, name: str | None = None) -> Sparse:
    """Values in degrees from radians; integers become float32. Source: paddle.sparse.rad2deg."""
    return on_values(x, lambda values: _times(values, 180.0 / math.pi), "rad2deg")


def deg2rad(x: Sparse, name: str | None = None) -> Sparse:
    """Values in radians from degrees; integers become float32. Source: paddle.sparse.deg2rad."""
    return on_values(x, lambda values: _times(values, math.pi / 180.0), "deg2rad")


def cast(
    x: Sparse, index_dtype: DTypeLike | None = None, value_dtype: DTypeLike | None = None, name: str | None = None
) -> Sparse:
    """Positions in index_dtype and values in value_dtype; None leaves them.

    Raises TypeError for an index_dtype that is not an integer. Source: paddle.sparse.cast.
    """
    sparse_of(x, "cast")
    index, value = dtype_of(index_dtype), dtype_of(value_dtype)
    if index is not None and not index.is_integer:
        raise TypeError(f"sparse.cast: expected an integer index_dtype, received {index.name}")
    values = x.values() if value is None else _C_ops.cast(x.values(), value)
    if index is None:
        return x.with_values(values)  # type: ignore[no-any-return]
    if isinstance(x, SparseCsrTensor):
        return SparseCsrTensor(_C_ops.cast(x.crows(), index), _C_ops.cast(x.cols(), index), values, x.shape)
    return SparseCooTensor(_C_ops.cast(x.indices(), index), values, x.shape, x.is_coalesced())


def coalesce(x: SparseCooTensor, name: str | None = None) -> SparseCooTensor:
    """The elements sorted by their coordinates, with what has the same ones added up.

    Raises TypeError for compressed rows. Source: paddle.sparse.coalesce.
    """
    if not isinstance(x, SparseCooTensor):
        raise TypeError(f"sparse.coalesce: expected a SparseCooTensor, received {type(x).__name__}")
    return x.coalesce()
