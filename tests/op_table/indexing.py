"""Rows of `x[key]` and `x[key] = value`."""

from typing import Any

import numpy as np

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ANY = FLOATS + HALVES + COMPLEX + INTS
BOTH = ("float64", "complex128")

ALL = slice(None)
ROWS_2 = np.array([2, 0, 2, -1])
COLUMNS = np.array([[1], [0]])


def key_of(indices: Any, spec: Any) -> tuple[Any, tuple[Any, ...]]:
    """The basic key, and the key on its result; a tensor that numbers the elements of several axes is taken apart."""
    basic, axes = spec[:2]
    key = [ALL] * 9
    for i, (axis, index) in enumerate(zip(axes, indices)):
        key[axis] = index
        if len(spec) > 2 and spec[2][i] > 1:
            # Rows of the tests have two such axes, of size 4 and 3.
            key[axis : axis + 2] = np.unravel_index(index, (4, 3))
    while isinstance(key[-1], slice):
        key.pop()
    return basic, tuple(key)


def getitem_basic(x: np.ndarray, spec: Any) -> np.ndarray:
    return x[spec]


def getitem_basic_grad(grad: np.ndarray, spec: Any, shape: Any) -> np.ndarray:
    return setitem_basic(np.zeros(shape, grad.dtype), grad, spec)


def setitem_basic(x: np.ndarray, value: np.ndarray, spec: Any) -> np.ndarray:
    out = x.copy()
    out[spec] = value
    return out


def getitem_advanced(x: np.ndarray, indices: Any, spec: Any) -> np.ndarray:
    basic, key = key_of(indices, spec)
    return x[basic][key]


def places(shape: Any, indices: Any, spec: Any) -> np.ndarray:
    """The number of each element of the region."""
    return getitem_advanced(np.arange(int(np.prod(shape))).reshape(shape), indices, spec)


def getitem_advanced_grad(grad: np.ndarray, indices: Any, spec: Any, shape: Any) -> np.ndarray:
    out = np.zeros(int(np.prod(shape)), grad.dtype)
    for place, value in zip(places(shape, indices, spec).ravel(), grad.ravel()):
        out[place] += value
    return out.reshape(shape)


def setitem_advanced(x: np.ndarray, value: np.ndarray, indices: Any, spec: Any, accumulate: bool = False) -> np.ndarray:
    out = x.copy().ravel()
    region = places(x.shape, indices, spec)
    while value.ndim > region.ndim:
        value = value[0]
    for place, one in zip(region.ravel(), np.broadcast_to(value, region.shape).ravel()):
        out[place] = out[place] + one if accumulate else one
    return out.reshape(x.shape)


def setitem_advanced_grad(grad: np.ndarray, indices: Any, spec: Any) -> np.ndarray:
    region = places(grad.shape, indices, spec)
    last = {int(place): i for i, place in enumerate(region.ravel())}
    kept = [last[int(place)] == i for i, place in enumerate(region.ravel())]
    return sifted(np.reshape(kept, region.shape).astype(grad.dtype), grad.ravel()[region])


BASIC = (
    ((3, 4), (1, ...)),
    ((3, 4), (-1, 2, ...)),
    ((3, 4), (slice(None, None, -2), ..., slice(1, 3))),
    ((3, 4), (None, ..., 0, None)),
    ((3, 4), (slice(2, 1), ...)),
    ((3, 4, 2), (slice(-2, None), ..., None, 1)),
    ((), (...,)),
    ((), (None, ...)),
    ((0, 3), (ALL, 1, ...)),
)
# shape, index arrays, spec
ADVANCED = (
    ((3, 4), (ROWS_2,), ((...,), (0,))),
    ((3, 4), (ROWS_2.reshape(2, 2),), ((...,), (1,))),
    ((3, 4), (np.array([0, 0, 1]), np.array([1, 1, 3])), ((...,), (0, 1))),
    ((3, 4, 2), (ROWS_2, np.array(1)), ((...,), (0, 2))),
    ((2, 3, 2), (COLUMNS, np.array([0, 1, 1])), ((...,), (0, 1))),
    ((2, 3, 2, 2), (COLUMNS, np.array([0, 1, 1])), ((...,), (1, 3))),
    ((2, 3, 4), (np.array([1, 1, 0]),), ((0, slice(None, None, -1), ...), (1,))),
    ((2, 3, 4), (np.array([1, 2]), np.array([1, 2])), ((ALL, None, ...), (2, 3))),
    ((2, 3), (np.array([0, 0]),), ((None, ...), (0,))),
    ((3, 4), (np.zeros(0, np.int64),), ((...,), (0,))),
    ((0, 4), (np.array([1, 3], np.int32),), ((...,), (1,))),
    ((2, 3), (np.array(1),), ((...,), (1,))),
    ((4, 3), (np.array([1, 5, 11]),), ((...,), (0,), (2,))),
    ((2, 4, 3, 2), (np.array([1, 5, 5]),), ((1, ...), (0,), (2,))),
    ((2, 4, 3, 2), (np.array([1, 5]), np.array([1, 0])), ((...,), (1, 3), (2, 1))),
    ((2, 4, 3, 2), (np.array([1, 0]), np.array([1, 5])), ((...,), (0, 1), (1, 2))),
    ((2, 2, 4, 3), (np.array([1, 0]), np.array([1, 5])), ((...,), (0, 2), (1, 2))),
)


def region_of(shape: Any, indices: Any, spec: Any) -> Any:
    return places(shape, indices, spec).shape


def basic_region(shape: Any, spec: Any) -> Any:
    return np.zeros(shape)[spec].shape


ROWS = (
    Row(
        "getitem_basic",
        tuple(Case((shape,), {"spec": spec}) for shape, spec in BASIC),
        getitem_basic,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "getitem_basic_grad",
        tuple(Case((basic_region(shape, spec),), {"spec": spec, "shape": shape}) for shape, spec in BASIC),
        getitem_basic_grad,
        FLOATS + COMPLEX,
        grad_dtypes=BOTH,
    ),
    Row(
        "setitem_basic",
        tuple(Case((shape, basic_region(shape, spec)), {"spec": spec}) for shape, spec in BASIC)
        + (
            Case(((3, 4), ()), {"spec": (1, ...)}),
            Case(((3, 4), (1, 1, 4)), {"spec": (slice(0, 2), ...)}),
            Case(((3, 4), (3, 1)), {"spec": (..., slice(1, None, 2))}),
        ),
        setitem_basic,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "getitem_advanced",
        tuple(Case((shape, list(indices)), {"spec": spec}) for shape, indices, spec in ADVANCED),
        getitem_advanced,
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "getitem_advanced_grad",
        tuple(
            Case((region_of(shape, indices, spec), list(indices)), {"spec": spec, "shape": shape})
            for shape, indices, spec in ADVANCED
        ),
        getitem_advanced_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "setitem_advanced",
        tuple(
            Case((shape, region_of(shape, indices, spec), list(indices)), {"spec": spec})
            for shape, indices, spec in ADVANCED
        )
        + tuple(
            Case((shape, region_of(shape, indices, spec), list(indices)), {"spec": spec, "accumulate": True})
            for shape, indices, spec in ADVANCED
        )
        + (
            Case(((3, 4), (), [ROWS_2]), {"spec": ((...,), (0,))}),
            Case(((3, 4), (1, 4, 1), [ROWS_2]), {"spec": ((...,), (0,))}),
            Case(((3, 4), (4,), [ROWS_2]), {"spec": ((...,), (0,)), "accumulate": True}),
        ),
        setitem_advanced,
        FLOATS + COMPLEX + INTS,
        grad_inputs=(0, 1),
        grad_dtypes=BOTH,
    ),
    Row(
        "setitem_advanced_grad",
        tuple(Case((shape, list(indices)), {"spec": spec}) for shape, indices, spec in ADVANCED),
        setitem_advanced_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
        exempt={"empty": "indices are checked where setitem is called, and emptied inputs do not fit them"},
    ),
)
