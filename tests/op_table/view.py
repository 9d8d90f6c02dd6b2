"""Rows of the operations that carry gradients through in-place changes of views."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, INTS, Case, Row
from wherry._generated.op_defs import OPS
from wherry.autograd.structures import ViewStep
from wherry.core.dtype import DataType, complex128, float64
from wherry.core.meta import Meta


def step(name: str, argument: tuple[int, ...], source: tuple[int, ...], shape: tuple[int, ...]) -> ViewStep:
    return ViewStep(OPS[name], (argument,), 0, Meta(source, float64), Meta(shape, float64))


# The transpose of a [2, 3, 4], then its matrices as rows: each of the two steps keeps the memory in place.
TRANSPOSED = step("transpose", (0, 2, 1), (2, 3, 4), (2, 4, 3))
WIDER = step("unsqueeze", (0,), (2, 4, 3), (1, 2, 4, 3))
# The transpose of a [3, 2] flattened: no view of NumPy's has this shape, so the second step copies.
TURNED = step("transpose", (1, 0), (3, 2), (2, 3))
FLAT = step("reshape", (6,), (2, 3), (6,))
NOTHING = step("transpose", (1, 0), (0, 2), (2, 0))
# Each element twice; windows of two, of which the middle one is in both; the imaginary parts of every second number of a column.
TWICE = step("expand", (2, 3), (3,), (2, 3))
WINDOWS = ViewStep(OPS["tensor_unfold"], (0, 2, 1), 0, Meta((3,), float64), Meta((2, 2), float64))
COLUMN = ViewStep(
    OPS["getitem_basic"], ((slice(None, None, 2), 0),), 0, Meta((3, 2), complex128), Meta((2,), complex128)
)
IMAGINARY = ViewStep(OPS["imag"], (), 0, Meta((2,), complex128), Meta((2,), float64))
PAIRS = ViewStep(OPS["as_complex"], (), 0, Meta((3, 2), float64), Meta((3,), complex128))
# The numbers of a transposed matrix in a row, as pairs: a copy from the second step on.
TURNED_COMPLEX = ViewStep(OPS["transpose"], ((1, 0),), 0, Meta((3, 2), complex128), Meta((2, 3), complex128))
FLAT_COMPLEX = ViewStep(OPS["reshape"], ((6,),), 0, Meta((2, 3), complex128), Meta((6,), complex128))
COMPLEX_GRAD = np.array([1 + 2j, -3j, 0.5])
AS_REAL = ViewStep(OPS["as_real"], (), 0, Meta((6,), complex128), Meta((6, 2), float64))


def walked(x: np.ndarray, chain: tuple[Any, ...]) -> np.ndarray:
    """The view, from its steps' own names."""
    for step in chain:
        if step.op.name == "transpose":
            x = x.transpose(step.attrs[0])
        elif step.op.name == "unsqueeze":
            x = np.expand_dims(x, step.attrs[0])
        else:
            x = x.reshape(step.attrs[0])
    return x


def scattered(x: np.ndarray, value: np.ndarray, chain: tuple[Any, ...]) -> np.ndarray:
    """x with the elements of the view replaced, found by number."""
    out = x.copy().reshape(-1)
    out[walked(np.arange(x.size).reshape(x.shape), chain).reshape(-1)] = value.reshape(-1)
    return out.reshape(x.shape)


def spread(grad: np.ndarray, chain: tuple[Any, ...], shape: tuple[int, ...], dtype: DataType) -> np.ndarray:
    """The transpose of the chain, which is linear over the real numbers: the gradients of all that shows a part of an element."""
    result = np.zeros(shape, dtype.numpy)
    for place in np.ndindex(shape):
        for unit in (1.0, 1j) if result.dtype.kind == "c" else (1.0,):
            base = np.zeros(shape, result.dtype)
            base[place] = unit
            seen = taken(base, chain)
            result[place] += unit * (np.sum(grad.real[seen.real != 0]) + np.sum(grad.imag[seen.imag != 0]))
    return result


def taken(x: np.ndarray, chain: tuple[Any, ...]) -> np.ndarray:
    """The view, step by step, in NumPy's own words."""
    for one in chain:
        name = one.op.name
        if name == "expand":
            x = np.stack([x, x])
        elif name == "tensor_unfold":
            x = np.array([[x[0], x[1]], [x[1], x[2]]])
        elif name == "getitem_basic":
            x = x[one.attrs[0]]
        elif name == "imag":
            x = x.imag
        elif name == "as_complex":
            x = x[..., 0] + 1j * x[..., 1]
        elif name == "as_real":
            x = np.stack([x.real, x.imag], -1)
        else:
            x = walked(x, (one,))
    return x


ROWS = (
    Row(
        "view_replay",
        (
            Case(((2, 3, 4),), {"chain": (TRANSPOSED, WIDER)}),
            Case(((3, 2),), {"chain": (TURNED, FLAT)}),
            Case(((0, 2),), {"chain": (NOTHING,)}),
        ),
        walked,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
        exempt={"empty": "the chain tells sizes, which emptied inputs do not fit"},
    ),
    Row(
        "view_replay_grad",
        (
            Case(((1, 2, 4, 3),), {"chain": (TRANSPOSED, WIDER), "shape": (2, 3, 4), "dtype": float64}),
            Case(((6,),), {"chain": (TURNED, FLAT), "shape": (3, 2), "dtype": float64}),
            Case(((2, 3),), {"chain": (TWICE,), "shape": (3,), "dtype": float64}),
            Case(((2, 2),), {"chain": (WINDOWS,), "shape": (3,), "dtype": float64}),
            Case(((2,),), {"chain": (COLUMN, IMAGINARY), "shape": (3, 2), "dtype": complex128}),
            Case((COMPLEX_GRAD,), {"chain": (PAIRS,), "shape": (3, 2), "dtype": float64}),
            Case(((6, 2),), {"chain": (TURNED_COMPLEX, FLAT_COMPLEX, AS_REAL), "shape": (3, 2), "dtype": complex128}),
            Case(((2, 0),), {"chain": (NOTHING,), "shape": (0, 2), "dtype": float64}),
        ),
        spread,
        ("float64",),
        exempt={"empty": "the chain tells sizes, which emptied inputs do not fit"},
    ),
    Row(
        "view_scatter",
        (
            Case(((2, 3, 4), (1, 2, 4, 3)), {"chain": (TRANSPOSED, WIDER)}),
            Case(((3, 2), (6,)), {"chain": (TURNED, FLAT)}),
            Case(((0, 2), (2, 0)), {"chain": (NOTHING,)}),
        ),
        scattered,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
        exempt={"empty": "the chain tells sizes, which emptied inputs do not fit"},
    ),
)
