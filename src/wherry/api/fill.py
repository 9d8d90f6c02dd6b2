"""Filling in place. Source: paddle.tensor.manipulation."""

from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__: list[str] = []
METHODS = ("fill_", "zero_")


def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to a number; no gradient flows to the old values. Source: paddle.Tensor.fill_."""
    return _C_ops.fill_(x, value)


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0. Source: paddle.Tensor.zero_."""
    return _C_ops.fill_(x, 0)
