"""Gradients at edges: zeros, -0.0, ties, large values of both signs and conjugates, for every differentiable call of the table.

A gradient must be the slope, at a kink a value between the slopes of its sides, and finite where those are.
"""

import zlib
from typing import Any

import numpy as np
import pytest

from tests.suites.table import Call
from tests.suites.test_gradients import differenced, gradient_calls, problem
from wherry.autograd import GradcheckError
from wherry.autograd.gradcheck.check import Check
from wherry.autograd.gradcheck.problem import Problem, Settings
from wherry.core.observer import unobserved

# Calls on more elements say nothing that smaller ones of the same operation do not.
LARGEST = 60
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_gradients_at_edges_are_slopes(part: int) -> None:
    """The parametrised form of this would be thousands of tests of a few milliseconds each."""
    wrong: list[str] = []
    checked: set[str] = set()
    for call in all_calls()[part::PARTS]:
        text, done = edge_fault(call)
        if done:
            checked.add(call.row.op)
        if text:
            wrong.append(f"{call.id} {call.case.attrs} {text}")
    assert not wrong, "\n".join(wrong)
    assert len(checked) > 100


def all_calls() -> list[Call]:
    return [getattr(p, "values", (p,))[0] for p in gradient_calls(1)]


def edge_fault(call: Call) -> tuple[str, bool]:
    every_output, leaves = problem(call)
    function: Any = differenced(every_output)
    size = sum(t.size for t in leaves)
    if call.row.no_edges or not 0 < size <= LARGEST or not any(o.size for o in function(*leaves)):
        return "", False
    seed = zlib.crc32(call.id.encode())
    checked = Problem("gradcheck", function, leaves, seed)
    check = Check(checked, checked, Settings(1e-6, 1e-5, 1e-3, 0.0, False, seed, "gradcheck"))
    try:
        with np.errstate(all="ignore"), unobserved():
            check.further(len(checked.arrays))
    except GradcheckError as error:
        return str(error), True
    return "", True


@pytest.mark.parametrize("name", ["silu", "p_norm", "pow"])
def test_operations_with_known_edges_are_among_them(name: str) -> None:
    assert any(c.row.op == name and edge_fault(c)[1] for c in all_calls())
