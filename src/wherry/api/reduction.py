"""Reductions. Source: paddle.tensor.math, paddle.tensor.stat."""

import math
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import AxisLike, DTypeLike, axes_of, axis_of, dtype_of, refuse_out
from wherry.infermeta.reduction import reduced_count
from wherry.tensor.tensor import Tensor

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumprod_",
    "cumsum",
    "cumsum_",
    "dist",
    "logcumsumexp",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "nanmean",
    "nansum",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]
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


def max(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Largest element over the axes; equal ones share the gradient.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. NaN where there is one. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.max.
    """
    return _C_ops.max(x, axes_of(axis), keepdim)


def min(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Smallest element over the axes; equal ones share the gradient.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. NaN where there is one. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.min.
    """
    return _C_ops.min(x, axes_of(axis), keepdim)


def amax(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Largest element over the axes; equal ones share the gradient.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. NaN where there is one. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.amax.
    """
    return _C_ops.max(x, axes_of(axis), keepdim)


def amin(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Smallest element over the axes; equal ones share the gradient.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. NaN where there is one. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.amin.
    """
    return _C_ops.min(x, axes_of(axis), keepdim)


def any(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Whether any element over the axes is not zero.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. The result is bool. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.any.
    """
    return _C_ops.any(x, axes_of(axis), keepdim)


def all(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Whether every element over the axes is not zero.

    `axis` is an integer, a list of them, or None or [] for all; with `keepdim` the axes stay with size 1. The result is bool. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.all.
    """
    return _C_ops.all(x, axes_of(axis), keepdim)


def prod(
    x: Tensor,
    axis: AxisLike = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Product of the elements over the axes; 1 of none.

    `axis` is an integer, a list of them, or None or [] for all. `dtype` is the dtype to multiply in and to return. Raises
    ValueError for an axis that x has not or that is named twice. Source: paddle.prod.
    """
    if dtype is not None:
        x = _C_ops.cast(x, dtype_of(dtype))
    return _C_ops.prod(x, axes_of(axis), keepdim)


def logsumexp(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Logarithm of the sum of exponentials over the axes, without overflow; -inf of nothing.

    Integers are taken as float32; complex numbers are refused. Raises ValueError for an axis that x has not. Source: paddle.logsumexp.
    """
    x = _whole_as_float32(x)
    return _C_ops.logsumexp(x, axes_of(axis), keepdim)


def _whole_as_float32(x: Tensor) -> Tensor:
    """Integers and bool as float32; complex numbers stay, for the operation to refuse."""
    return x if x.dtype.is_floating or x.dtype.is_complex else _C_ops.cast(x, "float32")


def var(
    x: Tensor,
    axis: AxisLike = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Variance over the axes: squares about the mean, by the count less `correction` (1, or 0 with unbiased=False).

    Real floating or complex x; the result is real. NaN for as few elements as the correction. Raises ValueError for an axis that x has
    not. Source: paddle.var.
    """
    refuse_out(out)
    axes = axes_of(axis)
    centred, factor = _deviations(x, axes, unbiased, correction)
    if x.dtype.is_complex:
        # Not the square of abs, which has no second derivative at 0.
        squares = _C_ops.real(_C_ops.multiply(centred, _C_ops.conj(centred)))
    else:
        squares = _C_ops.square(centred)
    return _C_ops.scale(_C_ops.sum(squares, axes, None, keepdim), factor, 0.0, True)


def std(
    x: Tensor,
    axis: AxisLike = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Standard deviation over the axes, the square root of `var`; its gradient at equal elements is 0. Source: paddle.std."""
    refuse_out(out)
    axes = axes_of(axis)
    centred, factor = _deviations(x, axes, unbiased, correction)
    # A norm, as the square root of a sum has an infinite derivative at 0.
    return _C_ops.scale(_C_ops.p_norm(centred, 2.0, axes, keepdim), math.sqrt(factor), 0.0, True)


def _deviations(x: Tensor, axes: tuple[int, ...], unbiased: bool | None, correction: float) -> tuple[Tensor, float]:
    """Every element less the mean, and what their squares are multiplied by."""
    if unbiased is not None:
        correction = 1 if unbiased else 0
    count = reduced_count(tuple(x.shape), axes)
    rest = count - correction
    factor = 1.0 / rest if rest > 0 else float("nan" if count <= 1 else "inf")
    return _C_ops.subtract(x, _C_ops.mean(x, axes, True)), factor


def norm(
    x: Tensor, p: float | str | None = None, axis: AxisLike = None, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """Norm of vectors or matrices; its gradient at the origin is the subgradient 0.

    p: a number, inf, -inf, "fro" or (two axes) "nuc"; None means 2 or "fro". axis: None takes x as one vector, an
    integer gives vector norms, two integers matrix norms. Raises ValueError for a p that the form does not have.
    Source: paddle.norm, paddle.linalg.norm.
    """
    if x.dtype.is_integer or x.dtype.is_bool:
        raise TypeError(f"norm: expected a floating or complex tensor, received {x.dtype.name}")
    axes = axes_of(axis)
    if p is None:
        p = 2.0
    if len(axes) > 2:
        raise ValueError(f"norm: expected at most two axes, received {list(axes)}")
    if isinstance(p, str):
        if p == "fro":
            return _C_ops.p_norm(x, 2.0, axes, keepdim)
        if p != "nuc" or len(axes) != 2:
            raise ValueError(f"norm: expected p 'fro' or, with two axes, 'nuc', received {p!r}")
    if len(axes) < 2 or p == "fro":
        return _C_ops.p_norm(x, float(p), axes, keepdim)
    return _matrix_norm(x, p, axes, keepdim)


def _matrix_norm(x: Tensor, p: Any, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    if p not in ("nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
        raise ValueError(f"norm: expected p of 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for two axes, received {p}")
    rows, columns = (a % x.ndim for a in axes)
    if p in ("nuc", 2, -2):
        from wherry import linalg

        rest = [i for i in range(x.ndim) if i not in (rows, columns)]
        values = linalg.svdvals(_C_ops.transpose(x, (*rest, rows, columns)))
        picked = {"nuc": sum, 2: max, -2: min}[p](values, -1)
        if keepdim:
            shape = [1 if i in (rows, columns) else d for i, d in enumerate(x.shape)]
            return _C_ops.reshape(picked, tuple(shape))
        return picked
    along, across = (rows, columns) if abs(p) == 1 else (columns, rows)
    sums = _C_ops.sum(_C_ops.abs(x), (along,), None, True)
    pick = _C_ops.max if p > 0 else _C_ops.min
    picked = pick(sums, (across,), True)
    return picked if keepdim else _C_ops.squeeze(picked, (rows, columns))


def dist(x: Tensor, y: Tensor, p: float = 2, name: str | None = None) -> Tensor:
    """The p-norm of x - y, which broadcast. Source: paddle.dist."""
    return _C_ops.p_norm(_C_ops.subtract(x, y), float(p), (), False)


def _running(x: Tensor, axis: Any, dtype: Any) -> tuple[Tensor, int]:
    if dtype is not None:
        x = _C_ops.cast(x, dtype_of(dtype))
    if axis is None:
        return _C_ops.reshape(x, (-1,)), 0
    return x, axis_of(axis)


def cumsum(x: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Running sums along an axis, or over all elements in row-major order with axis=None.

    bool and int32 add up in int64. Raises ValueError for an axis that x has not. Source: paddle.cumsum.
    """
    x, place = _running(x, axis, dtype)
    return _C_ops.cumsum(x, place, False)


def cumsum_(x: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """In-place `cumsum`; the axis must be named unless x has one axis, and the dtype must be x's own."""
    if axis is None and x.ndim > 1:
        raise ValueError("cumsum_: expected an axis for a tensor of several axes, received None; use cumsum")
    if dtype is not None and dtype_of(dtype) is not x.dtype:
        raise TypeError(f"cumsum_: expected x's dtype {x.dtype.name}, received {dtype!r}; use cumsum")
    return _C_ops.cumsum_(x, 0 if axis is None else axis_of(axis), False)


def cumprod(x: Tensor, dim: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Running products along an axis, or over all elements in row-major order with dim=None.

    The gradient is right for any number of zeros. Raises ValueError for an axis that x has not. Source: paddle.cumprod.
    """
    x, place = _running(x, dim, dtype)
    return _C_ops.cumprod(x, place)


def cumprod_(x: Tensor, dim: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """In-place `cumprod`; the axis must be named unless x has one axis, and the dtype must be x's own."""
    if dim is None and x.ndim > 1:
        raise ValueError("cumprod_: expected dim for a tensor of several axes, received None; use cumprod")
    if dtype is not None and dtype_of(dtype) is not x.dtype:
        raise TypeError(f"cumprod_: expected x's dtype {x.dtype.name}, received {dtype!r}; use cumprod")
    return _C_ops.cumprod_(x, 0 if dim is None else axis_of(dim))


def logcumsumexp(x: Tensor, axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Running logarithms of sums of exponentials along an axis, or over all elements. Source: paddle.logcumsumexp."""
    if dtype is None:
        x = _whole_as_float32(x)
    x, place = _running(x, axis, dtype)
    return _C_ops.logcumsumexp(x, place)


def cummax(
    x: Tensor, axis: int | None = None, dtype: DTypeLike = "int64", name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Running maxima and the last place of each; over all elements with axis=None. Source: paddle.cummax."""
    x, place = _running(x, axis, None)
    return _C_ops.cummax(x, place, dtype_of(dtype))


def cummin(
    x: Tensor, axis: int | None = None, dtype: DTypeLike = "int64", name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Running minima and the last place of each; over all elements with axis=None. Source: paddle.cummin."""
    x, place = _running(x, axis, None)
    return _C_ops.cummin(x, place, dtype_of(dtype))


def count_nonzero(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """How many elements over the axes are not zero (int64). Source: paddle.count_nonzero."""
    return _C_ops.sum(_C_ops.cast(_C_ops.cast(x, "bool"), "int64"), axes_of(axis), None, keepdim)


def nansum(
    x: Tensor, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """Sum over the axes with NaN as 0. Source: paddle.nansum."""
    return sum(_C_ops.where(_C_ops.isnan(x), _C_ops.full_like(x, 0.0), x), axis, dtype, keepdim)


def nanmean(x: Tensor, axis: AxisLike = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Mean over the axes of the elements that are not NaN. Source: paddle.nanmean."""
    there = _C_ops.cast(_C_ops.logical_not(_C_ops.isnan(x)), x.dtype)
    return _C_ops.divide(nansum(x, axis, None, keepdim), sum(there, axis, None, keepdim))


def median(
    x: Tensor, axis: int | None = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Any:
    """Median along an axis, or of all elements; NaN where there is one.

    mode: "avg" is the mean of the two in the middle, "min" the lower of them, and with an axis its place too. Raises ValueError for
    another mode. Source: paddle.median.
    """
    if mode not in ("avg", "min"):
        raise ValueError(f"median: expected mode 'avg' or 'min', received {mode!r}")
    shape = [1] * x.ndim if keepdim and axis is None else None
    flat = axis is None
    if flat:
        x, axis = _C_ops.reshape(x, (-1,)), 0
    place = axis_of(axis)
    if x.ndim == 0:
        x, place = _C_ops.reshape(x, (1,)), 0
    if x.dtype.is_complex:
        raise TypeError(f"median: expected real numbers, received {x.dtype.name}; complex numbers have no order")
    if mode == "avg":
        x = _whole_as_float32(x)
    values, indices = _C_ops.argsort(x, place, False, True)
    count = x.shape[place]
    lower = _C_ops.slice(values, (place,), ((count - 1) // 2,), ((count - 1) // 2 + 1,))
    spoiled = _C_ops.any(_C_ops.isnan(x), (place,), True)
    if mode == "avg":
        upper = _C_ops.slice(values, (place,), (count // 2,), (count // 2 + 1,))
        lower = _C_ops.scale(_C_ops.add(lower, upper), 0.5, 0.0, True)
    nan = _C_ops.full_like(lower, float("nan") if lower.dtype.is_floating else 0)
    result = _C_ops.where(spoiled, nan, lower)
    if shape is not None:
        result = _C_ops.reshape(result, tuple(shape))
    elif not keepdim:
        result = _C_ops.squeeze(result, (place,))
    if mode == "min" and not flat:
        at = _C_ops.slice(indices, (place,), ((count - 1) // 2,), ((count - 1) // 2 + 1,))
        return result, at if keepdim else _C_ops.squeeze(at, (place,))
    return result
