"""Values at zeros, -0.0, infinities, NaN, tiny and huge inputs, and of no elements, against each row's reference."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.op_table.row import Row
from tests.suites import table
from tests.suites.probe import REFUSALS
from tests.suites.table import Call
from tests.suites.test_special_values import HUGE, NOT_FINITE, TAME, of_parts

Arrays = list[Any]


def has_values(row: Row) -> bool:
    return row.reference is not None and not row.random and not row.op.endswith("_")


@cache
def calls_of(check: str) -> dict[str, list[Call]]:
    """The calls with random inputs of every row that a check takes, in the widest dtypes of the row, by operation."""
    found: dict[str, list[Call]] = {}
    for row in table.ROWS:
        if not has_values(row) or check in row.exempt:
            continue
        for number, case in enumerate(row.cases):
            if table.takes_random(case):
                dtypes = [d for d in ("float64", "complex128") if d in row.dtypes] or [row.dtypes[0]]
                found.setdefault(row.op, []).extend(Call(row, number, d) for d in dtypes)
    return found


def planted(call: Call, values: np.ndarray, rng: np.random.Generator) -> Arrays:
    """The inputs of a call with special values at half of the places of those that are random."""
    known = values if values is HUGE else np.concatenate([values, np.array(call.row.kinks)])

    def plant(array: np.ndarray) -> np.ndarray:
        if not table.differentiable(array):
            return array
        # One huge value: several would cancel, or their products overflow on the way.
        place = rng.random(array.shape) < 0.5 if values is not HUGE else one_place(array, rng)
        chosen = rng.choice(known, array.shape)
        if array.dtype.kind == "c":
            chosen = of_parts(chosen, rng.choice(known, array.shape))
        array[place] = chosen[place]
        return array

    arrays = table.make_inputs(call)
    given = call.case.inputs
    return [table.mapped(plant, a) if not isinstance(g, np.ndarray) else a for a, g in zip(arrays, given)]


def one_place(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    place = np.zeros(array.size, bool)
    if array.size:
        place[rng.integers(array.size)] = True
    return place.reshape(array.shape)


def expected(call: Call, arrays: Arrays) -> list[Any] | None:
    """The reference's outputs in a list; None where it refuses the values."""
    try:
        result = call.row.reference(*[table.mapped(np.array, a) for a in arrays], **call.case.attrs)
    except (*REFUSALS, AssertionError):
        return None
    flat: list[Any] = []
    for item in result if isinstance(result, (list, tuple)) else [result]:
        flat += list(item) if isinstance(item, (list, tuple)) else [item]
    return flat


def actual(call: Call, arrays: Arrays) -> list[Any] | None:
    try:
        result = table.run(call, [table.mapped(lambda a: table.tensor_of(np.array(a)), a) for a in arrays])
    except REFUSALS:
        return None
    return [None if o is None else table.comparable(o.impl.array) for o in table.outputs_of(result)]


def difference(call: Call, arrays: Arrays) -> str:
    """What is different from the reference, in a line."""
    with np.errstate(all="ignore"):
        want, got = expected(call, arrays), actual(call, arrays)
        if want is None or got is None:
            return ""
        for k, (a, b) in enumerate(zip(got, want)):
            if a is None or b is None:
                continue
            a, b = as_numbers(a), as_numbers(b)
            if a.shape != b.shape:
                return f"output {k} has the shape {a.shape}, expected {b.shape}"
            right = agree(a, b, largest(arrays))
            if not right.all():
                place = tuple(int(i) for i in np.argwhere(~right)[0])
                return f"output {k}{list(place)} is {a[place]}, expected {b[place]}; inputs {arrays}"
    return ""


def as_numbers(array: Any) -> np.ndarray:
    array = table.comparable(array)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def largest(arrays: Arrays) -> float:
    """The size of the largest finite input: what may be lost where sums cancel is relative to it."""
    sizes = [np.abs(a[np.isfinite(a)]).max(initial=1.0) for a in table.each(arrays) if table.differentiable(a)]
    return float(max(sizes, default=1.0))


def agree(a: np.ndarray, b: np.ndarray, scale: float) -> np.ndarray:
    """Elementwise. Of complex numbers that are not finite the parts may differ: their arithmetic has no agreed rules."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if "c" in (a.dtype.kind, b.dtype.kind):
        same |= ~np.isfinite(a) & ~np.isfinite(b)
    near = np.abs(a - b) <= 1e-13 * scale + 1e-9 * np.abs(b)
    return np.asarray(same | (near & np.isfinite(a) & np.isfinite(b)))


@pytest.mark.parametrize("op", list(calls_of("special")))
def test_values_at_special_inputs_are_the_references(op: str) -> None:
    wrong = []
    for call in calls_of("special")[op]:
        rng = np.random.default_rng(call.seed + 2)
        for values in (TAME, HUGE, np.append(TAME, NOT_FINITE)):
            text = difference(call, planted(call, values, rng))
            if text:
                wrong.append(f"{call.id} {call.case.attrs}: {text}")
    assert not wrong, "\n".join(wrong)
