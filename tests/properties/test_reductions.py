"""Reductions, running sums and places of extremes against NumPy."""

from typing import Any

import numpy as np
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import wherry as paddle
from tests.properties.strategies import (
    FLOATS,
    INTS,
    arrays,
    axes_of,
    axis_of,
    examples,
    numpy_axes,
    precision,
    same,
    tensor,
)

FLOATING = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "nansum": np.nansum,
    "logsumexp": lambda x, axis, keepdims: scipy.special.logsumexp(x, axis=axis, keepdims=keepdims and x.ndim > 0),
}
EXTREME = {"max": np.max, "min": np.min, "amax": np.max, "amin": np.min}


@examples(150)
@given(st.data())
def test_sums_and_means(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(FLOATING)))
    x = data.draw(arrays(FLOATS, smallest=1 if name in ("mean", "logsumexp") else 0))
    axes, keepdim = data.draw(axes_of(x)), data.draw(st.booleans())
    expected = FLOATING[name](x.astype(np.float64), axis=numpy_axes(axes, x), keepdims=keepdim)
    same(getattr(paddle, name)(tensor(x), axes, keepdim=keepdim), expected, precision(x))


@examples(80)
@given(st.data())
def test_spread(data: Any) -> None:
    x = data.draw(arrays(FLOATS, smallest=1))
    axes, keepdim, unbiased = data.draw(axes_of(x)), data.draw(st.booleans()), data.draw(st.booleans())
    with np.errstate(all="ignore"):
        options = {"axis": numpy_axes(axes, x), "keepdims": keepdim, "ddof": int(unbiased)}
        expected = np.var(x.astype(np.float64), **options)
    one_element = unbiased and x.size and not np.isfinite(expected).all()
    if one_element:
        assert np.isnan(paddle.var(tensor(x), axes, unbiased, keepdim).numpy()).all()
        return
    same(paddle.var(tensor(x), axes, unbiased, keepdim), expected, precision(x))
    found = paddle.std(tensor(x), axes, unbiased, keepdim)
    np.testing.assert_allclose(found.numpy() ** 2, expected, rtol=precision(x), atol=precision(x))


@examples(120)
@given(st.data())
def test_extremes(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(EXTREME)))
    x = data.draw(arrays(FLOATS + INTS, special=True, smallest=1))
    axes, keepdim = data.draw(axes_of(x)), data.draw(st.booleans())
    same(getattr(paddle, name)(tensor(x), axes, keepdim), EXTREME[name](x, axis=numpy_axes(axes, x), keepdims=keepdim))


@examples(100)
@given(st.data())
def test_any_all_and_counts(data: Any) -> None:
    x = data.draw(arrays((*FLOATS, *INTS, "bool"), special=True))
    axes, keepdim = data.draw(axes_of(x)), data.draw(st.booleans())
    at = numpy_axes(axes, x)
    same(paddle.any(tensor(x), axes, keepdim), np.any(x, axis=at, keepdims=keepdim))
    same(paddle.all(tensor(x), axes, keepdim), np.all(x, axis=at, keepdims=keepdim))
    counted = np.asarray(np.count_nonzero(x, axis=at, keepdims=keepdim))
    same(paddle.count_nonzero(tensor(x), axes, keepdim), counted)


@examples(100)
@given(st.data())
def test_running(data: Any) -> None:
    x = data.draw(arrays(FLOATS, least=1))
    axis = data.draw(axis_of(x))
    wide = x.astype(np.float64)
    same(paddle.cumsum(tensor(x), axis), np.cumsum(wide, axis), precision(x))
    same(paddle.cumprod(tensor(x), axis), np.cumprod(wide, axis), precision(x))
    same(paddle.cumsum(tensor(x)), np.cumsum(wide), precision(x))
    if x.size:
        values, places = paddle.cummax(tensor(x), axis)
        same(values, np.maximum.accumulate(x, axis))
        same(paddle.take_along_axis(tensor(x), places, axis), np.maximum.accumulate(x, axis))


@examples(100)
@given(st.data())
def test_places(data: Any) -> None:
    x = data.draw(arrays(FLOATS + INTS, least=1, smallest=1))
    axis, keepdim = data.draw(axis_of(x)), data.draw(st.booleans())
    same(paddle.argmax(tensor(x), axis, keepdim), np.argmax(x, axis, keepdims=keepdim))
    same(paddle.argmin(tensor(x), axis, keepdim), np.argmin(x, axis, keepdims=keepdim))
    same(paddle.argmax(tensor(x)), np.argmax(x))


@examples(60)
@given(st.data())
def test_medians(data: Any) -> None:
    x = data.draw(arrays(FLOATS, least=1, smallest=1))
    axis = data.draw(axis_of(x))
    same(paddle.median(tensor(x), axis), np.median(x, axis), precision(x))
    same(paddle.median(tensor(x)), np.median(x), precision(x))
