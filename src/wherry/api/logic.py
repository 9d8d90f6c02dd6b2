"""The cast, and what chooses by a mask. Source: paddle.tensor.manipulation, paddle.tensor.search."""

from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.arguments import DTypeLike, refuse_out
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dtype import DataType, convert_dtype
from wherry.tensor.tensor import Tensor

__all__ = ["cast", "cast_", "masked_fill", "masked_fill_", "where", "where_"]
METHODS = ["astype", "cast", "cast_", "masked_fill", "masked_fill_", "where", "where_"]

_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
# As dtypes of a cast, Python's types have Python's precision.
_PYTHON_TYPES: dict[Any, DataType] = {float: dt.float64, complex: dt.complex128}


def _target(dtype: Any) -> DataType:
    found = _PYTHON_TYPES.get(dtype) if isinstance(dtype, type) else None
    return convert_dtype(dtype) if found is None else found


def cast(x: Tensor, dtype: DTypeLike) -> Tensor:
    """x in another dtype, as a copy.

    Shape of x. Complex to real keeps the real part; floating to integer drops the fraction; zero is False and every
    other number, NaN too, True. The gradient is cast back. Python's float and complex mean float64 and complex128.
    Raises TypeError for what is no dtype. Source: paddle.cast.
    """
    return _C_ops.cast(x, _target(dtype))


def cast_(x: Tensor, dtype: DTypeLike) -> Tensor:
    """In-place `cast`: x gets the other dtype. Source: paddle.cast_."""
    return _C_ops.cast_(x, _target(dtype))


def astype(x: Tensor, dtype: DTypeLike) -> Tensor:
    """x in another dtype, as a copy; see `cast`. Source: paddle.Tensor.astype."""
    return _C_ops.cast(x, _target(dtype))


def where(
    condition: Tensor,
    x: Tensor | float | None = None,
    y: Tensor | float | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """x where the condition holds, y elsewhere; with the condition alone, the positions where it holds.

    All three broadcast; x and y are tensors or numbers and promote by Paddle's rules, a number to the other's dtype.
    The gradient of what was not chosen is 0, whatever its value. `where(condition)` returns `nonzero(condition,
    as_tuple=True)`. Raises ValueError for a condition that is not bool, or one of x and y without the other. Source:
    paddle.where.
    """
    if out is not None:
        refuse_out(out)
    if x is None and y is None:
        from wherry import nonzero

        return nonzero(condition, as_tuple=True)
    left, right = _choices(x, y)
    return _C_ops.where(condition, left, right)


def where_(
    condition: Tensor, x: Tensor | float | None = None, y: Tensor | float | None = None, name: str | None = None
) -> Tensor:
    """In-place `where`: the result is written to x. Source: paddle.where_."""
    left, right = _choices(x, y)
    return _C_ops.where_(condition, left, right)


def _choices(x: Any, y: Any) -> tuple[Any, Any]:
    """x and y as tensors; two numbers meet in the dtype of a tensor of both, one number in the other's."""
    if x is None or y is None:
        raise ValueError(
            "expected both x and y, or neither (for the positions where the condition holds), received one of them"
        )
    if isinstance(x, _NUMBERS):
        if isinstance(y, _NUMBERS):
            dtype = _dtype_of_numbers(x, y)
            return _C_ops.full((), _plain(x), dtype), _C_ops.full((), _plain(y), dtype)
        return _beside(x, y), y
    if isinstance(y, _NUMBERS):
        return x, _beside(y, x)
    return x, y


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _dtype_of_numbers(x: Any, y: Any) -> DataType:
    both = (_plain(x), _plain(y))
    if any(isinstance(v, complex) for v in both):
        return dt.complex64
    if any(isinstance(v, float) for v in both):
        return get_default()
    return dt.bool_ if all(isinstance(v, bool) for v in both) else dt.int64


def _beside(value: Any, tensor: Tensor) -> Any:
    """A number as a 0-D tensor of the dtype in which it meets the tensor."""
    value = _plain(value)
    dtype = tensor.dtype
    if isinstance(value, complex) and not dtype.is_complex:
        dtype = dt.complex128 if dtype is dt.float64 else dt.complex64
    elif isinstance(value, float) and not dtype.is_differentiable:
        dtype = get_default()
    elif isinstance(value, int) and not isinstance(value, bool) and dtype.is_bool:
        dtype = dt.int64
    return _C_ops.full((), value, dtype)


def masked_fill(x: Tensor, mask: Tensor, value: float | Tensor, name: str | None = None) -> Tensor:
    """x with the elements where the mask holds replaced by a value.

    x and the mask broadcast; dtype of x. `value` is a number, or a tensor (of one element, or one that broadcasts too)
    which gets the gradient of the elements it replaced. Raises ValueError for a complex value of a real x. Source:
    paddle.masked_fill.
    """
    mask = _as_bool(mask)
    if isinstance(value, Tensor):
        return _C_ops.where(mask, _fill_value(value, x), x)
    return _C_ops.masked_fill(x, mask, value)


def masked_fill_(x: Tensor, mask: Tensor, value: float | Tensor, name: str | None = None) -> Tensor:
    """In-place `masked_fill`, of a mask that broadcasts to x's shape. Source: paddle.masked_fill_."""
    mask = _as_bool(mask)
    if isinstance(value, Tensor):
        return _C_ops.where_(_C_ops.logical_not(mask), x, _fill_value(value, x))
    return _C_ops.masked_fill_(x, mask, value)


def _as_bool(mask: Tensor) -> Tensor:
    return mask if mask.dtype is dt.bool_ else _C_ops.cast(mask, dt.bool_)


def _fill_value(value: Tensor, x: Tensor) -> Tensor:
    if value.size == 1:
        value = _C_ops.reshape(value, ())
    return value if value.dtype is x.dtype else _C_ops.cast(value, x.dtype)
