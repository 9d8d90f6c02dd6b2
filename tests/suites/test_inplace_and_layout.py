"""In-place twins, views, and inputs of every layout."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.op_table.row import Case, Row
from tests.suites import table
from tests.suites.table import Call
from wherry._generated.op_defs import OPS
from wherry.core.dense_tensor import overlaps_itself


def one_dtype(row: Row) -> tuple[str, ...]:
    return ("float64",) if "float64" in row.dtypes else row.dtypes[:1]


def has_twin(row: Row, case: Case) -> bool:
    op = OPS[row.op]
    return bool(op.inplace) and not op.name.endswith("_") and not row.random and "inplace" not in row.skip


def keeps_shape(op: Any, array: Any, out: Any) -> bool:
    """Whether the result may be written into the input: same shape, and no wider kind of number."""
    if op.view or op.name == "cast":
        return True
    fits = np.can_cast(out.impl.array.dtype, array.dtype, "same_kind")
    return bool(array.shape == out.impl.array.shape and fits)


@table.for_each(table.calls(one_dtype, has_twin))
def test_twin_equals_the_operation(call: Call) -> None:
    op = call.op
    arrays = table.make_inputs(call, away=True)
    at = op.inplace[0][0]
    outside = table.outputs_of(
        table.run(call, [table.mapped(lambda a: table.tensor_of(np.array(a)), a) for a in arrays])
    )[0]
    if not keeps_shape(op, arrays[at], outside):
        written = table.tensor_of(np.array(arrays[at]))
        tensors = [table.mapped(table.tensor_of, a) for a in arrays]
        tensors[at] = written
        with pytest.raises((ValueError, TypeError)):
            table.run(call, tensors, twin=True)
        np.testing.assert_array_equal(written.numpy(), arrays[at], err_msg="a refusal must come before the write")
        return
    results = []
    for twin in (False, True):
        leaves = [table.mapped(lambda a: table.leaf(np.array(a)), a) for a in arrays]
        inputs = list(leaves)
        if not leaves[at].stop_gradient:
            inputs[at] = paddle.assign(leaves[at])
        version = inputs[at].inplace_version
        out = table.outputs_of(table.run(call, inputs, twin))[0]
        if twin:
            assert out is inputs[at]
            if op.name != "cast":
                assert out.inplace_version == version + 1
        grads: list[Any] = []
        if not out.stop_gradient and table.differentiable(out.impl.array):
            weight = table.cotangent(np.random.default_rng(call.seed), out.impl.array)
            out.backward(paddle.to_tensor(weight))
            grads = [None if t.grad is None else t.grad.numpy() for t in table.each(leaves)]
        results.append((out.numpy(), grads))
    same_kind = results[0][0].astype(results[1][0].dtype)
    table.assert_same(results[1][0], same_kind, 1e-12, 1e-12, "value")
    for k, (inside, outside_grad) in enumerate(zip(results[1][1], results[0][1])):
        assert (inside is None) == (outside_grad is None), f"gradient of input {k}"
        if inside is not None:
            table.assert_same(inside, outside_grad, 1e-10, 1e-10, f"gradient of input {k}")


@table.for_each(table.calls(lambda row: ("float64",), has_twin))
def test_twin_refuses_a_leaf(call: Call) -> None:
    arrays = table.make_inputs(call)
    at = call.op.inplace[0][0]
    if not table.differentiable(arrays[at]):
        return
    tensors = [table.mapped(lambda a: table.tensor_of(np.array(a)), a) for a in arrays]
    tensors[at] = table.leaf(np.array(arrays[at]))
    with pytest.raises((RuntimeError, ValueError, TypeError)) as refused:
        table.run(call, tensors, twin=True)
    if isinstance(refused.value, RuntimeError):
        assert "leaf" in str(refused.value) and "no_grad" in str(refused.value)
    np.testing.assert_array_equal(tensors[at].numpy(), arrays[at])


def is_view(row: Row, case: Case) -> bool:
    return bool(OPS[row.op].view) and bool(row.cases)


def grad_dtype(row: Row) -> tuple[str, ...]:
    return row.grad_dtypes[:1]


def parts(array: np.ndarray) -> np.ndarray:
    """The real and the imaginary parts, one behind the other, since views may take them apart."""
    flat = array.reshape(-1)
    return np.concatenate((flat.real, flat.imag)) if array.dtype.kind == "c" else flat


@table.for_each(table.calls(grad_dtype, is_view))
def test_view_shares_memory_and_history(call: Call) -> None:
    arrays = table.make_inputs(call)
    source = call.op.view[0][0]
    leaf = table.leaf(np.array(arrays[source]))
    if leaf.size == 0 or leaf.stop_gradient or not call.op.has_grad:
        return
    tensors = [table.mapped(table.tensor_of, a) for a in arrays]
    base = paddle.assign(leaf)
    tensors[source] = base
    views = [v for v in table.outputs_of(table.run(call, tensors)) if v is not None and v.size]
    if not views or views[0].impl.storage is not base.impl.storage:
        return
    view = views[0]
    if overlaps_itself(view.impl.array):
        with pytest.raises(RuntimeError):
            view.scale_(3.0)
        return
    before = parts(base.numpy())
    view.multiply_(paddle.to_tensor(np.array(3.0, view.impl.array.dtype)))
    after = parts(base.numpy())
    # A view that does not overlap itself has each of its elements at a place of its own in the base.
    assert int((after != before).sum()) == parts(view.numpy()).size
    base.sum().backward()
    real = after.size if base.numpy().dtype.kind != "c" else after.size // 2
    expected = np.where(after == before, 1.0, 3.0)
    # The gradient of the sum is 1 + 0j for every element.
    expected[real:] = 0.0
    np.testing.assert_allclose(parts(leaf.grad.numpy()), expected)


def layouts(array: np.ndarray) -> list[np.ndarray]:
    """The same values in other strides: every second of a wider array, reversed, transposed memory."""
    if array.ndim == 0:
        return []
    wide = np.zeros(array.shape[:-1] + (array.shape[-1] * 2,), array.dtype)
    wide[..., ::2] = array
    return [wide[..., ::2], np.array(np.flip(array, 0))[::-1], np.asfortranarray(array)]


def has_layout(row: Row, case: Case) -> bool:
    return not row.random and not row.op.endswith("_") and "noncontiguous" not in row.skip and len(case.inputs) > 0


@table.for_each(table.calls(one_dtype, has_layout))
def test_layout_changes_nothing(call: Call) -> None:
    arrays = table.make_inputs(call)
    tensors = [table.mapped(table.tensor_of, a) for a in arrays]
    kept = [np.array(a) for a in table.each(arrays)]
    want = [None if o is None else o.numpy() for o in table.outputs_of(table.run(call, tensors))]
    for array, copy in zip(table.each(arrays), kept):
        assert array.tobytes() == copy.tobytes(), "an input was changed"
    for which in range(3):
        moved = [
            table.mapped(lambda a, which=which: table.tensor_of(layouts(a)[which] if a.ndim else a), a) for a in arrays
        ]
        got = [None if o is None else o.numpy() for o in table.outputs_of(table.run(call, moved))]
        for k, (a, b) in enumerate(zip(got, want)):
            if b is not None:
                table.assert_same(a, b, 1e-12, 1e-12, f"output {k}")
