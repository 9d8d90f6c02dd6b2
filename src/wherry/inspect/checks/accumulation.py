"""Gradients that pile up: a step was taken with a gradient, and the next backward adds to it because nobody cleared it."""

from typing import Any

from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check


class AccumulationCheck(Check):
    """Reports a backward that adds to gradients with which the parameters were changed already.

    Adding up several backward passes before one step is not reported.
    """

    kind = "stale-grad"

    def __init__(self) -> None:
        super().__init__()
        # By id of the leaf's GradState, which the leaf keeps alive as long as it matters.
        self._changed: dict[int, Line] = {}
        self._backward: Line | None = None

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        self._backward = own_line()

    def gradient_cleared(self, tensor: Any) -> None:
        self._changed.pop(id(tensor._state), None)

    def written(self, tensor: Any, name: str) -> None:
        leaf = tensor._state
        if leaf is not None and leaf.grad is not None and not tensor._stop_gradient:
            self._changed[id(leaf)] = own_line()

    def gradient_accumulated(self, engine: Any, node: Any, grad: Any) -> None:
        step = self._changed.pop(id(node.state), None)
        if node.state.grad is None or step is None:
            return
        name = node.state.name or f"the leaf {node.meta}"
        self.report(
            "warning",
            step,
            f"the gradient of {name} was used here and not cleared, so the next backward added to it: from then on every step "
            "uses the sum of all gradients so far",
            "Call clear_grad() on the optimizer (or set .grad to None) after the step, before the next backward.",
            [(self._backward or step, "the backward that added to it")],
        )
