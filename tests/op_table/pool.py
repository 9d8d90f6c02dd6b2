"""Rows of pooling."""

import itertools
from typing import Any

import numpy as np

from tests.op_table.references import sifted
from tests.op_table.row import FLOATS, Case, Row


def _windows(x: np.ndarray, kernel: Any, strides: Any, paddings: Any, ceil_mode: bool) -> Any:
    """(cell, window, flat places, size with padding) of each window: element by element, unlike the kernels."""
    count = len(kernel)
    spatial = x.shape[-count:]
    out = []
    for i in range(count):
        span = spatial[i] + paddings[2 * i] + paddings[2 * i + 1] - kernel[i]
        out.append((-(-span // strides[i]) if ceil_mode else span // strides[i]) + 1)
    places = np.arange(int(np.prod(spatial))).reshape(spatial)
    for cell in itertools.product(*(range(n) for n in out)):
        slices, full = [], 1
        for i, c in enumerate(cell):
            start = c * strides[i] - paddings[2 * i]
            end = min(start + kernel[i], spatial[i] + paddings[2 * i + 1])
            full *= end - start
            slices.append(slice(max(start, 0), min(end, spatial[i])))
        yield tuple(out), cell, x[(..., *slices)], places[tuple(slices)], full


def max_pool(x: np.ndarray, kernel_size: Any, strides: Any, paddings: Any, ceil_mode: bool) -> Any:
    result = index = None
    for out, cell, window, places, _ in _windows(x, kernel_size, strides, paddings, ceil_mode):
        lead = x.shape[: x.ndim - len(out)]
        if result is None:
            result, index = np.empty(lead + out, x.dtype), np.empty(lead + out, np.int32)
        flat = window.reshape(*lead, places.size)
        result[(..., *cell)] = flat.max(-1)
        index[(..., *cell)] = places.reshape(-1)[flat.argmax(-1)]
    return result, index


def avg_pool(x: np.ndarray, kernel_size: Any, strides: Any, paddings: Any, ceil_mode: bool, exclusive: bool) -> Any:
    result = None
    for out, cell, window, _, full in _windows(x, kernel_size, strides, paddings, ceil_mode):
        lead = x.shape[: x.ndim - len(out)]
        if result is None:
            result = np.empty(lead + out, x.dtype)
        total = window.sum(axis=tuple(range(len(lead), window.ndim)))
        result[(..., *cell)] = total / max(np.prod(window.shape[len(lead) :]) if exclusive else full, 1)
    return result


def avg_pool_backward(out_grad: np.ndarray, spatial_size: Any, **attrs: Any) -> np.ndarray:
    """The transpose of the linear map avg_pool, column by column."""
    lead = out_grad.shape[: out_grad.ndim - len(spatial_size)]
    total = np.zeros((*lead, int(np.prod(spatial_size))), out_grad.dtype)
    for place in range(total.shape[-1]):
        unit = np.zeros(int(np.prod(spatial_size)))
        unit[place] = 1
        column = avg_pool(unit.reshape(spatial_size), **attrs)
        total[..., place] = sifted(column.astype(out_grad.dtype), out_grad).reshape(*lead, -1).sum(-1)
    return total.reshape(*lead, *spatial_size)


def adaptive_max_pool(x: np.ndarray, output_size: Any) -> Any:
    count = len(output_size)
    lead, spatial = x.shape[:-count], x.shape[-count:]
    result, index = np.empty(lead + tuple(output_size), x.dtype), np.empty(lead + tuple(output_size), np.int32)
    places = np.arange(int(np.prod(spatial))).reshape(spatial)
    for cell in np.ndindex(*output_size):
        cut = tuple(
            slice(int(np.floor(c * s / n)), int(np.ceil((c + 1) * s / n)))
            for c, s, n in zip(cell, spatial, output_size)
        )
        flat = x[(..., *cut)].reshape(*lead, -1)
        result[(..., *cell)] = flat.max(-1)
        index[(..., *cell)] = places[cut].reshape(-1)[flat.argmax(-1)]
    return result, index


def scatter(value: np.ndarray, index: np.ndarray, spatial_size: Any, overlapping: bool) -> np.ndarray:
    lead = value.shape[: value.ndim - len(spatial_size)]
    out = np.zeros((int(np.prod(lead)), int(np.prod(spatial_size))), value.dtype)
    rows = np.arange(out.shape[0])[:, None]
    np.add.at(out, (rows, index.reshape(out.shape[0], -1)), value.reshape(out.shape[0], -1))
    return out.reshape(*lead, *spatial_size)


def gather(x: np.ndarray, index: np.ndarray, spatial_axes: int) -> np.ndarray:
    lead = x.shape[: x.ndim - spatial_axes]
    flat = np.take_along_axis(x.reshape(*lead, -1), index.reshape(*lead, -1), -1)
    return flat.reshape(index.shape)


def _pool(kernel: Any, strides: Any, paddings: Any, ceil_mode: bool = False) -> dict[str, Any]:
    return {"kernel_size": kernel, "strides": strides, "paddings": paddings, "ceil_mode": ceil_mode}


_CASES = (
    Case(((2, 3, 6, 4),), _pool((2, 2), (2, 2), (0, 0, 0, 0))),
    Case(((1, 2, 5, 6),), _pool((3, 2), (2, 1), (1, 0, 1, 1), True)),
    Case(((2, 7),), _pool((3,), (1,), (1, 1))),
    Case(((1, 1, 3, 4, 3),), _pool((2, 2, 2), (1, 2, 1), (0, 0, 0, 0, 0, 0))),
    Case(((0, 2, 4, 4),), _pool((2, 2), (2, 2), (0, 0, 0, 0))),
)
_INDEX = np.array([[[[0, 5], [5, 11]]], [[[3, 3], [7, 2]]]], np.int32)
_APART = np.array([[[[0, 5], [6, 11]]], [[[3, 4], [7, 2]]]], np.int32)


def _exclusive(case: Case, exclusive: bool) -> Case:
    return Case(case.inputs, {**case.attrs, "exclusive": exclusive})


_AVERAGES = tuple(_exclusive(c, e) for c in _CASES for e in (True, False))


def max_pool_grad(x: np.ndarray, out: np.ndarray, out_grad: np.ndarray, **attrs: Any) -> np.ndarray:
    """Each gradient at the first maximum of its window."""
    index = max_pool(x, **attrs)[1]
    return scatter(out_grad, index, x.shape[-len(attrs["kernel_size"]) :], True)


def _with_output(case: Case) -> Case:
    x = np.random.default_rng(7).permutation(int(np.prod(case.inputs[0]))).reshape(case.inputs[0]) * 0.25
    out = max_pool(x, **case.attrs)[0]
    return Case((x, out, out.shape), case.attrs)


ROWS = (
    Row(
        "max_pool",
        _CASES,
        lambda x, **attrs: max_pool(x, **attrs)[0],
        (*FLOATS, "int32", "float16", "bfloat16"),
        distinct=True,
    ),
    Row(
        "max_pool_grad",
        tuple(_with_output(c) for c in _CASES[:4]),
        max_pool_grad,
        ("float64",),
        order=0,
        reason="a fused kernel for passes that are not recorded; under create_graph the rule gathers by index",
    ),
    Row("max_pool_with_index", _CASES, max_pool, (*FLOATS, "int32", "float16", "bfloat16"), distinct=True),
    Row(
        "adaptive_max_pool_with_index",
        (Case(((2, 3, 5, 7),), {"output_size": (2, 3)}), Case(((2, 5),), {"output_size": (3,)})),
        adaptive_max_pool,
        distinct=True,
    ),
    Row(
        "max_pool_scatter",
        (
            Case(((2, 1, 2, 2), _INDEX), {"spatial_size": (3, 4), "overlapping": True}),
            Case(((2, 1, 2, 2), _APART), {"spatial_size": (3, 4), "overlapping": False}),
        ),
        scatter,
    ),
    Row("max_pool_gather", (Case(((2, 1, 3, 4), _INDEX), {"spatial_axes": 2}),), gather),
    Row("avg_pool", _AVERAGES, avg_pool, (*FLOATS, "float16")),
    Row(
        "avg_pool_backward",
        (
            Case(((2, 3, 3, 2),), {"spatial_size": (6, 4), **_AVERAGES[0].attrs}),
            Case(((1, 2, 3, 7),), {"spatial_size": (5, 6), **_AVERAGES[3].attrs}),
        ),
        avg_pool_backward,
        exempt={"empty": "an attribute tells a shape, which emptied inputs do not fit"},
    ),
)
