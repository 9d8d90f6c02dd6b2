"""Rows of the operations that take a part of a tensor, pad it, or turn it round."""

from typing import Any

import numpy as np

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ANY = FLOATS + HALVES + COMPLEX + INTS
BOTH = ("float64", "complex128")


def key_of(ndim: int, axes: Any, starts: Any, ends: Any, strides: Any) -> tuple[slice, ...]:
    key = [slice(None)] * ndim
    for axis, *bounds in zip(axes, starts, ends, strides):
        key[axis] = slice(*bounds)
    return tuple(key)


def strided_slice(x: np.ndarray, axes: Any, starts: Any, ends: Any, strides: Any) -> np.ndarray:
    return x[key_of(x.ndim, axes, starts, ends, strides)]


def slice_(input: np.ndarray, axes: Any, starts: Any, ends: Any) -> np.ndarray:
    return strided_slice(input, axes, starts, ends, [1] * len(axes))


def pairs(paddings: Any) -> list[tuple[int, int]]:
    return list(zip(paddings[::2], paddings[1::2]))


def pad(x: np.ndarray, paddings: Any, pad_value: Any = 0.0) -> np.ndarray:
    for axis, (before, after) in enumerate(pairs(paddings)):
        size = x.shape[axis]
        x = np.take(x, np.arange(max(-before, 0), size - max(-after, 0)), axis)
    width = [(max(b, 0), max(a, 0)) for b, a in pairs(paddings)]
    return np.pad(x, width, constant_values=np.asarray(pad_value).astype(x.dtype)) if width else x


def pad_mode(x: np.ndarray, paddings: Any, mode: str) -> np.ndarray:
    return np.pad(x, pairs(paddings), mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def transposed(function: Any, *arguments: Any, **attrs: Any) -> Any:
    """The transpose of a linear function of one array, built from the images of unit vectors."""

    def apply(grad: np.ndarray, shape: Any) -> np.ndarray:
        size = int(np.prod(shape))
        result = np.zeros(size, grad.dtype)
        for i in range(size):
            unit = np.zeros(size)
            unit[i] = 1
            result[i] = sifted(function(unit.reshape(shape), *arguments, **attrs).astype(grad.dtype), grad).sum()
        return result.reshape(shape)

    return apply


def pad_mode_grad(grad: np.ndarray, paddings: Any, mode: str, shape: Any) -> np.ndarray:
    return transposed(pad_mode, paddings, mode)(grad, shape)


def as_strided(input: np.ndarray, dims: Any, stride: Any, offset: int = 0) -> np.ndarray:
    flat = input.reshape(-1)
    result = np.zeros(dims, input.dtype)
    for place in np.ndindex(*dims):
        result[place] = flat[offset + sum(p * s for p, s in zip(place, stride))]
    return result


def as_strided_grad(grad: np.ndarray, dims: Any, stride: Any, offset: int, shape: Any) -> np.ndarray:
    return transposed(as_strided, dims, stride, offset)(grad, shape)


def diagonal_scatter(x: np.ndarray, y: np.ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> np.ndarray:
    out = x.copy()
    places = np.arange(x.size).reshape(x.shape).diagonal(offset, axis1, axis2)
    out.reshape(-1)[places] = y
    return out


def tensor_unfold(input: np.ndarray, axis: int, size: int, step: int) -> np.ndarray:
    if input.ndim == 0:
        return input.reshape(1)[:size]
    starts = range(0, input.shape[axis] - size + 1, step)
    axis = axis % input.ndim
    windows = [np.moveaxis(input.take(range(s, s + size), axis), axis, -1) for s in starts]
    return np.stack(windows, axis)


def tensor_unfold_grad(grad: np.ndarray, axis: int, size: int, step: int, shape: Any) -> np.ndarray:
    return transposed(tensor_unfold, axis, size, step)(grad, shape)


REFLECTED = {"paddings": (0, 0, 1, 2, 2, 1), "mode": "reflect"}

ROWS = (
    Row(
        "slice",
        (
            Case(((3, 4),), {"axes": (0, 1), "starts": (1, -3), "ends": (3, 100)}),
            Case(((3, 4),), {"axes": (-1,), "starts": (2,), "ends": (1,)}),
            Case(((3, 4),), {"axes": (1,), "starts": (-9,), "ends": (-1,)}),
            Case(((0, 4),), {"axes": (0,), "starts": (0,), "ends": (2,)}),
        ),
        slice_,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "strided_slice",
        (
            Case(((3, 6),), {"axes": (1,), "starts": (0,), "ends": (6,), "strides": (2,)}),
            Case(((3, 6),), {"axes": (0, 1), "starts": (-1, 5), "ends": (-10, 0), "strides": (-1, -2)}),
            Case(((3, 6),), {"axes": (1,), "starts": (4,), "ends": (2,), "strides": (1,)}),
            Case(((3, 6),), {"axes": (), "starts": (), "ends": (), "strides": ()}),
            Case(((0, 6),), {"axes": (1,), "starts": (5,), "ends": (0,), "strides": (-1,)}),
        ),
        strided_slice,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "flip",
        (
            Case(((2, 3),), {"axis": (0,)}),
            Case(((2, 3, 2),), {"axis": (-1, 0)}),
            Case(((2, 3),), {"axis": ()}),
            Case(((1,),), {"axis": (0,)}),
            Case(((),), {"axis": ()}),
            Case(((0, 3),), {"axis": (1,)}),
        ),
        np.flip,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "roll",
        (
            Case(((2, 3),), {"shifts": (1,)}),
            Case(((2, 3),), {"shifts": (1, -2), "axis": (0, 1)}),
            Case(((2, 3),), {"shifts": (1, 1), "axis": (1, 1)}),
            Case(((2, 3),), {"shifts": (-7,), "axis": (-1,)}),
            Case(((),), {"shifts": (1,)}),
            Case(((0, 3),), {"shifts": (2,), "axis": (0,)}),
        ),
        lambda x, shifts, axis=(): np.roll(x, shifts, axis) if axis else np.roll(x, shifts[0]),
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "pad",
        (
            Case(((2, 3),), {"paddings": (1, 0, 0, 2)}),
            Case(((2, 3),), {"paddings": (0, 1, -1, 2), "pad_value": 5.0}),
            Case(((2, 3),), {"paddings": (-1, 0, -1, -1)}),
            Case(((),), {"paddings": ()}),
            Case(((0, 2),), {"paddings": (1, 1, 0, 0), "pad_value": 1.0}),
        ),
        pad,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "pad_mode",
        (
            Case(((2, 3, 4),), REFLECTED),
            Case(((2, 3),), {"paddings": (2, 1, 0, 3), "mode": "replicate"}),
            Case(((2, 3),), {"paddings": (3, 5, 0, 1), "mode": "circular"}),
            Case(((2, 3),), {"paddings": (0, 0, 0, 0), "mode": "circular"}),
            Case(((0, 3),), {"paddings": (0, 0, 1, 1), "mode": "reflect"}),
        ),
        pad_mode,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "pad_mode_grad",
        (
            Case(((2, 6, 7),), REFLECTED | {"shape": (2, 3, 4)}),
            Case(((5, 6),), {"paddings": (2, 1, 0, 3), "mode": "replicate", "shape": (2, 3)}),
            Case(((10, 4),), {"paddings": (3, 5, 0, 1), "mode": "circular", "shape": (2, 3)}),
        ),
        pad_mode_grad,
        FLOATS + COMPLEX,
        grad_dtypes=BOTH,
    ),
    Row(
        "as_strided",
        (
            Case(((2, 6),), {"dims": (3, 2), "stride": (4, 1)}),
            Case(((6,),), {"dims": (4, 3), "stride": (1, 1)}),
            Case(((6,),), {"dims": (2, 2), "stride": (2, 0), "offset": 1}),
            Case(((6,),), {"dims": (), "stride": (), "offset": 5}),
            Case(((0,),), {"dims": (0, 3), "stride": (1, 1)}),
        ),
        as_strided,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "as_strided_grad",
        (
            Case(((4, 3),), {"dims": (4, 3), "stride": (1, 1), "offset": 0, "shape": (2, 3)}),
            Case(((2, 2),), {"dims": (2, 2), "stride": (2, 0), "offset": 1, "shape": (6,)}),
        ),
        as_strided_grad,
        FLOATS + COMPLEX,
        grad_dtypes=BOTH,
    ),
    Row(
        "diagonal",
        (
            Case(((3, 4),), {}),
            Case(((3, 4),), {"offset": 2}),
            Case(((2, 3, 4),), {"offset": -1, "axis1": 2, "axis2": 0}),
            Case(((3, 3),), {"offset": 7}),
            Case(((0, 3),), {}),
        ),
        np.diagonal,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "diagonal_scatter",
        (
            Case(((3, 4), (3,)), {}),
            Case(((3, 4), (2,)), {"offset": 2}),
            Case(((2, 3, 4), (3, 2)), {"offset": 0, "axis1": 2, "axis2": 0}),
            Case(((0, 3), (0,)), {}),
        ),
        diagonal_scatter,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "tensor_unfold",
        (
            Case(((6,),), {"axis": 0, "size": 3, "step": 2}),
            Case(((2, 4, 2),), {"axis": 1, "size": 2, "step": 1}),
            Case(((2, 4),), {"axis": -1, "size": 4, "step": 3}),
            Case(((),), {"axis": 0, "size": 1, "step": 1}),
            Case(((0, 4),), {"axis": 1, "size": 2, "step": 1}),
        ),
        tensor_unfold,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "tensor_unfold_grad",
        (
            Case(((2, 3),), {"axis": 0, "size": 3, "step": 2, "shape": (6,)}),
            Case(((2, 3, 2, 2),), {"axis": 1, "size": 2, "step": 1, "shape": (2, 4, 2)}),
        ),
        tensor_unfold_grad,
        (*FLOATS, *COMPLEX, "int64"),
        grad_dtypes=BOTH,
    ),
)
