"""The stated rules of gradients at kinks, ties and infinities hold, also in a pass that is recorded and in float32."""

import numpy as np
import pytest

import wherry as paddle
from tests.suites import table
from tests.suites.rules import RULES, Rule
from wherry import _C_ops


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("rule", [pytest.param(r, id=f"{r.op}-{k}") for k, r in enumerate(RULES)])
def test_a_stated_rule_holds(rule: Rule, recorded: bool, dtype: str) -> None:
    def tensor(value: object) -> object:
        if isinstance(value, np.ndarray):
            return table.tensor_of(value)
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [table.tensor_of(v) for v in value]
        array = np.array(value)
        narrow = {"c": "complex64", "f": "float32"}[array.dtype.kind]
        return table.leaf(array.astype(narrow) if dtype == "float32" else array)

    inputs = [tensor(v) for v in rule.inputs]
    leaves = [t for t in inputs if not isinstance(t, list) and not t.stop_gradient]  # type: ignore[attr-defined]
    out = table.outputs_of(getattr(_C_ops, rule.op)(*inputs, **rule.attrs))[0]
    seed = table.tensor_of(np.ones(out.shape, out.impl.array.dtype))
    found = paddle.grad([out], leaves, [seed], create_graph=recorded, allow_unused=True)
    assert len(found) == len(rule.gradients)
    for gradient, leaf, expected in zip(found, leaves, rule.gradients):
        value = np.zeros(leaf.shape) if gradient is None else gradient.numpy()
        np.testing.assert_allclose(value, expected, rtol=1e-6 if dtype == "float32" else 1e-15, atol=0)
