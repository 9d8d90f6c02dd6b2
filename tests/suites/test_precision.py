"""float32, float16, bfloat16 and complex64 against float64 and complex128: values and gradients of every operation that has such kernels."""

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wherry as paddle
from tests.op_table.row import Row
from tests.suites import table
from tests.suites.probe import REFUSALS, differentiable_outputs
from tests.suites.table import Call
from wherry._generated.op_defs import OPS
from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import FACTORY

# Of the number's size, and of the size of the largest number of the result: what a few roundings cost.
TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 2e-5}
WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}
CHECK = {"float32": "float32", "float16": "halves", "bfloat16": "halves", "complex64": "complex64"}


@cache
def kernel_dtypes(op: str) -> tuple[str, ...]:
    """The dtypes that an operation has kernels for."""
    codes = {key.dtype for key in FACTORY.registered(OPS[op].kernel)}
    return tuple(d.name for d in dt.ALL if d.code in codes)


@cache
def calls_of(narrow: str) -> dict[str, list[Call]]:
    """Every call of an operation that has kernels for the dtype and its wide one, by operation."""
    found: dict[str, list[Call]] = {}
    for row in table.ROWS:
        if row.random or row.op.endswith("_") or CHECK[narrow] in row.exempt:
            continue
        if not {narrow, WIDE[narrow]} <= set(kernel_dtypes(row.op)):
            continue
        for number in range(len(row.cases)):
            found.setdefault(row.op, []).append(Call(row, number, WIDE[narrow]))
    return {op: calls for op, calls in found.items() if any(has_wide(c) for c in calls)}


def has_wide(call: Call) -> bool:
    return any(a.dtype == WIDE_KIND[call.dtype] for a in table.each(table.make_inputs(call)))


WIDE_KIND = {"float64": np.float64, "complex128": np.complex128}


def rounded(array: np.ndarray, narrow: str) -> np.ndarray:
    """An array of the wide dtype (or its real part's) in the narrow one; others as they are."""
    if array.dtype == np.complex128:
        return array.astype(np.complex64)
    if array.dtype != np.float64:
        return array
    real = {"complex64": np.float32, "bfloat16": ml_dtypes.bfloat16}.get(narrow, narrow)
    return array.astype(real)


def widened(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def results(call: Call, arrays: list[Any], seed: int) -> tuple[list[Any], list[Any]] | None:
    """Values and gradients of a call; None where it refuses these dtypes."""
    tensors = [table.mapped(lambda a: table.leaf(np.array(a)), a) for a in arrays]
    try:
        outputs = [o for o in table.outputs_of(table.run(call, tensors)) if o is not None]
    except REFUSALS:
        return None
    leaves = [t for t in table.each(tensors) if not t.stop_gradient]
    recorded = differentiable_outputs(call.row, outputs)
    rng = np.random.default_rng(seed)
    gradients: list[Any] = []
    if call.row.order > 0 and leaves and recorded:
        seeds = [rng.choice([-1.0, -0.5, 0.5, 1.0], o.shape).astype(o.impl.array.dtype) for o in recorded]
        found = paddle.grad(recorded, leaves, [table.tensor_of(s) for s in seeds], allow_unused=True)
        gradients = [None if g is None else g.impl.array for g in found]
        for gradient, leaf in zip(found, leaves):
            assert gradient is None or (gradient.dtype is leaf.dtype and gradient.shape == leaf.shape)
    return [o.impl.array for o in outputs], gradients


def limits_of(row: Row, narrow: str) -> float:
    return max(row.tolerance.get(narrow, 0.0), TOLERANCE[narrow])


# Large numbers whose squares the narrow dtype has no room for, and small ones.
TAILS = {
    "float32": (1e15, -1e15, 1e25, -1e25, 1e-20, -1e-25, 50.0, -50.0, 500.0, -500.0),
    "float16": (300.0, -300.0, 3e4, -3e4, 1e-3, -1e-4, 12.0, -12.0),
    "bfloat16": (1e15, -1e15, 1e25, -1e25, 1e-20, -1e-25, 50.0, -50.0),
}


def with_tails(call: Call, narrow: str) -> list[Any]:
    """The inputs with an element of each in the tails: several would cancel."""
    rng = np.random.default_rng(call.seed + 5)

    def planted(array: np.ndarray) -> np.ndarray:
        if array.dtype == np.float64:
            if array.size:
                array.reshape(-1)[rng.integers(array.size)] = rng.choice(TAILS[narrow])
        return array

    return [table.mapped(planted, a) for a in table.make_inputs(call, away=True)]


def fault(call: Call, narrow: str, wide_arrays: list[Any]) -> str:
    few = [table.mapped(lambda a: rounded(a, narrow), a) for a in wide_arrays]
    many = [table.mapped(widened, a) for a in few]
    with np.errstate(all="ignore"):
        got, want = results(call, few, call.seed), results(call, many, call.seed)
        if got is None or want is None:
            return ""
        top = float(ml_dtypes.finfo("float32" if narrow == "complex64" else narrow).max)
        overflow = any(np.isfinite(b).all() and (np.abs(b) > top).any() for b in want[0])
        for what, few_values, many_values in (("output", got[0], want[0]), ("gradient", got[1], want[1])):
            if what == "gradient" and overflow:
                continue
            for k, (a, b) in enumerate(zip(few_values, many_values)):
                if a is None or b is None or a.dtype.kind in "iub":
                    continue
                text = difference(widened(table.comparable(a)), b, narrow, limits_of(call.row, narrow))
                if text:
                    return f"{what} {k}: {text}"
    return ""


def difference(a: np.ndarray, b: np.ndarray, narrow: str, rtol: float) -> str:
    """Where a differs from b by more than roundings of the narrow dtype."""
    finite = np.isfinite(b)
    largest = float(np.abs(b[finite]).max(initial=0.0))
    top = float(ml_dtypes.finfo("float32" if narrow == "complex64" else narrow).max)
    tiny = float(ml_dtypes.finfo("float32" if narrow == "complex64" else narrow).smallest_subnormal)
    near = np.abs(a - b) <= rtol * np.abs(b) + 0.1 * rtol * min(largest, top) + 4 * tiny
    # Beyond the narrow dtype's range there is only infinity.
    over = ~np.isfinite(a) & (np.abs(b) > 0.99 * top)
    right = (near & finite) | np.isnan(b) | (a == b) | over | (~np.isfinite(a) & ~finite)
    if right.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~right)[0])
    return f"element {list(place)} is {a[place]} in {narrow}, {b[place]} in {WIDE[narrow]}"


def parameters() -> list[Any]:
    return [pytest.param(op, narrow, id=f"{op}-{narrow}") for narrow in TOLERANCE for op in calls_of(narrow)]


@pytest.mark.parametrize(("op", "narrow"), parameters())
def test_narrow_dtypes_agree_with_the_wide_one(op: str, narrow: str) -> None:
    wrong = [
        f"{c.id} {c.case.attrs}: {text}"
        for c in calls_of(narrow)[op]
        if (text := fault(c, narrow, table.make_inputs(c, away=True)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("op", "narrow"), [p for p in parameters() if p.values[1] in TAILS])
def test_narrow_dtypes_agree_in_the_tails(op: str, narrow: str) -> None:
    wrong = [
        f"{c.id} {c.case.attrs}: {text}"
        for c in calls_of(narrow)[op]
        if "tails" not in c.row.exempt
        and table.takes_random(c.case)
        and (text := fault(c, narrow, with_tails(c, narrow)))
    ]
    assert not wrong, "\n".join(wrong)
