"""A tape or a graph in the compact form that the page reads: strings and lines once, everything else as lists (see assets/data.js)."""

from typing import Any, Final

from wherry.inspect.backward_graph import Graph
from wherry.inspect.explanation import attribute_text
from wherry.inspect.facts import Line, Statistics, TensorFact
from wherry.inspect.findings import Finding
from wherry.inspect.tape import Tape
from wherry.inspect.tape_facts import Call, NodeRun, Pass

# More points than this a chart of memory cannot show.
_POINTS: Final = 4000


class Table:
    """Numbers for strings and lines, in the order in which they are met."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.lines: dict[tuple[str, int, str], int] = {("", 0, ""): 0}
        self._texts: list[str] = [""]
        self._seen: dict[tuple[int, int], int] = {}

    def string(self, text: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(text, len(self.strings))

    def line(self, line: Line) -> int:
        """The number of a line."""
        quick = (id(line.code), line.lasti)
        found = self._seen.get(quick)
        if found is not None and line.code is not None:
            return found
        key = (line.file, line.line, line.function)
        number = self.lines.get(key)
        if number is None:
            number = len(self.lines)
            self.lines[key] = number
            self._texts.append(line.text)
        self._seen[quick] = number
        return number

    def to_dict(self) -> dict[str, Any]:
        """For the page: strings, and lines as [file, line, function, source text]."""
        lines = [[self.string(f), n, self.string(q), self.string(t)] for (f, n, q), t in zip(self.lines, self._texts)]
        return {"strings": list(self.strings), "lines": lines}


def number(value: float) -> float | str:
    """Five digits; what JSON has no number for as text."""
    return float(f"{value:.5g}") if value - value == 0 else repr(value)


def stat(s: Statistics | None) -> list[Any] | None:
    """[min, max, mean, norm, nan, inf]."""
    return None if s is None else [number(s.minimum), number(s.maximum), number(s.mean), number(s.norm), s.nan, s.inf]


def tensor(fact: TensorFact, table: Table) -> list[Any]:
    """[number, dtype and shape, name, bytes, statistics]."""
    kind = table.string(f"{fact.dtype}{list(fact.shape)}")
    return [fact.number, kind, table.string(fact.name or ""), fact.nbytes, stat(fact.statistics)]


def call_row(call: Call, table: Table) -> list[Any]:
    """A call; the columns are named in assets/data.js."""
    s = table.string
    saved = [
        [s(w.name), s(f"{w.dtype}{list(w.shape)}"), w.nbytes, s(", ".join(w.wanted_by)), w.version] for w in call.saved
    ]
    return [
        call.index,
        s(call.op + ("_" if call.kind == "inplace" and not call.op.endswith("_") else "")),
        call.kind[0],
        table.line(call.line),
        s("/".join(call.modules)),
        call.parent,
        round(call.start * 1e6, 1),
        round(call.seconds * 1e6, 1),
        round(call.prepare_seconds * 1e6, 1),
        round(call.kernel_seconds * 1e6, 1),
        call.node,
        s(call.api),
        s(call.amp),
        s(call.promotion),
        s(call.not_recorded),
        s(call.inferred),
        [s(t) for t in call.steps],
        [s(t) for t in call.transforms],
        s(call.kernel),
        s(f"{call.kernel_key} = {call.kernel_hash:#x}" if call.kernel_key else ""),
        [[s(f.name), s(f.dtype), s(f.gradient), *tensor(f.given, table)] for f in call.inputs],
        [tensor(f, table) for f in call.outputs],
        saved,
        [[s(name), s(attribute_text(value))] for name, value in call.attrs.items()],
        s(call.error),
    ]


def run_row(run: NodeRun, table: Table) -> list[Any]:
    """A node that ran."""
    s = table.string
    return [
        run.index,
        run.node,
        s(run.op),
        table.line(run.line),
        None if run.leaf is None else s(run.leaf or "leaf"),
        run.in_degree,
        round(run.start * 1e6, 1),
        round(run.seconds * 1e6, 1),
        [stat(a) for a in run.arrived],
        [stat(r) for r in run.results],
        [s(k) for k in run.kernels],
        [[s(h.function), table.line(h.line), h.changed, stat(h.before), stat(h.after)] for h in run.hooks],
        [
            [d.target, d.target_output, d.source_input, stat(d.statistics), s(f"{d.dtype}{list(d.shape)}"), d.none]
            for d in run.deliveries
        ],
    ]


def pass_data(entry: Pass, table: Table) -> dict[str, Any]:
    """A backward pass."""
    return {
        "line": table.line(entry.line),
        "start": round(entry.start * 1e6, 1),
        "seconds": round(entry.seconds * 1e6, 1),
        "error": table.string(entry.error),
        "dropped": entry.nodes.dropped,
        "nodes": [run_row(run, table) for run in entry.nodes],
    }


def thinned(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """At most _POINTS points, the highest of each stretch."""
    if len(points) <= _POINTS:
        return points
    size = -(-len(points) // _POINTS)
    return [max(points[i : i + size], key=lambda p: p[1]) for i in range(0, len(points), size)]


def tape_data(tape: Tape, findings: list[Finding]) -> dict[str, Any]:
    """Everything the page shows of a run."""
    table = Table()
    data = {
        "kind": "run",
        "calls": [call_row(c, table) for c in tape.calls],
        "callsDropped": tape.calls.dropped,
        "passes": [pass_data(p, table) for p in tape.passes],
        "passesDropped": tape.passes.dropped,
        "events": [[e.index, table.string(e.kind), table.line(e.line), table.string(e.detail)] for e in tape.events],
        "memory": [[round(t * 1e6, 1), n] for t, n in thinned(list(tape.memory_track))],
        "findings": [f.to_dict() for f in findings],
    }
    return {**data, **table.to_dict()}


def graph_data(graph: Graph) -> dict[str, Any]:
    """A graph as the one pass that it would be; nothing has run, so there are no gradients."""
    table = Table()
    s = table.string
    nodes = []
    saved: dict[int, list[Any]] = {}
    for place, n in enumerate(graph.nodes):
        deliveries = [[e.target, e.position, e.index, None, s(f"{e.dtype}{list(e.shape)}"), False] for e in n.edges]
        leaf = s(n.name or "leaf") if n.leaf else None
        nodes.append(
            [place, n.number, s(n.op), table.line(n.line), leaf, n.in_degree, place, 1, [], [], [], [], deliveries]
        )
        saved[n.number] = [[s(w.name), s(f"{w.dtype}{list(w.shape)}"), w.nbytes, 0, w.version] for w in n.saved]
    entry = {"line": 0, "start": 0, "seconds": len(nodes), "error": 0, "dropped": 0, "nodes": nodes}
    data = {
        "kind": "graph",
        "calls": [],
        "callsDropped": 0,
        "passes": [entry],
        "passesDropped": 0,
        "events": [],
        "memory": [],
        "findings": [],
        "saved": saved,
        "modules": {n.number: s(n.module) for n in graph.nodes if n.module},
    }
    return {**data, **table.to_dict()}
