"""Rows of activations. The fused *_grad operations are compared with derivatives of the reference by complex steps or formulas."""

import math
from typing import Any

import numpy as np
from scipy import special

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, Case, Row

SHAPES = (
    Case(((2, 3),)),
    Case(((),)),
    Case(((0, 3),)),
    Case((np.array([-90.0, -3.0, -0.5, -0.0, 0.0, 0.5, 3.0, 90.0]),)),
)
_FUSED = "a fused kernel for passes that are not recorded; its operation's rule uses the formula under create_graph"


def _with(**attrs: Any) -> tuple[Case, ...]:
    return tuple(Case(c.inputs, attrs) for c in SHAPES)


def sigmoid(x: Any) -> Any:
    return special.expit(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return sifted(special.ndtr(x), x)


def gelu_slope(x: Any, approximate: bool = False) -> Any:
    if approximate:
        t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return special.ndtr(x) + sifted(np.exp(-x * x / 2), x) / math.sqrt(2 * math.pi)


def complex_silu(x: Any) -> Any:
    with np.errstate(all="ignore"):
        falling, rising = np.exp(-x), np.exp(x)
        return np.where(x.real < 0, x * (rising / (1 + rising)), x / (1 + falling))


def silu_slope(x: Any) -> Any:
    return sigmoid(x) + sifted(sigmoid(x) * sigmoid(-x), x)


def mish_slope(x: Any) -> Any:
    t = np.tanh(np.logaddexp(0, x))
    return t + sifted((1 - t**2) * sigmoid(x), x)


def hardswish_slope(x: Any) -> Any:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 3 + 0.5))


# name: function, slope (of x), attributes, kinks, half dtypes hold
TABLE: dict[str, tuple[Any, Any, dict[str, Any], tuple[float, ...]]] = {
    "relu6": (lambda x: np.clip(x, 0, 6), None, {}, (0.0, 6.0)),
    "hardtanh": (
        lambda x, t_min, t_max: np.minimum(np.maximum(x, t_min), t_max),
        lambda x, t_min, t_max: (x > t_min) & (x < t_max),
        {"t_min": -0.7, "t_max": 1.2},
        (-0.7, 1.2),
    ),
    "leaky_relu": (
        lambda x, negative_slope: np.where(x >= 0, x, x * negative_slope),
        lambda x, negative_slope: np.where(x >= 0, 1, negative_slope),
        {"negative_slope": 0.1},
        (0.0,),
    ),
    "threshold": (
        lambda x, threshold, value: np.where(x <= threshold, value, x),
        lambda x, threshold: x > threshold,
        {"threshold": 0.3, "value": -1.0},
        (0.3,),
    ),
    "hardshrink": (
        lambda x, threshold: np.where(np.abs(x) < threshold, 0, x),
        lambda x, threshold: np.abs(x) >= threshold,
        {"threshold": 0.4},
        (-0.4, 0.4),
    ),
    "softshrink": (
        lambda x, threshold: np.sign(x) * np.maximum(np.abs(x) - threshold, 0),
        lambda x, threshold: np.abs(x) > threshold,
        {"threshold": 0.4},
        (-0.4, 0.4),
    ),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, hardswish_slope, {}, (-3.0, 3.0)),
    "elu": (
        lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
        lambda x, alpha: np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0))),
        {"alpha": 0.8},
        (0.0,),
    ),
    "selu": (
        lambda x, scale, alpha: scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
        lambda x, scale, alpha: scale * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0))),
        {"scale": 1.05, "alpha": 1.67},
        (0.0,),
    ),
    "celu": (
        lambda x, alpha: np.maximum(x, 0) + np.minimum(alpha * np.expm1(np.minimum(x, 0) / alpha), 0),
        lambda x, alpha: np.where(x >= 0, 1, np.exp(np.minimum(x, 0) / alpha)),
        {"alpha": 1.5},
        (0.0,),
    ),
    "silu": (lambda x: sifted(sigmoid(x), x), silu_slope, {}, ()),
    "mish": (lambda x: sifted(np.tanh(np.logaddexp(0, x)), x), mish_slope, {}, ()),
    "softplus": (
        lambda x, beta, threshold: np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta),
        lambda x, beta, threshold: np.where(x * beta > threshold, 1, sigmoid(x * beta)),
        {"beta": 1.5, "threshold": 20.0},
        (),
    ),
    "logsigmoid": (lambda x: -np.logaddexp(0, -x), lambda x: sigmoid(-x), {}, ()),
    "softsign": (
        lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
        lambda x: 1 / (1 + np.abs(x)) ** 2,
        {},
        (0.0,),
    ),
    "tanh_shrink": (lambda x: x - np.tanh(x), lambda x: np.tanh(x) ** 2, {}, ()),
    "gelu": (gelu, gelu_slope, {"approximate": False}, ()),
}


def _times(slope: Any) -> Any:
    return lambda x, out_grad, **attrs: sifted(slope(x, **attrs), out_grad)


def rows() -> list[Row]:
    found = []
    for name, (function, slope, attrs, kinks) in TABLE.items():
        found.append(Row(name, _with(**attrs), function, FLOATS, kinks=kinks, tolerance={"float32": 2e-5}))
        if slope is not None:
            names = [a for a in attrs if a != "value"]
            cases = tuple(Case((c.inputs[0], c.inputs[0]), {a: attrs[a] for a in names}) for c in SHAPES)
            found.append(
                Row(
                    f"{name}_grad",
                    cases,
                    _times(slope),
                    order=0,
                    kinks=kinks,
                    tolerance={"float32": 2e-5},
                    reason=_FUSED,
                )
            )
    return found


def softmax(x: Any, axis: int = -1) -> Any:
    return x * 0 + 1 if x.ndim == 0 else special.softmax(x, axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    if x.ndim == 0 or not x.size:
        return x * 0
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def _total(x: Any, axis: int) -> Any:
    return x if x.ndim == 0 else x.sum(axis=axis, keepdims=True)


INFINITE = "the largest element is subtracted first, and inf - inf is NaN (as in Paddle and torch)"
SUMMED = "the gradient is a difference from a sum, in which an infinity leaves NaN"
AXES = (
    Case(((2, 3),)),
    Case(((2, 3, 4),), {"axis": 1}),
    Case(((3, 2),), {"axis": -2}),
    Case(((),)),
    Case(((0, 3),), {"axis": 1}),
    Case((np.array([[1000.0, -1000.0, 0.0], [np.log(2.0), 0.0, -np.inf]]),)),
)
PAIRS = (Case(((2, 3), (2, 3)), {"axis": -1}), Case(((2, 3, 4), (2, 3, 4)), {"axis": 1}), Case(((), ()), {"axis": 0}))

ROWS = (
    Row("relu", SHAPES, lambda x: np.maximum(x, 0), FLOATS + HALVES, kinks=(0.0,)),
    Row(
        "relu_grad",
        tuple(Case((c.inputs[0], c.inputs[0])) for c in SHAPES),
        lambda out, out_grad: sifted(out > 0, out_grad),
        order=0,
        reason=_FUSED,
    ),
    Row(
        "hardsigmoid",
        _with(slope=0.2, offset=0.5),
        lambda x, slope, offset: np.clip(slope * x + offset, 0, 1),
        kinks=(-2.5, 2.5),
    ),
    Row(
        "hardsigmoid_grad",
        tuple(Case((c.inputs[0], c.inputs[0]), {"slope": 0.2}) for c in SHAPES),
        lambda out, out_grad, slope: sifted(slope * ((out > 0) & (out < 1)), out_grad),
        order=0,
        reason=_FUSED,
    ),
    *rows(),
    Row("silu", SHAPES[:3], complex_silu, COMPLEX, grad_dtypes=("complex128",)),
    Row("gelu", _with(approximate=True), gelu, tolerance={"float32": 2e-5}),
    Row("softmax", AXES, softmax, FLOATS + HALVES, exempt={"limits": INFINITE, "infinite_gradient": SUMMED}),
    Row(
        "softmax_grad",
        PAIRS,
        lambda out, out_grad, axis: out * (out_grad - _total(out * out_grad, axis)),
        order=0,
        reason=_FUSED,
        exempt={"special": "differences of infinities, in another order than the reference's"},
    ),
    Row(
        "log_softmax",
        AXES,
        log_softmax,
        FLOATS,
        tolerance={"bfloat16": 0.1},
        exempt={"limits": INFINITE, "infinite_gradient": SUMMED},
    ),
    Row(
        "log_softmax_grad",
        PAIRS,
        lambda out, out_grad, axis: out_grad - np.exp(out) * _total(out_grad, axis),
        order=0,
        reason=_FUSED,
    ),
)
