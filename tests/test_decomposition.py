"""wherry.linalg: gradients that finite differences of one operation cannot check, and the functions written by hand.

Gradients go through symmetric inputs (only a triangle is read) and results that do not depend on the phase of vectors.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wherry as paddle
from wherry import linalg

RNG = np.random.default_rng(3)


def _spread(m: int, n: int, kind: str = "float64") -> Any:
    """A matrix with singular values 1, 2, 3 ..."""
    x = RNG.standard_normal((m, n)).astype(kind)
    if kind == "complex128":
        x = x + 1j * RNG.standard_normal((m, n))
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u * (1.0 + np.arange(min(m, n))) @ vh


def _symmetric(t: Any) -> Any:
    turned = linalg.matrix_transpose(t)
    return (t + (turned.conj() if t.dtype.is_complex else turned)) * 0.5


def _real_loss(t: Any) -> Any:
    if t.dtype.is_complex:
        weights = paddle.to_tensor(RNG_WEIGHTS.standard_normal(t.shape))
        return (t.real() * weights).sum() + (t.imag() * weights * 0.7).sum()
    return (t * paddle.to_tensor(RNG_WEIGHTS.standard_normal(t.shape))).sum()


RNG_WEIGHTS = np.random.default_rng(0)


def _check(function: Callable[[Any], Any], x: Any, order: int = 2) -> None:
    """Gradient of a real scalar function of a matrix against central differences, to the second order."""

    def value(array: Any) -> Any:
        global RNG_WEIGHTS
        RNG_WEIGHTS = np.random.default_rng(0)
        t = paddle.to_tensor(array, stop_gradient=False)
        return t, _real_loss(function(t))

    def slope(array: Any) -> Any:
        t, loss = value(array)
        (grad,) = paddle.grad(loss, t, create_graph=True)
        return t, grad

    directions = (1.0, 1.0j) if np.iscomplexobj(x) else (1.0,)

    def differences(of: Callable[[Any], float]) -> Any:
        out = np.zeros_like(x)
        for index in np.ndindex(*x.shape):
            for direction in directions:
                step = np.zeros_like(x)
                step[index] = 1e-5 * direction
                out[index] += direction * (of(x + step) - of(x - step)) / 2e-5
        return out

    t, grad = slope(x)
    np.testing.assert_allclose(grad.numpy(), differences(lambda a: float(value(a)[1])), rtol=1e-5, atol=1e-6)
    if order > 1:
        weights = np.random.default_rng(1).standard_normal(x.shape)
        turned = weights * (1.0 - 0.4j) if np.iscomplexobj(x) else weights

        def product(array: Any) -> float:
            return float(np.sum((np.conj(turned) * slope(array)[1].numpy()).real))

        (second,) = paddle.grad(grad, t, grad_outputs=paddle.to_tensor(turned))
        np.testing.assert_allclose(second.numpy(), differences(product), rtol=1e-4, atol=1e-5)


KINDS = ("float64", "complex128")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_gradient(kind: str, upper: bool) -> None:
    x = _spread(3, 3, kind)
    _check(lambda t: linalg.cholesky(_symmetric(t), upper), x @ x.conj().T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_gradient(kind: str, uplo: str) -> None:
    x = _spread(3, 3, kind)
    target = x @ x.conj().T

    def function(t: Any) -> Any:
        values, vectors = linalg.eigh(_symmetric(t), uplo)
        adjoint = linalg.matrix_transpose(vectors).conj()
        # A function of the matrix: its vectors' phases cancel.
        return paddle.matmul(vectors * (values * values.sin()).astype(vectors.dtype), adjoint)

    _check(function, target)
    _check(lambda t: linalg.eigvalsh(_symmetric(t), uplo), target)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_complex_svd_gradient(shape: tuple[int, int]) -> None:
    def function(t: Any) -> Any:
        u, s, vh = linalg.svd(t)
        return paddle.matmul(u * (s * s.exp()).astype(u.dtype), vh)

    _check(function, _spread(*shape, "complex128"))


def test_complex_qr_gradient() -> None:
    def function(t: Any) -> Any:
        q, r = linalg.qr(t)
        adjoint = linalg.matrix_transpose(q).conj()
        return paddle.matmul(q, adjoint) + (r.real() ** 2 + r.imag() ** 2).sum()

    _check(function, _spread(4, 2, "complex128"))
    _check(function, _spread(2, 3, "complex128"))


@pytest.mark.parametrize("kind", KINDS)
def test_eig_gradient(kind: str) -> None:
    def function(t: Any) -> Any:
        values, vectors = linalg.eig(t)
        return paddle.matmul(vectors * values.exp(), linalg.inv(vectors))

    x = _spread(3, 3, kind) + np.diag([0.0, 5.0, 10.0])
    _check(function, x)
    _check(lambda t: linalg.eigvals(t).exp().sum(), x)


def test_pinv_gradient_of_hermitian_and_deficient_matrices() -> None:
    for kind in KINDS:
        x = _spread(3, 3, kind)
        _check(lambda t: linalg.pinv(_symmetric(t), hermitian=True), x @ x.conj().T)
    # Along a family of constant rank.
    left, right = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3))
    fixed = paddle.to_tensor(right)
    _check(lambda t: linalg.pinv(paddle.matmul(t, fixed), rcond=1e-10), left)


def test_coinciding_values_leave_gradients_finite() -> None:
    x = paddle.to_tensor(np.eye(3), stop_gradient=False)
    linalg.svd(x)[1].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)
    y = paddle.to_tensor(2 * np.eye(3), stop_gradient=False)
    linalg.eigh(y)[0].sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), np.eye(3), atol=1e-12)


def test_determinant_gradient_of_singular_matrices() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]], "float64", stop_gradient=False)
    linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)
    zero = paddle.zeros([3, 3], "float64")
    zero.stop_gradient = False
    linalg.det(zero).backward()
    assert zero.grad.numpy().tolist() == np.zeros((3, 3)).tolist()


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 5])
def test_matrix_power(n: int) -> None:
    x = _spread(3, 3)
    np.testing.assert_allclose(
        linalg.matrix_power(paddle.to_tensor(x), n).numpy(), np.linalg.matrix_power(x, n), rtol=1e-9
    )
    if n:
        _check(lambda t: linalg.matrix_power(t, n), x, order=1 if n == 1 else 2)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 40.0])
def test_matrix_exp(scale: float) -> None:
    x = _spread(3, 3) * scale
    np.testing.assert_allclose(
        linalg.matrix_exp(paddle.to_tensor(x)).numpy(), scipy.linalg.expm(x), rtol=1e-9, atol=1e-12
    )
    if scale == 1.0:
        _check(linalg.matrix_exp, x)


def test_solve_takes_vectors_and_both_sides() -> None:
    a, b = _spread(3, 3), RNG.standard_normal((2, 3, 3)) + 3 * np.eye(3)
    y = RNG.standard_normal((2, 3))

    def solve(x: Any, y: Any, **options: Any) -> Any:
        return linalg.solve(paddle.to_tensor(x), paddle.to_tensor(y), **options).numpy()

    np.testing.assert_allclose(a @ solve(a, y[0]), y[0])
    np.testing.assert_allclose(np.einsum("bij,bj->bi", b, solve(b, y)), y)
    np.testing.assert_allclose(b @ solve(b, y.T), np.broadcast_to(y.T, (2, 3, 2)))
    np.testing.assert_allclose(solve(a, y, left=False) @ a, y)
    _check(lambda t: linalg.solve(t, paddle.to_tensor(y), left=False), a)


def test_lu_and_its_solutions() -> None:
    for x in (_spread(3, 3), RNG.standard_normal((2, 4, 4)), _spread(4, 2), _spread(2, 4)):
        packed, pivots, infos = linalg.lu(paddle.to_tensor(x), get_infos=True)
        p, low, up = linalg.lu_unpack(packed, pivots)
        np.testing.assert_allclose((p.matmul(low).matmul(up)).numpy(), x, atol=1e-12)
        assert pivots.dtype == paddle.int32
        assert not infos.numpy().any()
    a, b = _spread(3, 3, "complex128"), RNG.standard_normal((3, 2)) + 0j
    packed, pivots = linalg.lu(paddle.to_tensor(a))
    for trans, matrix in (("N", a), ("T", a.T), ("C", a.conj().T)):
        solved = linalg.lu_solve(paddle.to_tensor(b), packed, pivots, trans).numpy()
        np.testing.assert_allclose(matrix @ solved, b, atol=1e-12)
    assert linalg.lu(paddle.zeros([2, 2]), get_infos=True)[2].item() == 1


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(driver: str) -> None:
    x, y = _spread(5, 3), RNG.standard_normal((5, 2))
    solution, residuals, rank, values = linalg.lstsq(paddle.to_tensor(x), paddle.to_tensor(y), driver=driver)
    expected, sums, _, singular = np.linalg.lstsq(x, y)
    np.testing.assert_allclose(solution.numpy(), expected)
    if driver != "gelsy":
        np.testing.assert_allclose(residuals.numpy(), sums)
    if driver != "gels":
        assert rank.item() == 3
    if driver in ("gelsd", "gelss"):
        np.testing.assert_allclose(values.numpy(), singular)


def test_ranks() -> None:
    x = np.diag([3.0, 1.0, 0.01])

    def rank(array: Any, *args: Any, **options: Any) -> Any:
        return linalg.matrix_rank(paddle.to_tensor(array), *args, **options).tolist()

    assert rank(x) == 3
    assert rank(x, tol=0.5) == 2
    assert rank(x, rtol=0.5) == 1
    assert rank(x, atol=2.0, rtol=0.1) == 1
    assert rank(-x, hermitian=True) == 3
    assert rank(np.stack([x, 0 * x])) == [3, 0]
    assert rank(np.stack([x, x]), tol=paddle.to_tensor([0.5, 2.0])) == [2, 1]
    with pytest.raises(ValueError, match="tol"):
        rank(x, tol=1.0, atol=1.0)


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_condition_numbers(p: Any) -> None:
    x = np.stack([_spread(3, 3), RNG.standard_normal((3, 3))])
    np.testing.assert_allclose(linalg.cond(paddle.to_tensor(x), p).numpy(), np.linalg.cond(x, p))
    _check(lambda t: linalg.cond(t, p), _spread(3, 3), order=1)


def test_covariances() -> None:
    x = RNG.standard_normal((3, 5))
    t = paddle.to_tensor(x)
    counts, weights = np.array([1, 2, 3, 1, 2]), np.array([0.5, 1.0, 2.0, 1.0, 0.1])
    np.testing.assert_allclose(linalg.cov(t).numpy(), np.cov(x))
    np.testing.assert_allclose(linalg.cov(t, rowvar=False, ddof=False).numpy(), np.cov(x, rowvar=False, ddof=0))
    for options in ({"fweights": counts}, {"aweights": weights}, {"fweights": counts, "aweights": weights}):
        given = {name: paddle.to_tensor(value) for name, value in options.items()}
        np.testing.assert_allclose(linalg.cov(t, **given).numpy(), np.cov(x, **options))
    np.testing.assert_allclose(linalg.corrcoef(t).numpy(), np.corrcoef(x))
    np.testing.assert_allclose(linalg.cov(t[0]).numpy(), np.cov(x[0]))
    z = x + 1j * x[::-1]
    np.testing.assert_allclose(linalg.cov(paddle.to_tensor(z)).numpy(), np.cov(z))
    with pytest.raises(ValueError, match="fweights"):
        linalg.cov(t, fweights=paddle.to_tensor([1, 2]))


def test_multi_dot() -> None:
    parts = [RNG.standard_normal(s) for s in ((2, 30), (30, 3), (3, 40), (40, 2))]
    tensors = [paddle.to_tensor(p) for p in parts]
    np.testing.assert_allclose(linalg.multi_dot(tensors).numpy(), np.linalg.multi_dot(parts))
    ends = [tensors[0][0], *tensors[1:3], tensors[3][:, 0]]
    np.testing.assert_allclose(linalg.multi_dot(ends).numpy(), np.linalg.multi_dot([e.numpy() for e in ends]))
    for wrong in (tensors[:1], [tensors[0], tensors[2]]):
        with pytest.raises(ValueError, match="expected"):
            linalg.multi_dot(wrong)


def test_matrices_that_are_refused() -> None:
    singular, wide = paddle.zeros([2, 2]), paddle.ones([2, 3])
    for function in (
        linalg.inv,
        linalg.det,
        linalg.slogdet,
        linalg.cholesky,
        linalg.eigh,
        linalg.eig,
        linalg.matrix_exp,
    ):
        with pytest.raises(ValueError, match="square"):
            function(wide)
    with pytest.raises(ValueError, match="singular"):
        linalg.inv(singular)
    with pytest.raises(ValueError, match="singular"):
        linalg.solve(singular, singular)
    with pytest.raises(ValueError, match="positive definite"):
        linalg.cholesky(-paddle.eye(2))
    with pytest.raises(ValueError, match="pivots"):
        linalg.lu_unpack(paddle.eye(2), paddle.to_tensor([1, 9], "int32"))
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(wide, "foo")
    with pytest.raises(ValueError, match="UPLO"):
        linalg.eigh(paddle.eye(2), "X")
    x = paddle.to_tensor(_spread(4, 2), stop_gradient=False)
    for result in (linalg.svd(x, full_matrices=True)[1], linalg.qr(x, "complete")[1]):
        with pytest.raises(NotImplementedError, match="not determined"):
            result.sum().backward()


def test_empty_matrices() -> None:
    empty = paddle.zeros([0, 3, 3])
    assert linalg.inv(empty).shape == [0, 3, 3]
    assert linalg.det(empty).shape == [0]
    assert linalg.svd(empty)[1].shape == [0, 3]
    assert linalg.lu(empty)[0].shape == [0, 3, 3]
    assert linalg.det(paddle.zeros([0, 0])).item() == 1.0


def test_householder_products() -> None:
    x = RNG.standard_normal((4, 3))
    (packed, tau), _ = scipy.linalg.qr(x, mode="raw")
    q_full = scipy.linalg.qr(x)[0]
    a, t = paddle.to_tensor(np.ascontiguousarray(packed)), paddle.to_tensor(tau)
    np.testing.assert_allclose(linalg.householder_product(a, t).numpy(), q_full[:, :3], atol=1e-12)
    y, z = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 4))
    for transpose in (False, True):
        q = q_full.T if transpose else q_full
        np.testing.assert_allclose(linalg.ormqr(a, t, paddle.to_tensor(y), True, transpose).numpy(), q @ y, atol=1e-12)
        np.testing.assert_allclose(linalg.ormqr(a, t, paddle.to_tensor(z), False, transpose).numpy(), z @ q, atol=1e-12)
    _check(lambda v: linalg.householder_product(v, t), packed)
    with pytest.raises(ValueError, match="tau"):
        linalg.householder_product(a, t[:2].expand([5, 2]))


def test_decompositions_of_low_rank() -> None:
    paddle.seed(0)
    low = RNG.standard_normal((8, 3)) @ RNG.standard_normal((3, 6))
    for x in (low, low.T, np.stack([low, 2 * low])):
        u, s, v = (part.numpy() for part in linalg.svd_lowrank(paddle.to_tensor(x), q=3))
        np.testing.assert_allclose((u * s[..., None, :]) @ np.swapaxes(v, -1, -2), x, atol=1e-9)
    centred = low - low.mean(0)
    u, s, v = (part.numpy() for part in linalg.pca_lowrank(paddle.to_tensor(low), q=3))
    np.testing.assert_allclose((u * s) @ v.T, centred, atol=1e-9)
    with pytest.raises(ValueError, match="q in"):
        linalg.svd_lowrank(paddle.to_tensor(low), q=7)
