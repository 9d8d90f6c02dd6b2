"""Rows of the operations that make tensors."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ALL = ("bool", *INTS, *HALVES, *FLOATS, *COMPLEX)
MADE = "makes a tensor from numbers: there is no input to differentiate by"
CONSTANT = "the output does not depend on the values of x"


def _full(shape: Any, value: Any, dtype: str = "float32") -> Any:
    return np.full(shape, value, dtype)


def _full_like(x: Any, value: Any, dtype: str | None = None) -> Any:
    return np.full(x.shape, value, dtype or x.dtype)


def _diag(x: Any, offset: int = 0, padding_value: float = 0.0) -> Any:
    if x.ndim == 2:
        return np.diagonal(x, offset)
    out = np.diag(np.atleast_1d(x), offset)
    mask = np.diag(np.ones(x.size, bool), offset)
    return np.where(mask, out, np.asarray(padding_value, x.dtype))


def _diag_grad(out_grad: Any, shape: Any, offset: int) -> Any:
    if len(shape) < 2:
        return np.diagonal(out_grad, offset).reshape(shape)
    out = np.zeros(shape, out_grad.dtype)
    for k, value in enumerate(out_grad):
        out[k - min(0, offset), k + max(0, offset)] = value
    return out


def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    size = input.shape[-1] + abs(offset)
    out = np.zeros(input.shape[:-1] + (size, size), input.dtype)
    for i in range(input.shape[-1]):
        out[..., i - min(0, offset), i + max(0, offset)] = input[..., i]
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def _linspace(start: Any, stop: Any, num: int, dtype: str) -> Any:
    return np.linspace(start, stop, num).astype(dtype)


def _logspace(start: Any, stop: Any, num: int, base: Any, dtype: str) -> Any:
    return np.logspace(start, stop, num, base=base).astype(dtype)


TRIANGLES = (
    Case(((3, 4),)),
    Case(((3, 4),), {"diagonal": -1}),
    Case(((4, 3),), {"diagonal": 2}),
    Case(((2, 0, 3, 3),)),
    Case(((2, 3, 3),), {"diagonal": 9}),
    Case(((3, 3),), {"diagonal": -9}),
)

ROWS = (
    Row(
        "full",
        (
            Case((), {"shape": [2, 3], "value": 1.5, "dtype": "float32"}),
            Case((), {"shape": [], "value": -2, "dtype": "int64"}),
            Case((), {"shape": [0, 2], "value": 1, "dtype": "float64"}),
            Case((), {"shape": [2], "value": 1 + 2j, "dtype": "complex64"}),
            Case((), {"shape": [2], "value": 1, "dtype": "bool"}),
            Case((), {"shape": [2], "value": -0.0, "dtype": "float32"}),
            Case((), {"shape": [2], "value": float("inf"), "dtype": "bfloat16"}),
        ),
        _full,
        order=0,
        reason=MADE,
    ),
    Row(
        "full_like",
        (
            Case(((2, 3),), {"value": 1}),
            Case(((),), {"value": 0}),
            Case(((0, 3),), {"value": 1}),
            Case(((2,),), {"value": 3, "dtype": "int32"}),
        ),
        _full_like,
        ALL,
        order=0,
        reason=CONSTANT,
    ),
    Row(
        "empty",
        (Case((), {"shape": [2, 3], "dtype": "float64"}), Case((), {"shape": [0], "dtype": "int32"})),
        None,
        order=0,
        random=True,
        reason=MADE,
    ),
    Row(
        "empty_like",
        (Case(((2, 3),)), Case(((),), {"dtype": "int64"})),
        None,
        order=0,
        random=True,
        reason=CONSTANT,
    ),
    Row(
        "arange",
        (
            Case((), {"start": 0, "end": 5, "step": 1, "dtype": "int64"}),
            Case((), {"start": 5, "end": -3, "step": -2, "dtype": "int32"}),
            Case((), {"start": 0, "end": 1, "step": 0.1, "dtype": "float64"}),
            Case((), {"start": 1.5, "end": 9.0, "step": 2.5, "dtype": "float32"}),
            Case((), {"start": 3, "end": 1, "step": 1, "dtype": "int64"}),
        ),
        lambda start, end, step, dtype: np.arange(start, end, step).astype(dtype),
        order=0,
        reason=MADE,
    ),
    Row(
        "linspace",
        (
            Case((), {"start": 0, "stop": 1, "num": 7, "dtype": "float64"}),
            Case((), {"start": 3.5, "stop": -2, "num": 4, "dtype": "float32"}),
            Case((), {"start": 0, "stop": 10, "num": 5, "dtype": "int32"}),
            Case((), {"start": 2, "stop": 3, "num": 1, "dtype": "float32"}),
            Case((), {"start": 2, "stop": 3, "num": 0, "dtype": "float32"}),
        ),
        _linspace,
        order=0,
        reason=MADE,
    ),
    Row(
        "logspace",
        (
            Case((), {"start": 0, "stop": 3, "num": 4, "base": 2.0, "dtype": "float64"}),
            Case((), {"start": -1, "stop": 1, "num": 5, "base": 10, "dtype": "float32"}),
        ),
        _logspace,
        order=0,
        reason=MADE,
    ),
    Row(
        "eye",
        (
            Case((), {"num_rows": 3, "num_columns": 2, "dtype": "float32"}),
            Case((), {"num_rows": 2, "num_columns": 4, "dtype": "int64"}),
            Case((), {"num_rows": 0, "num_columns": 0, "dtype": "bool"}),
        ),
        lambda num_rows, num_columns, dtype: np.eye(num_rows, num_columns).astype(dtype),
        order=0,
        reason=MADE,
    ),
    Row(
        "assign",
        (Case(((2, 3),)), Case(((),)), Case(((0, 2),))),
        lambda x: x,
        ALL,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "tril",
        TRIANGLES,
        lambda x, diagonal=0: np.tril(x, diagonal),
        ALL,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "triu",
        TRIANGLES,
        lambda x, diagonal=0: np.triu(x, diagonal),
        ALL,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "tril_indices",
        (
            Case((), {"rows": 3, "cols": 2, "offset": 1, "dtype": "int64"}),
            Case((), {"rows": 3, "cols": 3, "offset": -1, "dtype": "int32"}),
            Case((), {"rows": 0, "cols": 3, "offset": 0, "dtype": "int64"}),
        ),
        lambda rows, cols, offset, dtype: np.stack(np.tril_indices(rows, offset, cols)).astype(dtype),
        order=0,
        reason=MADE,
    ),
    Row(
        "triu_indices",
        (
            Case((), {"row": 3, "col": 2, "offset": 1, "dtype": "int64"}),
            Case((), {"row": 3, "col": 3, "offset": -1, "dtype": "int32"}),
            Case((), {"row": 2, "col": 2, "offset": 5, "dtype": "int64"}),
        ),
        lambda row, col, offset, dtype: np.stack(np.triu_indices(row, offset, col)).astype(dtype),
        order=0,
        reason=MADE,
    ),
    Row(
        "diag",
        (
            Case(((3,),)),
            Case(((3,),), {"offset": 2, "padding_value": 1.5}),
            Case(((3,),), {"offset": -1}),
            Case(((),)),
            Case(((0,),), {"offset": 1}),
            Case(((3, 4),), {"offset": 1}),
            Case(((4, 3),), {"offset": -2}),
            Case(((2, 3),), {"offset": 7}),
        ),
        _diag,
        FLOATS + COMPLEX + INTS[1:],
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "diag_grad",
        (
            Case(((3, 3),), {"shape": [3], "offset": 0}),
            Case(((4, 4),), {"shape": [3], "offset": -1}),
            Case(((1, 1),), {"shape": [], "offset": 0}),
            Case(((3,),), {"shape": [3, 4], "offset": 1}),
            Case(((2,),), {"shape": [4, 3], "offset": -2}),
        ),
        _diag_grad,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
        exempt={"empty": "an attribute tells a shape, which emptied inputs do not fit"},
    ),
    Row(
        "diag_embed",
        (
            Case(((3,),)),
            Case(((2, 3),), {"offset": 1}),
            Case(((2, 3),), {"offset": -2, "dim1": 0, "dim2": 2}),
            Case(((2, 3),), {"offset": 1, "dim1": 2, "dim2": 0}),
            Case(((2, 0),)),
        ),
        _diag_embed,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "fill",
        (Case(((2, 3),), {"value": 2}), Case(((),), {"value": -1.5}), Case(((0, 2),), {"value": 1})),
        lambda x, value: np.full(x.shape, value, x.dtype),
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
)
