"""Rows of special functions and of arithmetic with whole numbers."""

from typing import Any

import numpy as np
from scipy import special

from tests.op_table.elementwise_unary import INTEGERS, PLAIN, real_function
from tests.op_table.math import BINARY, wide
from tests.op_table.row import FLOATS, HALVES, INTS, Case, Row

_POINTS = Case((np.array([0.0, -0.0, 1e-20, -1e-20, 1e-4, 3.0, -7.5, 80.0, -80.0, np.inf, -np.inf, np.nan]),))
_NUMBERS = np.array([[12, -12, 0, 7], [1, 0, -35, 64]])


def bessel(order: int, scaled: bool) -> Any:
    """By the integral over a half period, and for large arguments by the asymptotic series."""
    angles, weights = np.polynomial.legendre.leggauss(400)
    angles = (angles + 1.0) * np.pi / 2.0

    def reference(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        large = np.abs(x) > 600.0
        near = np.where(large, 0.0, x)
        # The even or odd part alone: the other one cancels.
        part = np.sinh if order % 2 else np.cosh
        value = (part(near[..., None] * np.cos(angles)) * np.cos(order * angles) * weights).sum(-1) / 2.0
        value = value * np.exp(-np.abs(near)) if scaled else value
        far = np.where(large, np.abs(x), 1.0)
        series, term = np.ones_like(far), np.ones_like(far)
        for k in range(1, 9):
            term = -term * (4.0 * order**2 - (2.0 * k - 1.0) ** 2) / (k * 8.0 * far)
            series = series + term
        tail = series / np.sqrt(2.0 * np.pi * far)
        tail = tail if scaled else np.exp(np.where(large, np.abs(x), 0.0)) * tail
        tail = np.where(np.isinf(x), 0.0 if scaled else np.inf, tail)
        return np.where(large, np.where(x < 0, (-1.0) ** order, 1.0) * tail, value)

    return reference


def bessel_row(op: str, order: int, scaled: bool) -> Row:
    return real_function(op, bessel(order, scaled), cases=(*PLAIN, _POINTS, INTEGERS), tolerance={"float64": 1e-12})


def sinc_derivative(x: np.ndarray, order: int) -> np.ndarray:
    """The integral of a cosine's derivative over [0, 1]; beyond the integers that doubles can hold with a fraction by its first terms."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t = (nodes + 1.0) * np.pi / 2.0
    x = np.asarray(x)
    large = np.abs(x) > 100.0
    phase = np.where(large, 0.0, x)[..., None] * t
    part = (np.cos(phase), -np.sin(phase), -np.cos(phase), np.sin(phase))[order % 4]
    value = (t**order * part * weights).sum(-1) / 2.0
    # Such numbers are even: sine 0, cosine 1.
    far = np.where(large & np.isfinite(x), x, 1.0)
    s = np.zeros_like(far)
    for n in range(1, order + 1):
        s = (np.pi ** (n - 1) * (0.0, 1.0, 0.0, -1.0)[n % 4] - n * s) / far
    return np.where(np.isinf(x), 0.0, np.where(large, s, value))


def logit(x: np.ndarray, eps: float = 0.0) -> np.ndarray:
    if eps:
        x = np.maximum(np.minimum(x, 1 - eps), eps)
    return np.log(x) - np.log1p(-x)


def gamma_density(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(special.xlogy(x - 1, y) - y) * special.rgamma(x)


_PAIRS = (
    Case(((2, 3), (2, 3))),
    Case(((2, 1, 3), (4, 1))),
    Case(((), (3,))),
    Case(((), ())),
    Case(((0, 3), (1, 3))),
)
_GAMMA: dict[str, Any] = {
    "dtypes": FLOATS + HALVES,
    "domain": (0.3, 4.0),
    "grad_inputs": (1,),
    "reason": "the derivative in x has no closed form, and Paddle has none",
}

_STEP = {"tails": "near y = 0 the slope goes to 0, 1 or infinity as x is above 1, 1 or below: rounding x decides"}

ROWS = (
    bessel_row("i0", 0, False),
    bessel_row("i0e", 0, True),
    bessel_row("i1", 1, False),
    bessel_row("i1e", 1, True),
    Row(
        "bessel_i",
        tuple(Case(((2, 3),), {"order": n, "scaled": scaled}) for n in (0, 1, 2, 5) for scaled in (False, True)),
        lambda x, order, scaled: wide(bessel(order, scaled))(x),
        FLOATS + HALVES,
    ),
    real_function(
        "logit",
        logit,
        cases=(
            *PLAIN,
            Case(((2, 3),), {"eps": 0.25}),
            Case((np.array([-0.5, 0.0, 0.1, 0.5, 0.95, 1.0, 1.5, np.nan]),), {"eps": 0.0}),
            Case((np.array([-0.5, 0.0, 0.1, 0.5, 0.95, 1.0, 1.5, np.nan]),), {"eps": 0.125}),
        ),
        domain=(0.05, 0.95),
        kinks=(0.25, 0.75),
    ),
    Row("gammaincc", _PAIRS, wide(special.gammaincc), **_GAMMA, exempt=_STEP),
    Row("gammainc", _PAIRS, wide(special.gammainc), **_GAMMA, exempt=_STEP),
    Row(
        "gamma_density",
        (*_PAIRS, Case((np.array([-0.5, -1.5, 0.0, -2.0, 1.0, 3.0]), np.array([[0.5], [2.0], [30.0]])))),
        wide(gamma_density),
        **_GAMMA,
        exempt={
            **_STEP,
            "infinite_gradient": "constant at the poles of gamma alone, which rules reach for whole x",
            "special": "a part of rules, whose y is never negative; at other points it is a product of inf and 0",
        },
    ),
    real_function("sinc", lambda x: sinc_derivative(x, 0), cases=(*PLAIN, INTEGERS)),
    Row(
        "sinc_derivative",
        tuple(
            Case((x,), {"order": n})
            for n in (1, 2, 3)
            for x in ((2, 3), (), (0, 3), np.array([0.0, 1e-9, 1.0, -5.0, 17.3, 40.0]))
        ),
        lambda x, order: wide(lambda x: sinc_derivative(x, order))(x),
        FLOATS + HALVES,
    ),
    Row(
        "gcd",
        (*BINARY, Case((_NUMBERS, np.array([18, 0, 5, 48])))),
        np.gcd,
        INTS,
        order=0,
    ),
    Row(
        "lcm",
        (*BINARY, Case((_NUMBERS, np.array([18, 0, 5, 48])))),
        np.lcm,
        INTS,
        order=0,
    ),
    Row(
        "frexp",
        (*PLAIN, Case((np.array([0.0, 1.0, -3.0, 0.1, 8.0, 1e300]),))),
        lambda x: tuple(np.asarray(part).astype(x.dtype) for part in np.frexp(x)),
        FLOATS,
        kinks=(0.0, 0.25, 0.5, 1.0, -0.25, -0.5, -1.0, 2.0, -2.0),
        outputs_differentiable=(0,),
        exempt={"limits": "the mantissa has a jump at every power of two, so that its slope has no limit"},
    ),
)
