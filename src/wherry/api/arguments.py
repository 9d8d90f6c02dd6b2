"""Conversions of arguments that many public functions take in the same forms."""

import operator
from collections.abc import Sequence
from typing import Any

from wherry.autograd.structures import TensorBase
from wherry.core.dtype import DataType, convert_dtype
from wherry.tensor.tensor import Tensor

AxisLike = int | Sequence[int] | Tensor | None
DTypeLike = DataType | str | type | Any


def axis_of(axis: Any, name: str = "axis") -> int:
    """An axis given as an integer or an integer tensor of one element; raises TypeError for anything else."""
    if type(axis) is int:
        return axis
    if isinstance(axis, TensorBase):
        array = axis.impl.array
        if array.dtype.kind in "iu" and array.size == 1:
            return int(array.reshape(()))
    elif not isinstance(axis, (bool, float)):
        try:
            return operator.index(axis)
        except TypeError:
            pass
    raise TypeError(f"expected {name} to be an integer, received {type(axis).__name__} {axis!r}")


def axes_of(axis: Any, name: str = "axis") -> tuple[int, ...]:
    """Axes given as None (all: an empty tuple), an integer, a list or tuple of integers, or an integer tensor.

    Raises TypeError for anything else.
    """
    if axis is None:
        return ()
    if type(axis) is int:
        return (axis,)
    if isinstance(axis, (list, tuple)):
        return tuple([axis_of(a, name) for a in axis])
    if isinstance(axis, TensorBase):
        array = axis.impl.array
        if array.dtype.kind in "iu" and array.ndim <= 1:
            return tuple([int(a) for a in array.reshape(-1)])
    return (axis_of(axis, name),)


def dtype_of(dtype: Any) -> DataType | None:
    """A dtype argument as a DataType; None stays None."""
    return None if dtype is None else convert_dtype(dtype)


def refuse_out(out: Any) -> None:
    """Raise NotImplementedError for an `out` argument."""
    if out is not None:
        raise NotImplementedError(
            "the argument out is not supported; assign the result, or write it into a tensor with .copy_()"
        )
