"""Parameters that should have a gradient and have none."""

import weakref
from typing import Any

from wherry.autograd.history import grad_node_of
from wherry.autograd.structures import AccumulationNode, TensorBase
from wherry.inspect.checks.customs import only_return
from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check
from wherry.inspect.gradients import Reason, why_no_grad
from wherry.inspect.tape import Tape

# How many of the last calls the answer may look at.
_LIMIT = 20_000
FIXES = {
    "detach": "Leave detach() (numpy(), to_tensor()) out on the way from the parameter to the loss.",
    "no_grad": "Compute the loss outside the no_grad block.",
    "stop_gradient": "Set stop_gradient to False before the forward pass.",
    "default": "Set stop_gradient=False on it before the forward pass.",
    "no derivative": "Use an operation that has a derivative (softmax for argmax, a smooth function for a comparison or a cast to integer).",
    "returned none": "Return a gradient for every input that needs one.",
    "not used": "Use it in the loss, or leave it out of the optimizer.",
    "pruned": "Use it in the loss, or leave it out of the optimizer.",
    "no backward": "Call backward() on the loss before the step.",
    "cleared": "Clear gradients after the step, not between backward and step.",
    "dtype": "Use a floating dtype.",
}


class MissingGradientCheck(Tape, Check):
    """Reports a parameter that an optimizer was given and that no gradient came to; without an optimizer, a leaf that wants one."""

    kind = "none-grad"

    def __init__(self) -> None:
        Tape.__init__(self, with_statistics=False, limit=_LIMIT)
        self.found = []
        self._asked: set[int] = set()
        self._steps = 0
        self._leaves: dict[int, Any] = {}
        self._accumulates = False
        self._layers: dict[str, Any] = {}

    def optimizer_stepped(self, optimizer: Any) -> None:
        super().optimizer_stepped(optimizer)
        self._steps += 1
        if self._steps > 3:
            return
        missing = [p for g in optimizer._param_groups for p in g["params"] if not p._stop_gradient and p.grad is None]
        for p in missing:
            self._explain(p, own_line())

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        super().call_started(op, inputs, attrs, inplace)
        if len(self._leaves) < 1000 and not self._passes:
            for value in inputs:
                for tensor in value if isinstance(value, list) else (value,):
                    if isinstance(tensor, TensorBase) and isinstance(grad_node_of(tensor), AccumulationNode):
                        self._leaves.setdefault(id(tensor._state), weakref.ref(tensor))

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        super().custom_started(layer, context, inputs, args, kwargs)
        self._layers[layer.__qualname__] = layer

    def gradient_accumulated(self, engine: Any, node: Any, grad: Any) -> None:
        self._accumulates = True
        self._leaves.pop(id(node.state), None)

    def _explain(self, tensor: Any, asked_at: Line) -> None:
        number = self.numbers.of(tensor)
        if number in self._asked:
            return
        self._asked.add(number)
        reason = deepest(why_no_grad(tensor, self))
        if reason.kind in ("pruned", "not used") and any(p.create_graph for p in self.passes):
            # A loss of gradients need not depend on everything (an offset has no part in a slope).
            return
        if self._steps == 0 and not (reason.went_on or reason.kind in ("returned none", "stop_gradient")):
            # Without an optimizer only a value that went into a loss without its history is sure to be a mistake.
            return
        line = reason.line if reason.line.line else asked_at
        name = reason.text.removeprefix("the backward of ").split(" ")[0]
        if reason.kind == "returned none" and name in self._layers:
            line = only_return(self._layers[name].backward)
        name = (tensor._state.name if tensor._state is not None else None) or f"a leaf {tensor.impl.meta}"
        self.report(
            "note" if reason.kind == "not used" and self._accumulates else "warning",
            line,
            f"no gradient comes to {name}: {reason.text}",
            FIXES.get(reason.kind, "See wherry.inspect.why_no_grad."),
            [(asked_at, "where its gradient was wanted")],
        )

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        super().backward_finished(engine, error)
        if error is not None:
            # What an exception cut off is not missing.
            self._leaves.clear()

    def failed(self, error: BaseException) -> None:
        self._leaves.clear()

    def finish(self, variables: dict[str, Any]) -> None:
        if self._steps == 0 and self._accumulates:
            for reference in list(self._leaves.values()):
                tensor = reference()
                if tensor is not None and (tensor._state is None or tensor._state.grad is None):
                    self._explain(tensor, list(self.passes)[-1].line)
        self._leaves.clear()


def deepest(reason: Reason) -> Reason:
    """The first reason below another that names a line of its own."""
    while reason.because and reason.because[0].line.line:
        reason = reason.because[0]
    return reason
