"""`memory`: the tensors' memory that is alive, by the line that made it and by who holds it; its peak; what a step leaves behind."""

import gc
import re
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from wherry.autograd.structures import AccumulationNode, GradNodeBase, GradState, TensorBase
from wherry.core import state
from wherry.core.observer import Observer
from wherry.inspect.facts import NOWHERE, Line, array_of, line_of_node, own_line, owner_of
from wherry.inspect.graph_text import size_text
from wherry.inspect.holders import Holder, Holders, saved_holder
from wherry.inspect.tape import flat_tensors

# Where arrays were made, while someone tracks: id of the owning array -> (weak reference, line, operation).
_MADE: Final[dict[int, tuple[Any, Line, str]]] = {}
_SHOWN: Final = 20
# What the peak's breakdown may lag behind the peak itself.
_PEAK_STEP: Final = 1.02


@dataclass
class StorageFact:
    """Memory that is alive: its size, what made it and where, who holds it."""

    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    line: Line
    op: str
    holders: list[Holder] = field(default_factory=list)

    @property
    def holder(self) -> str:
        """All holders in one text."""
        return "; ".join(h.text for h in self.holders) or "nothing that could be named"


class Snapshot:
    """The tensors' memory at one moment. Printing it shows the largest; storages has all, the largest first."""

    def __init__(self, storages: list[StorageFact], nodes: int) -> None:
        self.storages: Final = sorted(storages, key=lambda s: -s.nbytes)
        self.nodes: Final = nodes

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(s.nbytes for s in self.storages)

    def by_line(self) -> dict[str, int]:
        """Bytes by the line that made them, the largest first."""
        return totals((str(s.line), s.nbytes) for s in self.storages)

    def by_holder(self) -> dict[str, int]:
        """Bytes by holder, the largest first; memory with several holders counts for each."""
        pairs = [(h.text, s.nbytes) for s in self.storages for h in s.holders]
        return totals(pairs + [("nothing that could be named", s.nbytes) for s in self.storages if not s.holders])

    def diff(self, earlier: "Snapshot") -> dict[str, int]:
        """Bytes by creating line and holder that this moment has more (or less) than an earlier one; equal ones are left out."""
        change: dict[str, int] = {}
        for sign, snapshot in ((1, self), (-1, earlier)):
            for s in snapshot.storages:
                made = f"made by {s.op} at {s.line}" if s.op else "made where nothing was recorded"
                # The places of a list are one holder.
                holder = re.sub(r"\[\d+\]", "[...]", s.holder)
                key = f"{made}; held by {holder}"
                change[key] = change.get(key, 0) + sign * s.nbytes
        return dict(sorted(((k, v) for k, v in change.items() if v), key=lambda kv: -abs(kv[1])))

    def __str__(self) -> str:
        lines = [f"{size_text(self.total)} in {len(self.storages)} storages, {self.nodes} backward nodes"]
        for s in self.storages[:_SHOWN]:
            made = f"made by {s.op} at {s.line}" if s.op else "made where nothing was recorded"
            lines.append(f"{size_text(s.nbytes):>10}  {s.dtype}{list(s.shape)} {made}")
            lines += [f"            held by {h.text}" for h in s.holders] or [
                "            no holder that could be named"
            ]
        if len(self.storages) > _SHOWN:
            lines.append(f"            ... and {len(self.storages) - _SHOWN} smaller ones")
        return "\n".join(lines)


def totals(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Sums by key, the largest first."""
    sums: dict[str, int] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return dict(sorted(sums.items(), key=lambda kv: -kv[1]))


class Alive:
    """What is alive: the collector's list, sorted into tensors and nodes."""

    def __init__(self) -> None:
        self.tensors: list[TensorBase] = []
        self.nodes: list[GradNodeBase] = []
        for thing in gc.get_objects():
            # By the type: sparse tensors say that they are Tensors, and have no such memory.
            if issubclass(type(thing), TensorBase):
                self.tensors.append(thing)
            elif isinstance(thing, GradNodeBase):
                self.nodes.append(thing)


def snapshot(with_holders: bool = True) -> Snapshot:
    """The memory of all tensors now: those that variables hold, gradients, and what nodes saved.

    with_holders: also find who holds each, which reads the whole heap (about a second for a million objects).
    """
    alive = Alive()
    storages: dict[int, StorageFact] = {}
    tensors_of: dict[int, list[TensorBase]] = {}
    gradient_of = gradients(alive)
    for tensor in alive.tensors:
        if getattr(tensor, "impl", None) is None:
            continue
        fact = storage_fact(tensor.impl, storages)
        if not fact.op:
            fact.line, fact.op = origin(tensor)
        leaf = gradient_of.get(id(tensor))
        if leaf is not None:
            fact.holders.append(Holder("grad", f".grad of {leaf}"))
        else:
            tensors_of.setdefault(id(fact), []).append(tensor)
    for node in alive.nodes:
        for wrapper in node.saved():
            if wrapper.dense is not None:
                fact = storage_fact(wrapper.dense, storages)
                fact.holders.append(saved_holder(node, wrapper.name))
                if not fact.op and wrapper.is_output:
                    fact.line, fact.op = line_of_node(node), node.op_name()
                elif not fact.op and not isinstance(wrapper.grad_node, AccumulationNode | None):
                    fact.line, fact.op = line_of_node(wrapper.grad_node), wrapper.grad_node.op_name()
    if with_holders:
        heap = Holders(t for group in tensors_of.values() for t in group)
        for fact in storages.values():
            for tensor in tensors_of.get(id(fact), ()):
                fact.holders += heap.of(tensor)
        heap.close()
    return Snapshot(list(storages.values()), len(alive.nodes))


def gradients(alive: Alive) -> dict[int, str]:
    """Tensors that are some leaf's .grad, by id, with the leaf's name."""
    states: dict[int, tuple[GradState, str]] = {}
    for tensor in alive.tensors:
        if tensor._state is not None:
            states[id(tensor._state)] = (tensor._state, tensor._state.name or repr(tensor.impl.meta))
    for node in alive.nodes:
        if isinstance(node, AccumulationNode):
            states.setdefault(id(node.state), (node.state, node.state.name or repr(node.meta)))
    return {id(s.grad): name for s, name in states.values() if s.grad is not None}


def storage_fact(impl: Any, storages: dict[int, StorageFact]) -> StorageFact:
    """The entry of a DenseTensor's memory, made if there is none."""
    owner = owner_of(impl.array)
    fact = storages.get(id(owner))
    if fact is None:
        made = _MADE.get(id(owner))
        line, op = (made[1], made[2]) if made is not None and made[0]() is owner else (NOWHERE, "")
        fact = StorageFact(int(owner.nbytes), impl.meta.dtype.name, tuple(owner.shape), line, op)
        storages[id(owner)] = fact
    return fact


def origin(tensor: TensorBase) -> tuple[Line, str]:
    """What made a tensor, as far as its node says."""
    node = tensor._grad_node
    if node is None or isinstance(node, AccumulationNode):
        return NOWHERE, ""
    return line_of_node(node), node.op_name()


class memory(Observer):
    """The tensors' memory: as a call a look at this moment, as a context also the peak inside.

        print(wherry.inspect.memory())             # what is alive, who made it, who holds it
        with wherry.inspect.memory() as m:
            step()
        m.peak, m.peak_by_line, m.diff             # bytes; by creating line; what the block left behind

    In the context the line of every new tensor is known, also of those that no node was recorded for. `timeline` has pairs (seconds, bytes).
    Attributes of `now`, the Snapshot when it was called, can be asked directly: total, storages, by_line(), by_holder().
    """

    def __init__(self) -> None:
        self.now = snapshot()
        self.live = self.now.total
        self.peak = self.live
        self.peak_by_line: dict[str, int] = self.now.by_line()
        self.timeline: list[tuple[float, int]] = [(0.0, self.live)]
        self.after: Snapshot | None = None
        self._lines: dict[str, int] = dict(self.peak_by_line)
        self._known: dict[int, Any] = {}
        self._copied_at = self.peak
        self._node_line: list[Line] = []
        self._calls: list[tuple[str, Line]] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("total", "storages", "by_line", "by_holder", "nodes"):
            return getattr(self.now, name)
        raise AttributeError(f"memory has no attribute {name!r}")

    def __str__(self) -> str:
        if self.after is None:
            return str(self.now)
        lines = [f"peak {size_text(self.peak)}, {size_text(self.after.total)} at the end; alive at the peak:"]
        lines += [f"{size_text(n):>10}  {line}" for line, n in list(self.peak_by_line.items())[:_SHOWN]]
        return "\n".join(lines)

    @property
    def diff(self) -> dict[str, int]:
        """What the block left behind (or freed), by creating line and holder; empty before its end."""
        return {} if self.after is None else self.after.diff(self.now)

    def __enter__(self) -> "memory":
        self._start = time.perf_counter()
        for s in self.now.storages:
            self._lines.setdefault(str(s.line), 0)
        self._outer = state.set_observers((*state.observers(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        state.set_observers(self._outer)
        self.after = snapshot()

    # What is made, and when it goes.

    def _add(self, array: Any, line: Line, op: str) -> None:
        owner = owner_of(array)
        key = id(owner)
        if key in self._known and self._known[key]() is owner:
            return
        made = _MADE.get(key)
        if made is not None and made[0]() is owner:
            return
        text, nbytes = str(line), int(owner.nbytes)
        reference = weakref.ref(owner, lambda _: self._remove(key, text, nbytes))
        self._known[key] = reference
        _MADE[key] = (reference, line, op)
        self.live += nbytes
        self._lines[text] = self._lines.get(text, 0) + nbytes
        self._note()

    def _remove(self, key: int, line: str, nbytes: int) -> None:
        self._known.pop(key, None)
        _MADE.pop(key, None)
        self.live -= nbytes
        self._lines[line] = self._lines.get(line, 0) - nbytes
        if self.after is None:
            self._note()

    def _note(self) -> None:
        self.timeline.append((time.perf_counter() - self._start, self.live))
        if self.live > self.peak:
            self.peak = self.live
            if self.peak > self._copied_at * _PEAK_STEP:
                self._copied_at = self.peak
                self.peak_by_line = totals((k, v) for k, v in self._lines.items() if v > 0)

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        self._calls.append((op.name, own_line()))

    def call_failed(self, op: Any, error: BaseException) -> None:
        self._calls.pop()

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        name, line = self._calls.pop()
        for tensor in flat_tensors(outputs):
            self._add(tensor.impl.array, line, name)

    def node_finished(self, engine: Any, node: Any, results: list[Any]) -> None:
        for result in results:
            if result is not None:
                self._add(array_of(result), line_of_node(node), f"the backward of {node.op_name()}")


def leaks(fn: Callable[[], Any], n: int = 5, warmup: int = 2) -> "Leaks":
    """Run a step `warmup` + `n` times and name what grows with each run, with who holds it.

    fn: called without arguments. Between runs the cyclic collector runs, so that only what is really held counts.
    """
    for _ in range(warmup):
        fn()
    gc.collect()
    tracker = memory()
    counts: list[tuple[int, int]] = []
    with tracker:
        first = snapshot(False)
        for _ in range(n):
            fn()
            gc.collect()
            now = snapshot(False)
            counts.append((now.total, now.nodes))
    assert tracker.after is not None
    return Leaks(n, first.total, counts, tracker.after, tracker.after.diff(tracker.now))


@dataclass
class Leaks:
    """What `leaks` found. bytes_per_run is 0 where nothing grows; growing names it, the largest first."""

    runs: int
    before: int
    counts: list[tuple[int, int]]
    after: Snapshot
    change: dict[str, int]

    @property
    def bytes_per_run(self) -> float:
        """Growth from the first run to the last, for each run between; 0 where it does not grow every time."""
        sizes = [size for size, _ in self.counts]
        if len(sizes) < 2 or any(b <= a for a, b in zip(sizes, sizes[1:])):
            return 0.0
        return (sizes[-1] - sizes[0]) / (len(sizes) - 1)

    @property
    def growing(self) -> dict[str, int]:
        """Bytes by creating line and holder that the runs left behind."""
        return {k: v for k, v in self.change.items() if v > 0} if self.bytes_per_run else {}

    def __bool__(self) -> bool:
        return self.bytes_per_run > 0

    def __str__(self) -> str:
        if not self:
            return f"nothing grows over {self.runs} runs"
        lines = [f"each run leaves {size_text(int(self.bytes_per_run))} behind:"]
        lines += [f"{size_text(v):>10}  {k}" for k, v in list(self.growing.items())[:_SHOWN]]
        return "\n".join(lines)
