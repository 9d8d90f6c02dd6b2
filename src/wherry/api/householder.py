"""Products of Householder reflections, and decompositions of low rank by random projection: parts of wherry.linalg."""

from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor


def _adjoint(x: Tensor) -> Tensor:
    order = list(range(x.ndim))
    order[-2:] = [order[-1], order[-2]]
    turned = _C_ops.transpose(x, order)
    return _C_ops.conj(turned) if x.dtype.is_complex else turned


def _reflected(x: Tensor, tau: Tensor, target: Tensor, backwards: bool, adjoint: bool) -> Tensor:
    """The reflections I - tau v v^H, v the columns of x below their 1 on the diagonal, applied to target one by one."""
    rows = x.shape[-2]
    unit = _C_ops.eye(rows, x.shape[-1], x.dtype)
    vectors = _C_ops.add(_C_ops.tril(x, -1), unit)
    count = tau.shape[-1]
    for i in reversed(range(count)) if backwards else range(count):
        vector = _C_ops.slice(vectors, [vectors.ndim - 1], [i], [i + 1])
        factor = _C_ops.reshape(_C_ops.slice(tau, [tau.ndim - 1], [i], [i + 1]), [*tau.shape[:-1], 1, 1])
        if adjoint and tau.dtype.is_complex:
            factor = _C_ops.conj(factor)
        product = _C_ops.matmul(vector, _C_ops.matmul(_adjoint(vector), target))
        target = _C_ops.subtract(target, _C_ops.multiply(factor, product))
    return target


def _check(x: Tensor, tau: Tensor) -> None:
    if x.ndim < 2 or x.shape[-2] < x.shape[-1]:
        raise ValueError(f"expected x with at least as many rows as columns, received shape {list(x.shape)}")
    if tau.ndim != x.ndim - 1 or list(tau.shape[:-1]) != list(x.shape[:-2]) or tau.shape[-1] > x.shape[-1]:
        raise ValueError(
            f"expected tau of shape {[*x.shape[:-2], x.shape[-1]]} (or fewer in the last axis), received {list(tau.shape)}"
        )


def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """The first n columns of the product of the Householder reflections in x [..., m, n] and tau [..., k], as QR leaves
    them.

    Raises ValueError for m < n or a tau that does not fit. Source: paddle.linalg.householder_product.
    """
    _check(x, tau)
    start = _C_ops.eye(x.shape[-2], x.shape[-1], x.dtype)
    if x.ndim > 2:
        start = _C_ops.expand(start, list(x.shape))
    return _reflected(x, tau, start, True, False)


def ormqr(
    x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None
) -> Tensor:
    """y multiplied with the whole product of Householder reflections (or its adjoint) from the left, or from the right.

    Raises ValueError for a tau that does not fit. Source: paddle.linalg.ormqr.
    """
    _check(x, tau)
    if left:
        return _reflected(x, tau, y, not transpose, transpose)
    # y Q = (Q^H y^H)^H
    return _adjoint(_reflected(x, tau, _adjoint(y), transpose, not transpose))


def svd_lowrank(
    x: Tensor, q: int | None = None, niter: int = 2, M: Tensor | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate u [..., m, q], s [..., q], v [..., n, q] of x (less M, where given), by random projection.

    q is at most min(m, n), and 6 or that by default; `niter` power iterations sharpen the result. Raises ValueError for
    another q or a negative niter. Source: paddle.linalg.svd_lowrank.
    """
    from wherry.linalg import qr, svd

    m, n = x.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"expected q in [0, {min(m, n)}], received {q}")
    if niter < 0:
        raise ValueError(f"expected niter >= 0, received {niter}")
    a = x if M is None else x - M
    wide = m < n
    if wide:
        a = _adjoint(a)
    start: Any = _C_ops.gaussian([a.shape[-1], q], 0.0, 1.0, 0, x.dtype)
    basis = qr(_C_ops.matmul(a, start))[0]
    for _ in range(niter):
        basis = qr(_C_ops.matmul(_adjoint(a), basis))[0]
        basis = qr(_C_ops.matmul(a, basis))[0]
    u, s, vh = svd(_C_ops.matmul(_adjoint(basis), a))
    u, v = _C_ops.matmul(basis, u), _adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(
    x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of x, its columns centred first unless center=False: principal components in the columns of v.

    Source: paddle.linalg.pca_lowrank.
    """
    if not center:
        return svd_lowrank(x, q, niter)
    return svd_lowrank(x - _C_ops.sum(x, [-2], None, True) / float(x.shape[-2]), q, niter)
