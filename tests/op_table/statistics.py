"""Rows of histograms, frequencies and choices among tensors."""

from collections import Counter
from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

_TIES = np.array([[2.0, 1.0, 2.0, 1.0], [3.0, 3.0, 0.0, 5.0]])
_VALUES = np.array([0.0, 0.3, 1.0, 1.9, 2.0, 2.5, 3.0, 9.0, -1.0])


def mode(x: np.ndarray, axis: int = -1, keepdim: bool = False) -> Any:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    rows = np.moveaxis(x, axis, -1)
    values, places = np.empty(rows.shape[:-1], x.dtype), np.empty(rows.shape[:-1], np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        row = rows[at].tolist()
        values[at] = min(Counter(row).items(), key=lambda item: (-item[1], item[0]))[0]
        places[at] = max(i for i, value in enumerate(row) if value == values[at])
    if keepdim:
        return np.expand_dims(values, axis), np.expand_dims(places, axis)
    return values, places


def histogram(input: np.ndarray, weight: Any, bins: int, min: float, max: float, density: bool) -> np.ndarray:
    if min == max == 0 and input.size:
        min, max = float(input.min()), float(input.max())
    if min == max:
        min, max = min - 1, max + 1
    counts, _ = np.histogram(input, bins, (min, max), density, weight)
    return counts.astype(np.float32 if density or weight is not None else np.int64)


def multiplex(inputs: list[np.ndarray], index: np.ndarray) -> np.ndarray:
    return np.array([inputs[k][i] for i, k in enumerate(index[:, 0])], inputs[0].dtype).reshape(
        -1, *inputs[0].shape[1:]
    )


def _histogram(values: Any, weight: Any, bins: int, low: float, high: float, density: bool) -> Case:
    return Case((values, weight), {"bins": bins, "min": low, "max": high, "density": density})


ROWS = (
    Row(
        "isin",
        (
            Case((_TIES, np.array([2.0, 5.0, 7.0]))),
            Case(((2, 3), (4,))),
            Case(((), ())),
            Case(((0, 3), (2,))),
            Case(((2, 3), (0,))),
            Case((np.array([np.nan, 1.0]), np.array([np.nan, 1.0, 3.0]))),
        ),
        lambda x, test_x: (x[..., None] == test_x.reshape(-1)).any(-1),
        (*FLOATS, *HALVES, *INTS, *COMPLEX),
        order=0,
        reason="the result is bool",
    ),
    Row(
        "mode",
        (
            Case(((2, 4),), {"axis": -1, "keepdim": False}),
            Case(((3, 2, 2),), {"axis": 0, "keepdim": True}),
            Case((_TIES,), {"axis": 1, "keepdim": False}),
            Case((_TIES.T.copy(),), {"axis": 0, "keepdim": False}),
            Case(((),), {"axis": 0, "keepdim": False}),
            Case(((0, 3),), {"axis": 1, "keepdim": False}),
        ),
        mode,
        (*FLOATS, *HALVES, "int32", "int64"),
        distinct=True,
        exempt={"edges": "the value jumps where an element comes to equal another one"},
    ),
    Row(
        "histogram",
        (
            _histogram(_VALUES, None, 3, 0.0, 3.0, False),
            _histogram(_VALUES, np.arange(9.0), 3, 0.0, 3.0, False),
            _histogram(_VALUES, None, 4, 0.0, 0.0, True),
            _histogram(np.arange(12).reshape(3, 4), None, 5, 0.5, 9.25, False),
            _histogram(np.array([2, 2, 2]), None, 4, 0.0, 0.0, False),
            _histogram((0, 3), None, 2, 0.0, 0.0, False),
        ),
        histogram,
        ("float64",),
        order=0,
        reason="counts do not change with the elements, and Paddle gives the weights no gradient",
    ),
    Row(
        "multiplex",
        (
            Case(([(2, 3), (2, 3), (2, 3)], np.array([[2], [0]]))),
            Case(([(3, 2, 2), (3, 2, 2)], np.array([[1], [1]], np.int32))),
            Case(([(0, 3), (0, 3)], np.zeros((0, 1), np.int64))),
        ),
        multiplex,
        (*FLOATS, *COMPLEX, "int64"),
        grad_dtypes=("float64", "complex128"),
    ),
)
