"""One row an operation: what the generic suites need to know to check it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")


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
    no_edges: why gradients at edges (zeros, ties, large values) are not checked.
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
    no_edges: str = ""
