"""Complex gradients of the public functions: composites, the fft family in every form, and the points 0.

The operations one by one are in the table (tests/op_table); here are the functions that are made of them.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import fft, linalg
from wherry.autograd import gradcheck, gradgradcheck
from wherry.nn import functional as F

INF = float("inf")


def make(*shape: int, seed: int = 0) -> paddle.Tensor:
    generator = np.random.default_rng([seed, *shape])
    values = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    return paddle.to_tensor(values, stop_gradient=False)


def real(*shape: int) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(shape).standard_normal(shape), stop_gradient=False)


def adjoint(x: paddle.Tensor) -> paddle.Tensor:
    return x.transpose([1, 0]).conj()


def hermitian(x: paddle.Tensor) -> paddle.Tensor:
    return (x + adjoint(x)) / 2


def positive(x: paddle.Tensor) -> paddle.Tensor:
    return x @ adjoint(x) + paddle.eye(x.shape[0], dtype="complex128")


def through_svd(x: paddle.Tensor) -> paddle.Tensor:
    """A function of the singular vectors in which their free phases cancel."""
    u, s, vh = linalg.svd(x)
    return (u * paddle.log(s).astype("complex128")) @ vh


def through_eig(x: paddle.Tensor) -> paddle.Tensor:
    values, vectors = linalg.eig(x)
    return (vectors * paddle.exp(values)) @ linalg.inv(vectors)


def through_eigh(x: paddle.Tensor) -> paddle.Tensor:
    values, vectors = linalg.eigh(hermitian(x))
    return (vectors * paddle.exp(values).astype("complex128")) @ adjoint(vectors)


def through_lu(x: paddle.Tensor) -> paddle.Tensor:
    return linalg.lu(x)[0]


MATRIX = make(3, 3)
CASES: dict[str, tuple[Callable[..., Any], tuple[paddle.Tensor, ...]]] = {
    # Norms: C -> R.
    "norm": (linalg.norm, (make(3, 4),)),
    "norm 1": (lambda x: linalg.norm(x, 1, axis=0), (MATRIX,)),
    "norm 3": (lambda x: linalg.norm(x, 3, axis=-1), (MATRIX,)),
    "norm inf": (lambda x: linalg.norm(x, INF, axis=0), (MATRIX,)),
    "norm nuc": (lambda x: linalg.norm(x, "nuc", axis=[0, 1]), (MATRIX,)),
    "vector_norm 2.5": (lambda x: linalg.vector_norm(x, 2.5), (make(5),)),
    "matrix_norm 2": (lambda x: linalg.matrix_norm(x, 2), (MATRIX,)),
    "matrix_norm 1": (lambda x: linalg.matrix_norm(x, 1), (MATRIX,)),
    "dist": (lambda a, b: paddle.dist(a, b, 2), (make(3), make(3, seed=1))),
    "cond": (linalg.cond, (MATRIX,)),
    # Linear algebra: C -> C.
    "det": (linalg.det, (MATRIX,)),
    "slogdet": (lambda x: linalg.slogdet(x)[1], (MATRIX,)),
    "slogdet sign": (lambda x: linalg.slogdet(x)[0], (MATRIX,)),
    "inv": (linalg.inv, (MATRIX,)),
    "pinv": (linalg.pinv, (make(3, 2),)),
    "solve": (linalg.solve, (MATRIX, make(3, 2))),
    "triangular_solve": (linalg.triangular_solve, (MATRIX, make(3, 2))),
    "cholesky": (lambda x: linalg.cholesky(positive(x)), (MATRIX,)),
    "cholesky_solve": (lambda b, x: linalg.cholesky_solve(b, linalg.cholesky(positive(x))), (make(3, 2), MATRIX)),
    "eigvalsh": (lambda x: linalg.eigvalsh(hermitian(x)), (MATRIX,)),
    "eigvals": (linalg.eigvals, (MATRIX,)),
    "eigh": (through_eigh, (MATRIX,)),
    "eig": (through_eig, (MATRIX,)),
    "svdvals": (linalg.svdvals, (make(3, 4),)),
    "svd": (through_svd, (make(4, 3),)),
    "svd wide": (through_svd, (make(3, 4),)),
    "qr": (lambda x: linalg.qr(x)[0] @ linalg.qr(x)[1].conj(), (make(4, 3),)),
    "lu": (through_lu, (MATRIX,)),
    "matrix_power": (lambda x: linalg.matrix_power(x, 3), (MATRIX,)),
    "matrix_power -2": (lambda x: linalg.matrix_power(x, -2), (MATRIX,)),
    "matrix_exp": (linalg.matrix_exp, (MATRIX,)),
    "multi_dot": (lambda a, b, c: linalg.multi_dot([a, b, c]), (make(2, 3), make(3, 4), make(4, 2))),
    "householder_product": (linalg.householder_product, (make(4, 3), make(3))),
    "einsum": (lambda a, b: paddle.einsum("ij,jk->ik", a, b), (make(2, 3), make(3, 2))),
    "cross": (paddle.cross, (make(2, 3), make(2, 3, seed=1))),
    "kron": (paddle.kron, (make(2, 2), make(2, 3))),
    "inner": (paddle.inner, (make(2, 3), make(2, 3, seed=1))),
    "outer": (paddle.outer, (make(3), make(2))),
    "mixed matmul": (paddle.matmul, (real(2, 3), make(3, 2))),
    "linear": (F.linear, (make(2, 3), make(3, 2))),
    # Statistics.
    "cov": (linalg.cov, (make(3, 5),)),
    "corrcoef": (linalg.corrcoef, (make(3, 5),)),
    "var": (paddle.var, (make(5),)),
    "std": (paddle.std, (make(5),)),
    "mean": (paddle.mean, (make(4),)),
    "prod": (paddle.prod, (make(4),)),
    "cumprod": (lambda x: paddle.cumprod(x, 0), (make(4),)),
    "nansum": (paddle.nansum, (make(4),)),
    # R -> C, and there and back.
    "complex": (paddle.complex, (real(3), real(3, 1))),
    "polar": (lambda x: paddle.polar(x.abs() + 1.0, x), (real(4),)),
    "polar of abs and angle": (lambda x: paddle.polar(x.abs(), x.angle()), (make(3),)),
    "sgn": (paddle.sgn, (make(3),)),
    "lerp": (lambda a, b: paddle.lerp(a, b, 0.3), (make(3), make(3, seed=1))),
    "normalize": (F.normalize, (make(2, 3),)),
    "mse_loss": (F.mse_loss, (make(3), make(3, seed=1))),
    "l1_loss": (F.l1_loss, (make(3), make(3, seed=1))),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_to_second_order(name: str) -> None:
    function, inputs = CASES[name]
    # Decompositions are not differentiable at repeated values, which zeros everywhere are.
    smooth = name not in ("eigvals", "eigvalsh", "eigh", "eig", "lu", "qr", "corrcoef", "cond", "slogdet sign")
    assert gradcheck(function, inputs, edges=smooth)
    assert gradgradcheck(function, inputs, edges=smooth)


ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
NORMS = ("backward", "ortho", "forward")


def check_linear(function: Callable[[paddle.Tensor], paddle.Tensor], x: paddle.Tensor) -> None:
    """Every element; a linear function is the same at every point, and its second derivative is that of its transpose."""
    assert gradcheck(function, x, edges=False)
    assert gradgradcheck(function, x, edges=False, fast_mode=True)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("norm", NORMS)
def test_fft_along_one_axis(name: str, norm: str) -> None:
    source = real if name in ("rfft", "ihfft") else make
    for axis, n in itertools.product((-1, 0), (None, 2, 5)):

        def function(x: paddle.Tensor, axis: int = axis, n: int | None = n) -> paddle.Tensor:
            return getattr(fft, name)(x, n, axis, norm)

        check_linear(function, source(3, 4))


@pytest.mark.parametrize("name", [f"{n}{kind}" for n in ONE for kind in ("2", "n")])
@pytest.mark.parametrize("norm", NORMS)
def test_fft_along_several_axes(name: str, norm: str) -> None:
    source = real if name[:-1] in ("rfft", "ihfft") else make
    forms: list[dict[str, Any]] = [{}, {"s": (2, 3)}, {"axes": (0, 2)}, {"s": (4, 1), "axes": (1, 0)}]
    if name.endswith("n"):
        forms += [{"axes": (1,)}, {"s": (3,), "axes": (0,)}]
    for form in forms:

        def function(x: paddle.Tensor, form: dict[str, Any] = form) -> paddle.Tensor:
            return getattr(fft, name)(x, norm=norm, **form)

        check_linear(function, source(2, 3, 2))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (paddle.abs, 0),
        (paddle.angle, 0),
        (paddle.sgn, 0),
        (paddle.real, 1),
        (paddle.imag, 1j),
        (paddle.conj, 1),
        (lambda z: paddle.norm(z), 0),
        (lambda z: paddle.std(z), 0),
        (lambda z: z.abs() ** 2, 0),
    ],
    ids=["abs", "angle", "sgn", "real", "imag", "conj", "norm", "std", "abs squared"],
)
@pytest.mark.parametrize("zero", [0j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)])
def test_at_zero(function: Callable[[paddle.Tensor], paddle.Tensor], expected: complex, zero: complex) -> None:
    z = paddle.to_tensor([zero, zero], dtype="complex128", stop_gradient=False)
    out = function(z)
    out.backward(paddle.ones_like(out))
    assert z.grad.tolist() == [expected, expected]


def test_what_complex_numbers_have_no_order_for_is_refused() -> None:
    z = paddle.to_tensor([1 + 2j, 3])
    for function in (paddle.max, paddle.min, paddle.amax, paddle.argmax, paddle.sort, paddle.cummax):
        with pytest.raises(NotImplementedError, match="no kernel for the key .*complex64"):
            function(z)
    with pytest.raises(TypeError, match="median: expected real numbers, received complex64"):
        paddle.median(z)
    # The imaginary part is not dropped on the way to a float.
    for function in (paddle.logsumexp, paddle.logcumsumexp):
        with pytest.raises(NotImplementedError, match="no kernel for the key .*complex64"):
            function(z)


@pytest.mark.parametrize(
    ("dtype", "sizes"), [("complex64", (1e-13, 1e-23, 1e-30)), ("complex128", (1e-23, 1e-160, 1e-300))]
)
def test_sizes_whose_square_underflows(dtype: str, sizes: tuple[float, ...]) -> None:
    direction = (3 + 4j) / 5
    z = paddle.to_tensor([size * direction for size in sizes], dtype=dtype, stop_gradient=False)
    for function, expected in (
        (paddle.abs, [direction for _ in sizes]),
        (paddle.sgn, None),
        (paddle.angle, [1j * direction / size for size in sizes]),
    ):
        z.clear_grad()
        out = function(z)
        out.backward(paddle.ones_like(out))
        assert np.isfinite(z.grad.numpy()).all()
        if expected is not None:
            np.testing.assert_allclose(z.grad.numpy(), np.array(expected, dtype), rtol=1e-5)
