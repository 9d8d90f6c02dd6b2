"""Graphs that stay alive from step to step: who holds them, and the line that put them there."""

import ast
import gc
from typing import Any

from wherry.autograd.structures import GradNodeBase
from wherry.core.observer import unobserved
from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check, syntax_tree
from wherry.inspect.holders import Holder, Holders, frames
from wherry.inspect.live_memory import Alive

# Passes that may set things up, passes after which the count is looked at, and how many looks must all have grown.
_WARMUP = 1
_LOOKS = 4
_MOST_LOOKS = 40


class LeakCheck(Check):
    """Reports what holds backward nodes of earlier steps, where their number grows with every backward pass.

    Nodes are counted at the end of passes 2, 3, 4, 5, then ever more rarely; growth between all of the first looks counts.
    """

    kind = "leak"

    def __init__(self) -> None:
        super().__init__()
        self._passes: dict[Line, int] = {}
        self._looks: dict[Line, list[int]] = {}
        self._done = False
        self._hook_lines: dict[Any, Line] = {}
        self._line: Line | None = None
        self._depth = 0

    def hook_registered(self, node: Any, hook: Any) -> None:
        code = getattr(hook.function, "__code__", None)
        if code is not None and len(self._hook_lines) < 1000:
            self._hook_lines.setdefault(code, own_line())

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        self._depth += 1
        if self._depth == 1:
            self._line = own_line()

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        self._depth -= 1
        line = self._line
        if self._depth or error is not None or line is None or self._done:
            return
        count = self._passes.get(line, 0) + 1
        self._passes[line] = count
        looks = self._looks.setdefault(line, [])
        if count <= _WARMUP or len(looks) >= _MOST_LOOKS or (count > _LOOKS + _WARMUP and count & (count - 1)):
            return
        # What a knot keeps until the collector comes is no leak.
        gc.collect()
        looks.append(sum(isinstance(thing, GradNodeBase) for thing in gc.get_objects()))
        if len(looks) >= _LOOKS and all(b > a for a, b in zip(looks[-_LOOKS:], looks[-_LOOKS + 1 :])):
            self._blame(line, looks)

    def _blame(self, line: Line, looks: list[int]) -> None:
        """Find who holds the graphs of earlier steps."""
        self._done = True
        with unobserved():
            alive = Alive()
            outer = [t for t in alive.tensors if t._grad_node is not None and t._grad_node.num_inputs() > 0]
            heap = Holders(outer)
            holders = [(t, h) for t in outer for h in heap.of(t)]
            heap.close()
        grown = f"the number of backward nodes alive grows with every pass: {', '.join(map(str, looks[-_LOOKS:]))}"
        places: dict[str, tuple[Line, Holder, int]] = {}
        for _, holder in holders:
            found = self._place(holder)
            if found is not None:
                key = f"{found.file}:{found.line}"
                before = places.get(key)
                places[key] = (found, holder, 1 if before is None else before[2] + 1)
        if not places:
            texts = ", ".join(sorted({h.text for _, h in holders})[:5])
            self.report("warning", line, f"{grown}; held by {texts or 'something that could not be named'}", FIX)
            return
        place, holder, _ = max(places.values(), key=lambda p: p[2])
        self.report(
            "warning",
            place,
            f"{grown}, because {holder.text.split(' in the closure')[0] if holder.kind == 'hook' else holder.text} keeps tensors of earlier steps "
            "with their whole graph",
            HOOK_FIX if holder.kind in ("hook", "closure") else FIX,
            [(line, "the backward whose graphs stay")],
        )

    def _place(self, holder: Holder) -> Line | None:
        """The line that put something into a holder, as far as the source says."""
        if holder.kind in ("hook", "closure") and holder.line is not None:
            return self._hook_lines.get(holder.line.code, holder.line)
        if holder.kind not in ("variable", "attribute") or not holder.name:
            return None
        grows_in_list = "[" in holder.text
        for file in dict.fromkeys(f.f_code.co_filename for f in frames()):
            line = growing_line(file, holder.name, grows_in_list)
            if line:
                return SourceLine(file, line)
        return None


FIX = "Keep numbers, not tensors: loss.item() or loss.detach(); total += loss.item()."
HOOK_FIX = "Let the hook use only its argument, or remove() it after the step; a captured tensor keeps its graph as long as the hook lives."


class SourceLine(Line):
    """A line known by file and number."""

    __slots__ = ("_file", "_number")

    def __init__(self, file: str, number: int) -> None:
        super().__init__(None, 0)
        self._file = file
        self._number = number

    @property
    def file(self) -> str:
        return self._file

    @property
    def line(self) -> int:
        return self._number


def growing_line(file: str, name: str, in_list: bool) -> int:
    """The first line of a file that adds to a variable or attribute of that name; 0 where none does.

    in_list: name.append(...), name[...] = ..., name += ...; otherwise name += ... or name = ... name ... .
    """
    tree = syntax_tree(file)
    if tree is None:
        return 0
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and called(node.target) == name:
            return node.lineno
        if in_list and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "extend", "add", "insert", "appendleft", "update", "setdefault"):
                if called(node.func.value) == name:
                    return node.lineno
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if in_list and isinstance(target, ast.Subscript) and called(target.value) == name:
                    return node.lineno
                if called(target) == name and any(called(n) == name for n in ast.walk(node.value)):
                    return node.lineno
    return 0


def called(node: ast.AST) -> str:
    """The last name of a variable or attribute: losses, or losses of self.losses."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
