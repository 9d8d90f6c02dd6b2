"""Cumulative kernels."""

from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import ALL, FLOAT, FLOATING_OR_COMPLEX, kernel
from wherry.kernels.numpy.common import Array, in_float32


def _accumulate(ufunc: Any, x: Array, axis: int) -> Array:
    if x.ndim == 0:
        return np.array(x.astype(np.int64) if x.dtype.kind == "b" or x.dtype == np.int32 else x)
    dtype = np.int64 if x.dtype.kind == "b" or x.dtype == np.int32 else x.dtype
    return ufunc.accumulate(x, axis=axis, dtype=dtype)  # type: ignore[no-any-return]


@kernel("cumsum", ALL)
@in_float32
def cumsum(x: Array, axis: int, reverse: bool) -> Array:
    """Running sums, from the end where `reverse`."""
    if reverse and x.ndim:
        return np.flip(_accumulate(np.add, np.flip(x, axis), axis), axis).copy()
    return _accumulate(np.add, x, axis)


@kernel("cumprod", ALL)
@in_float32
def cumprod(x: Array, axis: int) -> Array:
    """Running products."""
    return _accumulate(np.multiply, x, axis)


@kernel("logcumsumexp", FLOAT)
@in_float32
def logcumsumexp(x: Array, axis: int) -> Array:
    """Running log of sums of exponentials."""
    return _accumulate(np.logaddexp, x, axis)


@kernel("linear_scan", FLOATING_OR_COMPLEX)
@in_float32
def linear_scan(a: Array, b: Array, reverse: bool) -> Array:
    """out[i] = b[i] + a[i] out[i-1] along the last axis; reversed: out[i] = b[i] + a[i+1] out[i+1].

    Recursive doubling: a step for each power of two below the length. A factor of 0 cuts: nothing before it is seen, be it infinite.
    """
    length = b.shape[-1]
    if reverse:
        # Read backwards, the factor that links i to its successor stands one place further on.
        factors = np.zeros_like(a)
        factors[..., 1:] = a[..., :0:-1]
        return np.flip(linear_scan(factors, np.flip(b, -1), False), -1).copy()
    out, factor = np.array(b), np.array(a)
    if length:
        factor[..., 0] = 0
    times = np.multiply if np.isfinite(a).all() and np.isfinite(b).all() else _cutting_product
    step = 1
    while step < length:
        out[..., step:] += times(factor[..., step:], out[..., :-step].copy())
        factor[..., step:] = times(factor[..., step:], factor[..., :-step].copy())
        step *= 2
    return out


def _cutting_product(factor: Array, x: Array) -> Array:
    """factor * x, 0 where either is."""
    return np.where((factor == 0) | (x == 0), factor.dtype.type(0), factor * x)


@kernel("shift", FLOATING_OR_COMPLEX)
def shift(x: Array, offset: int, fill: float) -> Array:
    """x moved by `offset` along the last axis; `fill` comes in from the edge."""
    out = np.full(x.shape, fill, x.dtype)
    length = x.shape[-1]
    if abs(offset) < length:
        if offset >= 0:
            out[..., offset:] = x[..., : length - offset]
        else:
            out[..., :offset] = x[..., -offset:]
    return out
