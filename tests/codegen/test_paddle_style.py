"""An entry in Paddle's own style (backward entry with a kernel, derivatives of derivatives by further entries) works as it is."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wherry
from wherry import _C_ops
from wherry._generated import op_defs, raw_ops
from wherry.dispatch.bind import register_rules
from wherry.dispatch.kernel_factory import FLOAT, register
from wherry_codegen.check import check
from wherry_codegen.emit import emit
from wherry_codegen.lower import lower
from wherry_codegen.parse import parse_text

TEXT = """
- op : cube_sum
  args : (Tensor x, Tensor y, float weight = 2.0f)
  output : Tensor(out)
  infer_meta :
    func : UnchangedInferMeta
    param : [x]
  kernel :
    func : cube_sum
  backward : cube_sum_grad

- backward_op : cube_sum_grad
  forward : cube_sum (Tensor x, Tensor y, float weight = 2.0f) -> Tensor(out)
  args : (Tensor x, Tensor y, Tensor out_grad, float weight)
  output : Tensor(x_grad), Tensor(y_grad)
  infer_meta :
    func : CubeSumGradInferMeta
    param : [x, y]
  kernel :
    func : cube_sum_grad
  no_need_buffer : y
  backward : cube_sum_double_grad

- backward_op : cube_sum_double_grad
  forward : cube_sum_grad (Tensor x, Tensor y, Tensor grad_out, float weight) -> Tensor(grad_x), Tensor(grad_y)
  args : (Tensor x, Tensor grad_out, Tensor grad_x_grad, Tensor grad_y_grad, float weight)
  output : Tensor(x_grad), Tensor(grad_out_grad)
  infer_meta :
    func : CubeSumGradInferMeta
    param : [x, grad_out]
  kernel :
    func : cube_sum_double_grad

- op : passed_on
  args : (Tensor x, float factor)
  output : Tensor(out)
  infer_meta :
    func : UnchangedInferMeta
    param : [x]
  kernel :
    func : passed_on
  backward : passed_on_grad

- backward_op : passed_on_grad
  forward : passed_on (Tensor x, float factor) -> Tensor(out)
  args : (Tensor out_grad, float factor)
  output : Tensor(x_grad)
  invoke : passed_on(out_grad, factor)
"""


@pytest.fixture(scope="module")
def ops() -> Iterator[Any]:
    """The operations above, generated and put beside the package's own."""
    from wherry.infermeta.registry import INFER_META

    entries, problems = parse_text(TEXT, "ops/cube.yaml")
    entries, rules, wrong = lower(entries)
    assert not problems + wrong + check(entries)
    files = emit(entries)
    files["_generated/rules.py"] = rules
    INFER_META["CubeSumGradInferMeta"] = lambda a, b: (a, b)
    register("cube_sum", lambda x, y, w: x**3 + w * y, FLOAT)
    register("cube_sum_grad", lambda x, y, g, w: (3 * x * x * g, w * g + 0 * y), FLOAT)
    register("cube_sum_double_grad", lambda x, g, gx, gy, w: (6 * x * g * gx, 3 * x * x * gx + w * gy), FLOAT)
    register("passed_on", lambda x, factor: factor * x, FLOAT)
    defs: dict[str, Any] = {}
    exec(files["_generated/op_defs.py"], defs)
    op_defs.OPS.update(defs["OPS"])
    module = ModuleType("wherry._generated.rules_of_a_test")
    exec(rules, module.__dict__)
    register_rules(module)
    names = [e.name for e in entries]
    for target, name in ((_C_ops, "_C_ops.py"), (raw_ops, "_generated/raw_ops.py")):
        made: dict[str, Any] = {}
        exec(files[name], made)
        for op in names:
            setattr(target, op, made[op])
    yield _C_ops
    for op in names:
        delattr(_C_ops, op)
        delattr(raw_ops, op)
        del op_defs.OPS[op]
    del INFER_META["CubeSumGradInferMeta"]


def leaf(*values: float) -> Any:
    return wherry.to_tensor(np.array(values), stop_gradient=False)


def test_first_order(ops: Any) -> None:
    x, y = leaf(1.0, 2.0), leaf(5.0, 7.0)
    out = ops.cube_sum(x, y)
    assert out.tolist() == [11.0, 22.0]
    out.backward(wherry.to_tensor(np.array([1.0, 10.0])))
    assert x.grad.tolist() == [3.0, 120.0]
    assert y.grad.tolist() == [2.0, 20.0]


def test_second_order(ops: Any) -> None:
    x, y = leaf(1.0, 2.0), leaf(5.0, 7.0)
    (first,) = wherry.grad(ops.cube_sum(x, y, 4.0), [x], create_graph=True)
    (second,) = wherry.grad(first, [x])
    assert first.tolist() == [3.0, 12.0]
    assert second.tolist() == [6.0, 12.0]


def test_invoke(ops: Any) -> None:
    x = leaf(1.0, 2.0)
    ops.passed_on(x, 3.0).backward()
    assert x.grad.tolist() == [3.0, 3.0]
