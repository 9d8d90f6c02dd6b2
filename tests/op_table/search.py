"""Rows of searching and sorting."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, INTS, Case, Row

_TIES = np.array([[1.0, 3.0, 3.0, -0.0], [2.0, 2.0, 0.0, 2.0]])
_NAN = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 0.0], [np.inf, -np.inf, 2.0]])
_MASK = np.array([[True, False, True], [False, True, True]])
_NONE = np.zeros((2, 3), np.bool_)
_INTEGERS = np.array([3, 1, 2, 1, 3, 0, 1], np.int64)
_INDEX = "the result is indices"
_SHAPE = "how many there are depends on the values"


def arg(name: str) -> Any:
    function = getattr(np, name)

    def reference(x: np.ndarray, axis: int, keepdims: bool, flatten: bool, dtype: str = "int64") -> Any:
        if x.ndim == 0:
            return np.asarray(0, dtype)
        found = function(x, axis=None if flatten else axis, keepdims=keepdims)
        return np.asarray(found, dtype)

    return reference


def argsort(x: np.ndarray, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    rows = np.moveaxis(x, axis, -1)
    indices = np.empty(rows.shape, np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        row = rows[place]
        key = [(np.isnan(v), 0.0 if np.isnan(v) else v) for v in row.tolist()]
        order = sorted(range(len(row)), key=lambda i: key[i], reverse=descending)
        if descending:
            # Python keeps equal elements in order in reverse too.
            order = sorted(range(len(row)), key=lambda i: (not key[i][0], -key[i][1]))
        indices[place] = order
    indices = np.moveaxis(indices, -1, axis)
    return np.take_along_axis(x, indices, axis), indices


def topk(x: np.ndarray, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, indices = argsort(x, axis, largest)
    if x.ndim == 0:
        return values, indices
    return np.take(values, range(k), axis), np.take(indices, range(k), axis)


def running(better: Any) -> Any:
    def reference(x: np.ndarray, axis: int, dtype: str = "int64") -> Any:
        if x.ndim == 0:
            return x, np.zeros((), dtype)
        rows = np.moveaxis(x, axis, -1)
        values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            best = 0
            for i, value in enumerate(rows[place]):
                best = i if better(value, rows[place][best]) else best
                values[place][i], indices[place][i] = rows[place][best], best
        return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis).astype(dtype)

    return reference


def unique(x: np.ndarray, return_index: bool, return_inverse: bool, return_counts: bool, axis: Any) -> Any:
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis[0] if axis else None)
    return values, first, inverse.reshape(-1), counts


def unique_consecutive(x: np.ndarray, axis: Any) -> Any:
    rows = np.moveaxis(x, axis[0], 0) if axis else x.reshape(-1)
    kept: list[int] = []
    inverse = []
    for i in range(rows.shape[0]):
        if i == 0 or not np.array_equal(rows[i], rows[i - 1]):
            kept.append(i)
        inverse.append(len(kept) - 1)
    counts = [inverse.count(i) for i in range(len(kept))]
    out = rows[kept]
    return np.moveaxis(out, 0, axis[0]) if axis else out, np.array(inverse, np.int64), np.array(counts, np.int64)


def searchsorted(sequence: np.ndarray, values: np.ndarray, out_int32: bool = False, right: bool = False) -> Any:
    side = "right" if right else "left"
    dtype = np.int32 if out_int32 else np.int64
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(dtype)
    rows = [np.searchsorted(s, v, side) for s, v in zip(sequence, values)]
    return np.array(rows, dtype)


def spread(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = np.zeros(mask.shape, values.dtype)
    np.place(out, mask, values) if values.size else None
    return out


_ARGS = (
    Case(((2, 3),), {"axis": 0, "keepdims": False, "flatten": True}),
    Case(((2, 3),), {"axis": -1, "keepdims": True, "flatten": False}),
    Case((_TIES,), {"axis": 1, "keepdims": False, "flatten": False, "dtype": "int32"}),
    Case((_NAN,), {"axis": 1, "keepdims": False, "flatten": False}),
    Case(((),), {"axis": 0, "keepdims": False, "flatten": True}),
    Case(((0, 3),), {"axis": 1, "keepdims": False, "flatten": False}),
)
_SORTS = tuple(
    Case((x,), {"axis": axis, "descending": descending})
    for x, axis in (((2, 3), -1), ((3, 2, 2), 0), (_TIES, 1), (_NAN, 1), ((), 0), ((0, 3), 1))
    for descending in (False, True)
)
_RUNNING = (
    Case(((5,),), {"axis": 0}),
    Case(((2, 4),), {"axis": -1}),
    Case((_TIES,), {"axis": 1}),
    Case(((),), {"axis": 0}),
)
_ALL = {"return_index": True, "return_inverse": True, "return_counts": True}

ROWS = (
    Row("argmax", _ARGS, arg("argmax"), (*FLOATS, "int64", "uint8"), order=0, distinct=True, reason=_INDEX),
    Row("argmin", _ARGS, arg("argmin"), (*FLOATS, "int64", "uint8"), order=0, distinct=True, reason=_INDEX),
    Row("argsort", _SORTS, argsort, (*FLOATS, "float16", "int64"), distinct=True),
    Row(
        "topk",
        (
            Case(((2, 4),), {"k": 2}),
            Case(((3, 2),), {"k": 3, "axis": 0, "largest": False}),
            Case((_TIES,), {"k": 3, "axis": 1}),
            Case(((),), {"k": 1}),
        ),
        topk,
        (*FLOATS, "int64"),
        distinct=True,
    ),
    Row("cummax", _RUNNING, running(lambda a, b: a >= b), (*FLOATS, "int64"), distinct=True),
    Row("cummin", _RUNNING, running(lambda a, b: a <= b), (*FLOATS, "int64"), distinct=True),
    Row("nonzero", (Case((_TIES,)), Case((_NONE,)), Case(((0, 2),))), np.argwhere, order=0, reason=_INDEX),
    Row(
        "masked_select",
        (Case(((2, 3), _MASK)), Case(((2, 3), _NONE))),
        lambda x, mask: x[mask],
        (*FLOATS, *COMPLEX, *INTS),
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "masked_spread",
        (Case((_MASK, (4,))), Case((_NONE, (0,)))),
        spread,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "unique",
        (
            Case((_INTEGERS,), {**_ALL, "axis": ()}),
            Case((_TIES,), {**_ALL, "axis": (1,)}),
            Case(((0,),), {**_ALL, "axis": ()}),
        ),
        unique,
        ("float64", "int64"),
        order=0,
        reason=_SHAPE,
    ),
    Row(
        "unique_consecutive",
        (Case((_INTEGERS,), {"axis": ()}), Case((np.array([[1, 2], [1, 2], [3, 4]]),), {"axis": (0,)})),
        unique_consecutive,
        ("int64",),
        order=0,
        reason=_SHAPE,
    ),
    Row(
        "searchsorted",
        tuple(
            Case((s, v), {"right": right, "out_int32": right})
            for s, v in (
                (np.array([1.0, 3.0, 3.0, 5.0]), np.array([[3.0, 0.0], [6.0, 5.0]])),
                (np.array([[1.0, 3.0, 5.0], [2.0, 2.0, 6.0]]), np.array([[3.0, 0.0, 6.0, 3.0], [2.0, 2.5, 7.0, 6.0]])),
            )
            for right in (False, True)
        ),
        searchsorted,
        ("float64",),
        order=0,
        reason=_INDEX,
    ),
    Row(
        "bincount",
        (Case((_INTEGERS, None), {"minlength": 6}), Case((_INTEGERS, np.arange(7.0)))),
        lambda x, weights, minlength=0: np.bincount(x, weights, minlength),
        ("int64",),
        order=0,
        reason="counts are integers, and Paddle gives the weights no gradient",
    ),
    Row(
        "one_hot",
        (Case((_INTEGERS,), {"num_classes": 4}), Case((np.zeros((2, 0), np.int32),), {"num_classes": 2})),
        lambda x, num_classes: np.eye(num_classes, dtype=np.float32)[x],
        ("int64",),
        order=0,
        reason="the input is integers",
    ),
)
