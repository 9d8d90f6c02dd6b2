"""Gradients do not depend on where the numbers lie: strided, reversed, stride-0 and conjugated inputs and arriving gradients; no elements."""

from collections.abc import Callable

import numpy as np
import pytest

import wherry as paddle
from tests.suites import table
from tests.suites.probe import REFUSALS, Probe, all_calls, close, first_difference, operations, probes
from tests.suites.table import Call
from tests.suites.test_gradients import problem


def every_second(array: np.ndarray) -> np.ndarray:
    wide = np.full((*array.shape, 2), 7, array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def backwards(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.flip(np.array(np.flip(array))))


def column_major(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="F")


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "every second": every_second,
    "backwards": backwards,
    "column major": column_major,
}


def first_row_everywhere(array: np.ndarray) -> np.ndarray:
    """With stride 0 along the first axis."""
    if array.ndim == 0 or array.shape[0] == 0:
        return array
    return np.broadcast_to(array[:1], array.shape)


def layout_faults(probe: Probe) -> list[str]:
    faults = []

    def compare(
        name: str,
        inputs: list[np.ndarray],
        cotangents: list[np.ndarray],
        plain_inputs: list[np.ndarray],
        plain_cotangents: list[np.ndarray],
    ) -> None:
        kept = [a.tobytes() for a in (*inputs, *cotangents)]
        got, want = probe.attempt(inputs, cotangents), probe.attempt(plain_inputs, plain_cotangents)
        if kept != [a.tobytes() for a in (*inputs, *cotangents)]:
            faults.append(f"{name}: an input or an arriving gradient was written to")
        if got is None or want is None:
            if got is not want:
                faults.append(f"{name}: refused in one layout, not in the other")
            return
        for k, (a, b) in enumerate(zip(got[1], want[1])):
            right = close(a, b, 1e-9, 1e-11)
            if not right.all():
                faults.append(f"{name}: gradient of input {k}, {first_difference(a, b, right)}")

    for name, move in LAYOUTS.items():
        moved, cotangents = [move(a) for a in probe.arrays], [move(c) for c in probe.cotangents]
        compare(name, moved, cotangents, probe.copies(), probe.cotangents)
    shared = [first_row_everywhere(a) for a in probe.arrays]
    spread = [first_row_everywhere(c) for c in probe.cotangents]
    compare("inputs of stride 0", shared, probe.cotangents, [np.array(a) for a in shared], probe.cotangents)
    compare("gradients of stride 0", probe.copies(), spread, probe.copies(), [np.array(c) for c in spread])
    if any(a.dtype.kind == "c" for a in probe.arrays):
        turned = [np.asarray(np.conj(a)) for a in probe.arrays]
        compare("conjugates", turned, probe.cotangents, [np.array(a) for a in turned], probe.cotangents)
    return faults


@pytest.mark.parametrize("op", operations("layouts"))
def test_gradients_do_not_depend_on_layouts(op: str) -> None:
    wrong = [f"{p.call.id} {p.call.case.attrs}: {text}" for p in probes(op, "layouts") for text in layout_faults(p)]
    assert not wrong, "\n".join(wrong)


def emptied(call: Call, size: int) -> Call | None:
    """The call with every axis of one size, in the shapes of all random inputs, without elements; None where nothing changes."""
    if any(isinstance(i, np.ndarray) for i in call.case.inputs):
        return None
    changed = [
        [empty_shape(s, size) for s in item] if isinstance(item, list) else empty_shape(item, size)
        for item in call.case.inputs
    ]
    case = type(call.case)(tuple(changed), call.case.attrs)
    row = type(call.row)(**{**call.row.__dict__, "cases": (case,)})
    return Call(row, 0, call.dtype)


def empty_shape(shape: object, size: int) -> object:
    return tuple(0 if n == size else n for n in shape) if isinstance(shape, tuple) else shape


def empty_faults(call: Call) -> list[str]:
    """Without elements: an error, or the reference's value; and gradients of the inputs' shapes, which are 0 where outputs are empty."""
    faults = []
    flat = [s for item in call.case.inputs for s in (item if isinstance(item, list) else [item])]
    for size in sorted({n for s in flat if isinstance(s, tuple) for n in s if n > 1}):
        changed = emptied(call, size)
        if changed is None:
            continue
        name = f"axes of size {size} made empty"
        arrays = table.make_inputs(changed, away=True)
        try:
            function, leaves = problem(changed)
            outputs = function(*leaves)
        except REFUSALS:
            continue
        if call.row.reference is not None:
            faults += [f"{name}: {text}" for text in value_faults(changed, arrays, outputs)]
        recorded = [o for o in outputs if not o.stop_gradient]
        if recorded:
            paddle.autograd.backward(recorded)
        for k, leaf in enumerate(leaves):
            if recorded and (leaf.grad is None or leaf.grad.shape != leaf.shape or leaf.grad.dtype != leaf.dtype):
                faults.append(f"{name}: gradient of input {k} is {leaf.grad}, the input {leaf.shape} {leaf.dtype}")
            elif recorded and not any(o.size for o in recorded) and np.any(leaf.grad.numpy()):
                faults.append(f"{name}: the gradient of input {k} is not zero, though there is no output")
    return faults


def value_faults(call: Call, arrays: list[np.ndarray], outputs: list[object]) -> list[str]:
    try:
        with np.errstate(all="ignore"):
            result = call.row.reference(*arrays, **call.case.attrs)  # type: ignore[misc]
    except (*REFUSALS, AssertionError):
        return []
    if isinstance(result, (list, tuple)) or len(outputs) != 1:
        return []
    value, got = np.asarray(result), outputs[0].impl.array  # type: ignore[attr-defined]
    if value.shape != got.shape:
        return [f"the shape is {got.shape}, the reference's {value.shape}"]
    return [] if close(got, value).all() else [f"values {got}, expected {value}"]


@pytest.mark.parametrize("op", operations("empty"))
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_inputs_without_elements(op: str) -> None:
    wrong = []
    with np.errstate(all="ignore"):
        for call in all_calls()[op]:
            if "empty" not in call.row.exempt and table.takes_random(call.case):
                wrong += [f"{call.id} {call.case.attrs}: {text}" for text in empty_faults(call)]
    assert not wrong, "\n".join(wrong)
