"""Random kernels. All draw from the process's generator, or from one of their own where a seed is given."""

from typing import Any

import numpy as np

from wherry.core.dtype import DataType
from wherry.core.generator import default_generator, seeded
from wherry.dispatch.kernel_factory import ALL, FLOAT, FLOATING_OR_COMPLEX, NUMERIC, REAL, kernel
from wherry.kernels.numpy.common import Array


def _work_dtype(dtype: "np.dtype") -> Any:
    """The dtype NumPy draws in: float32 for half precision, which it does not know."""
    return np.float64 if dtype in (np.float64, np.complex128) else np.float32


def _normal(rng: Any, shape: tuple[int, ...], mean: complex, std: float, dtype: "np.dtype") -> Array:
    work = _work_dtype(dtype)
    if dtype.kind != "c":
        draw = rng.standard_normal(shape, work)
        draw *= std
        draw += mean.real
        return draw.astype(dtype, copy=False)
    # A complex normal has variance std**2 as a whole: half in each part.
    draw = rng.standard_normal(shape + (2,), work)
    draw *= std / np.sqrt(2.0)
    out = draw.view(dtype).reshape(shape)
    out += mean
    return out


def _uniform(rng: Any, shape: tuple[int, ...], low: float, high: float, dtype: "np.dtype") -> Array:
    work = _work_dtype(dtype)
    parts = shape + (2,) if dtype.kind == "c" else shape
    draw = rng.random(parts, work)
    draw *= high - low
    draw += low
    # Rounding may reach `high` itself, which the interval leaves out.
    if high > low:
        np.minimum(draw, np.nextafter(work(high), work(low)), out=draw)
    if dtype.kind == "c":
        return draw.view(dtype).reshape(shape)
    out = draw.astype(dtype, copy=False)
    if out.dtype != work and high > low:
        out = np.where(out >= high, np.nextafter(out.dtype.type(high), out.dtype.type(low)), out)
    return out


@kernel("gaussian", FLOATING_OR_COMPLEX)
def gaussian(shape: tuple[int, ...], mean: complex, std: float, seed: int, dtype: DataType | None) -> Array:
    """Normal numbers."""
    return _normal(seeded(seed), shape, mean, std, np.dtype(np.float32) if dtype is None else dtype.numpy)


@kernel("uniform", FLOATING_OR_COMPLEX)
def uniform(shape: tuple[int, ...], dtype: DataType | None, min: float, max: float, seed: int) -> Array:
    """Uniform numbers in [min, max)."""
    return _uniform(seeded(seed), shape, min, max, np.dtype(np.float32) if dtype is None else dtype.numpy)


@kernel("truncated_gaussian_random", FLOAT)
def truncated_gaussian_random(
    shape: tuple[int, ...], mean: float, std: float, seed: int, a: float, b: float, dtype: DataType | None
) -> Array:
    """Normal numbers between mean + a * std and mean + b * std, by the inverse of the distribution function."""
    from scipy.special import ndtr, ndtri

    out = np.dtype(np.float32) if dtype is None else dtype.numpy
    low, high = ndtr(a), ndtr(b)
    draw = ndtri(low + (high - low) * seeded(seed).random(shape))
    return np.asarray(np.clip(draw, a, b) * std + mean).astype(out)


@kernel("randint", NUMERIC)
def randint(low: int, high: int, shape: tuple[int, ...], dtype: DataType | None) -> Array:
    """Integers in [low, high)."""
    draw = default_generator().integers(low, high, shape, np.int64)
    return np.asarray(draw).astype(np.int64 if dtype is None else dtype.numpy, copy=False)


@kernel("randperm", REAL)
def randperm(n: int, dtype: DataType | None) -> Array:
    """0 to n - 1 in random order."""
    return np.asarray(default_generator().permutation(n)).astype(np.int64 if dtype is None else dtype.numpy, copy=False)


def _checked_probability(x: Array) -> Array:
    if x.size and not (np.all(x >= 0.0) and np.all(x <= 1.0)):
        raise ValueError(
            f"expected probabilities in [0, 1], received values from {x.min()} to {x.max()}; pass them through sigmoid or clip"
        )
    return x


@kernel("bernoulli", FLOAT)
def bernoulli(x: Array) -> Array:
    """1 with the probability that x says, else 0."""
    _checked_probability(x)
    return (default_generator().random(x.shape) < x.astype(np.float64)).astype(x.dtype)


@kernel("multinomial", FLOAT)
def multinomial(x: Array, num_samples: int, replacement: bool) -> Array:
    """Category numbers drawn by weight, one row of samples for each row of weights."""
    weights = np.atleast_2d(x.astype(np.float64))
    total = weights.sum(axis=-1, keepdims=True)
    if weights.size and (not np.all(weights >= 0.0) or not np.all(np.isfinite(total)) or not np.all(total > 0.0)):
        raise ValueError("expected weights that are finite, >= 0, and not all zero in a row, received others")
    rng = default_generator()
    rows = weights.shape[0]
    if replacement:
        edges = np.cumsum(weights, axis=-1)
        # Each row's edges lie in [row, row + 1): one sorted search serves all rows.
        edges = edges / edges[:, -1:] + np.arange(rows)[:, np.newaxis]
        draw = rng.random((rows, num_samples)) + np.arange(rows)[:, np.newaxis]
        found = np.searchsorted(edges.reshape(-1), draw.reshape(-1), side="right").reshape(rows, num_samples)
        found -= np.arange(rows)[:, np.newaxis] * weights.shape[1]
        out = np.minimum(found, _last_positive(weights))
    else:
        if rows and int((weights > 0.0).sum(axis=-1).min()) < num_samples:
            raise ValueError(
                f"expected at least {num_samples} categories of weight > 0 in each row to draw from without replacement, "
                f"received {int((weights > 0.0).sum(axis=-1).min())}; pass replacement=True or fewer num_samples"
            )
        # The smallest of exponential numbers with these rates: a draw without replacement in its order.
        keys = rng.standard_exponential(weights.shape) / np.where(weights > 0.0, weights, 1.0)
        keys[weights == 0.0] = np.inf
        out = np.argsort(keys, axis=-1)[:, :num_samples]
    return out.astype(np.int64).reshape(x.shape[:-1] + (num_samples,))


def _last_positive(weights: Array) -> Array:
    columns = weights.shape[1]
    return (columns - 1 - np.argmax(weights[:, ::-1] > 0.0, axis=-1))[:, np.newaxis]


@kernel("poisson", FLOAT)
def poisson(x: Array) -> Array:
    """Poisson numbers with x as rates; a negative rate gives 0."""
    rates = np.maximum(x.astype(np.float64), 0.0)
    if x.size and not np.all(np.isfinite(rates)):
        raise ValueError("expected finite rates, received infinity or NaN")
    return np.asarray(default_generator().poisson(rates)).astype(x.dtype)


@kernel("standard_gamma", FLOAT)
def standard_gamma(x: Array) -> Array:
    """Gamma numbers with x as shapes and scale 1."""
    if x.size and not np.all(x.astype(np.float64) >= 0.0):
        raise ValueError("expected shapes >= 0, received a negative value or NaN")
    return np.asarray(default_generator().standard_gamma(x.astype(np.float64))).astype(x.dtype)


@kernel("binomial", REAL)
def binomial(count: Array, prob: Array) -> Array:
    """How many of `count` trials succeed."""
    _checked_probability(prob)
    if count.size and not np.all(count >= 0):
        raise ValueError("expected counts >= 0, received a negative value")
    draw = default_generator().binomial(count.astype(np.int64), prob.astype(np.float64))
    return np.asarray(draw).astype(np.int64)


@kernel("gaussian_inplace", FLOATING_OR_COMPLEX)
def gaussian_inplace(x: Array, mean: complex, std: float, seed: int) -> Array:
    """Normal numbers in x's shape and dtype."""
    return _normal(seeded(seed), x.shape, mean, std, x.dtype)


@kernel("uniform_inplace", FLOATING_OR_COMPLEX)
def uniform_inplace(x: Array, min: float, max: float, seed: int) -> Array:
    """Uniform numbers in x's shape and dtype."""
    return _uniform(seeded(seed), x.shape, min, max, x.dtype)


@kernel("exponential_inplace", FLOAT)
def exponential_inplace(x: Array, lam: float) -> Array:
    """Exponential numbers of rate lam in x's shape and dtype."""
    return (default_generator().standard_exponential(x.shape) / lam).astype(x.dtype)


@kernel("bernoulli_inplace", ALL)
def bernoulli_inplace(x: Array, p: float) -> Array:
    """1 with probability p, else 0, in x's shape and dtype."""
    return (default_generator().random(x.shape) < p).astype(x.dtype)


def _open_uniform(shape: tuple[int, ...]) -> Array:
    return 1.0 - default_generator().random(shape)


@kernel("cauchy_inplace", FLOAT)
def cauchy_inplace(x: Array, loc: float, scale: float) -> Array:
    """Cauchy numbers in x's shape and dtype."""
    return (default_generator().standard_cauchy(x.shape) * scale + loc).astype(x.dtype)


@kernel("log_normal_inplace", FLOAT)
def log_normal_inplace(x: Array, mean: float, std: float) -> Array:
    """Exponentials of normal numbers in x's shape and dtype."""
    return np.exp(default_generator().standard_normal(x.shape) * std + mean).astype(x.dtype)


@kernel("geometric_inplace", FLOAT)
def geometric_inplace(x: Array, probs: float) -> Array:
    """Paddle's geometric numbers in x's shape and dtype: log(u) / log(1 - p), not cut to integers."""
    return (np.log(_open_uniform(x.shape)) / np.log1p(-probs)).astype(x.dtype)


@kernel("randint_inplace", REAL)
def randint_inplace(x: Array, low: int, high: int) -> Array:
    """Integers in [low, high) in x's shape and dtype."""
    return np.asarray(default_generator().integers(low, high, x.shape, np.int64)).astype(x.dtype)
