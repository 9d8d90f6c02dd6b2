"""First and second derivatives of every differentiable call of the table against finite differences."""

from typing import Any

import numpy as np

import wherry as paddle
from tests.op_table.row import Case, Row
from tests.suites import table
from tests.suites.table import Call
from wherry import _C_ops
from wherry.autograd.gradcheck import gradcheck, gradgradcheck


def smooth(row: Row, array: np.ndarray) -> bool:
    """Whether finite differences mean something at given values: finite, moderate, away from kinks and ties."""
    if array.dtype.kind not in "fc":
        return True
    if not np.isfinite(array).all() or (np.abs(array) > 1e3).any():
        return False
    if any((np.abs(array - kink) < table.KINK_DISTANCE).any() for kink in row.kinks):
        return False
    return not (row.distinct and len(np.unique(array)) != array.size)


def has_gradient(row: Row, case: Case) -> bool:
    given = [
        a for item in case.inputs for a in (item if isinstance(item, list) else [item]) if isinstance(a, np.ndarray)
    ]
    return row.order > 0 and not row.random and all(smooth(row, a) for a in given)


def gradient_calls(order: int) -> list[Call]:
    return table.calls(lambda row: row.grad_dtypes, lambda row, case: has_gradient(row, case) and row.order >= order)


def problem(call: Call) -> tuple[Any, list[Any]]:
    """A function of the tensors that want a gradient, which returns the outputs that have one; and those tensors."""
    arrays = [table.mapped(widened, a) for a in table.make_inputs(call, away=True)]
    positions = call.row.grad_inputs
    leaves: list[Any] = []
    slots: list[Any] = []
    for i, item in enumerate(arrays):
        wanted = positions is None or i in positions
        slots.append(table.mapped(lambda a, wanted=wanted: slot(a, wanted, leaves), item))

    def every_output(*tensors: Any) -> list[Any]:
        filled = [table.mapped(lambda s: tensors[s] if isinstance(s, int) else s, s) for s in slots]
        result = getattr(_C_ops, call.row.op)(*filled, **call.case.attrs)
        outputs = [o for o in table.outputs_of(result) if o is not None and table.differentiable(o.impl.array)]
        chosen = call.row.outputs_differentiable
        return outputs if chosen is None else [outputs[k] for k in chosen]

    return every_output, leaves


def differenced(every_output: Any) -> Any:
    """The function without results in a narrower dtype (cast), which cannot be differenced."""
    return lambda *tensors: tuple(o for o in every_output(*tensors) if o.dtype.name in ("float64", "complex128"))


def widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype == np.float32 else array


def slot(array: np.ndarray, wanted: bool, leaves: list[Any]) -> Any:
    if not wanted or not table.differentiable(array):
        return table.tensor_of(array)
    leaves.append(table.leaf(np.array(array)))
    return len(leaves) - 1


@table.for_each(gradient_calls(1))
def test_first_derivative(call: Call) -> None:
    every_output, leaves = problem(call)
    function = differenced(every_output)
    outputs = function(*leaves)
    if outputs and any(t.size for t in leaves) and any(o.size for o in outputs):
        assert gradcheck(function, leaves, edges=False)
        return
    # Nothing to difference; the gradient must still have the input's shape and dtype.
    recorded = [o for o in every_output(*leaves) if not o.stop_gradient]
    if leaves and recorded:
        paddle.autograd.backward(recorded)
    for leaf in leaves:
        assert (leaf.grad is None) == (not recorded)
        assert leaf.grad is None or (leaf.grad.shape == leaf.shape and leaf.grad.dtype == leaf.dtype)


@table.for_each(gradient_calls(2))
def test_second_derivative(call: Call) -> None:
    every_output, leaves = problem(call)
    function = differenced(every_output)
    if any(t.size for t in leaves) and any(o.size for o in function(*leaves)):
        assert gradgradcheck(function, leaves, edges=False)
