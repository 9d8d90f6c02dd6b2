"""A differentiable call of the table as a function of arrays: what it returns and its gradients, at any values and dtype."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tests.op_table.row import Row
from tests.suites import table
from tests.suites.table import Call
from tests.suites.test_gradients import gradient_calls, problem
from wherry.autograd.run import grad

# What an operation may raise for values that it refuses.
REFUSALS = (ValueError, ArithmeticError, RuntimeError, TypeError, IndexError, NotImplementedError)

# Calls on more elements say nothing that smaller ones of the same operation do not.
LARGEST = 60
# So many kinds of calls are looked at where a check costs many runs.
MOST_KINDS = 14


@dataclass(frozen=True)
class Probe:
    """function: of the tensors that want a gradient, returns the outputs that have one. arrays: their values. cotangents: a gradient for each output."""

    call: Call
    function: Callable[..., list[Any]]
    arrays: list[np.ndarray]
    cotangents: list[np.ndarray]

    @property
    def row(self) -> Row:
        return self.call.row

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.call.seed)

    def copies(self) -> list[np.ndarray]:
        return [np.array(a) for a in self.arrays]

    def at(
        self, arrays: list[np.ndarray], cotangents: list[np.ndarray] | None = None, recorded: bool = False
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(outputs, gradients) for other inputs and cotangents, which are used as they are, strides included."""
        leaves = [table.leaf(a) for a in arrays]
        outputs = recorded_outputs(self.function, leaves)
        seeds = [table.tensor_of(c) for c in (self.cotangents if cotangents is None else cotangents)]
        if [o.impl.array.shape for o in outputs] != [s.impl.array.shape for s in seeds]:
            raise ValueError("other outputs than at the probe's own values")
        found = grad(outputs, leaves, seeds, create_graph=recorded, allow_unused=True)
        gradients = [np.zeros_like(a) if g is None else np.array(g.impl.array) for a, g in zip(arrays, found)]
        return [np.array(o.impl.array) for o in outputs], gradients

    def attempt(self, *args: Any, **kwargs: Any) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
        """`at`, or None for values that the operation refuses."""
        try:
            return self.at(*args, **kwargs)
        except REFUSALS:
            return None


def recorded_outputs(function: Callable[..., list[Any]], leaves: list[Any]) -> list[Any]:
    return [o for o in function(*leaves) if not o.stop_gradient]


def differentiable_outputs(row: Row, outputs: list[Any]) -> list[Any]:
    """Of a call's outputs those whose gradient the row checks."""
    floating = [o for o in outputs if o is not None and table.differentiable(o.impl.array)]
    chosen = floating if row.outputs_differentiable is None else [floating[k] for k in row.outputs_differentiable]
    return [o for o in chosen if not o.stop_gradient]


@cache
def all_calls() -> dict[str, list[Call]]:
    """Every differentiable call of the table, by operation."""
    return table.by_operation(gradient_calls(1))


def one_of_each(calls: list[Call], largest: int = LARGEST) -> list[Call]:
    """Of calls with the same arguments and numbers of dimensions the one with most elements up to the limit; some, where there are many."""
    best: dict[str, Call] = {}
    for call in sorted(calls, key=lambda c: elements(c, largest)):
        items = call.case.inputs
        dims = [len(i) if isinstance(i, list) else i.ndim if isinstance(i, np.ndarray) else i and len(i) for i in items]
        best[repr((call.case.attrs, call.dtype, dims, call.row.domain))] = call
    kinds = list(best.values())
    return kinds[:: -(-len(kinds) // MOST_KINDS)]


def elements(call: Call, largest: int) -> int:
    """How many elements the inputs have; -1 beyond the limit."""
    shapes = [s for i in call.case.inputs for s in (i if isinstance(i, list) else [i]) if s is not None]
    total = sum(s.size if isinstance(s, np.ndarray) else int(np.prod(s)) for s in shapes)
    return total if total <= largest else -1


def operations(check: str) -> list[str]:
    """The operations that have a differentiable call whose row is not exempt from a check."""
    return [op for op, calls in all_calls().items() if any(check not in c.row.exempt for c in calls)]


def probes(op: str, check: str, every: bool = True) -> list[Probe]:
    """The calls of an operation that a check takes: those with elements to differentiate, and outputs; or one of each kind."""
    found = []
    for call in all_calls()[op] if every else one_of_each(all_calls()[op]):
        if check in call.row.exempt:
            continue
        function, leaves = problem(call)
        arrays = [np.array(t.impl.array) for t in leaves]
        outputs = recorded_outputs(function, [table.leaf(np.array(a)) for a in arrays]) if arrays else []
        if not any(a.size for a in arrays) or not any(o.size for o in outputs):
            continue
        rng = np.random.default_rng(call.seed + 1)
        found.append(Probe(call, function, arrays, [table.cotangent(rng, o.impl.array) for o in outputs]))
    return found


def close(a: np.ndarray, b: np.ndarray, rtol: float = 1e-7, atol: float = 1e-9) -> np.ndarray:
    """Elementwise: equal, both NaN, or near."""
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        return np.asarray(same | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b))))


def first_difference(a: np.ndarray, b: np.ndarray, right: np.ndarray) -> str:
    """Where two arrays differ, and by what."""
    place = tuple(int(i) for i in np.argwhere(~right)[0])
    return f"element {list(place)}: {a[place]}, expected {b[place]}"
