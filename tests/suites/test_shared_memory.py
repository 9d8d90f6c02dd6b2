"""Views really share their source's memory, and inputs that share their own (broadcast, stride 0) are read right."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.op_table.row import Case, Row
from tests.suites import table
from tests.suites.table import Call
from wherry._generated.op_defs import OPS


def is_view(row: Row, case: Case) -> bool:
    return bool(OPS[row.op].view)


@table.for_each(table.calls(lambda row: row.dtypes[:1], is_view))
def test_a_view_of_contiguous_memory_is_never_a_copy(call: Call) -> None:
    source = call.op.view[0][0]
    tensors = [table.mapped(lambda a: table.tensor_of(np.array(a)), a) for a in table.make_inputs(call)]
    base = tensors[source]
    views = [v for v in table.outputs_of(table.run(call, tensors)) if v is not None]
    assert views, "a view operation returned nothing"
    for view in views:
        assert view.impl.storage is base.impl.storage
        assert view is not base
        if view.size:
            assert np.shares_memory(view.impl.array, base.impl.array)
    # One counter for all of them: a write to the source is a write to each view.
    before = [v.inplace_version for v in views]
    with paddle.no_grad():
        base.zero_()
    assert [v.inplace_version for v in views] == [n + 1 for n in before]
    assert not any(table.comparable(v.impl.array).any() for v in views), "the write is not seen through a view"


@table.for_each(table.calls(lambda row: row.grad_dtypes[:1], lambda row, case: is_view(row, case) and row.order > 0))
def test_a_view_of_a_leaf_refuses_writes(call: Call) -> None:
    source = call.op.view[0][0]
    arrays = table.make_inputs(call)
    if not table.differentiable(arrays[source]):
        return
    tensors = [table.mapped(lambda a: table.tensor_of(np.array(a)), a) for a in arrays]
    tensors[source] = table.leaf(np.array(arrays[source]))
    for view in table.outputs_of(table.run(call, tensors)):
        assert not view.stop_gradient
        with pytest.raises(RuntimeError, match=r"leaf|share memory"):
            view.multiply_(paddle.to_tensor(np.array(2.0, view.impl.array.dtype)))
    assert tensors[source].numpy().tobytes() == arrays[source].tobytes()


def one_dtype(row: Row) -> tuple[str, ...]:
    return ("float64",) if "float64" in row.dtypes else row.dtypes[:1]


def takes_broadcast(row: Row, case: Case) -> bool:
    return not row.random and not row.op.endswith("_") and "noncontiguous" not in row.skip and len(case.inputs) > 0


def broadcast(array: Any) -> Any:
    """The first row of an array everywhere, with stride 0; integers (indices, labels) stay as they are."""
    if not table.differentiable(array) or array.ndim == 0 or array.shape[0] == 0:
        return array
    return np.broadcast_to(array[:1], array.shape)


def outcome(call: Call, inputs: list[Any]) -> Any:
    """The outputs' values, or the error's type where the operation refuses these values (a singular matrix)."""
    try:
        result = table.run(call, [table.mapped(table.tensor_of, a) for a in inputs])
    except (ValueError, np.linalg.LinAlgError, RuntimeError) as error:
        return type(error)
    return [None if o is None else o.numpy() for o in table.outputs_of(result)]


@table.for_each(table.calls(one_dtype, takes_broadcast))
def test_inputs_with_stride_zero(call: Call) -> None:
    shared = [table.mapped(broadcast, a) for a in table.make_inputs(call)]
    kept = [a.tobytes() for a in table.each(shared)]
    want = outcome(call, [table.mapped(np.array, a) for a in shared])
    got = outcome(call, shared)
    assert [a.tobytes() for a in table.each(shared)] == kept, "an input was changed"
    if isinstance(want, type) or isinstance(got, type):
        assert got is want
        return
    assert len(got) == len(want)
    for k, (a, b) in enumerate(zip(got, want)):
        assert (a is None) == (b is None)
        if b is not None:
            table.assert_same(a, b, 1e-12, 1e-12, f"output {k}")
