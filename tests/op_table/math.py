"""Rows of the element-wise operations."""

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, INTS, Case, Row

BINARY = (
    Case(((2, 3), (2, 3))),
    Case(((2, 1, 3), (4, 1))),
    Case(((), (3,))),
    Case(((0, 3), (1, 3))),
)

ROWS = (
    Row("add", BINARY, np.add, FLOATS + COMPLEX + INTS, grad_dtypes=("float64", "complex128")),
    Row("multiply", BINARY, np.multiply, FLOATS + COMPLEX + INTS, grad_dtypes=("float64", "complex128")),
)
