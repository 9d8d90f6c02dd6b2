"""Rows of arithmetic between tensors, and with numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

BINARY = (
    Case(((2, 3), (2, 3))),
    Case(((2, 1, 3), (4, 1))),
    Case(((), (3,))),
    Case(((3, 2), ())),
    Case(((), ())),
    Case(((0, 3), (1, 3))),
)
UNARY = ((2, 3), (), (0, 3), (2, 1, 4))
REAL = FLOATS + HALVES + INTS
BOTH = ("float64", "complex128")

inf, nan = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30, -1e30, 1e-30, inf, -inf, nan])
# Every pair of them, as two arrays that broadcast.
PAIRS = (EDGES[:, None], EDGES)


def wide(function: Callable[..., Any], integers: Any = np.float32) -> Callable[..., Any]:
    """A reference in double precision, rounded once to the inputs' dtype (integers give `integers`)."""

    def reference(*inputs: np.ndarray, **attrs: Any) -> Any:
        first = inputs[0].dtype
        double = np.complex128 if first.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            result = np.asarray(function(*[x.astype(double) for x in inputs], **attrs))
            return result.astype(integers if first.kind in "iub" else first)

    return reference


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference without NumPy's warnings."""

    def reference(*inputs: np.ndarray, **attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*inputs, **attrs)

    return reference


def nonzero(*shape: int) -> np.ndarray:
    """Integers of both signs without 0."""
    values = np.array([7, -7, 5, -3, 2, -1, 1, 9, -8, 4])
    return np.resize(values, shape)


def trunc_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.trunc(x.astype(np.float64) / y).astype(x.dtype)


def copysign(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    size = np.abs(x.astype(np.float64))
    return np.where(np.signbit(y.astype(np.float64)), -size, size).astype(x.dtype)


def scale(x: np.ndarray, scale: complex = 1.0, bias: complex = 0.0, bias_after_scale: bool = True) -> np.ndarray:
    if x.dtype.kind in "iu":
        scale, bias = int(scale.real), int(bias.real)
    wider = x.astype({"i": np.int64, "u": np.int64, "c": np.complex128}.get(x.dtype.kind, np.float64))
    return (wider * scale + bias if bias_after_scale else (wider + bias) * scale).astype(x.dtype)


def power(x: np.ndarray, y: complex) -> np.ndarray:
    if x.dtype.kind in "iu":
        return x**y if isinstance(y, int) else np.power(x.astype(np.float32), np.float32(y))
    if x.dtype.kind == "c" or isinstance(y, complex):
        result = x.astype(np.complex128) ** y
        # NumPy has NaN for 1 / inf.
        result = np.where(np.isinf(x) & (np.real(y) < 0) & (np.imag(y) == 0), 0, result)
        return result.astype(np.result_type(x.dtype, np.complex64))
    return (x.astype(np.float64) ** y).astype(x.dtype)


def nan_to_num(x: np.ndarray, nan: float, posinf: float, neginf: float) -> np.ndarray:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def unary_cases(**attrs: Any) -> tuple[Case, ...]:
    return tuple(Case((shape,), attrs) for shape in UNARY)


ROWS = (
    Row("add", (*BINARY, Case(PAIRS)), quiet(np.add), FLOATS + HALVES + COMPLEX + INTS, grad_dtypes=BOTH),
    Row("subtract", (*BINARY, Case(PAIRS)), quiet(np.subtract), FLOATS + HALVES + COMPLEX + INTS, grad_dtypes=BOTH),
    Row("multiply", (*BINARY, Case(PAIRS)), quiet(np.multiply), FLOATS + HALVES + COMPLEX + INTS, grad_dtypes=BOTH),
    Row("divide", (*BINARY, Case(PAIRS)), wide(np.true_divide), REAL + COMPLEX, grad_dtypes=BOTH, kinks=(0.0,)),
    Row(
        "floor_divide",
        (*BINARY, Case(PAIRS), Case((nonzero(2, 5), nonzero(5)[::-1])), Case((nonzero(6), np.array(-4)))),
        quiet(np.floor_divide),
        FLOATS + HALVES,
        order=0,
        domain=(0.5, 9.0),
        reason="a step function",
    ),
    Row(
        "remainder",
        (*BINARY, Case(PAIRS), Case((nonzero(2, 5), nonzero(5)[::-1])), Case((nonzero(6), np.array(-4)))),
        quiet(np.remainder),
        FLOATS + HALVES,
        domain=(0.4, 0.9),
        reason="a domain in which no quotient is near an integer other than that of equal inputs",
        distinct=True,
    ),
    Row(
        "trunc_divide",
        (*BINARY, Case((nonzero(2, 5), nonzero(5)[::-1])), Case((nonzero(6), np.array(-4)))),
        trunc_divide,
        order=0,
        domain=(0.5, 9.0),
        reason="a step function",
    ),
    Row("maximum", (*BINARY, Case(PAIRS)), np.maximum, REAL, distinct=True),
    Row("minimum", (*BINARY, Case(PAIRS)), np.minimum, REAL, distinct=True),
    Row("fmax", (*BINARY, Case(PAIRS)), np.fmax, REAL, distinct=True),
    Row("fmin", (*BINARY, Case(PAIRS)), np.fmin, REAL, distinct=True),
    Row("atan2", (*BINARY, Case(PAIRS)), wide(np.arctan2, np.float64), REAL, kinks=(0.0,)),
    Row("hypot", (*BINARY, Case(PAIRS)), wide(np.hypot), REAL, kinks=(0.0,)),
    Row(
        "heaviside",
        (
            *BINARY,
            Case(PAIRS),
            Case((nonzero(5), np.array(3))),
            Case((np.array([0, 0, 1, -1]), np.array([5, -5, 7, 7]))),
        ),
        lambda x, y: np.heaviside(np.nan_to_num(x, nan=-1.0), y).astype(x.dtype),
        kinks=(0.0,),
    ),
    Row("copysign", (*BINARY, Case(PAIRS)), copysign, REAL, kinks=(0.0,)),
    Row(
        "nextafter",
        (*BINARY, Case(PAIRS)),
        quiet(np.nextafter),
        order=0,
        reason="a step function",
        exempt={"float32": "the next number is another one in each dtype"},
    ),
    Row("logaddexp", (*BINARY, Case(PAIRS)), wide(np.logaddexp), FLOATS + HALVES),
    Row(
        "elementwise_pow",
        (
            *BINARY,
            Case(PAIRS),
            Case((nonzero(4), np.arange(4))),
            Case((np.array([0.0, 0.0, 2.0]), np.array([2.0, 3.0, 0.0]))),
        ),
        quiet(np.power),
        FLOATS + COMPLEX,
        domain=(0.3, 2.0),
        kinks=(0.0,),
        grad_dtypes=BOTH,
    ),
    Row(
        "pow",
        tuple(c for y in (2, 2.5, 3, 1, 0, -1, 0.5, -0.5, -3, 2.0) for c in unary_cases(y=y)),
        power,
        FLOATS + COMPLEX,
        domain=(0.3, 2.0),
        grad_dtypes=BOTH,
    ),
    Row(
        "pow",
        unary_cases(y=0.5 + 1j),
        power,
        FLOATS + COMPLEX,
        domain=(0.3, 2.0),
        grad_dtypes=BOTH,
        tolerance={"float32": 1e-4},
        exempt={"nan": "the derivative of a complex power at 0 is infinite, in no direction"},
    ),
    Row(
        "scale",
        (
            *unary_cases(scale=-2.0),
            *unary_cases(scale=2.0, bias=1.0),
            *unary_cases(scale=3, bias=-1.0, bias_after_scale=False),
            *unary_cases(scale=-1.0),
            *unary_cases(bias=2.0),
        ),
        scale,
        FLOATS + HALVES + COMPLEX + INTS[1:],
        grad_dtypes=BOTH,
    ),
    Row(
        "clip",
        (
            *unary_cases(min=-0.5, max=1.25),
            *unary_cases(min=-inf, max=0.5),
            *unary_cases(min=0.25, max=inf),
            *unary_cases(min=-inf, max=inf),
            Case((EDGES,), {"min": -1.0, "max": 2.0}),
            Case((np.array([-200, -3, 0, 5, 200]),), {"min": -3, "max": 2**62}),
        ),
        lambda x, min, max: np.minimum(np.maximum(x, min), max).astype(x.dtype),
        FLOATS + HALVES,
        kinks=(-0.5, 1.25, 0.5, 0.25),
    ),
    Row(
        "lerp",
        (
            Case(((2, 3), (2, 3), (2, 3))),
            Case(((2, 3), (2, 3), ())),
            Case(((3,), (2, 1), (4, 1, 1))),
            Case(((), (), (5,))),
            Case(((0, 2), (2,), ())),
        ),
        lambda x, y, weight: x + weight * (y - x),
        FLOATS + COMPLEX,
        grad_dtypes=BOTH,
    ),
    Row(
        "nan_to_num",
        (
            *unary_cases(nan=0.0, posinf=1e30, neginf=-1e30),
            Case((EDGES,), {"nan": 7.0, "posinf": 2.5, "neginf": -3.5}),
        ),
        nan_to_num,
        FLOATS,
        exempt={"limits": "it replaces infinities, and what is replaced has no gradient"},
    ),
    Row(
        "nan_to_num",
        unary_cases(nan=0.5, posinf=1e30, neginf=-1e30),
        nan_to_num,
        COMPLEX,
        grad_dtypes=("complex128",),
    ),
)
