"""Kernels that take matrices apart, by LAPACK through numpy.linalg, which runs over batches itself."""

import math
from typing import Any, Final

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import COMPLEX, kernel
from wherry.kernels.numpy.common import Array

_SINGULAR: Final = "expected matrices that have an inverse, received a singular one (shape {})"
PRECISE: Final = (dt.float32, dt.float64, *COMPLEX)


def _adjoint(x: Array) -> Array:
    return np.conjugate(x.swapaxes(-1, -2))


def _finite(x: Array) -> Array:
    """x; refuses infinities and NaN: LAPACK's iteration for singular values may never end on them."""
    finite = np.isfinite(x)
    if not finite.all():
        at = [int(i) for i in np.argwhere(~finite)[0]]
        raise ValueError(f"expected finite matrices, received {x[tuple(at)]} at {at}")
    return x


@kernel("inverse", PRECISE)
def inverse(x: Array) -> Array:
    """Refuses a singular matrix."""
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise ValueError(_SINGULAR.format(list(x.shape))) from None


@kernel("determinant", PRECISE)
def determinant(x: Array) -> Array:
    """By LU decomposition."""
    return np.asarray(np.linalg.det(x))


@kernel("cofactor", PRECISE)
def cofactor(x: Array) -> Array:
    """det(x) times the inverse's transpose where there is one; by singular values, without dividing by them."""
    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, x, x.dtype.type(0)))
    n = x.shape[-1]
    # Products of all singular values but one.
    others = np.where(np.eye(n, dtype=bool), np.ones((), s.dtype), s[..., np.newaxis, :]).prod(axis=-1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    scaled = np.conjugate(u) * (others * phase[..., np.newaxis])[..., np.newaxis, :]
    return np.where(finite, np.matmul(scaled, np.conjugate(vh)), np.nan).astype(x.dtype, copy=False)


@kernel("slogdet", PRECISE)
def slogdet(x: Array) -> Array:
    """Sign and logarithm, stacked."""
    sign, logarithm = np.linalg.slogdet(x)
    return np.stack((sign, np.asarray(logarithm).astype(x.dtype)))


@kernel("solve", PRECISE)
def solve(x: Array, y: Array) -> Array:
    """Refuses a singular matrix."""
    try:
        return np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        raise ValueError(_SINGULAR.format(list(x.shape))) from None


def _triangle(x: Array, upper: bool, unit: bool) -> Array:
    out = np.triu(x, 1 if unit else 0) if upper else np.tril(x, -1 if unit else 0)
    return out + np.eye(x.shape[-1], dtype=x.dtype) if unit else out


@kernel("triangular_solve", PRECISE)
def triangular_solve(x: Array, y: Array, upper: bool, transpose: bool, unitriangular: bool) -> Array:
    """With the other triangle taken as zero."""
    matrix = _triangle(x, upper, unitriangular)
    return solve(matrix.swapaxes(-1, -2) if transpose else matrix, y)


@kernel("cholesky", PRECISE)
def cholesky(x: Array, upper: bool) -> Array:
    """The lower factor of the matrix whose lower triangle is read, or its adjoint."""
    try:
        return _adjoint(np.linalg.cholesky(_adjoint(x))) if upper else np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise ValueError(f"expected positive definite matrices, received another one (shape {list(x.shape)})") from None


@kernel("cholesky_solve", PRECISE)
def cholesky_solve(x: Array, y: Array, upper: bool) -> Array:
    """Two triangular systems."""
    factor = _triangle(y, upper, False)
    if upper:
        return solve(factor, solve(_adjoint(factor), x))
    return solve(_adjoint(factor), solve(factor, x))


@kernel("qr", PRECISE)
def qr(x: Array, mode: str) -> tuple[Array, Array]:
    """Mode r gives an empty q."""
    if mode == "r":
        return np.zeros((0,), x.dtype), np.asarray(np.linalg.qr(x, "r"))
    q, r = np.linalg.qr(x, mode)
    return q, r


@kernel("svd", PRECISE)
def svd(x: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """u, s, vh."""
    u, s, vh = np.linalg.svd(_finite(x), full_matrices=full_matrices)
    return u, s, vh


@kernel("svdvals", PRECISE)
def svdvals(x: Array) -> Array:
    """Singular values alone."""
    return np.linalg.svd(_finite(x), compute_uv=False)


@kernel("eigh", PRECISE)
def eigh(x: Array, UPLO: Any) -> tuple[Array, Array]:
    """Values and vectors."""
    values, vectors = np.linalg.eigh(x, UPLO)
    return values, vectors


@kernel("eigvalsh", PRECISE)
def eigvalsh(x: Array, uplo: Any) -> Array:
    """Values alone."""
    return np.linalg.eigvalsh(x, uplo)


def _complex(x: Array, like: Array) -> Array:
    return x.astype(np.result_type(like.dtype, np.complex64), copy=False)


@kernel("eig", PRECISE)
def eig(x: Array) -> tuple[Array, Array]:
    """Complex even where all values are real."""
    values, vectors = np.linalg.eig(_finite(x))
    return _complex(values, x), _complex(vectors, x)


@kernel("eigvals", PRECISE)
def eigvals(x: Array) -> Array:
    """Complex even where all values are real."""
    return _complex(np.linalg.eigvals(_finite(x)), x)


@kernel("pinv", PRECISE)
def pinv(x: Array, rcond: float, hermitian: bool) -> Array:
    """Singular values up to rcond times the largest count as zero."""
    return np.linalg.pinv(_finite(x), rcond, hermitian).astype(x.dtype, copy=False)


@kernel("lu", PRECISE)
def lu(x: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """LAPACK's getrf, matrix by matrix; pivots count from 1, infos tell the first zero on the diagonal."""
    from scipy.linalg import get_lapack_funcs

    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    out = np.empty(x.shape, x.dtype)
    pivots = np.zeros((*batch, min(m, n)), np.int32)
    infos = np.zeros(batch, np.int32)
    if x.size:
        (getrf,) = get_lapack_funcs(("getrf",), (x,))
        for index in np.ndindex(*batch):
            out[index], found, infos[index] = getrf(x[index])
            pivots[index] = found + 1
    return out, pivots, infos


@kernel("lu_unpack", PRECISE)
def lu_unpack(x: Array, y: Array, unpack_ludata: bool, unpack_pivots: bool) -> tuple[Array, Array, Array]:
    """The pivots are exchanges of rows, made one after the other in every matrix at once."""
    m, n = x.shape[-2:]
    k = min(m, n)
    empty = np.zeros((0,), x.dtype)
    p, low, up = empty, empty, empty
    if unpack_pivots:
        if y.size and (y.min() < 1 or y.max() > m):
            raise ValueError(f"expected pivots in [1, {m}], received values from {y.min()} to {y.max()}")
        flat = y.reshape(math.prod(y.shape[:-1]), k)
        order = np.tile(np.arange(m), (flat.shape[0], 1))
        rows = np.arange(flat.shape[0])
        for i in range(k):
            j = flat[:, i] - 1
            order[rows, i], order[rows, j] = order[rows, j], order[rows, i].copy()
        p = (order[:, np.newaxis, :] == np.arange(m)[:, np.newaxis]).astype(x.dtype).reshape(*x.shape[:-1], m)
    if unpack_ludata:
        low = np.tril(x[..., :k], -1) + np.eye(m, k, dtype=x.dtype)
        up = np.triu(x[..., :k, :])
    return p, low, up


@kernel("lstsq", PRECISE)
def lstsq(x: Array, y: Array, rcond: float) -> tuple[Array, Array, Array, Array]:
    """The solution of least length, by singular values; those up to rcond times the largest count as zero."""
    u, s, vh = np.linalg.svd(_finite(x), full_matrices=False)
    kept = s > rcond * s.max(axis=-1, keepdims=True, initial=0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0).astype(s.dtype)
    solution = np.matmul(_adjoint(vh), inverse[..., np.newaxis] * np.matmul(_adjoint(u), y))
    rest = np.matmul(x, solution) - y
    residuals = np.sum(rest.real**2 + rest.imag**2, axis=-2)
    return solution, residuals, kept.sum(axis=-1).astype(np.int32), s
