"""Rows of the operations that change a shape and keep the elements."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ANY = FLOATS + HALVES + COMPLEX + INTS
BOTH = ("float64", "complex128")


def reshape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    filled = [x.shape[i] if dim == 0 and x.size else dim for i, dim in enumerate(shape)]
    return np.ravel(x).reshape(filled)


def expand(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    lead = len(shape) - x.ndim
    return np.zeros([x.shape[i - lead] if dim == -1 else dim for i, dim in enumerate(shape)], x.dtype) + x


def squeeze(x: np.ndarray, axis: tuple[int, ...] = ()) -> np.ndarray:
    named = range(x.ndim) if axis == () else {a % max(x.ndim, 1) for a in axis}
    return x.reshape([dim for i, dim in enumerate(x.shape) if dim != 1 or i not in named])


def unsqueeze(x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    for a in axis:
        x = np.expand_dims(x, a)
    return x


def flatten(x: np.ndarray, start_axis: int = 0, stop_axis: int = -1) -> np.ndarray:
    if x.ndim == 0:
        return x.reshape(1)
    start, stop = start_axis % x.ndim, stop_axis % x.ndim
    return x.reshape(x.shape[:start] + (int(np.prod(x.shape[start : stop + 1])),) + x.shape[stop + 1 :])


def stack(x: list[np.ndarray], axis: int = 0) -> np.ndarray:
    return np.stack(x, axis)


def split(x: np.ndarray, sections: tuple[int, ...], axis: int = 0) -> list[np.ndarray]:
    sizes = [x.shape[axis] - sum(s for s in sections if s >= 0) if s == -1 else s for s in sections]
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def unbind(input: np.ndarray, axis: int = 0) -> list[np.ndarray]:
    return [input.take(i, axis) for i in range(input.shape[axis])]


def view_dtype(x: np.ndarray, dtype: Any) -> np.ndarray:
    name = str(getattr(dtype, "name", dtype))
    last = x.shape[-1] * x.itemsize // np.dtype(name).itemsize
    return np.frombuffer(x.tobytes(), name).reshape(x.shape[:-1] + (last,))


def transpose(x: np.ndarray, perm: tuple[int, ...]) -> np.ndarray:
    # np.transpose calls its argument axes.
    return np.transpose(x, perm)


def tile(x: np.ndarray, repeat_times: tuple[int, ...]) -> np.ndarray:
    return np.tile(x, repeat_times)


def repeat_interleave(x: np.ndarray, repeats: int, axis: int) -> np.ndarray:
    return np.repeat(x, repeats, axis)


ROWS = (
    Row(
        "reshape",
        (
            Case(((2, 3),), {"shape": (3, 2)}),
            Case(((2, 3, 4),), {"shape": (0, -1)}),
            Case(((2, 3, 4),), {"shape": (-1, 0, 2)}),
            Case(((),), {"shape": (1, 1)}),
            Case(((1, 1),), {"shape": ()}),
            Case(((0, 3),), {"shape": (3, 0)}),
        ),
        reshape,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "expand",
        (
            Case(((3,),), {"shape": (2, 3)}),
            Case(((2, 1, 3),), {"shape": (4, -1, 5, 3)}),
            Case(((1, 3),), {"shape": (0, 3)}),
            Case(((),), {"shape": (2, 2)}),
            Case(((),), {"shape": ()}),
            Case(((0, 1),), {"shape": (-1, 4)}),
        ),
        expand,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "squeeze",
        (
            Case(((1, 3, 1),), {}),
            Case(((1, 3, 1),), {"axis": (0,)}),
            Case(((1, 3, 1),), {"axis": (0, 1, -1)}),
            Case(((1, 0),), {"axis": (0,)}),
            Case(((),), {}),
            Case(((),), {"axis": (0,)}),
        ),
        squeeze,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "unsqueeze",
        (
            Case(((2, 3),), {"axis": (1,)}),
            Case(((2, 3),), {"axis": (2, 0)}),
            Case(((2, 3),), {"axis": (0, -1)}),
            Case(((),), {"axis": (0, 1)}),
            Case(((0,),), {"axis": (-2,)}),
        ),
        unsqueeze,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "transpose",
        (
            Case(((2, 3),), {"perm": (1, 0)}),
            Case(((2, 3, 4),), {"perm": (2, 0, 1)}),
            Case(((2, 3, 4),), {"perm": (-1, 0, -2)}),
            Case(((),), {"perm": ()}),
            Case(((0, 3),), {"perm": (1, 0)}),
        ),
        transpose,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "flatten",
        (
            Case(((2, 3, 4),), {}),
            Case(((2, 3, 4),), {"start_axis": 1}),
            Case(((2, 3, 4),), {"start_axis": -3, "stop_axis": -2}),
            Case(((),), {}),
            Case(((2, 0, 4),), {"start_axis": 1}),
        ),
        flatten,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "view_dtype",
        (
            Case(((2, 4),), {"dtype": "uint8"}),
            Case((np.arange(8, dtype=np.float32).reshape(2, 4),), {"dtype": "float64"}),
            Case((np.arange(8, dtype=np.int32).reshape(4, 2)[::2],), {"dtype": "float32"}),
            Case((np.zeros((0, 4), np.int16),), {"dtype": "int64"}),
        ),
        view_dtype,
        FLOATS,
        order=0,
        reason="the bytes are read anew: there is no derivative",
        exempt={
            "float32": "it reads the same bits as another dtype",
            "halves": "it reads the same bits as another dtype",
            "complex64": "it reads the same bits as another dtype",
        },
    ),
    Row(
        "concat",
        (
            Case(([(2, 3), (1, 3)],), {"axis": 0}),
            Case(([(2, 3), (2, 1), (2, 2)],), {"axis": -1}),
            Case(([(0, 2), (3, 2)],), {}),
            Case(([(2,)],), {}),
            Case(([(0,), (0,)],), {}),
        ),
        lambda x, axis=0: np.concatenate(x, axis),
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "stack",
        (
            Case(([(2, 3), (2, 3)],), {"axis": 1}),
            Case(([(2, 3), (2, 3), (2, 3)],), {"axis": -1}),
            Case(([(), ()],), {}),
            Case(([(0, 2), (0, 2)],), {}),
        ),
        stack,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "split",
        (
            Case(((6,),), {"sections": (1, 2, 3)}),
            Case(((2, 5),), {"sections": (1, -1), "axis": -1}),
            Case(((2, 5),), {"sections": (0, 5), "axis": 1}),
            Case(((0, 2),), {"sections": (0, 0)}),
        ),
        split,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "split_with_num",
        (
            Case(((6,),), {"num": 3}),
            Case(((2, 4),), {"num": 2, "axis": -1}),
            Case(((2, 0),), {"num": 2, "axis": 1}),
        ),
        lambda x, num, axis=0: np.split(x, num, axis),
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "unbind",
        (Case(((2, 3),), {}), Case(((2, 3),), {"axis": -1}), Case(((3,),), {}), Case(((2, 0),), {})),
        unbind,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "tile",
        (
            Case(((2, 3),), {"repeat_times": (2,)}),
            Case(((2, 3),), {"repeat_times": (2, 1, 3)}),
            Case(((2, 3),), {"repeat_times": ()}),
            Case(((),), {"repeat_times": (2, 2)}),
            Case(((2, 3),), {"repeat_times": (0, 2)}),
            Case(((0, 3),), {"repeat_times": (2, 2)}),
        ),
        tile,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "repeat_interleave",
        (
            Case(((2, 3),), {"repeats": 2, "axis": 0}),
            Case(((2, 3),), {"repeats": 3, "axis": -1}),
            Case(((2, 3),), {"repeats": 0, "axis": 1}),
            Case(((0, 3),), {"repeats": 2, "axis": 0}),
        ),
        repeat_interleave,
        ANY,
        grad_dtypes=BOTH,
    ),
    Row(
        "repeat_index",
        (Case((np.array([2, 0, 3]),)), Case((np.zeros(0, np.int64),)), Case((np.array([1, 1], np.int32),))),
        lambda repeats: np.repeat(np.arange(len(repeats)), repeats).astype(repeats.dtype),
        order=0,
        reason="integers in, integers out",
    ),
)
