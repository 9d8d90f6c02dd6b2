"""One row an operation: what the generic suites need to know to check it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")

# What a row may be exempt from, by the name of the check.
CHECKS = {
    "complex": "gradients of complex inputs, where a kernel takes them",
    "edges": "gradients at zeros, ties, kinks and large values are slopes, or lie between the slopes of the sides",
    "second_edges": "second derivatives at zeros, ties and large values likewise",
    "infinite_gradient": "an infinite gradient that arrives leaves inputs alone in which the function is constant",
    "local": "NaN and infinities change only what depends on them",
    "limits": "gradients at infinities are the limits of those at large values",
    "nan": "finite inputs and outputs, tiny and large ones among them, have gradients that are not NaN",
    "recorded": "gradients with create_graph=True equal those of the fused kernels, at special values too",
    "special": "values at zeros, -0.0, infinities, NaN, tiny and large inputs equal the reference's",
    "layouts": "gradients do not depend on the strides of inputs and of arriving gradients",
    "empty": "no elements: the reference's value and a gradient of the right shape, or an error",
    "float32": "values and gradients in float32 agree with float64",
    "tails": "narrow dtypes agree with the wide one at values whose squares they have no room for",
    "halves": "values and gradients in float16 and bfloat16 agree with float64",
    "complex64": "values and gradients in complex64 agree with complex128",
}


@dataclass(frozen=True)
class Case:
    """One call.

    `inputs`: an item for each tensor argument, in the entry's order: a shape (tuple of int: random values of the row's
    dtype and domain), a NumPy array (used as it is, whatever the row's dtype), a list of either for Tensor[], or None
    for an optional tensor that is left out. `attrs`: the other arguments by name.
    """

    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """An operation's row.

    op: the entry's name. cases: the calls; include broadcasting, 0-D, 0-size, negative axes where they make sense.
    reference: an independent NumPy/SciPy function called as reference(*inputs, **attrs); it returns an array or a tuple
    of arrays in the order of the public outputs (an output given as None is not compared). dtypes: the dtypes of random
    inputs that the forward suite runs. order: to which order the derivative is checked (0: the operation has none).
    grad_inputs: positions of the inputs whose gradient is checked; None means all of floating or complex dtype.
    grad_dtypes: the dtypes of the gradient suites. domain: (low, high) of random values. kinks: values that random inputs
    stay 0.05 away from in gradient suites (ties between elements are avoided by `distinct`). random: values cannot
    be compared (only shape and dtype are). outputs_differentiable: positions of outputs that gradients are checked of;
    None means all of floating or complex dtype. tolerance: relative tolerance by dtype where the default does not hold.
    exempt: the checks of tests/suites that do not hold for the operation (CHECKS below), each with the reason.
    reason: why order is below 2, or why a suite is left out (`skip`: names among "inplace", "noncontiguous", "zero_size").
    """

    op: str
    cases: tuple[Case, ...]
    reference: Callable[..., Any] | None
    dtypes: tuple[str, ...] = FLOATS
    order: int = 2
    grad_inputs: tuple[int, ...] | None = None
    grad_dtypes: tuple[str, ...] = ("float64",)
    domain: tuple[float, float] = (-2.0, 2.0)
    kinks: tuple[float, ...] = ()
    distinct: bool = False
    random: bool = False
    outputs_differentiable: tuple[int, ...] | None = None
    tolerance: dict[str, float] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    reason: str = ""
    exempt: dict[str, str] = field(default_factory=dict)
