"""Rows of what takes matrices apart. Where only a triangle of the input is read, or vectors are fixed but for a phase,
finite differences of the operation itself say nothing: those gradients are checked in tests/test_decomposition.py."""

from typing import Any

import numpy as np
import scipy.linalg

from tests.op_table.row import Case, Row

ELSEWHERE = "gradients are checked in tests/test_decomposition.py, through symmetric inputs and phase-free results"

WHOLE = "the algorithm works on whole matrices: an infinity or NaN spreads, or is refused"
_RNG = np.random.default_rng(7)


def _regular(*shape: int) -> Any:
    """Random matrices with singular values well apart from each other and from 0."""
    n = min(shape[-2:])
    u, _, vh = np.linalg.svd(_RNG.standard_normal(shape), full_matrices=False)
    return u * (1.0 + np.arange(n)) @ vh


def _complex_regular(*shape: int) -> Any:
    n = min(shape[-2:])
    x = _RNG.standard_normal(shape) + 1j * _RNG.standard_normal(shape)
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u * (1.0 + np.arange(n)) @ vh


def _positive(*shape: int) -> Any:
    x = _regular(*shape)
    return x @ np.swapaxes(x, -1, -2)


R3, R233, R53, R35 = _regular(3, 3), _regular(2, 3, 3), _regular(5, 3), _regular(3, 5)
C3, C53 = _complex_regular(3, 3), _complex_regular(5, 3)
SQUARE = (Case((R3,)), Case((R233,)), Case((C3,)), Case((R3[:1, :1],)))


def _cofactor(x: Any) -> Any:
    n = x.shape[-1]
    out = np.empty_like(x)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(x, i, -2), j, -1)
            out[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


def _slogdet(x: Any) -> Any:
    det = np.linalg.det(x)
    return np.stack((det / abs(det), np.log(abs(det))))


def _triangular_solve(x: Any, y: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    xs = np.broadcast_to(x, shape + x.shape[-2:]).reshape(-1, *x.shape[-2:])
    ys = np.broadcast_to(y, shape + y.shape[-2:]).reshape(-1, *y.shape[-2:])
    solved = [
        scipy.linalg.solve_triangular(a, b, trans=int(transpose), lower=not upper, unit_diagonal=unitriangular)
        for a, b in zip(xs, ys)
    ]
    return np.stack(solved).reshape(shape + y.shape[-2:])


def _cholesky_solve(x: Any, y: Any, upper: bool = False) -> Any:
    factor = np.triu(y) if upper else np.tril(y)
    turned = np.conjugate(np.swapaxes(factor, -1, -2))
    return np.linalg.solve(turned @ factor if upper else factor @ turned, x)


def _qr(x: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return np.zeros(0), np.linalg.qr(x, "r")
    return tuple(np.linalg.qr(x, mode))


def _svd(x: Any, full_matrices: bool = False) -> Any:
    return tuple(np.linalg.svd(x, full_matrices=full_matrices))


def _eig(x: Any) -> Any:
    values, vectors = np.linalg.eig(x)
    return values.astype(complex), vectors.astype(complex)


def _lu(x: Any, pivot: bool = True) -> Any:
    packed, pivots = scipy.linalg.lu_factor(x)
    return packed, (pivots + 1).astype(np.int32), np.zeros((), np.int32)


def _lu_unpack(x: Any, y: Any, unpack_ludata: bool = True, unpack_pivots: bool = True) -> Any:
    m, n = x.shape
    k = min(m, n)
    order = list(range(m))
    for i, j in enumerate(y):
        order[i], order[j - 1] = order[j - 1], order[i]
    p = np.zeros((m, m))
    p[order, range(m)] = 1.0
    low = np.tril(x[:, :k], -1)
    low[range(k), range(k)] = 1.0
    return p if unpack_pivots else np.zeros(0), low, np.triu(x[:k])


def _lstsq(x: Any, y: Any, rcond: float) -> Any:
    solution, _, rank, values = np.linalg.lstsq(x, y, rcond)
    return solution, np.sum((x @ solution - y) ** 2, 0), np.int32(rank), values


ROWS = (
    Row(
        "inverse",
        SQUARE,
        np.linalg.inv,
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "det", SQUARE, np.linalg.det, ("float64",), exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE}
    ),
    Row(
        "cofactor",
        SQUARE[:3],
        _cofactor,
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "slogdet", SQUARE, _slogdet, ("float64",), exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE}
    ),
    Row(
        "solve",
        (
            Case((R3, (3, 2))),
            Case((R233, (3, 1))),
            Case((R3, (2, 3, 2))),
            Case((C3, _complex_regular(3, 2))),
            Case((R3, np.zeros((3, 0)))),
        ),
        np.linalg.solve,
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "triangular_solve",
        (
            Case((R3 + 4 * np.eye(3), (3, 2))),
            Case((R3 + 4 * np.eye(3), (2, 3, 2)), {"upper": False}),
            Case((R233 + 4 * np.eye(3), (3, 2)), {"transpose": True}),
            Case((R3 + 4 * np.eye(3), (3, 2)), {"upper": False, "transpose": True, "unitriangular": True}),
            Case((C3 + 4 * np.eye(3), C3), {"transpose": True}),
            Case((C3 + 4 * np.eye(3), C3), {"upper": False, "unitriangular": True}),
        ),
        _triangular_solve,
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "cholesky",
        (Case((_positive(3, 3),)), Case((_positive(2, 3, 3),)), Case((C3 @ C3.conj().T,))),
        lambda x, upper=False: np.linalg.cholesky(x),
        ("float64",),
        order=0,
        reason=ELSEWHERE,
    ),
    Row(
        "cholesky_solve",
        (
            Case(((3, 2), R3 + 4 * np.eye(3))),
            Case(((2, 3, 2), R3 + 4 * np.eye(3)), {"upper": True}),
            Case((C53[:3], C3 + 4 * np.eye(3))),
            Case((C53[:3], C3 + 4 * np.eye(3)), {"upper": True}),
        ),
        _cholesky_solve,
        ("float64",),
        exempt={
            "infinite_gradient": WHOLE,
            "local": WHOLE,
            "limits": WHOLE,
            "nan": "special values make a factor that is singular, or so nearly that its inverse overflows",
        },
    ),
    Row(
        "qr",
        (
            Case((R3,)),
            Case((R53,)),
            Case((R35,)),
            Case((R233,)),
            Case((R53,), {"mode": "r"}),
            Case((R35,), {"mode": "complete"}),
            Case((C3,)),
            Case((C53,)),
        ),
        _qr,
        ("float64",),
        exempt={
            "edges": "with zeros and ties the matrix is singular, where the factors have no derivative",
            "infinite_gradient": WHOLE,
            "local": WHOLE,
            "limits": WHOLE,
        },
    ),
    Row(
        "svd",
        (Case((R3,)), Case((R53,)), Case((R35,)), Case((R233,)), Case((R3,), {"full_matrices": True})),
        _svd,
        ("float64",),
        exempt={
            "infinite_gradient": WHOLE,
            "local": WHOLE,
            "limits": WHOLE,
            "complex": "complex vectors are fixed but for a phase; checked in tests/test_decomposition.py, through results without one",
        },
    ),
    Row(
        "svdvals",
        (Case((R53,)), Case((R233,)), Case((C53,))),
        lambda x: np.linalg.svd(x, compute_uv=False),
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row("eigh", (Case((_positive(3, 3),)),), np.linalg.eigh, ("float64",), order=0, reason=ELSEWHERE),
    Row("eigvalsh", (Case((_positive(2, 3, 3),)),), np.linalg.eigvalsh, ("float64",), order=0, reason=ELSEWHERE),
    Row("eig", (Case((R3,)), Case((C3,))), _eig, ("float64",), order=0, reason=ELSEWHERE),
    Row(
        "eigvals",
        (Case((R3,)), Case((R233,)), Case((C3,))),
        lambda x: np.linalg.eigvals(x).astype(complex),
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "pinv",
        (Case((R3,)), Case((R53,)), Case((R35,)), Case((C53,))),
        lambda x, rcond=1e-15, hermitian=False: np.linalg.pinv(x),
        ("float64",),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "lu",
        (Case((R3,)), Case((R53,)), Case((R35,)), Case((C3,))),
        _lu,
        ("float64",),
        outputs_differentiable=(0,),
        exempt={"infinite_gradient": WHOLE, "local": WHOLE, "limits": WHOLE},
    ),
    Row(
        "lu_unpack",
        (
            Case((R3, np.array([3, 2, 3], np.int32))),
            Case((R53, np.array([4, 2, 5], np.int32))),
            Case((R35, np.array([1, 3, 3], np.int32)), {"unpack_pivots": False}),
            Case((C53, np.array([4, 2, 5], np.int32))),
        ),
        _lu_unpack,
        ("float64",),
    ),
    Row(
        "lstsq",
        (Case((R53, (5, 2)), {"rcond": 1e-12}), Case((R35, (3, 2)), {"rcond": 1e-12})),
        _lstsq,
        ("float64",),
        order=0,
        reason="has no gradient in Paddle either",
        exempt={
            "special": "with huge values the smallest singular value is rounding noise",
            "float32": "residuals of an exact solution are rounding noise",
            "complex64": "residuals of an exact solution are rounding noise",
        },
    ),
)
