"""Rows of the Fourier transforms, against SciPy."""

from typing import Any

import numpy as np
import scipy.fft

from tests.op_table.row import COMPLEX, FLOATS, Case, Row

DIRECTIONS = tuple((norm, forward) for norm in ("backward", "ortho", "forward") for forward in (True, False))


def _c2c(x: Any, axes: Any, normalization: str, forward: bool) -> Any:
    function = scipy.fft.fftn if forward else scipy.fft.ifftn
    return function(x, axes=axes, norm=normalization)


def _r2c(x: Any, axes: Any, normalization: str, forward: bool, onesided: bool) -> Any:
    if not onesided:
        return _c2c(x, axes, normalization, forward)
    function = scipy.fft.rfftn if forward else scipy.fft.ihfftn
    return function(x, axes=axes, norm=normalization)


def _c2r(x: Any, axes: Any, normalization: str, forward: bool, last_dim_size: int = 0) -> Any:
    function = scipy.fft.hfftn if forward else scipy.fft.irfftn
    size = last_dim_size or 2 * (x.shape[axes[-1]] - 1)
    sizes = [x.shape[axis] for axis in axes[:-1]] + [size]
    return function(x, s=sizes, axes=axes, norm=normalization)


def _resize(x: Any, axes: Any, sizes: Any) -> Any:
    for axis, size in zip(axes, sizes):
        x = np.take(x, range(min(size, x.shape[axis])), axis=axis)
        padding = [(0, 0)] * x.ndim
        padding[axis] = (0, size - x.shape[axis])
        x = np.pad(x, padding)
    return x


def _scale_doubled(x: Any, axis: int, size: int, factor: float) -> Any:
    weight = np.full(x.shape[axis], factor)
    weight[0] = 1.0
    if size % 2 == 0:
        weight[-1] = 1.0
    return (np.moveaxis(x, axis, -1) * weight).swapaxes(axis, -1).astype(x.dtype)


def _cases(*calls: tuple[tuple[int, ...], dict[str, Any]]) -> tuple[Case, ...]:
    return tuple(
        Case((shape,), {**attrs, "normalization": norm, "forward": forward})
        for shape, attrs in calls
        for norm, forward in DIRECTIONS
    )


BOTH = ("float64", "complex128")

ROWS = (
    Row(
        "fft_c2c",
        _cases(((5,), {"axes": [0]}), ((2, 4), {"axes": [-1]}), ((3, 2, 4), {"axes": [2, 0]})),
        _c2c,
        COMPLEX,
        grad_dtypes=("complex128",),
    ),
    Row(
        "fft_r2c",
        _cases(
            ((5,), {"axes": [0], "onesided": True}),
            ((2, 4), {"axes": [-1], "onesided": True}),
            ((2, 4), {"axes": [1], "onesided": False}),
            ((1,), {"axes": [0], "onesided": True}),
            ((3, 2, 4), {"axes": [2, 0], "onesided": True}),
            ((2, 3), {"axes": [0, 1], "onesided": False}),
        ),
        _r2c,
        FLOATS,
        exempt={"infinite_gradient": "a transform multiplies by complex numbers, one part of which may be 0"},
    ),
    Row(
        "fft_c2r",
        _cases(
            ((4,), {"axes": [0]}),
            ((4,), {"axes": [-1], "last_dim_size": 7}),
            ((2, 3), {"axes": [0, 1], "last_dim_size": 4}),
            ((3, 2), {"axes": [1, 0], "last_dim_size": 5}),
            ((1,), {"axes": [0], "last_dim_size": 1}),
        ),
        _c2r,
        COMPLEX,
        grad_dtypes=("complex128",),
    ),
    Row(
        "fft_resize",
        (
            Case(((5,),), {"axes": [0], "sizes": [3]}),
            Case(((2, 3),), {"axes": [0, 1], "sizes": [4, 2]}),
            Case(((2, 3),), {"axes": [1], "sizes": [5]}),
        ),
        _resize,
        FLOATS + COMPLEX,
        grad_dtypes=BOTH,
    ),
    Row(
        "fft_scale_doubled",
        (
            Case(((3,),), {"axis": 0, "size": 4, "factor": 2.0}),
            Case(((2, 3),), {"axis": 1, "size": 5, "factor": 0.5}),
            Case(((3, 2),), {"axis": 0, "size": 4, "factor": 0.5}),
            Case(((1,),), {"axis": 0, "size": 1, "factor": 0.5}),
        ),
        _scale_doubled,
        COMPLEX,
        grad_dtypes=("complex128",),
    ),
)
