"""Rows of gather, scatter and their kin."""

from typing import Any

import numpy as np

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ANY = FLOATS + HALVES + COMPLEX + INTS
BOTH = ("float64", "complex128")

REPEATED = np.array([2, 0, 2, -1])
EMPTY = np.zeros(0, np.int64)


def gather(x: np.ndarray, index: np.ndarray, axis: int = 0) -> np.ndarray:
    return np.take(x, index.ravel() if index.ndim else index, axis)


def gather_grad(grad: np.ndarray, index: np.ndarray, axis: int, shape: Any) -> np.ndarray:
    out = np.zeros(shape, grad.dtype)
    moved, parts = np.moveaxis(out, axis, 0), np.moveaxis(grad, axis, 0) if index.ndim else grad[None]
    for place, part in zip(index.ravel(), parts):
        moved[place] += part
    return out


def index_add(x: np.ndarray, index: np.ndarray, add_value: np.ndarray, axis: int = 0) -> np.ndarray:
    out = x.copy()
    moved, parts = np.moveaxis(out, axis, 0), np.moveaxis(add_value, axis, 0)
    for place, part in zip(index.ravel(), parts):
        moved[place] += part
    return out


def gather_nd(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    out = np.zeros(index.shape[:-1] + x.shape[index.shape[-1] :], x.dtype)
    for place in np.ndindex(*index.shape[:-1]):
        out[place] = x[tuple(index[place])]
    return out


def scatter_nd_add(x: np.ndarray, index: np.ndarray, updates: np.ndarray) -> np.ndarray:
    out = x.copy()
    for place in np.ndindex(*index.shape[:-1]):
        out[tuple(index[place])] += updates[place]
    return out


def scatter(x: np.ndarray, index: np.ndarray, updates: np.ndarray, overwrite: bool = True) -> np.ndarray:
    out = x.copy()
    rows = updates.reshape((1,) + x.shape[1:]) if index.ndim == 0 else updates
    if not overwrite:
        out[index] = 0
    for place, row in zip(index.ravel(), rows):
        out[place] = row if overwrite else out[place] + row
    return out


def scatter_grad(grad: np.ndarray, index: np.ndarray, shape: Any) -> np.ndarray:
    out = np.zeros(shape, grad.dtype)
    rows = out.reshape((-1,) + grad.shape[1:]) if index.ndim == 0 else out
    flat = [int(i) % grad.shape[0] for i in index.ravel()]
    for i, place in enumerate(flat):
        if place not in flat[i + 1 :]:
            rows[i] = grad[place]
    return out


def take(x: np.ndarray, index: np.ndarray, mode: str = "raise") -> np.ndarray:
    return np.take(x, index, mode=mode)


def take_grad(grad: np.ndarray, index: np.ndarray, mode: str, shape: Any) -> np.ndarray:
    size = int(np.prod(shape))
    out = np.zeros(size, grad.dtype)
    for place, value in zip(np.arange(size).take(index, mode=mode).ravel(), grad.ravel()):
        out[place] += value
    return out.reshape(shape)


def places_along(indices: np.ndarray, axis: int) -> list[tuple[int, ...]]:
    """For each index in C order, the place that it names."""
    found = []
    for place in np.ndindex(*indices.shape):
        named = list(place)
        named[axis] = int(indices[place])
        found.append(tuple(named))
    return found


def take_along_axis(arr: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    return np.array([arr[p] for p in places_along(indices, axis)], arr.dtype).reshape(indices.shape)


def put_along_axis(
    arr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
) -> np.ndarray:
    values = values[tuple(slice(0, dim) for dim in indices.shape)]
    groups: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(places_along(indices % arr.shape[axis], axis), values.ravel()):
        groups.setdefault(place, []).append(value)
    out = arr.copy()
    for place, group in groups.items():
        if include_self and reduce != "assign":
            group = [arr[place], *group]
        if reduce == "assign":
            out[place] = group[-1]
        elif reduce == "mean":
            out[place] = sum(group) // len(group) if arr.dtype.kind in "iu" else sum(group) / len(group)
        else:
            name = {"add": "sum", "mul": "prod", "multiply": "prod", "amax": "max", "amin": "min"}[reduce]
            out[place] = getattr(np.array(group), name)()
    return out


def put_along_axis_grad(grad: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    named = places_along(indices % grad.shape[axis], axis)
    kept = [place not in named[i + 1 :] for i, place in enumerate(named)]
    return sifted(np.reshape(kept, indices.shape).astype(grad.dtype), take_along_axis(grad, indices, axis))


def put_along_axis_order(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> tuple[np.ndarray, ...]:
    places = places_along(indices % shape[axis], axis)
    order = sorted(range(len(places)), key=places.__getitem__)
    first = [k == 0 or places[order[k]] != places[order[k - 1]] for k in range(len(order))]
    return np.array(order, np.int64), np.argsort(np.array(order, np.int64)), np.array(first, np.bool_)


def put_along_axis_count(arr: np.ndarray, indices: np.ndarray, axis: int, include_self: bool) -> np.ndarray:
    count = np.zeros(arr.shape, arr.dtype)
    for place in places_along(indices, axis):
        count[place] += 1
    return count + 1 if include_self else np.maximum(count, 1)


GATHERS = (
    Case(((3, 2), REPEATED), {}),
    Case(((2, 3, 2), REPEATED), {"axis": 1}),
    Case(((2, 3), REPEATED.reshape(4, 1)), {"axis": -1}),
    Case(((3, 2), EMPTY), {}),
    Case(((0, 3), REPEATED.astype(np.int32)), {"axis": 1}),
)
COLUMN = np.array([[0, 0, 2, 1], [1, 1, 1, -1]])


def puts(reduce: str) -> tuple[Case, ...]:
    cases = []
    for include_self in (True, False):
        attrs = {"axis": 1, "reduce": reduce, "include_self": include_self}
        cases.append(Case(((2, 3), COLUMN, (2, 4)), attrs))
    # Indices smaller than arr, values larger than indices; nothing to put.
    cases.append(Case(((3, 2, 2), COLUMN[:, :2, None] % 3, (3, 2, 1)), {"axis": 0, "reduce": reduce}))
    cases.append(Case(((2, 3), np.zeros((2, 0), np.int64), (2, 0)), {"axis": -1, "reduce": reduce}))
    return tuple(cases)


ROWS = (
    Row(
        "gather",
        GATHERS + (Case(((3, 2), np.array(1)), {}), Case(((2, 3), np.array(-1)), {"axis": 1})),
        gather,
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "gather_grad",
        (
            Case(((4, 2), REPEATED), {"axis": 0, "shape": (3, 2)}),
            Case(((2, 4, 2), REPEATED), {"axis": -2, "shape": (2, 3, 2)}),
            Case(((2,), np.array(1)), {"axis": 0, "shape": (3, 2)}),
            Case(((0, 2), EMPTY), {"axis": 0, "shape": (3, 2)}),
        ),
        gather_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row("index_select", GATHERS, gather, ANY, grad_inputs=(0,), grad_dtypes=BOTH),
    Row(
        "index_add",
        (
            Case(((3, 2), REPEATED, (4, 2)), {}),
            Case(((2, 3, 2), REPEATED, (2, 4, 2)), {"axis": 1}),
            Case(((2, 3), REPEATED, (2, 5)), {"axis": -1}),
            Case(((3, 2), EMPTY, (0, 2)), {}),
        ),
        index_add,
        FLOATS + COMPLEX + INTS,
        grad_inputs=(0, 2),
        grad_dtypes=BOTH,
    ),
    Row(
        "gather_nd",
        (
            Case(((3, 2), np.array([[0, 1], [2, -1], [0, 1]])), {}),
            Case(((3, 2), np.array([[2], [0], [2]])), {}),
            Case(((3, 2), np.array([1, 1])), {}),
            Case(((3, 2, 2), np.array([[[0, 1]], [[2, 0]]])), {}),
            Case(((3, 2), np.zeros((2, 0), np.int64)), {}),
            Case(((), np.zeros((2, 0), np.int64)), {}),
            Case(((3, 2), np.zeros((0, 2), np.int64)), {}),
        ),
        gather_nd,
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "scatter_nd_add",
        (
            Case(((3, 2), np.array([[0, 1], [2, -1], [0, 1]]), (3,)), {}),
            Case(((3, 2), np.array([[2], [0], [2]]), (3, 2)), {}),
            Case(((3, 2), np.array([1, 1]), ()), {}),
            Case(((3,), np.zeros((2, 0), np.int64), (2, 3)), {}),
            Case(((3, 2), np.zeros((0, 1), np.int64), (0, 2)), {}),
        ),
        scatter_nd_add,
        FLOATS + COMPLEX + INTS,
        grad_inputs=(0, 2),
        grad_dtypes=BOTH,
    ),
    Row(
        "scatter",
        (
            Case(((3, 2), REPEATED, (4, 2)), {}),
            Case(((3, 2), REPEATED, (4, 2)), {"overwrite": False}),
            Case(((3, 2), REPEATED, (5, 2)), {}),
            Case(((3, 2), REPEATED, (5, 2)), {"overwrite": False}),
            Case(((3,), np.array([[1], [0]]), (2,)), {}),
            Case(((3, 2), np.array(1), (2,)), {}),
            Case(((3, 2), np.array(1), (1, 2)), {"overwrite": False}),
            Case(((3, 2), EMPTY, (0, 2)), {}),
        ),
        scatter,
        FLOATS + COMPLEX + INTS,
        grad_inputs=(0, 2),
        grad_dtypes=BOTH,
    ),
    Row(
        "scatter_grad",
        (
            Case(((3, 2), REPEATED), {"shape": (4, 2)}),
            Case(((3, 2), REPEATED), {"shape": (5, 2)}),
            Case(((3, 2), np.array(1)), {"shape": (2,)}),
        ),
        scatter_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "index_sample",
        (Case(((2, 3), np.array([[0, 0], [2, 1]])), {}), Case(((2, 3), np.zeros((2, 0), np.int64)), {})),
        lambda x, index: take_along_axis(x, index, 1),
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "take",
        (
            Case(((2, 3), np.array([0, 5, -1, 5])), {}),
            Case(((2, 3), np.array([[-7, 8]])), {"mode": "wrap"}),
            Case(((2, 3), np.array([[-7, 8]])), {"mode": "clip"}),
            Case(((), np.array(0)), {}),
            Case(((0, 2), EMPTY), {}),
        ),
        take,
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "take_grad",
        (
            Case(((4,), np.array([0, 5, -1, 5])), {"mode": "raise", "shape": (2, 3)}),
            Case(((1, 2), np.array([[-7, 8]])), {"mode": "wrap", "shape": (2, 3)}),
        ),
        take_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "take_along_axis",
        (
            Case(((2, 3), COLUMN), {"axis": 1}),
            Case(((3, 2, 2), COLUMN[:, :2, None]), {"axis": 0}),
            Case(((2, 3), np.zeros((2, 0), np.int64)), {"axis": -1}),
            Case(((3,), np.array([1, 1])), {"axis": 0}),
        ),
        take_along_axis,
        ANY,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "put_along_axis",
        puts("assign") + puts("add") + puts("mean"),
        put_along_axis,
        FLOATS + COMPLEX + ("int32", "int64"),
        grad_inputs=(0, 2),
        grad_dtypes=BOTH,
    ),
    Row(
        "put_along_axis",
        puts("mul") + puts("multiply"),
        put_along_axis,
        FLOATS + COMPLEX,
        grad_inputs=(0, 2),
        grad_dtypes=BOTH,
    ),
    Row(
        "put_along_axis",
        puts("amax") + puts("amin"),
        put_along_axis,
        FLOATS + INTS,
        grad_inputs=(0, 2),
        distinct=True,
    ),
    Row(
        "put_along_axis_count",
        (
            Case(((2, 3), COLUMN), {"axis": 1, "include_self": True}),
            Case(((2, 3), COLUMN), {"axis": -1, "include_self": False}),
        ),
        put_along_axis_count,
        order=0,
        reason="counts do not depend on the elements",
    ),
    Row(
        "put_along_axis_order",
        tuple(Case((COLUMN[:, :n],), {"shape": (2, 3), "axis": 1}) for n in (4, 1, 0)),
        put_along_axis_order,
        order=0,
    ),
    Row(
        "put_along_axis_grad",
        (Case(((2, 3), COLUMN), {"axis": 1}), Case(((3, 2, 2), COLUMN[:, :2, None]), {"axis": 0})),
        put_along_axis_grad,
        FLOATS + COMPLEX,
        grad_inputs=(0,),
        grad_dtypes=BOTH,
    ),
)
