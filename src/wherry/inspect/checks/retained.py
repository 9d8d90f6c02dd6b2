"""retain_graph=True in a loop: every pass keeps what it saved though nobody runs through it again."""

from typing import Any

from wherry.inspect.facts import Line, Numbers, own_line
from wherry.inspect.findings import Check

# How often a line must retain a graph in vain.
_TIMES = 2


class RetainedCheck(Check):
    """Reports a line that retains graphs of which none was run through again."""

    kind = "retained-graph"

    def __init__(self) -> None:
        super().__init__()
        self._numbers = Numbers()
        # By line: the root nodes of retained passes that were not used again.
        self._waiting: dict[Line, list[set[int]]] = {}
        self._useful: set[Line] = set()
        self._current: tuple[Line, set[int]] | None = None

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        self._current = (own_line(), set()) if engine.retain_graph and not engine.create_graph else None

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        if not hasattr(node, "saved") or not node.num_inputs():
            return
        number = self._numbers.of_node(node)
        for line, passes in self._waiting.items():
            if any(number in nodes for nodes in passes):
                self._useful.add(line)
        if self._current is not None:
            self._current[1].add(number)

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        if self._current is None:
            return
        line, nodes = self._current
        self._current = None
        passes = self._waiting.setdefault(line, [])
        passes.append(nodes)
        del passes[:-4]

    def finish(self, variables: dict[str, Any]) -> None:
        for line, passes in self._waiting.items():
            if len(passes) >= _TIMES and line not in self._useful:
                self.report(
                    "warning",
                    line,
                    "retain_graph=True keeps everything that was saved for backward, and no later backward went through it again",
                    "Leave retain_graph out; if backward then complains, a tensor of an earlier step is still part of the graph: detach() it.",
                )
