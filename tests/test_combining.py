"""Sums, differences, choices and distances among tensors: known values, gradients, refusals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import wherry as paddle
from wherry.autograd import gradcheck, gradgradcheck


def make(*shape: int, seed: int = 0) -> paddle.Tensor:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return paddle.to_tensor(values, stop_gradient=False)


MASK = paddle.to_tensor([True, False, True])
INDEX = paddle.to_tensor([[1], [0], [1]])
PLACES = paddle.to_tensor([0.0, 0.5, 2.0, 2.25], dtype="float64")

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "masked_scatter": (lambda x, v: paddle.masked_scatter(x, MASK, v), ((2, 3), (7,))),
    "masked_scatter, x broadcast": (lambda x, v: paddle.masked_scatter(x, MASK, v), ((2, 1), (2, 2))),
    "add_n": (lambda x, y, z: paddle.add_n([x, y, z, x]), ((2, 3), (2, 3), (2, 3))),
    "diff": (lambda x, p: paddle.diff(x, 2, 0, prepend=p), ((3, 2), (1, 2))),
    "trapezoid": (lambda y: paddle.trapezoid(y, dx=0.25, axis=0), ((4, 2),)),
    "trapezoid, places": (lambda y, x: paddle.trapezoid(y, x), ((2, 4), (4,))),
    "cumulative_trapezoid": (lambda y: paddle.cumulative_trapezoid(y, PLACES), ((2, 4),)),
    "reduce_as": (lambda x: paddle.reduce_as(x, paddle.zeros([3, 1])), ((2, 3, 4),)),
    "renorm": (lambda x: paddle.renorm(x, 2.0, 0, 1.0), ((3, 4),)),
    "renorm, 1-norm": (lambda x: paddle.renorm(x, 1.0, -1, 0.5), ((3, 4),)),
    "cdist": (lambda x, y: paddle.cdist(x, y), ((2, 3, 4), (5, 4))),
    "cdist, 3-norm": (lambda x, y: paddle.cdist(x, y, 3.0), ((3, 4), (5, 4))),
    "cdist, by product": (lambda x, y: paddle.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), ((3, 4), (2, 4))),
    "pdist": (lambda x: paddle.pdist(x, 2.0), ((4, 3),)),
    "multiplex": (lambda x, y: paddle.multiplex([x, y], INDEX), ((3, 2), (3, 2))),
    "stanh": (lambda x: paddle.stanh(x, 0.7, 1.3), ((2, 3),)),
    "multigammaln": (lambda x: paddle.multigammaln(x.abs() + 1.5, 3), ((2, 3),)),
    "logit": (lambda x: paddle.logit(paddle.nn.functional.sigmoid(x), 1e-3), ((2, 3),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    inputs = tuple(make(*shape, seed=i) for i, shape in enumerate(shapes))
    assert gradcheck(function, inputs, edges=False)
    assert gradgradcheck(function, inputs, edges=False)


def test_masked_scatter_takes_values_in_order() -> None:
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    value = paddle.to_tensor([9.0, 8.0, 7.0, 6.0, 5.0])
    np.testing.assert_array_equal(paddle.masked_scatter(x, MASK, value).numpy(), [[9, 1, 8], [7, 4, 6]])
    np.testing.assert_array_equal(x.numpy(), [[0, 1, 2], [3, 4, 5]])
    assert x.masked_scatter_(MASK, value) is x
    np.testing.assert_array_equal(x.numpy(), [[9, 1, 8], [7, 4, 6]])
    column = paddle.zeros([2, 1])
    np.testing.assert_array_equal(paddle.masked_scatter(column, MASK, value).numpy(), [[9, 0, 8], [7, 0, 6]])
    assert paddle.masked_scatter(paddle.to_tensor(1.0), paddle.to_tensor(True), value).item() == 9.0


def test_masked_scatter_in_place_keeps_the_history() -> None:
    x, value = make(2, 3), make(4)
    y = x * 2.0
    y.masked_scatter_(MASK, value)
    (y * y).sum().backward()
    kept = np.array([[False, True, False]] * 2)
    np.testing.assert_allclose(x.grad.numpy(), np.where(kept, 8.0 * x.numpy(), 0.0))
    np.testing.assert_allclose(value.grad.numpy(), 2.0 * value.numpy())


def test_add_n() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    one = paddle.add_n(x)
    assert one is not x
    np.testing.assert_array_equal(one.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(paddle.add_n([x, x, x]).numpy(), [3.0, 6.0])
    assert paddle.add_n([paddle.to_tensor(1.0), paddle.to_tensor([2.0])]).shape == [1]


def test_differences_and_integrals_equal_numpy() -> None:
    values = np.array([[1.0, 4.0, 9.0, 16.0], [2.0, 3.0, 5.0, 8.0]])
    x = paddle.to_tensor(values)
    np.testing.assert_array_equal(paddle.diff(x, 2).numpy(), np.diff(values, 2))
    np.testing.assert_array_equal(paddle.diff(x, 1, 0, append=x).numpy(), np.diff(values, 1, 0, append=values))
    np.testing.assert_array_equal(paddle.diff(paddle.to_tensor([True, True, False])).numpy(), [False, True])
    assert paddle.diff(x, 7).shape == [2, 0]
    np.testing.assert_allclose(paddle.trapezoid(x, PLACES).numpy(), np.trapezoid(values, PLACES.numpy()), rtol=1e-15)
    np.testing.assert_allclose(
        paddle.trapezoid(x, dx=0.1, axis=0).numpy(), np.trapezoid(values, dx=0.1, axis=0), rtol=1e-15
    )
    running = paddle.cumulative_trapezoid(x, x, axis=1).numpy()
    np.testing.assert_allclose(running[:, -1], np.trapezoid(values, values), rtol=1e-15)
    assert paddle.trapezoid(paddle.to_tensor([1.0])).item() == 0.0
    assert paddle.cumulative_trapezoid(paddle.to_tensor([1.0])).shape == [0]


def test_reduce_as_undoes_broadcasting() -> None:
    x = paddle.ones([2, 3, 4])
    np.testing.assert_array_equal(paddle.reduce_as(x, paddle.ones([3, 1])).numpy(), [[8.0], [8.0], [8.0]])
    assert paddle.reduce_as(x, paddle.to_tensor(1.0)).item() == 24.0
    assert paddle.reduce_as(paddle.ones([2], dtype="bool"), paddle.to_tensor(1)).dtype is paddle.int64


def test_renorm_scales_down_what_is_too_long() -> None:
    x = paddle.to_tensor([[1.0, 2.0, 2.0], [3.0, 0.0, 4.0], [0.0, 0.0, 0.0]], stop_gradient=False)
    out = paddle.renorm(x, 2.0, 0, 4.0)
    np.testing.assert_allclose(out.numpy(), [[1, 2, 2], [2.4, 0, 3.2], [0, 0, 0]], rtol=1e-6)
    out.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    np.testing.assert_array_equal(x.grad.numpy()[2], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(paddle.renorm(x, math.inf, 0, 2.0).numpy()[1], [1.5, 0.0, 2.0])
    y = paddle.to_tensor([1.0, 9.0])
    assert y.renorm_(2.0, 0, 5.0) is y
    np.testing.assert_array_equal(y.numpy(), [1.0, 5.0])


@pytest.mark.parametrize("p, metric", [(1.0, "cityblock"), (2.0, "euclidean"), (math.inf, "chebyshev")])
def test_distances_equal_scipy(p: float, metric: str) -> None:
    x, y = make(30, 4), make(28, 4, seed=1)
    expected = distance.cdist(x.numpy(), y.numpy(), metric)
    np.testing.assert_allclose(paddle.cdist(x, y, p).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(x.cdist(y, p, "donot_use_mm_for_euclid_dist").numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(paddle.pdist(x, p).numpy(), distance.pdist(x.numpy(), metric), rtol=1e-14)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_equal_rows_have_distance_and_gradient_zero(mode: str) -> None:
    x = paddle.to_tensor([[0.0, 1.0], [2.0, 3.0]], dtype="float64", stop_gradient=False)
    out = paddle.cdist(x, paddle.to_tensor([[0.0, 1.0]], dtype="float64"), compute_mode=mode)
    out.sum().backward()
    np.testing.assert_allclose(out.numpy(), [[0.0], [math.sqrt(8.0)]])
    np.testing.assert_allclose(x.grad.numpy(), [[0.0, 0.0], [math.sqrt(0.5)] * 2])


def test_distances_of_nothing_keep_the_leading_axes() -> None:
    assert paddle.cdist(paddle.zeros([3, 0, 2]), paddle.zeros([3, 4, 2])).shape == [3, 0, 4]
    assert paddle.pdist(paddle.zeros([1, 2])).shape == [0]


def test_shard_index() -> None:
    indices = paddle.to_tensor([[16], [1], [19]])
    np.testing.assert_array_equal(paddle.shard_index(indices, 20, 2, 1).numpy(), [[6], [-1], [9]])
    np.testing.assert_array_equal(paddle.shard_index(indices, 20, 3, 2, 7).numpy(), [[2], [7], [5]])


def test_python_2_names() -> None:
    x = paddle.to_tensor([1.0, 2.0])
    np.testing.assert_array_equal(x.__div__(2).numpy(), [0.5, 1.0])
    np.testing.assert_array_equal(x.__rdiv__(2).numpy(), [2.0, 1.0])
    assert paddle.to_tensor([3]).__nonzero__() is True


def test_multigammaln_in_place() -> None:
    x = paddle.to_tensor([3.0, 2.5], dtype="float64")
    assert x.multigammaln_(2) is x
    from scipy.special import multigammaln

    np.testing.assert_allclose(x.numpy(), [multigammaln(3.0, 2), multigammaln(2.5, 2)], rtol=1e-14)


X = paddle.to_tensor([1.0, 2.0])
WHOLE = paddle.to_tensor([[1, 2]])
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too few values": (
        lambda: paddle.masked_scatter(X, paddle.to_tensor([True, True]), X[:1]),
        ValueError,
        "each of the 2",
    ),
    "mask of numbers": (lambda: paddle.masked_scatter(X, X, X), TypeError, "bool mask, received float32"),
    "values of another dtype": (
        lambda: paddle.masked_scatter(X, paddle.to_tensor([True, True]), X.astype("float64")),
        TypeError,
        "one dtype, received float32, float64",
    ),
    "add_n of nothing": (lambda: paddle.add_n([]), ValueError, "at least one Tensor"),
    "add_n of two shapes": (lambda: paddle.add_n([X, X[:1]]), ValueError, "tensors of one shape"),
    "diff 0 times": (lambda: paddle.diff(X, 0), ValueError, "n of at least 1, received 0"),
    "x and dx": (lambda: paddle.trapezoid(X, X, 1.0), ValueError, "x or dx, received both"),
    "trapezoid of integers": (lambda: paddle.trapezoid(WHOLE), TypeError, "floating tensor for y, received int64"),
    "reduce_as": (lambda: paddle.reduce_as(X, paddle.ones([3])), ValueError, r"broadcasts to \[2\]"),
    "renorm p": (lambda: paddle.renorm(X, 0.0, 0, 1.0), ValueError, "p > 0 and max_norm >= 0"),
    "cdist mode": (lambda: paddle.cdist(WHOLE, WHOLE, 2.0, "x"), ValueError, "received 'x'"),
    "cdist shapes": (lambda: paddle.cdist(paddle.ones([1, 2]), paddle.ones([1, 3])), ValueError, "rows of one length"),
    "cdist p": (lambda: paddle.cdist(paddle.ones([1, 2]), paddle.ones([1, 2]), -1.0), ValueError, "p of at least 0"),
    "pdist": (lambda: paddle.pdist(X), ValueError, "two dimensions"),
    "multiplex of one": (lambda: paddle.multiplex([WHOLE], WHOLE[:, :1]), ValueError, "at least two tensors"),
    "multiplex index": (lambda: paddle.multiplex([WHOLE, WHOLE], paddle.to_tensor([[2]])), IndexError, r"\[0, 2\)"),
    "shard index": (lambda: paddle.shard_index(WHOLE, 2, 2, 0), ValueError, r"indices in \[0, 2\)"),
    "shard number": (lambda: paddle.shard_index(WHOLE, 9, 2, 2), ValueError, r"shard_id in \[0, nshards\)"),
    "multigammaln p": (lambda: paddle.multigammaln(X, 0), ValueError, "p of at least 1"),
    "negative gammainc": (lambda: paddle.gammainc(-X, X), ValueError, "no negative element in x, received -2"),
    "gcd of floats": (lambda: paddle.gcd(X, X), NotImplementedError, "no kernel for the key .CPU, ANY, float32."),
    "frexp of integers": (
        lambda: paddle.frexp(WHOLE),
        NotImplementedError,
        "registered are kernels for float32, float64",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, error, message = REFUSALS[name]
    with pytest.raises(error, match=message):
        call()
