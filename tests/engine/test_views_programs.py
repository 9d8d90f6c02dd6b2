"""Random programs of views and in-place changes give the values and gradients of the same programs without them."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.engine.view_programs import Program, as_written, loss_of, parts_of, without_views


def gradients(variables: dict[int, Any], leaves: dict[int, Any]) -> dict[int, Any]:
    """First derivatives of the loss, and those of a weighted sum of them, by leaf; zeros where there is none."""
    loss = loss_of(variables)
    found: dict[int, Any] = {}
    first: list[Any] = [None] * len(leaves)
    if loss is not None and leaves:
        first = paddle.grad(loss, list(leaves.values()), create_graph=True, allow_unused=True)
    again = loss_of({k: g for k, g in zip(leaves, first) if g is not None})
    second: list[Any] = [None] * len(leaves)
    if again is not None:
        second = paddle.grad(again, list(leaves.values()), allow_unused=True)
    for k, leaf, *grads in zip(leaves, leaves.values(), first, second):
        size = parts_of(leaf).size
        found[k] = [np.zeros(size) if g is None else parts_of(g).numpy().reshape(-1) for g in grads]
    return found


@pytest.mark.parametrize("seed", range(300))
def test_values_and_gradients_are_those_without_views(seed: int) -> None:
    program = Program(seed, 10 + seed % 12)
    variables, leaves, outcomes = as_written(program)
    reference, reference_leaves, refused = without_views(program, outcomes)
    assert [o == "refused" for o in outcomes] == refused
    for k, x in variables.items():
        np.testing.assert_array_equal(x.numpy(), reference[k].numpy(), err_msg=f"variable {k}")
        assert x.stop_gradient == reference[k].stop_gradient, f"variable {k}"
    got, want = gradients(variables, leaves), gradients(reference, reference_leaves)
    for k, pair in want.items():
        for order, expected in enumerate(pair):
            np.testing.assert_allclose(
                got[k][order], expected, rtol=1e-9, atol=1e-9, err_msg=f"leaf {k}, derivative {order + 1}"
            )
