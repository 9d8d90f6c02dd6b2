"""The first NaN or infinity: the operation that made it from finite inputs, forward or backward."""

from typing import Any

from wherry.inspect.facts import Line, array_of, line_of_node, own_line, statistics
from wherry.inspect.findings import Check
from wherry.inspect.tape import flat_tensors, named_inputs


class NonFiniteCheck(Check):
    """Reports where finite numbers first became nan or inf; what follows from it is not reported again."""

    kind = "nan"

    def __init__(self) -> None:
        super().__init__()
        self._inputs: list[tuple[Any, Line, list[str]]] = []

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        bad = []
        if not self.found:
            bad = [name for name, t in named_inputs(op, inputs) if not statistics(t.impl.array).finite]
        self._inputs.append((op, own_line(), bad))

    def call_failed(self, op: Any, error: BaseException) -> None:
        self._inputs.pop()

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        _, line, bad = self._inputs.pop()
        if self.found or bad:
            return
        for tensor in flat_tensors(outputs):
            found = statistics(tensor.impl.array)
            if found.nan or (found.inf and op.inputs):
                what = f"{found.nan} nan" if found.nan else f"{found.inf} inf"
                self.report(
                    "error",
                    line,
                    f"{op.name} made {what} of {found.size} elements from finite inputs",
                    ADVICE.get(
                        op.name,
                        "Keep its inputs in the range where the function is defined (clip, add a small number).",
                    ),
                )
                return

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        self._clean = all(g is None or statistics(array_of(g)).finite for g in grads)

    def node_finished(self, engine: Any, node: Any, results: list[Any]) -> None:
        if self.found or not self._clean:
            return
        for result in results:
            if result is not None and not statistics(array_of(result)).finite:
                self.report(
                    "error",
                    line_of_node(node),
                    f"the derivative of {node.op_name()} is not finite at the values of this call, though what arrived was finite",
                    ADVICE.get(node.op_name(), "Keep its inputs away from the point where the derivative is infinite."),
                )
                return


ADVICE = {
    "log": "Add a small number or clip below before the logarithm; log(0) is -inf.",
    "sqrt": "Add a small number under the root: its derivative at 0 is infinite.",
    "divide": "Add a small number to the divisor, or choose with where before dividing.",
    "exp": "Subtract the maximum first, or use softmax, log_softmax or logsumexp.",
}
