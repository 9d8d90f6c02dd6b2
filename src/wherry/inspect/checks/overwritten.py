"""A parameter that is changed between the forward that used it and the backward that computes its gradient."""

from typing import Any

from wherry.autograd.history import grad_node_of
from wherry.autograd.structures import AccumulationNode
from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check
from wherry.inspect.tape import named_inputs


class OverwrittenCheck(Check):
    """Reports the write; where backward needed the old value it raises, which is reported too, with both lines."""

    kind = "inplace"

    def __init__(self) -> None:
        super().__init__()
        # By id of a leaf's GradState: where it was last used by a recorded call, and where it was written after that.
        self._used: dict[int, Line] = {}
        self._written: dict[int, tuple[Line, str, Line]] = {}

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if not op.has_grad:
            return
        for _, tensor in named_inputs(op, inputs):
            if tensor._state is not None and isinstance(grad_node_of(tensor), AccumulationNode):
                self._used[id(tensor._state)] = own_line()
                self._written.pop(id(tensor._state), None)

    def written(self, tensor: Any, name: str) -> None:
        used = self._used.get(id(tensor._state)) if tensor._state is not None else None
        if used is not None:
            self._written.setdefault(id(tensor._state), (own_line(), name, used))

    def gradient_accumulated(self, engine: Any, node: Any, grad: Any) -> None:
        self._used.pop(id(node.state), None)
        found = self._written.pop(id(node.state), None)
        if found is None:
            return
        line, name, used = found
        self.report(
            "warning",
            line,
            f"{name} changed {node.state.name or 'a leaf'} after forward had used it and before backward: the gradient belongs to the old value",
            "Change parameters after backward, or run forward again.",
            [(used, "used in forward"), (own_line(), "backward")],
        )

    def failed(self, error: BaseException) -> None:
        places = getattr(error, "wherry_places", None)
        if not places or getattr(error, "wherry_kind", "") != self.kind:
            return
        lines = [(Line(code, lasti), role) for role, code, lasti in places]
        self.report(
            "error",
            lines[0][0],
            str(error).split("\n", 1)[0],
            "Use the out-of-place form of the operation that writes, or write to a clone().",
            lines[1:],
        )
