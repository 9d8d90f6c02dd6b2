"""Rows of the operations on complex numbers."""

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, Case, Row

UNARY = (Case(((2, 3),)), Case(((),)), Case(((0, 3),)))

ROWS = (
    Row(
        "complex",
        (Case(((2, 3), (2, 3))), Case(((2, 1), (3,))), Case(((), ())), Case(((0, 2), (1, 2)))),
        lambda real, imag: real + 1j * imag,
    ),
    Row("real", UNARY, lambda x: x.real, COMPLEX, grad_dtypes=("complex128",)),
    Row("imag", UNARY, lambda x: x.imag, COMPLEX, grad_dtypes=("complex128",)),
    Row("conj", UNARY, np.conjugate, FLOATS + COMPLEX, grad_dtypes=("float64", "complex128")),
    Row(
        "angle",
        UNARY,
        np.angle,
        FLOATS + COMPLEX,
        grad_dtypes=("complex128",),
        kinks=(0.0,),
        reason="of real numbers it is a step",
    ),
    Row(
        "as_complex",
        (Case(((3, 2),)), Case(((2,),)), Case(((0, 2),))),
        lambda x: x[..., 0] + 1j * x[..., 1],
    ),
    Row(
        "as_real",
        UNARY,
        lambda x: np.stack((x.real, x.imag), -1),
        COMPLEX,
        grad_dtypes=("complex128",),
    ),
)
