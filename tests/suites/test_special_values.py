"""Infinities and NaN in inputs and in arriving gradients; values and gradients at special values, for every differentiable operation."""

from typing import Any

import numpy as np
import pytest

from tests.suites.probe import Probe, close, first_difference, operations, probes

SOME_FINITE = (0.37, -0.61, 1.53, -1.7, 1e3, -1e3)
# Two values far out: where a gradient is the same at both it has a limit.
FAR = (1e100, 1e140)
MOST_PLACES = 3


def check(op: str, name: str, fault: Any) -> None:
    """Run a check on every call of an operation; the message has all faults."""
    with np.errstate(all="ignore"):
        wrong = [f"{p.call.id} {p.call.case.attrs}: {text}" for p in probes(op, name, every=False) for text in fault(p)]
    assert not wrong, "\n".join(wrong)


def infinite_gradient_faults(probe: Probe) -> list[str]:
    """With a single infinite element in the cotangent, inputs in which that output is constant get 0, never 0 * inf."""
    rng = probe.rng()
    sizes = [c.size for c in probe.cotangents]
    faults = []
    for flat in rng.choice(sum(sizes), min(MOST_PLACES, sum(sizes)), replace=False):
        output = int(np.searchsorted(np.cumsum(sizes), flat, side="right"))
        index = int(flat - sum(sizes[:output]))
        for recorded in (False, True):
            slopes = [one_cotangent(probe, output, index, 1.0, arrays, recorded) for arrays in neighbours(probe)]
            got = one_cotangent(probe, output, index, np.inf, probe.arrays, recorded)
            for k, gradient in enumerate(got):
                constant = np.all([s[k] == 0 for s in slopes if s], axis=0)
                if (gradient[constant] != 0).any():
                    faults.append(f"gradient of input {k} is {gradient[constant]} where it is constant ({recorded=})")
    return faults


def neighbours(probe: Probe) -> list[list[np.ndarray]]:
    """The probe's inputs, and inputs close by: a slope of 0 at all of them means a constant, not a passing zero."""
    rng = probe.rng()
    moved = [a + 0.01 * rng.uniform(-1, 1, a.shape).astype(a.real.dtype) for a in probe.arrays]
    return [probe.arrays, [m.astype(a.dtype) for m, a in zip(moved, probe.arrays)]]


def one_cotangent(
    probe: Probe, output: int, index: int, value: float, arrays: list[np.ndarray], recorded: bool
) -> list[np.ndarray]:
    cotangents = [np.zeros_like(c) for c in probe.cotangents]
    cotangents[output].reshape(-1)[index] = value
    result = probe.attempt(arrays, cotangents, recorded)
    return result[1] if result else []


@pytest.mark.parametrize("op", operations("infinite_gradient"))
def test_an_infinite_gradient_leaves_constants_alone(op: str) -> None:
    check(op, "infinite_gradient", infinite_gradient_faults)


def with_element(probe: Probe, which: int, index: int, value: float) -> list[np.ndarray] | None:
    """All outputs and gradients with an element of an input replaced; zeros of the inputs are moved, or they would meet the infinity."""
    arrays = probe.copies()
    for array in arrays:
        array[array == 0] = 0.5
    arrays[which].reshape(-1)[index] = value
    result = probe.attempt(arrays)
    return None if result is None else result[0] + result[1]


def some_places(probe: Probe) -> list[tuple[int, int]]:
    rng = probe.rng()
    return [(which, int(rng.integers(a.size))) for which, a in enumerate(probe.arrays) if a.size]


def local_faults(probe: Probe) -> list[str]:
    """What stays the same for all finite values of an element stays the same for NaN and infinities."""
    faults = []
    outputs = len(probe.cotangents)
    for which, index in some_places(probe):
        if probe.arrays[which].size == 1:
            # Everything depends on the only element.
            continue
        finite = [with_element(probe, which, index, v) for v in SOME_FINITE]
        known = [f for f in finite if f is not None]
        if not known:
            continue
        for value in (np.nan, np.inf, -np.inf):
            got = with_element(probe, which, index, value)
            if got is None:
                continue
            for k, array in enumerate(got):
                independent = np.array(np.all([close(f[k], known[0][k]) & np.isfinite(f[k]) for f in known], axis=0))
                if k == outputs + which:
                    # What it says of the element itself is for the limits.
                    independent.reshape(-1)[index] = False
                right = close(array, known[0][k]) | ~independent
                if not right.all():
                    what = f"output {k}" if k < outputs else f"gradient of input {k - outputs}"
                    text = first_difference(array, known[0][k], right)
                    faults.append(f"input {which}[{index}] = {value}: {what}, {text}")
    return faults


@pytest.mark.parametrize("op", operations("local"))
def test_infinity_and_nan_reach_only_what_depends_on_them(op: str) -> None:
    check(op, "local", local_faults)


def limit_faults(probe: Probe) -> list[str]:
    """At an infinity a real gradient (and value) is the limit, where there is one."""
    faults = []
    outputs = len(probe.cotangents)
    for which, index in some_places(probe):
        if probe.arrays[which].dtype.kind == "c":
            continue
        for sign in (1.0, -1.0):
            near, far, got = (with_element(probe, which, index, sign * v) for v in (*FAR, np.inf))
            if near is None or far is None or got is None:
                continue
            for k, array in enumerate(got):
                if array.dtype.kind == "c":
                    continue
                settled = close(near[k], far[k]) & np.isfinite(far[k])
                right = close(array, far[k]) | ~settled
                if not right.all():
                    what = f"output {k}" if k < outputs else f"gradient of input {k - outputs}"
                    faults.append(
                        f"input {which}[{index}] = {sign}inf: {what}, {first_difference(array, far[k], right)}"
                    )
    return faults


@pytest.mark.parametrize("op", operations("limits"))
def test_gradients_at_infinity_are_limits(op: str) -> None:
    check(op, "limits", limit_faults)


TAME = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e-30, 1e-300, 40.0, -40.0, 1e3, -1e3])
TINY = np.array([1e-30, -1e-30, 1e-160, -1e-160, 1e-200, 1e-300, -1e-300])
HUGE = np.array([1e30, -1e30, 1e100, -1e100])
SPECIAL = np.append(TAME, HUGE)
NOT_FINITE = np.array([np.inf, -np.inf, np.nan])


def of_parts(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """Complex numbers of these parts; real + 1j * imag would make NaN of an infinite one."""
    result = np.empty(real.shape, np.complex128)
    result.real, result.imag = real, imag
    return result


def planted(probe: Probe, values: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """The inputs with special values, and the kinks of the row, at about half of the places."""
    known = np.concatenate([values, np.array(probe.row.kinks)])
    arrays = probe.copies()
    for array in arrays:
        place = rng.random(array.shape) < 0.5
        chosen = rng.choice(known, array.shape)
        if array.dtype.kind == "c":
            chosen = of_parts(chosen, rng.choice(known, array.shape))
        array[place] = chosen[place]
    return arrays


def recorded_faults(probe: Probe) -> list[str]:
    """The formula that create_graph=True uses and the fused kernel are the same function, also at special values."""
    rng = probe.rng()
    faults = []
    points = [
        probe.arrays,
        *(planted(probe, v, rng) for v in (SPECIAL, SPECIAL, np.append(SPECIAL, NOT_FINITE), NOT_FINITE)),
    ]
    for number, arrays in enumerate(points):
        fused, formula = probe.attempt(arrays), probe.attempt(arrays, None, True)
        assert (fused is None) == (formula is None)
        for k, (a, b) in enumerate(zip(*(r[1] if r else [] for r in (formula, fused)))):
            # What overflows may do so in another place.
            right = close(a, b, 1e-9, 1e-12) | (~np.isfinite(a) & ~np.isfinite(b))
            if not right.all():
                faults.append(
                    f"point {number}, gradient of input {k}: {first_difference(a, b, right)}; inputs {arrays}"
                )
    return faults


@pytest.mark.parametrize("op", operations("recorded"))
def test_recorded_gradients_equal_the_fused_ones(op: str) -> None:
    check(op, "recorded", recorded_faults)


def nan_faults(probe: Probe) -> list[str]:
    """At finite inputs, tiny and large ones among them, finite outputs have gradients that are not NaN, unless one overflows."""
    rng = probe.rng()
    faults = []
    # Complex numbers are divided by way of squares, which tiny ones have not.
    for values in (TAME, HUGE) if any(a.dtype.kind == "c" for a in probe.arrays) else (TAME, TINY, HUGE):
        arrays = planted(probe, values, rng)
        result = probe.attempt(arrays)
        if result is None or not all(np.isfinite(o).all() for o in result[0]):
            continue
        if any(np.isinf(g).any() for g in result[1]):
            continue
        for k, gradient in enumerate(result[1]):
            if np.isnan(gradient).any():
                faults.append(f"gradient of input {k} at {arrays} is {gradient}")
    return faults


@pytest.mark.parametrize("op", operations("nan"))
def test_finite_values_have_gradients_that_are_not_nan(op: str) -> None:
    check(op, "nan", nan_faults)
