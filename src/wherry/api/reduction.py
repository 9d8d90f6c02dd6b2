"""Reductions. Source: paddle.tensor.math, paddle.tensor.stat."""

from wherry import _C_ops
from wherry.api.arguments import AxisLike, DTypeLike, axes_of, dtype_of, refuse_out
from wherry.tensor.tensor import Tensor

__all__ = ["mean", "sum"]
METHODS = __all__


def sum(
    x: Tensor,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Sum of the elements over the axes.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. `dtype` is the
    dtype to add up in and to return; by default bool and int32 give int64, every other dtype itself. Raises ValueError
    for an axis that x has not or that is named twice. Source: paddle.sum.
    """
    refuse_out(out)
    return _C_ops.sum(x, axes_of(axis), dtype_of(dtype), keepdim)


def mean(
    x: Tensor,
    axis: AxisLike = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean of the elements over the axes.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. The result has
    x's dtype (integers round towards zero, bool is whether any element is true), or that of x cast to `dtype`. The mean
    of no elements is NaN. Raises ValueError for an axis that x has not or that is named twice. Source: paddle.mean.
    """
    refuse_out(out)
    if dtype is not None:
        x = _C_ops.cast(x, dtype_of(dtype))
    return _C_ops.mean(x, axes_of(axis), keepdim)
