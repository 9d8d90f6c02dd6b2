"""Quantiles, medians and histograms: values of NumPy, gradients, refusals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import gradcheck, gradgradcheck

NAN = math.nan
VALUES = np.array([[0.3, -1.0, 2.5, 4.0, 1.0], [5.0, NAN, 7.0, -8.0, 9.5], [NAN] * 5])
PLAIN = np.random.default_rng(5).standard_normal((3, 4, 5))
INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("q", [0.0, 0.35, 1.0, [0.1, 0.5, 0.9]])
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 2]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_quantiles_equal_numpy(interpolation: str, q: Any, axis: Any, keepdim: bool) -> None:
    x = paddle.to_tensor(PLAIN)
    along = tuple(axis) if isinstance(axis, list) else axis
    expected = np.quantile(PLAIN, q, along, keepdims=keepdim, method=interpolation)
    np.testing.assert_allclose(paddle.quantile(x, q, axis, keepdim, interpolation).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(paddle.nanquantile(x, q, axis, keepdim, interpolation).numpy(), expected, rtol=1e-13)


@pytest.mark.filterwarnings("ignore:All-NaN")
def test_quantiles_beside_nan() -> None:
    x = paddle.to_tensor(VALUES)
    np.testing.assert_allclose(paddle.quantile(x, [0.25, 0.5], 1).numpy(), np.quantile(VALUES, [0.25, 0.5], 1))
    np.testing.assert_allclose(paddle.nanquantile(x, [0.25, 0.5], 1).numpy(), np.nanquantile(VALUES, [0.25, 0.5], 1))
    infinite = paddle.to_tensor([1.0, math.inf, math.inf])
    assert paddle.quantile(infinite, 0.75).item() == math.inf
    assert math.isnan(paddle.quantile(paddle.zeros([0]), 0.5).item())
    assert paddle.quantile(paddle.zeros([2, 0]), [0.5, 0.6], 0).shape == [2, 0]
    assert paddle.quantile(paddle.to_tensor(3.0), paddle.to_tensor([0.5, 0.2]), keepdim=True).shape == [2]


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1], (1,)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_nanmedian_equals_numpy(axis: Any, keepdim: bool) -> None:
    along = tuple(axis) if isinstance(axis, list) else axis
    expected = np.nanmedian(VALUES, along, keepdims=keepdim)
    np.testing.assert_array_equal(paddle.nanmedian(paddle.to_tensor(VALUES), axis, keepdim).numpy(), expected)


def test_the_lower_median_and_its_place() -> None:
    values, places = paddle.nanmedian(paddle.to_tensor(VALUES), 1, mode="min")
    np.testing.assert_array_equal(values.numpy(), [1.0, 5.0, NAN])
    np.testing.assert_array_equal(places.numpy(), [4, 0, -1])
    assert paddle.nanmedian(paddle.to_tensor([4, 1, 2, 3])).item() == 2
    assert paddle.nanmedian(paddle.to_tensor([4, 1, 2, 3])).dtype is paddle.int64
    assert math.isnan(paddle.nanmedian(paddle.zeros([0])).item())


def test_medians_of_nothing_have_no_gradient() -> None:
    x = paddle.to_tensor([[NAN, NAN], [1.0, 3.0]], stop_gradient=False)
    paddle.nanmedian(x, 1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, 0.0], [0.5, 0.5]])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantile": lambda x: paddle.quantile(x, [0.2, 0.55], 1),
    "quantile of axes": lambda x: paddle.quantile(x, 0.3, [0, 2], True),
    "midpoint": lambda x: paddle.nanquantile(x, 0.4, 2, interpolation="midpoint"),
    "nanmedian": lambda x: paddle.nanmedian(x, 1),
    "nanmedian of all": lambda x: paddle.nanmedian(x),
    "mode": lambda x: paddle.mode(x, 1)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    x = paddle.to_tensor(PLAIN, stop_gradient=False)
    assert gradcheck(FUNCTIONS[name], (x,), edges=False)
    assert gradgradcheck(FUNCTIONS[name], (x,), edges=False)


def test_isin() -> None:
    x = paddle.to_tensor([[1, 2], [3, 4]])
    np.testing.assert_array_equal(paddle.isin(x, paddle.to_tensor([4, 1])).numpy(), [[True, False], [False, True]])
    np.testing.assert_array_equal(x.isin(paddle.to_tensor(2), invert=True).numpy(), [[True, False], [True, True]])
    # Elements that occur twice do not break the promise's result.
    np.testing.assert_array_equal(
        paddle.isin(paddle.to_tensor([1, 1, 5]), x, assume_unique=True).numpy(), [True, True, False]
    )


def test_mode() -> None:
    values, places = paddle.mode(paddle.to_tensor([[2.0, 1.0, 2.0, 1.0], [3.0, 3.0, 0.0, 5.0]]))
    np.testing.assert_array_equal(values.numpy(), [1.0, 3.0])
    np.testing.assert_array_equal(places.numpy(), [3, 1])


def test_histograms_equal_numpy() -> None:
    x = np.random.default_rng(1).standard_normal((40, 2))
    weights = np.random.default_rng(2).random(40)
    flat = paddle.to_tensor(x)
    np.testing.assert_array_equal(paddle.histogram(flat, 7).numpy(), np.histogram(x, 7)[0])
    density = paddle.histogram(flat, 5, -1, 1, weight=flat.abs(), density=True)
    np.testing.assert_allclose(density.numpy(), np.histogram(x, 5, (-1, 1), True, np.abs(x))[0], rtol=1e-6)
    np.testing.assert_allclose(paddle.histogram_bin_edges(flat, 7).numpy(), np.histogram_bin_edges(x, 7), rtol=1e-6)
    np.testing.assert_array_equal(paddle.histogram_bin_edges(paddle.ones([2]), 2).numpy(), [0.5, 1.0, 1.5])
    for bins, ranges, dense, with_weights in (
        ([3, 4], None, False, False),
        (5, [-1.0, 1.0, -2.0, 0.5], True, True),
        (
            [paddle.to_tensor([-2.0, 0.0, 1.0], dtype="float64"), paddle.to_tensor([-1.0, 3.0], dtype="float64")],
            None,
            True,
            False,
        ),
    ):
        plain = [b.numpy() if isinstance(b, paddle.Tensor) else b for b in bins] if isinstance(bins, list) else bins
        pairs = None if ranges is None else [ranges[:2], ranges[2:]]
        chosen = weights if with_weights else None
        expected, edges = np.histogramdd(x, plain, pairs, dense, chosen)
        found, ends = paddle.histogramdd(
            flat, bins, ranges, dense, None if chosen is None else paddle.to_tensor(chosen)
        )
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
        for end, edge in zip(ends, edges):
            np.testing.assert_allclose(end.numpy(), edge, rtol=1e-12)


X = paddle.to_tensor([1.0, 2.0])
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "q above 1": (lambda: paddle.quantile(X, 1.5), ValueError, r"q in \[0, 1\], received \[1.5\]"),
    "no q": (lambda: paddle.quantile(X, []), ValueError, "at least one number in q"),
    "q of text": (lambda: paddle.quantile(X, "a"), TypeError, "received str"),
    "q of two dimensions": (lambda: paddle.quantile(X, X.unsqueeze(0)), ValueError, "at most one dimension"),
    "interpolation": (lambda: paddle.quantile(X, 0.5, interpolation="x"), ValueError, "received 'x'"),
    "quantile of integers": (
        lambda: paddle.quantile(X.astype("int32"), 0.5),
        TypeError,
        "floating tensor, received int32",
    ),
    "axis": (lambda: paddle.quantile(X, 0.5, 3), ValueError, r"axis in \[-1, 1\)"),
    "nanmedian mode": (lambda: paddle.nanmedian(X, mode="x"), ValueError, "'avg' or 'min', received 'x'"),
    "nanmedian axes": (lambda: paddle.nanmedian(X, []), ValueError, "at least one axis"),
    "mode of nothing": (lambda: paddle.mode(paddle.zeros([2, 0])), ValueError, "at least one element along axis 1"),
    "bins": (lambda: paddle.histogram(X, 0), ValueError, "bins of at least 1"),
    "range": (lambda: paddle.histogram(X, 3, 2, 1), ValueError, "min <= max"),
    "infinite": (lambda: paddle.histogram(X / 0.0, 3), ValueError, "finite elements"),
    "weights": (lambda: paddle.histogram(X, 3, weight=X[:1]), ValueError, r"input's shape \[2\]"),
    "edges of nothing": (lambda: paddle.histogram_bin_edges(X[:0]), ValueError, "elements or a range"),
    "points": (lambda: paddle.histogramdd(X), ValueError, "at least two dimensions"),
    "number of bins": (
        lambda: paddle.histogramdd(paddle.ones([3, 2]), [2]),
        ValueError,
        "a list of 2 integers or Tensors",
    ),
    "ranges": (lambda: paddle.histogramdd(paddle.ones([3, 2]), 2, [0.0, 1.0]), ValueError, "4 numbers in ranges"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, error, message = REFUSALS[name]
    with pytest.raises(error, match=message):
        call()
