"""Every call of the table against its reference, and InferMeta against what the kernel returned."""

from typing import Any

import numpy as np

from tests.suites import table
from tests.suites.table import Call
from wherry._generated.op_defs import OPS
from wherry.core.dtype import convert_dtype
from wherry.dispatch import library


def expected_outputs(call: Call, arrays: list[Any]) -> list[Any]:
    """The reference's outputs; half dtypes are computed in float32."""
    halves = call.dtype in ("float16", "bfloat16")
    given = [
        table.mapped(lambda a: a.astype(np.float32) if halves and table.kind_of(a) == "f" else a, x) for x in arrays
    ]
    with np.errstate(all="ignore"):
        result = call.row.reference(*given, **call.case.attrs)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def flat(values: list[Any]) -> list[Any]:
    return [v for item in values for v in (item if isinstance(item, (list, tuple)) else [item])]


@table.for_each(table.calls(keep=lambda row, case: row.reference is not None))
def test_forward_equals_the_reference(call: Call) -> None:
    arrays = table.make_inputs(call)
    expected = flat(expected_outputs(call, arrays))
    tensors = [table.mapped(lambda a: table.tensor_of(np.array(a)), x) for x in arrays]
    result = table.run(call, tensors)
    outputs = table.outputs_of(result)
    for k, (output, value) in enumerate(zip(outputs, expected)):
        if value is not None and output is not None:
            name = call.dtype if call.dtype != table.GIVEN else output.dtype.name
            rtol = max(table.tolerance_of(call.row, name), 1e-12)
            atol = 0.0 if table.has_tiny(arrays) else rtol
            table.assert_same(output.impl.array, value, rtol, atol, f"output {k}")
    assert len(outputs) >= len([e for e in expected if e is not None])


def run_raw(call: Call, arrays: list[Any]) -> Any:
    op = OPS[call.row.op]
    attrs = tuple(call.case.attrs.get(n, d) for n, d in zip(op.attrs, op.attr_defaults))
    attrs = tuple(convert_dtype(a) if k == "DataType" and a is not None else a for k, a in zip(op.attr_kinds, attrs))
    attrs = tuple(
        tuple(a) if isinstance(a, (list, tuple)) and not k.startswith("Index") else a
        for k, a in zip(op.attr_kinds, attrs)
    )
    dense = table.dense_inputs(arrays)
    metas = tuple(table.mapped(lambda d: d.meta, d) for d in dense)
    dense += (None,) * (len(op.inputs) - len(dense))
    metas += (None,) * (len(op.inputs) - len(metas))
    return library.infer(op, metas, attrs), library.run(op, list(dense), attrs)


@table.for_each(table.calls(keep=lambda row, case: not row.op.endswith("_")))
def test_infermeta_equals_the_kernel(call: Call) -> None:
    metas, result = run_raw(call, table.make_inputs(call))
    if not isinstance(metas, tuple):
        metas, result = (metas,), (result,)
    for meta, value in zip(metas, result):
        pairs = zip(meta, value) if isinstance(value, list) else [(meta, value)]
        for one, dense in pairs:
            if dense is None:
                continue
            shape = dense.array.shape
            assert len(one.shape) == len(shape)
            assert all(a in (-1, b) for a, b in zip(one.shape, shape)), f"InferMeta {one.shape}, kernel {shape}"
            assert one.dtype.numpy == dense.array.dtype, f"InferMeta {one.dtype}, kernel {dense.array.dtype}"
