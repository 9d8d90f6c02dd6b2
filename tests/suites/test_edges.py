"""Gradients at edges: zeros, -0.0, ties, kinks and large values of both signs and conjugates, for every differentiable call of the table.

A gradient must be the slope, at a kink a value between the slopes of its sides, and finite where those are. So must the
gradient of the gradient be, at zeros and ties.
"""

import zlib
from typing import Any

import numpy as np
import pytest

from tests.suites.probe import LARGEST, REFUSALS, Probe, all_calls, close, one_of_each, operations, probes
from tests.suites.table import Call, leaf
from tests.suites.test_gradients import differenced, problem
from wherry.autograd import GradcheckError
from wherry.autograd.gradcheck.check import Check
from wherry.autograd.gradcheck.gradient_of import second_order
from wherry.autograd.gradcheck.points import further_points
from wherry.autograd.gradcheck.problem import Problem, Settings
from wherry.core.observer import unobserved

LARGEST_OF_SECOND_ORDER = 24

Arrays = list[np.ndarray]


def edge_fault(call: Call) -> tuple[str, bool]:
    """(what is wrong, whether the call was checked)."""
    every_output, leaves = problem(call)
    function: Any = differenced(every_output)
    size = sum(t.size for t in leaves)
    if "edges" in call.row.exempt or not 0 < size <= LARGEST or not any(o.size for o in function(*leaves)):
        return "", False
    seed = zlib.crc32(call.id.encode())
    checked = Problem("gradcheck", function, leaves, seed)
    check = Check(checked, checked, Settings(1e-6, 1e-5, 1e-3, 0.0, False, seed, "gradcheck"))
    kinks = at_kinks(call, checked.arrays, np.random.default_rng(seed))
    try:
        with np.errstate(all="ignore"), unobserved():
            points = [arrays for _, tried in further_points(checked, len(checked.arrays)) for arrays in tried]
            if is_linear(checked, [*points, kinks]):
                return "", True
            check.further(len(checked.arrays))
            if call.row.kinks:
                check.further_point("kinks in some places", kinks)
    except GradcheckError as error:
        return str(error), True
    return "", True


def at_kinks(call: Call, given: Arrays, rng: np.random.Generator) -> Arrays:
    arrays = [np.array(a) for a in given]
    for array in arrays if call.row.kinks else []:
        place = rng.random(array.shape) < 0.6
        array[place] = rng.choice(call.row.kinks, array.shape)[place]
    return arrays


def is_linear(checked: Problem, points: list[Arrays]) -> bool:
    """Whether at all points the gradient is that of the given inputs, and the values differ by its product with the way between them.

    That says as much as finite differences, which the given inputs go through elsewhere, and costs a fraction.
    """
    start = checked.terms(checked.arrays).sum()
    gradients = checked.record().gradients(checked.cotangents)
    for arrays in points:
        try:
            moved = checked.at(arrays)
            value, found = moved.terms(moved.arrays).sum(), moved.record().gradients(checked.cotangents)
        except (*REFUSALS, GradcheckError):
            return False
        steps = [(np.conj(g) * (a - b)).real for g, a, b in zip(gradients, arrays, checked.arrays)]
        scale = sum(np.abs(s).sum() for s in steps) + abs(start)
        if not abs(value - start - sum(s.sum() for s in steps)) <= 1e-10 * scale:
            return False
        if not all(close(a, b).all() for a, b in zip(found, gradients)):
            return False
    return True


@pytest.mark.parametrize("op", operations("edges"))
def test_gradients_at_edges_are_slopes(op: str) -> None:
    found = [(call, *edge_fault(call)) for call in one_of_each(all_calls()[op])]
    assert not [f"{call.id} {call.case.attrs} {text}" for call, text, _ in found if text]


@pytest.mark.parametrize("op", ["silu", "p_norm", "pow", "maximum", "relu6"])
def test_operations_with_known_edges_are_among_them(op: str) -> None:
    assert op in operations("edges")
    assert any(edge_fault(call)[1] for call in all_calls()[op])


def has_constant_gradient(probe: Probe) -> bool:
    """Whether the gradient is the same at the given point, at another far from it, and at 0."""
    rng = probe.rng()
    points = [probe.copies(), [a * rng.uniform(2, 3, a.shape) for a in probe.arrays], [0 * a for a in probe.arrays]]
    found = [r[1] for r in (probe.attempt(p) for p in points) if r is not None]
    return all(close(a, b).all() for other in found[1:] for a, b in zip(other, found[0]))


def second_order_fault(probe: Probe) -> str:
    """The gradient of the gradient at zeros and ties, against finite differences of the gradient."""
    seed = probe.call.seed
    first = Problem("gradgradcheck", lambda *t: tuple(probe.function(*t)), [leaf(a) for a in probe.copies()], seed)
    second = second_order(first, None)
    if second is None:
        return ""
    check = Check(second, first, Settings(1e-5, 1e-4, 1e-3, 0.0, False, seed, "gradgradcheck"))
    rng = probe.rng()
    zeros = [np.where(rng.random(a.shape) < 0.5, 0, a).astype(a.dtype) for a in probe.arrays]
    one = next(a for a in probe.arrays if a.size).reshape(-1)[0]
    ties = [np.full_like(a, one if a.dtype.kind == "c" else one.real) for a in probe.arrays]
    try:
        with unobserved():
            for name, arrays in (("zeros", zeros), ("ties", ties)):
                check.further_point(name, arrays + second.arrays[len(arrays) :])
    except GradcheckError as error:
        return f"{probe.call.id} {probe.call.case.attrs} {error}"
    return ""


def has_second_order(probe: Probe) -> bool:
    wide = all(c.dtype in (np.float64, np.complex128) for c in probe.cotangents)
    return probe.row.order > 1 and wide and sum(a.size for a in probe.arrays) <= LARGEST_OF_SECOND_ORDER


@pytest.mark.parametrize("op", operations("second_edges"))
def test_second_derivatives_at_edges_are_slopes(op: str) -> None:
    with np.errstate(all="ignore"):
        wanted = {id(call) for call in one_of_each(all_calls()[op], LARGEST_OF_SECOND_ORDER)}
        chosen = [p for p in probes(op, "second_edges") if id(p.call) in wanted and has_second_order(p)]
        chosen = [p for p in chosen if not has_constant_gradient(p)]
        assert not [text for text in map(second_order_fault, chosen) if text]
