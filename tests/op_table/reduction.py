"""Rows of the reductions."""

from typing import Any

import numpy as np
from scipy import special

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

# axis forms that every reduction over several axes takes.
AXES = (
    Case(((2, 3),)),
    Case(((2, 3, 4),), {"axis": (1,)}),
    Case(((2, 3, 4),), {"axis": (0, -1), "keepdim": True}),
    Case(((2, 3),), {"keepdim": True}),
    Case(((),)),
    Case(((),), {"axis": (-1,), "keepdim": True}),
    Case(((5,),), {"axis": (0,)}),
)
EMPTY = (
    Case(((0, 3),), {"axis": (0,)}),
    Case(((0, 3),), {"axis": (1,)}),
    Case(((0,),)),
)


def over(function: Any) -> Any:
    """A NumPy reduction called the way entries are: () means all axes, and a 0-D input has none."""

    def reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False, **attrs: Any) -> Any:
        return function(x, axis=axis if axis and x.ndim else None, keepdims=keepdim, **attrs)

    return reference


def sum_reference(x: np.ndarray, axis: tuple[int, ...] = (), dtype: Any = None, keepdim: bool = False) -> Any:
    if dtype and x.dtype.kind == "c" and np.dtype(dtype).kind in "fiu":
        x = x.real
    result = np.sum(x.astype(dtype) if dtype else x, axis=axis if axis and x.ndim else None, keepdims=keepdim)
    return result.astype(dtype) if dtype else result if x.dtype in ("int32", "bool") else result.astype(x.dtype)


def mean_reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False) -> Any:
    return np.mean(x, axis=axis if axis and x.ndim else None, keepdims=keepdim).astype(x.dtype)


ZEROS = Case((np.array([[2.0, 0.0, 3.0, 0.0], [0.0, 1.0, 2.0, -1.0], [1.0, 2.0, -1.0, 3.0]]),), {"axis": (1,)})
ZERO_FACTORS = Case(ZEROS.inputs, {"axis": 1})
CUMULATIVE = (
    Case(((5,),), {"axis": 0}),
    Case(((2, 3),), {"axis": -1}),
    Case(((2, 3, 2),), {"axis": 1}),
    Case(((),), {"axis": 0}),
    Case(((0, 3),), {"axis": 1}),
)
NORMS = tuple(
    Case(shape, {"porder": p, "axis": axis, "keepdim": keepdim})
    for p in (1.0, 2.0, 3.0, float("inf"))
    for shape, axis, keepdim in ((((2, 3),), (), False), (((2, 3, 2),), (1,), True), (((4,),), (0,), False))
)


def prod_reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False) -> Any:
    dtype = np.int64 if x.dtype == np.int32 else x.dtype
    return np.prod(x, axis=axis if axis and x.ndim else None, keepdims=keepdim, dtype=dtype)


def logsumexp_reference(x: np.ndarray, axis: tuple[int, ...] = (), keepdim: bool = False) -> Any:
    total = special.logsumexp(x.astype(np.float64), axis=axis if axis and x.ndim else None, keepdims=keepdim)
    # SciPy leaves out the axis that keepdims asks of a 0-D array.
    return np.asarray(total).astype(x.dtype).reshape(np.sum(x, axis or None, keepdims=keepdim).shape if x.ndim else ())


def norm_reference(x: np.ndarray, porder: float, axis: tuple[int, ...], keepdim: bool) -> Any:
    flat = axis if axis else None
    if porder == float("inf"):
        return np.max(np.abs(x), axis=flat, keepdims=keepdim)
    return np.sum(np.abs(x) ** porder, axis=flat, keepdims=keepdim) ** (1 / porder)


def cumsum_reference(x: np.ndarray, axis: int, reverse: bool = False) -> Any:
    if x.ndim == 0:
        return x.astype(np.int64) if x.dtype == np.int32 else x
    dtype = np.int64 if x.dtype == np.int32 else x.dtype
    return np.cumsum(x[:, ::-1], axis, dtype)[:, ::-1] if reverse else np.cumsum(x, axis, dtype)


def cumprod_reference(x: np.ndarray, axis: Any) -> Any:
    return x if x.ndim == 0 else np.cumprod(x, axis)


def logcumsumexp_reference(x: np.ndarray, axis: int) -> Any:
    if x.ndim == 0 or not x.size:
        return x
    heads = [special.logsumexp(x.take(range(i + 1), axis), axis) for i in range(x.shape[axis])]
    return np.stack(heads, axis)


def scan_reference(a: np.ndarray, b: np.ndarray, reverse: bool) -> Any:
    out = np.array(b)
    length = b.shape[-1]
    for i in range(length - 2, -1, -1) if reverse else range(1, length):
        other = i + 1 if reverse else i - 1
        out[..., i] += sifted(a[..., other if reverse else i], out[..., other])
    return out


def shift_reference(x: np.ndarray, offset: int, fill: float) -> Any:
    out = np.full_like(x, fill)
    for i in range(x.shape[-1]):
        if 0 <= i - offset < x.shape[-1]:
            out[..., i] = x[..., i - offset]
    return out


ROWS = (
    Row(
        "sum",
        (*AXES, *EMPTY, Case(((2, 3),), {"axis": (0,), "dtype": "float64"})),
        sum_reference,
        FLOATS + HALVES + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
    ),
    Row("mean", (*AXES, *EMPTY), mean_reference, FLOATS + HALVES + COMPLEX, grad_dtypes=("float64", "complex128")),
    Row("mean", AXES, mean_reference, INTS, order=0, reason="integers have no gradient"),
    Row(
        "max",
        AXES,
        over(np.max),
        (*FLOATS, *HALVES, "int32", "int64", "uint8"),
        distinct=True,
    ),
    Row(
        "min",
        AXES,
        over(np.min),
        (*FLOATS, *HALVES, "int32", "int64", "uint8"),
        distinct=True,
    ),
    Row("prod", (*AXES, *EMPTY, ZEROS), prod_reference, FLOATS + COMPLEX + INTS, grad_dtypes=("float64", "complex128")),
    Row("any", (*AXES, *EMPTY), over(np.any), (*FLOATS, "int64"), order=0, reason="the result is bool"),
    Row("all", (*AXES, *EMPTY), over(np.all), (*FLOATS, "int64"), order=0, reason="the result is bool"),
    Row(
        "logsumexp",
        AXES,
        logsumexp_reference,
        FLOATS + HALVES,
        exempt={"limits": "where all elements are -inf no element counts, and the gradient is 0"},
    ),
    Row(
        "p_norm",
        NORMS,
        norm_reference,
        FLOATS,
        grad_dtypes=("float64", "complex128"),
        distinct=True,
        kinks=(0.0,),
        exempt={"limits": "the direction of a vector of infinite length is inf / inf"},
    ),
    Row(
        "cumsum",
        (*CUMULATIVE, Case(((2, 3),), {"axis": 1, "reverse": True})),
        cumsum_reference,
        FLOATS + COMPLEX + INTS,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "cumprod",
        (*CUMULATIVE, ZERO_FACTORS),
        cumprod_reference,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "logcumsumexp",
        CUMULATIVE,
        logcumsumexp_reference,
        exempt={"limits": "where all elements are -inf no element counts, and the gradient is 0"},
    ),
    Row(
        "linear_scan",
        tuple(Case((s, s), {"reverse": r}) for s in ((5,), (2, 7), (0, 3), (1,)) for r in (False, True)),
        scan_reference,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
        exempt={"special": "products are formed in another order, so that infinities of both signs may meet"},
    ),
    Row(
        "shift",
        tuple(Case(((2, 4),), {"offset": o, "fill": f}) for o, f in ((1, 0.0), (-2, 1.0), (7, 0.5), (0, 0.0))),
        shift_reference,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
)
