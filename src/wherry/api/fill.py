"""Filling in place, and functions applied to a tensor. Source: paddle.tensor.manipulation."""

import math
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.autograd.history import requires_grad
from wherry.autograd.inplace import refuse_write
from wherry.autograd.modes import no_grad
from wherry.core.state import is_grad_enabled
from wherry.tensor.tensor import Tensor

__all__: list[str] = []
METHODS = ("apply", "apply_", "fill_", "fill_diagonal_", "fill_diagonal_tensor", "fill_diagonal_tensor_", "zero_")


def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to a number; no gradient flows to the old values. Source: paddle.Tensor.fill_."""
    return _C_ops.fill_(x, value)


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0. Source: paddle.Tensor.zero_."""
    return _C_ops.fill_(x, 0)


def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Set the elements of the diagonal, whose indices are all equal, to a number; returns x. Their gradient is zero.

    x: at least two dimensions. offset: how far right of the diagonal, in the last axis. wrap: the diagonal of a matrix with more rows than
    columns begins again after each square and one row; in more dimensions it always does. Raises ValueError for fewer than two.
    Source: paddle.Tensor.fill_diagonal_.
    """
    shape = tuple(x.shape)
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal_: expected a tensor of at least two dimensions, received shape {list(shape)}")
    refuse_write("fill_diagonal_", x, is_grad_enabled() and requires_grad(x))
    last, size = shape[-1], math.prod(shape)
    step = sum(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    end = size if wrap or len(shape) > 2 else min(size, last * last)
    start = np.arange(0, end, step)
    start = start[(start % last + offset >= 0) & (start % last + offset < last)]
    x[np.unravel_index(start + offset, shape)] = value
    return x


def fill_diagonal_tensor_(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """Write y to the diagonal of the matrices in two axes; returns x. Both get gradients.

    y: the shape of `x.diagonal(offset, dim1, dim2)`; takes x's dtype. Raises ValueError for another shape. Source:
    paddle.Tensor.fill_diagonal_tensor_.
    """
    diagonal = _diagonal_for(x, y, offset, dim1, dim2, "fill_diagonal_tensor_")
    refuse_write("fill_diagonal_tensor_", x, is_grad_enabled() and (requires_grad(x) or requires_grad(y)))
    diagonal[...] = y
    return x


def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """A copy of x with y on the diagonal of the matrices in two axes.

    y: the shape of `x.diagonal(offset, dim1, dim2)`; takes x's dtype. Raises ValueError for another shape. Source:
    paddle.Tensor.fill_diagonal_tensor.
    """
    _diagonal_for(x, y, offset, dim1, dim2, "fill_diagonal_tensor")
    return _C_ops.diagonal_scatter(x, _C_ops.cast(y, x.dtype), offset, dim1, dim2)


def _diagonal_for(x: Tensor, y: Tensor, offset: int, dim1: int, dim2: int, name: str) -> Tensor:
    diagonal: Tensor = _C_ops.diagonal(x, offset, dim1, dim2)
    if list(y.shape) != list(diagonal.shape):
        raise ValueError(f"{name}: expected y of the diagonal's shape {list(diagonal.shape)}, received {list(y.shape)}")
    return diagonal


def apply(x: Tensor, func: Any) -> Tensor:
    """func(x), for a tensor that needs no gradient; raises RuntimeError for one that does. Source: paddle.Tensor.apply."""
    return _applied(x, func, "apply")


def apply_(x: Tensor, func: Any) -> Tensor:
    """Overwrite x with func(x); returns x.

    func: returns a Tensor that broadcasts to x's shape; takes x's dtype. Raises RuntimeError for a tensor that needs a gradient, TypeError
    where func returns anything else. Source: paddle.Tensor.apply_.
    """
    return x.copy_(_applied(x, func, "apply_"))


def _applied(x: Tensor, func: Any, name: str) -> Tensor:
    if not x.stop_gradient:
        raise RuntimeError(
            f"{name}: expected a tensor that needs no gradient, received one with stop_gradient=False: func would not be "
            "differentiated. Call func(x) itself."
        )
    with no_grad():
        result = func(x)
    if not isinstance(result, Tensor):
        raise TypeError(f"{name}: expected func to return a Tensor, received {type(result).__name__}")
    return result
