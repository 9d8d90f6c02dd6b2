"""Sums, means and products over axes."""

from typing import Any, Final

import numpy as np

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, BOOL, COMPLEX, FLOAT, REAL, kernel
from wherry.infermeta.reduction import reduced_count, reduced_shape
from wherry.kernels.numpy.common import Array, in_float32

HALF: Final = (dt.float16.numpy, dt.bfloat16.numpy)
_add_reduce: Final[Any] = np.add.reduce


@kernel("sum", ALL)
def sum(x: Array, axis: tuple[int, ...], dtype: DataType | None, keepdim: bool) -> Array:
    """Sum over the axes (all where empty); bool and int32 add up in int64, float16 and bfloat16 in float32."""
    axes = axis if axis and x.ndim else None
    if dtype is not None:
        return _sum_in(x, dtype.numpy, axes, keepdim)
    kind = x.dtype.kind
    if (kind == "f" and x.itemsize > 2) or kind == "c":
        return _add_reduce(x, axis=axes, keepdims=keepdim)
    if kind == "b" or x.dtype == np.int32:
        return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.int64)
    return _sum_in(x, x.dtype, axes, keepdim)


def _sum_in(x: Array, dtype: "np.dtype", axes: tuple[int, ...] | None, keepdim: bool) -> Array:
    if dtype.kind == "b":
        # A sum is true where it is not zero; terms may cancel.
        return sum(x, axes or (), None, keepdim) != 0
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if dtype in HALF:
        return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.float32).astype(dtype)
    if x.dtype != dtype:
        x = x.astype(dtype)
    return _add_reduce(x, axis=axes, keepdims=keepdim, dtype=dtype)


@kernel("mean", ALL)
def mean(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Mean over the axes (all where empty); NaN of nothing. Integers round towards zero; bool is whether any is true."""
    axes = axis if axis and x.ndim else None
    kind = x.dtype.kind
    if x.dtype in HALF:
        total = _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.float32)
        return (total / reduced_count(x.shape, axis)).astype(x.dtype)
    if kind == "f" or kind == "c":
        return _add_reduce(x, axis=axes, keepdims=keepdim) / reduced_count(x.shape, axis)
    total = _add_reduce(x, axis=axes, keepdims=keepdim, dtype=np.int64)
    if kind == "b":
        return total != 0
    count = reduced_count(x.shape, axis) or 1
    return (np.sign(total) * (np.abs(total) // count)).astype(x.dtype)


def _axes(x: Array, axis: tuple[int, ...]) -> tuple[int, ...] | None:
    return axis if axis and x.ndim else None


@kernel("max", BOOL + REAL)
def max(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Maximum over the axes; NaN where there is one."""
    return (
        np.asarray(np.maximum.reduce(x, axis=_axes(x, axis), keepdims=keepdim))
        if x.size
        else _nothing(x, axis, keepdim)
    )


@kernel("min", BOOL + REAL)
def min(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Minimum over the axes; NaN where there is one."""
    return (
        np.asarray(np.minimum.reduce(x, axis=_axes(x, axis), keepdims=keepdim))
        if x.size
        else _nothing(x, axis, keepdim)
    )


def _nothing(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    return np.empty(reduced_shape(x.shape, axis, keepdim), x.dtype)


@kernel("prod", ALL)
def prod(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Product over the axes (1 of nothing); bool and int32 in int64, float16 and bfloat16 in float32."""
    dtype = np.dtype(np.int64) if x.dtype.kind == "b" or x.dtype == np.int32 else x.dtype
    working = np.float32 if dtype in HALF else dtype
    return np.asarray(np.multiply.reduce(x, axis=_axes(x, axis), keepdims=keepdim, dtype=working)).astype(dtype)


@kernel("any", ALL)
def any(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Whether any element is not zero; False of nothing."""
    return np.asarray(np.any(x != 0, axis=_axes(x, axis), keepdims=keepdim))


@kernel("all", ALL)
def all(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Whether no element is zero; True of nothing."""
    return np.asarray(np.all(x != 0, axis=_axes(x, axis), keepdims=keepdim))


@kernel("logsumexp", FLOAT)
@in_float32
def logsumexp(x: Array, axis: tuple[int, ...], keepdim: bool) -> Array:
    """The largest element is taken out first; -inf of nothing or of -inf alone."""
    axes = _axes(x, axis)
    if not x.size:
        return np.full(reduced_shape(x.shape, axis, keepdim), -np.inf, x.dtype)
    top = np.max(x, axis=axes, keepdims=True)
    base = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - base), axis=axes, keepdims=True)) + base
    return np.asarray(out.astype(x.dtype).reshape(reduced_shape(x.shape, axis, keepdim)))


@kernel("p_norm", FLOAT + COMPLEX)
@in_float32
def p_norm(x: Array, porder: float, axis: tuple[int, ...], keepdim: bool) -> Array:
    """Vector norm over the axes, scaled by the largest element so that no power overflows."""
    size = np.abs(x)
    axes = _axes(x, axis)
    shape = reduced_shape(x.shape, axis, keepdim)
    if not x.size:
        return np.zeros(shape, size.dtype)
    if porder == 0:
        return np.asarray(np.sum(size != 0, axis=axes, keepdims=keepdim)).astype(size.dtype)
    if porder == np.inf:
        return np.asarray(np.max(size, axis=axes, keepdims=keepdim))
    if porder == -np.inf:
        return np.asarray(np.min(size, axis=axes, keepdims=keepdim))
    if porder == 1:
        return np.asarray(np.sum(size, axis=axes, keepdims=keepdim))
    top = np.max(size, axis=axes, keepdims=True)
    scale = np.where((top > 0) & np.isfinite(top), top, 1)
    total = np.sum((size / scale) ** porder, axis=axes, keepdims=True)
    out = (np.sqrt(total) if porder == 2 else total ** (1.0 / porder)) * scale
    return np.asarray(out.astype(size.dtype).reshape(shape))
