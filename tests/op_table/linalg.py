"""Rows of the products of matrices and vectors."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

BOTH = ("float64", "complex128")
NUMBERS = FLOATS + COMPLEX


def _matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    if x.dtype.itemsize == 2:
        return _matmul(x.astype(np.float32), y.astype(np.float32), transpose_x, transpose_y).astype(x.dtype)
    if transpose_x and x.ndim > 1:
        x = np.swapaxes(x, -1, -2)
    if transpose_y and y.ndim > 1:
        y = np.swapaxes(y, -1, -2)
    if x.ndim == 1 or y.ndim == 1:
        return np.tensordot(x, y, (-1, 0 if y.ndim == 1 else -2)) if x.ndim == 1 and y.ndim <= 2 else _vectors(x, y)
    return np.einsum("...ij,...jk->...ik", x, y)


def _vectors(x: Any, y: Any) -> Any:
    return np.einsum("...ij,j->...i", x, y) if y.ndim == 1 else np.einsum("j,...jk->...k", x, y)


def _addmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    # As in BLAS, what is multiplied by 0 is not looked at.
    scaled = beta * input if beta else np.zeros_like(input)
    return (scaled + alpha * np.dot(x, y)).astype(x.dtype)


def _einsum(x: Any, equation: str) -> Any:
    return np.einsum(equation, *x)


def _trace_grad(out_grad: Any, shape: Any, offset: int, axis1: int, axis2: int) -> Any:
    out = np.zeros(shape, out_grad.dtype)
    moved = np.moveaxis(out, (axis1, axis2), (-2, -1))
    for i in range(moved.shape[-2]):
        if 0 <= i + offset < moved.shape[-1]:
            moved[..., i, i + offset] = out_grad
    return out


def _cross(x: Any, y: Any, axis: int = 9) -> Any:
    if axis == 9:
        axis = np.broadcast_shapes(x.shape, y.shape).index(3)
    return np.cross(*np.broadcast_arrays(x, y), axis=axis)


T = {"transpose_x": True}
U = {"transpose_y": True}

ROWS = (
    Row(
        "matmul",
        (
            Case(((2, 3), (3, 4))),
            Case(((3, 2), (3, 4)), T),
            Case(((2, 3), (4, 3)), U),
            Case(((3, 2), (4, 3)), {**T, **U}),
            Case(((3,), (3,))),
            Case(((3,), (3, 2)), T),
            Case(((3,), (2, 3)), U),
            Case(((2, 3), (3,)), U),
            Case(((3, 2), (3,)), T),
            Case(((2, 4, 3), (3,))),
            Case(((3,), (2, 3, 2))),
            Case(((2, 2, 3), (3, 4))),
            Case(((2, 2, 3), (4, 3)), U),
            Case(((2, 3, 2), (3, 4)), T),
            Case(((3, 4), (2, 4, 2))),
            Case(((2, 1, 2, 3), (3, 3, 1))),
            Case(((2, 1, 3, 2), (3, 1, 3)), {**T, **U}),
            Case(((2, 0), (0, 3))),
            Case(((0, 2), (2, 3))),
            Case(((2, 0, 3), (3, 2))),
        ),
        _matmul,
        FLOATS + COMPLEX + HALVES + INTS[3:],
        grad_dtypes=BOTH,
    ),
    Row("bmm", (Case(((2, 3, 4), (2, 4, 1))), Case(((0, 3, 4), (0, 4, 1)))), np.matmul, NUMBERS, grad_dtypes=BOTH),
    Row("mv", (Case(((2, 3), (3,))), Case(((2, 0), (0,)))), np.dot, NUMBERS, grad_dtypes=BOTH),
    Row(
        "dot",
        (Case(((3,), (3,))), Case(((2, 3), (2, 3))), Case(((0,), (0,)))),
        lambda x, y: np.sum(x * y, -1, dtype=x.dtype),
        NUMBERS + INTS[3:],
        grad_dtypes=BOTH,
    ),
    Row(
        "addmm",
        (
            Case(((2, 4), (2, 3), (3, 4))),
            Case(((4,), (2, 3), (3, 4)), {"beta": 0.5, "alpha": -2.0}),
            Case(((2, 1), (2, 3), (3, 4)), {"beta": 0.0}),
        ),
        _addmm,
        NUMBERS,
        grad_dtypes=BOTH,
    ),
    Row(
        "kron",
        (Case(((2, 3), (2, 2))), Case(((2,), (3, 2))), Case(((2, 1, 2), (3,))), Case(((), (3,))), Case(((0, 2), (2,)))),
        np.kron,
        NUMBERS,
        grad_dtypes=BOTH,
    ),
    Row(
        "einsum",
        (
            Case(([(2, 3), (3, 4)],), {"equation": "ij,jk->ik"}),
            Case(([(3, 3)],), {"equation": "ii->i"}),
            Case(([(3, 3)],), {"equation": "ii->"}),
            Case(([(3, 2, 3)],), {"equation": "iji->j"}),
            Case(([(2, 3)],), {"equation": "ij->ji"}),
            Case(([(2, 3)],), {"equation": "ij->i"}),
            Case(([(2, 3)],), {"equation": "ij->"}),
            Case(([(2, 2, 3), (2, 3, 4)],), {"equation": "bij,bjk->bik"}),
            Case(([(2, 1, 3), (1, 3, 4)],), {"equation": "bij,bjk->bik"}),
            Case(([(2,), (3,)],), {"equation": "i,j->ij"}),
            Case(([(2, 3), (2,)],), {"equation": "ij,k->i"}),
            Case(([(2, 3), (3, 4), (4, 2)],), {"equation": "ij,jk,kl->il"}),
            Case(([(2, 3), (2, 3), (2, 3)],), {"equation": "ij,ij,ij->i"}),
            Case(([(), ()],), {"equation": ",->"}),
            Case(([(2, 0), (0, 3)],), {"equation": "ij,jk->ik"}),
            Case(([(2, 2), (2,)],), {"equation": "ii,i->i"}),
        ),
        _einsum,
        NUMBERS,
        grad_dtypes=BOTH,
    ),
    Row(
        "trace",
        (
            Case(((3, 4),)),
            Case(((3, 4),), {"offset": -1}),
            Case(((2, 3, 4),), {"offset": 1, "axis1": 0, "axis2": 2}),
            Case(((2, 3, 4),), {"axis1": -1, "axis2": 0}),
            Case(((3, 4),), {"offset": 9}),
        ),
        lambda x, offset=0, axis1=0, axis2=1: np.trace(x, offset, axis1, axis2, dtype=x.dtype),
        NUMBERS + INTS[3:],
        grad_dtypes=BOTH,
    ),
    Row(
        "trace_grad",
        (
            Case(((),), {"shape": [3, 4], "offset": 1, "axis1": 0, "axis2": 1}),
            Case(((3,),), {"shape": [2, 3, 4], "offset": -1, "axis1": 2, "axis2": 0}),
        ),
        _trace_grad,
        NUMBERS,
        grad_dtypes=BOTH,
    ),
    Row(
        "cross",
        (
            Case(((2, 3), (2, 3))),
            Case(((3, 2), (3, 2)), {"axis": 0}),
            Case(((3, 3), (3, 3)), {"axis": -1}),
            Case(((3, 1), (3, 4))),
            Case(((2, 3), (3,)), {"axis": 1}),
        ),
        _cross,
        NUMBERS,
        grad_dtypes=BOTH,
    ),
)
