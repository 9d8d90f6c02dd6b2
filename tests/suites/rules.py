"""What the gradient is where a function has none, or several: the rule of each operation, with an example. docs/verification.md lists them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

inf, nan = float("inf"), float("nan")


@dataclass(frozen=True)
class Rule:
    """For these inputs, the gradients of the sum of the first output. `gradients`: one for each floating input."""

    op: str
    text: str
    inputs: tuple[Any, ...]
    gradients: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


SHARE = "equal elements share the gradient evenly"
HALF = "equal elements get half of the gradient each"
FIRST = "the first of equal elements gets the gradient"
ALONG = {"axis": (), "keepdim": False}
POOL = {"kernel_size": (2,), "strides": (2,), "paddings": (0, 0), "ceil_mode": False}
HERE = np.array([0, 0, 1])

RULES = (
    Rule("maximum", HALF, ([1.0, 2.0], [1.0, 1.0]), ([0.5, 1.0], [0.5, 0.0])),
    Rule("minimum", HALF, ([1.0, 2.0], [1.0, 1.0]), ([0.5, 0.0], [0.5, 1.0])),
    Rule("fmax", "x gets the gradient of equal elements", ([1.0, nan], [1.0, 1.0]), ([1.0, 0.0], [0.0, 1.0])),
    Rule("fmin", "x gets the gradient of equal elements", ([1.0, nan], [1.0, 1.0]), ([1.0, 0.0], [0.0, 1.0])),
    Rule("max", SHARE, ([3.0, 1.0, 3.0],), ([0.5, 0.0, 0.5],), ALONG),
    Rule("max", "where there is a NaN no element has a gradient", ([3.0, nan],), ([0.0, 0.0],), ALONG),
    Rule("min", SHARE, ([3.0, 1.0, 1.0],), ([0.0, 0.5, 0.5],), ALONG),
    Rule("p_norm", "inf: " + SHARE, ([3.0, -3.0, 1.0],), ([0.5, -0.5, 0.0],), {"porder": inf, **ALONG}),
    Rule("p_norm", "0 at the origin", ([0.0, 0.0],), ([0.0, 0.0],), {"porder": 2.0, **ALONG}),
    Rule("cummax", "the last of equal elements gets the gradient", ([3.0, 3.0],), ([1.0, 1.0],), {"axis": 0}),
    Rule("cummin", "the last of equal elements gets the gradient", ([3.0, 3.0, 4.0],), ([1.0, 2.0, 0.0],), {"axis": 0}),
    Rule("topk", FIRST, ([1.0, 3.0, 3.0],), ([0.0, 1.0, 0.0],), {"k": 1}),
    Rule("max_pool", FIRST, ([[3.0, 3.0, 1.0, 2.0]],), ([[1.0, 0.0, 0.0, 1.0]],), POOL),
    Rule("clip", "1 at both bounds", ([-1.0, 0.0, 2.0, 3.0],), ([1.0, 1.0, 1.0, 0.0],), {"min": -1.0, "max": 2.0}),
    Rule("hardtanh", "0 at both bounds", ([-1.0, 0.0, 1.0],), ([0.0, 1.0, 0.0],)),
    Rule("relu", "0 at 0", ([0.0, -0.0],), ([0.0, 0.0],)),
    Rule("relu6", "0 at 0 and 6", ([0.0, 3.0, 6.0],), ([0.0, 1.0, 0.0],)),
    Rule("leaky_relu", "1 at 0", ([0.0, -0.0],), ([1.0, 1.0],), {"negative_slope": 0.25}),
    Rule("elu", "alpha at 0", ([0.0, -0.0],), ([0.5, 0.5],), {"alpha": 0.5}),
    Rule("celu", "1 at 0", ([0.0, -0.0],), ([1.0, 1.0],), {"alpha": 0.5}),
    Rule("selu", "scale * alpha at 0", ([0.0],), ([1.5],), {"scale": 2.0, "alpha": 0.75}),
    Rule("threshold", "0 at the threshold", ([1.0, 1.5],), ([0.0, 1.0],), {"threshold": 1.0, "value": 0.0}),
    Rule("hardshrink", "1 at both thresholds", ([-0.5, 0.0, 0.5],), ([1.0, 0.0, 1.0],), {"threshold": 0.5}),
    Rule("softshrink", "0 at both thresholds", ([-0.5, 0.0, 0.5],), ([0.0, 0.0, 0.0],), {"threshold": 0.5}),
    Rule(
        "hardsigmoid",
        "0 where the output is 0 or 1",
        ([-2.0, 0.0, 2.0],),
        ([0.0, 0.25, 0.0],),
        {"slope": 0.25, "offset": 0.5},
    ),
    Rule("hardswish", "0 at -3, 1 at 3", ([-3.0, 3.0],), ([0.0, 1.0],)),
    Rule("softsign", "1 at 0", ([0.0, -0.0],), ([1.0, 1.0],)),
    Rule("abs", "0 at 0, of complex numbers too", ([0.0, -0.0, -2.0],), ([0.0, 0.0, -1.0],)),
    Rule("abs", "0 at 0, of complex numbers too", ([0j, 3 + 4j],), ([0j, 0.6 + 0.8j],)),
    Rule("sign", "0 everywhere", ([0.0, 1.0],), ([0.0, 0.0],)),
    Rule("round", "0 everywhere, as of floor, ceil and trunc", ([0.5, 1.0],), ([0.0, 0.0],)),
    Rule("frac", "1 everywhere", ([1.0, -0.5],), ([1.0, 1.0],)),
    Rule("copysign", "0 at x = 0", ([0.0, -2.0], [1.0, 1.0]), ([0.0, -1.0], [0.0, 0.0])),
    Rule("heaviside", "y has the gradient where x is 0", ([0.0, 1.0], [5.0, 5.0]), ([0.0, 0.0], [1.0, 0.0])),
    Rule("hypot", "0 at the origin", ([0.0], [0.0]), ([0.0], [0.0])),
    Rule("hypot", "the limit at infinity", ([inf, 1.0], [1.0, -inf]), ([1.0, 0.0], [0.0, -1.0])),
    Rule("atan2", "0 at the origin and at infinity", ([0.0, inf], [0.0, 1.0]), ([0.0, 0.0], [-0.0, -0.0])),
    Rule("angle", "0 at 0", ([0j],), ([0j],)),
    Rule("sqrt", "infinite at 0", ([0.0, inf],), ([inf, 0.0],)),
    Rule("elementwise_pow", "of x ** 0 it is 0 at 0", ([0.0, 0.0], [0.0, 2.0]), ([0.0, 0.0], [0.0, 0.0])),
    Rule("elementwise_pow", "the limit at infinity", ([inf, 2.0], [-1.0, -inf]), ([-0.0, 0.0], [0.0, 0.0])),
    Rule("remainder", "that of y is -floor(x / y)", ([7.0, 1.0], [2.0, 3.0]), ([1.0, 1.0], [-3.0, 0.0])),
    Rule("logaddexp", "of two equal infinities half each", ([inf, -inf], [inf, -inf]), ([0.5, 0.5], [0.5, 0.5])),
    Rule("logsumexp", "that of an infinite maximum is 1", ([1.0, inf],), ([0.0, 1.0],), ALONG),
    Rule("logsumexp", "0 where all elements are -inf", ([-inf, -inf],), ([0.0, 0.0],), ALONG),
    Rule("logcumsumexp", "the limit at infinity", ([1.0, inf, 2.0],), ([1.0, 2.0, 0.0],), {"axis": 0}),
    Rule("prod", "the product of the others, for any number of zeros", ([0.0, 2.0, 3.0],), ([6.0, 0.0, 0.0],), ALONG),
    Rule("prod", "the product of the others, for any number of zeros", ([0.0, 2.0, 0.0],), ([0.0, 0.0, 0.0],), ALONG),
    Rule(
        "cumprod",
        "the products of the others, for any number of zeros",
        ([0.0, 2.0, 3.0],),
        ([9.0, 0.0, 0.0],),
        {"axis": 0},
    ),
    Rule(
        "nan_to_num",
        "0 where it replaces",
        ([nan, inf, 1.0],),
        ([0.0, 0.0, 1.0],),
        {"nan": 0.0, "posinf": 9.0, "neginf": -9.0},
    ),
    Rule("gather", "gradients of an element that is taken several times add up", ([5.0, 6.0], HERE), ([2.0, 1.0],)),
    Rule(
        "scatter",
        "the last of several rows for a place gets the gradient",
        ([5.0, 6.0], HERE, [1.0, 2.0, 3.0]),
        ([0.0, 0.0], [0.0, 1.0, 1.0]),
    ),
    Rule(
        "put_along_axis",
        "assign: the last of several values gets the gradient",
        ([5.0, 6.0], HERE, [1.0, 2.0, 3.0]),
        ([0.0, 0.0], [0.0, 1.0, 1.0]),
        {"axis": 0},
    ),
    Rule(
        "put_along_axis",
        "amax: " + SHARE,
        ([2.0, 6.0], HERE, [2.0, 2.0, 3.0]),
        ([1 / 3, 1.0], [1 / 3, 1 / 3, 0.0]),
        {"axis": 0, "reduce": "amax"},
    ),
    Rule(
        "setitem_advanced",
        "the last of several values gets the gradient",
        ([5.0, 6.0], [1.0, 2.0, 3.0], [HERE]),
        ([0.0, 0.0], [0.0, 1.0, 1.0]),
        {"spec": ((Ellipsis,), (0,))},
    ),
    Rule(
        "embedding",
        "rows of padding_idx have none",
        (np.array([0, 1, 1]), [[1.0], [2.0]]),
        ([[0.0], [2.0]],),
        {"padding_idx": 0},
    ),
    Rule(
        "where",
        "0 on the side that is not taken, whatever arrives",
        (np.array([True, False]), [1.0, 2.0], [3.0, 4.0]),
        ([1.0, 0.0], [0.0, 1.0]),
    ),
)
