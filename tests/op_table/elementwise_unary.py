"""Rows of functions of one tensor."""

from typing import Any

import numpy as np
from scipy import special

from tests.op_table.math import BOTH, EDGES, quiet, unary_cases, wide
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

PLAIN = unary_cases()
TAILS = Case((np.array([0.0, -0.0, 1e-20, -1e-20, 1e-4, 80.0, -80.0, 800.0, -800.0, np.inf, -np.inf, np.nan]),))
INTEGERS = Case((np.array([[-3, -1, 0], [1, 2, 40]]),))
ALL = FLOATS + HALVES + COMPLEX


def function(op: str, reference: Any, **options: Any) -> Row:
    """A row of a function with complex values and derivatives."""
    options.setdefault("grad_dtypes", BOTH)
    options.setdefault("dtypes", ALL)
    options.setdefault("cases", (*PLAIN, TAILS, INTEGERS))
    options.setdefault("tolerance", {"complex64": 1e-5})
    return Row(op, reference=wide(reference), **options)


def real_function(op: str, reference: Any, **options: Any) -> Row:
    """A row of a function of real numbers."""
    return function(op, reference, **{"grad_dtypes": ("float64",), "dtypes": FLOATS + HALVES, **options})


def same_dtype(reference: Any) -> Any:
    """A reference that gives integers for integers."""

    def wrapper(x: np.ndarray, **attrs: Any) -> Any:
        return wide(reference, x.dtype)(x, **attrs)

    return wrapper


def sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(np.where(x.real < 0, x, -x))
    return np.where(x.real < 0, small, 1) / (1 + small)


def polygamma(x: np.ndarray, n: int) -> np.ndarray:
    return special.polygamma(n, x)


def bool_of(reference: Any) -> Any:
    return lambda x: np.asarray(reference(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)))


POSITIVE: dict[str, Any] = {"domain": (0.2, 3.0)}
INSIDE: dict[str, Any] = {"domain": (-0.85, 0.85)}

ROWS = (
    Row(
        "abs",
        (*PLAIN, Case((EDGES,)), INTEGERS),
        np.abs,
        ALL + INTS,
        grad_dtypes=BOTH,
        kinks=(0.0,),
    ),
    Row("neg", (*PLAIN, Case((EDGES,))), np.negative, ALL + INTS, grad_dtypes=BOTH),
    Row(
        "sign",
        (*PLAIN, Case((EDGES,))),
        lambda x: np.sign(x.astype(np.float64)).astype(x.dtype) if x.dtype.kind == "f" else np.sign(x),
        ALL + INTS,
        grad_dtypes=BOTH,
        kinks=(0.0,),
    ),
    Row("square", (*PLAIN, Case((EDGES,))), quiet(np.square), ALL + INTS, grad_dtypes=BOTH),
    function("exp", np.exp),
    function("expm1", np.expm1),
    function("log", np.log, **POSITIVE),
    function("log1p", np.log1p, domain=(-0.6, 2.0)),
    function("log2", np.log2, **POSITIVE),
    function("log10", np.log10, **POSITIVE),
    function("sqrt", np.sqrt, **POSITIVE),
    function("rsqrt", lambda x: 1 / np.sqrt(x), **POSITIVE),
    function("reciprocal", lambda x: 1 / x, **POSITIVE),
    function("sin", np.sin),
    function("cos", np.cos),
    function("tan", np.tan, domain=(-1.2, 1.2)),
    function("sinh", np.sinh),
    function("cosh", np.cosh),
    function("tanh", np.tanh),
    function(
        "asin", np.arcsin, **INSIDE, exempt={"nan": "the complex derivative at 1 and -1 is infinite, in no direction"}
    ),
    function(
        "acos", np.arccos, **INSIDE, exempt={"nan": "the complex derivative at 1 and -1 is infinite, in no direction"}
    ),
    function("atan", np.arctan, **INSIDE),
    function("asinh", np.arcsinh),
    function(
        "acosh",
        np.arccosh,
        domain=(1.2, 3.0),
        exempt={"nan": "the complex derivative at 1 and -1 is infinite, in no direction"},
    ),
    function("atanh", np.arctanh, **INSIDE),
    function("sigmoid", sigmoid),
    real_function("erf", special.erf),
    real_function("erfinv", special.erfinv, cases=(*PLAIN, TAILS), **INSIDE),
    real_function("lgamma", lambda x: special.gammaln(np.where(np.isinf(x), np.inf, x)), **POSITIVE),
    real_function("digamma", special.psi, **POSITIVE),
    Row(
        "polygamma",
        tuple(c for n in (0, 1, 2, 3) for c in unary_cases(n=n)),
        wide(polygamma),
        **POSITIVE,
    ),
    Row(
        "floor",
        (*PLAIN, Case((EDGES,))),
        same_dtype(np.floor),
        FLOATS + HALVES + INTS,
        kinks=(-2.0, -1.0, 0.0, 1.0, 2.0),
    ),
    Row(
        "ceil",
        (*PLAIN, Case((EDGES,))),
        same_dtype(np.ceil),
        FLOATS + HALVES + INTS,
        kinks=(-2.0, -1.0, 0.0, 1.0, 2.0),
    ),
    Row(
        "round",
        (
            *PLAIN,
            Case((np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e30, np.nan, -np.inf]),)),
            Case((np.array([1.25, 1.35, -1.25, 125.5]),), {"decimals": 1}),
            Case((np.array([125.0, 135.0, -125.0, 151.0]),), {"decimals": -1}),
            Case((np.array([125, 135, -125, 151, 0]),), {"decimals": -1}),
            Case((np.array([125, -7]),), {"decimals": 2}),
        ),
        np.round,
        FLOATS,
        kinks=(-1.5, -0.5, 0.5, 1.5, 1.25, 125.0),
    ),
    Row("round", PLAIN, np.round, COMPLEX, grad_dtypes=("complex128",), kinks=(-1.5, -0.5, 0.5, 1.5)),
    Row(
        "trunc",
        (*PLAIN, Case((EDGES,))),
        same_dtype(np.trunc),
        FLOATS + HALVES + INTS,
        kinks=(-2.0, -1.0, 0.0, 1.0, 2.0),
    ),
    Row(
        "frac",
        (*PLAIN, Case((np.array([-1.5, 2.75, 0.0, -0.0]),))),
        lambda x: x - np.trunc(x),
        FLOATS + INTS,
        kinks=(-2.0, -1.0, 0.0, 1.0, 2.0),
        exempt={"limits": "an infinity has no fraction: NaN, as in torch"},
    ),
    Row("isnan", (*PLAIN, Case((EDGES,))), bool_of(np.isnan), ALL + INTS, order=0),
    Row("isinf", (*PLAIN, Case((EDGES,))), bool_of(np.isinf), ALL + INTS, order=0),
    Row("isfinite", (*PLAIN, Case((EDGES,))), bool_of(np.isfinite), ALL + INTS, order=0),
    Row("signbit", (*PLAIN, Case((EDGES,))), bool_of(np.signbit), FLOATS + HALVES + INTS, order=0),
)
