"""Rows of the reductions."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

# axis forms that every reduction over several axes takes.
AXES = (
    Case(((2, 3),)),
    Case(((2, 3, 4),), {"axis": (1,)}),
    Case(((2, 3, 4),), {"axis": (0, -1), "keepdim": True}),
    Case(((2, 3),), {"keepdim": True}),
    Case(((),)),
    Case(((),), {"axis": (-1,), "keepdim": True}),
    Case(((5,),), {"axis": (0,)}),
)
EMPTY = (
    Case(((0, 3),), {"axis": (0,)}),
    Case(((0, 3),), {"axis": (1,)}),
    Case(((0,),)),
)


def over(function: Any) -> Any:
    """A NumPy reduction called the way entries are: () means all axes, and a 0-D input has none."""

    def reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False, **attrs: Any) -> Any:
        return function(x, axis=axis if axis and x.ndim else None, keepdims=keepdim, **attrs)

    return reference


def sum_reference(x: np.ndarray, axis: tuple[int, ...] = (), dtype: Any = None, keepdim: bool = False) -> Any:
    result = np.sum(x.astype(dtype) if dtype else x, axis=axis if axis and x.ndim else None, keepdims=keepdim)
    return result.astype(dtype) if dtype else result if x.dtype in ("int32", "bool") else result.astype(x.dtype)


def mean_reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False) -> Any:
    return np.mean(x, axis=axis if axis and x.ndim else None, keepdims=keepdim).astype(x.dtype)


ROWS = (
    Row(
        "sum",
        (*AXES, *EMPTY, Case(((2, 3),), {"axis": (0,), "dtype": "float64"})),
        sum_reference,
        FLOATS + HALVES + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
    ),
    Row("mean", (*AXES, *EMPTY), mean_reference, FLOATS + HALVES + COMPLEX + INTS, grad_dtypes=("float64", "complex128")),
)
