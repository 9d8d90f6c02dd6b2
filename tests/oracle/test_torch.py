"""Values and gradients of the table's operations in torch and in wherry, real and complex, at random and at special values. Runs where torch is installed (`make oracle`)."""

import zlib
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.op_table.row import Row
from tests.oracle.torch_call import NotInTorch, TorchCall
from tests.oracle.torch_calls import CALLS
from tests.suites import table
from tests.suites.probe import REFUSALS, close, differentiable_outputs, first_difference
from tests.suites.table import GIVEN, Call
from tests.suites.test_special_forward import planted
from tests.suites.test_special_values import NOT_FINITE, TAME
from wherry._generated.op_defs import OPS

torch = pytest.importorskip("torch")

# What torch says where it has no such kernel or refuses the arguments.
NO_CALL = (NotInTorch, RuntimeError, NotImplementedError, TypeError, IndexError, ValueError)


def calls_of(op: str) -> list[Call]:
    """The calls of an operation in the widest dtypes of each row."""
    found = []
    for row in table.ROWS:
        if row.op != op:
            continue
        wide = [d for d in ("float64", "complex128") if d in (*row.dtypes, *row.grad_dtypes)]
        for number, case in enumerate(row.cases):
            dtypes = (wide or [row.dtypes[0]]) if table.takes_random(case) else [GIVEN]
            found += [Call(row, number, d) for d in dtypes]
    return found


def attributes(call: Call) -> dict[str, Any]:
    """Every attribute of a call, defaults included."""
    return {**dict(zip(call.op.attrs, call.op.attr_defaults)), **call.case.attrs}


def torch_tensor(array: np.ndarray) -> Any:
    tensor = torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    return tensor.requires_grad_() if array.dtype.kind in "fc" else tensor


def as_array(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy(force=True)


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in flat(item)]
    return [result]


def in_torch(call: Call, arrays: list[Any], row: Row) -> tuple[list[Any], list[Any], list[Any]]:
    """(inputs, outputs, cotangents by position) in torch."""
    tensors = [table.mapped(torch_tensor, a) for a in arrays]
    return list(table.each(tensors)), flat(CALLS[call.row.op](*tensors, **attributes(call))), []


def numbers(array: Any) -> np.ndarray:
    array = table.comparable(array)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def agree(a: np.ndarray, b: np.ndarray, scale: float, narrow: bool) -> np.ndarray:
    rtol = 2e-5 if narrow else 1e-8
    right = close(a, b, rtol, (1e-6 if narrow else 1e-12) * scale)
    # Where torch has nothing to say, it does not contradict.
    right |= np.isnan(b)
    # inf - inf may come about in one order of sums and not in another; the parts of complex infinities have no agreed rules.
    return right | (~np.isfinite(a) & ~np.isfinite(b) & (np.isnan(a) | (a.dtype.kind == "c")))


def compared(what: str, mine: np.ndarray, theirs: np.ndarray, scale: float) -> str:
    narrow = any(x.dtype in (np.float32, np.complex64, np.float16) for x in (mine, theirs))
    mine, theirs = numbers(mine), numbers(theirs)
    if mine.shape != theirs.shape:
        return f"{what} has the shape {mine.shape}, in torch {theirs.shape}"
    right = agree(mine, theirs, scale, narrow)
    return "" if right.all() else f"{what}, {first_difference(mine, theirs, right)}"


def differences(call: Call, arrays: list[Any], gradients: bool) -> list[str] | None:
    """What differs at some inputs; None where torch has no such call."""
    leaves = [table.mapped(lambda a: table.leaf(np.array(a)), a) for a in arrays]
    try:
        outputs = table.outputs_of(table.run(call, leaves))
    except REFUSALS:
        return None
    try:
        inputs, theirs, _ = in_torch(call, arrays, call.row)
    except NO_CALL:
        return None
    scale = max(
        [
            1.0,
            *(float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in table.each(arrays) if table.differentiable(a)),
        ]
    )
    found = []
    pairs = [(k, a, b) for k, (a, b) in enumerate(zip(outputs, theirs)) if a is not None and b is not None]
    if not pairs:
        return None
    for k, a, b in pairs:
        found.append(compared(f"output {k}", a.impl.array, as_array(b), scale))
    if gradients and not any(found) and call.row.order > 0:
        found += gradient_differences(call, list(table.each(leaves)), inputs, pairs, scale)
    return [f for f in found if f]


def gradient_differences(call: Call, leaves: list[Any], inputs: list[Any], pairs: list[Any], scale: float) -> list[str]:
    chosen = differentiable_outputs(call.row, [a for _, a, _ in pairs])
    used = [(a, b) for _, a, b in pairs if any(a is c for c in chosen) and b.requires_grad]
    wanted = [(x, y) for x, y in zip(leaves, inputs) if not x.stop_gradient]
    if not used or not wanted:
        return []
    rng = np.random.default_rng(zlib.crc32(call.id.encode()))
    seeds = [table.cotangent(rng, a.impl.array) for a, _ in used]
    mine = paddle.grad(
        [a for a, _ in used], [x for x, _ in wanted], [table.tensor_of(s) for s in seeds], allow_unused=True
    )
    try:
        theirs = torch.autograd.grad(
            [b for _, b in used], [y for _, y in wanted], [torch.from_numpy(s) for s in seeds], allow_unused=True
        )
    except NO_CALL:
        return []
    found = []
    for k, (g, h, (leaf, _)) in enumerate(zip(mine, theirs, wanted)):
        a = np.zeros(leaf.shape, leaf.impl.array.dtype) if g is None else g.impl.array
        b = np.zeros_like(a) if h is None else as_array(h)
        # What is said of a NaN's own gradient is a matter of taste.
        own = np.isnan(leaf.impl.array)
        # Nor is there anything to say where the values are NaN, as outside the domain.
        own |= np.isnan(a) & any(np.isnan(m.impl.array).any() for m, _ in used)
        found.append(compared(f"gradient {k}", np.where(own, 0, a), np.where(own, 0, b), scale))
    return found


@pytest.mark.parametrize("op", sorted(CALLS))
def test_agrees_with_torch(op: str) -> None:
    made = CALLS[op]
    wrong, checked = [], 0
    with np.errstate(all="ignore"):
        for call in calls_of(op):
            for name, arrays in points(call, made):
                gradients = "gradients" not in made.without and (
                    name == "random" or "special gradients" not in made.without
                )
                found = differences(call, arrays, gradients)
                checked += found is not None
                wrong += [
                    f"{call.id} {call.case.attrs} at {name} values: {text}; inputs {arrays}" for text in found or []
                ]
    assert not wrong, "\n".join(wrong)
    assert checked, f"torch refuses every case of {op}"


def points(call: Call, made: TorchCall) -> list[tuple[str, list[Any]]]:
    if call.dtype == GIVEN:
        # Given values are there for their edges.
        special = "special values" in made.without and any(table.takes_random(c.case) for c in calls_of(call.row.op))
        return [] if special else [("special", table.make_inputs(call))]
    found = [("random", table.make_inputs(call))]
    if "special values" not in made.without and call.dtype in ("float64", "complex128"):
        rng = np.random.default_rng(call.seed + 7)
        found.append(("tame special", planted(call, TAME, rng)))
        if "local" not in call.row.exempt:
            found.append(("special", planted(call, np.append(TAME, NOT_FINITE), rng)))
    return found


@pytest.mark.parametrize("op", sorted(CALLS))
def test_a_call_belongs_to_an_operation(op: str) -> None:
    assert op in OPS
