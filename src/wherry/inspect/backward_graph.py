"""`graph`: the backward graph of tensors as an object: nodes, edges, in-degrees, the order they would run in, what they keep."""

import json
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from wherry.autograd.history import grad_node_of
from wherry.autograd.structures import AccumulationNode, GradNodeBase, TensorBase, slot_and_rank
from wherry.inspect.facts import Line, Numbers, line_of_node
from wherry.inspect.tape import Tape, function_name
from wherry.inspect.tape_facts import SavedFact

_NUMBERS: Final = Numbers()


@dataclass(slots=True)
class EdgeFact:
    """An edge: gradient `index` of a node goes to output `position` of node `target`, counted as slot and rank."""

    index: int
    slot: int
    rank: int
    target: int
    position: int
    target_slot: int
    target_rank: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(slots=True)
class NodeFact:
    """A node of the backward graph."""

    number: int
    op: str
    line: Line
    # Position in the order in which backward would run the nodes, from 0.
    order: int = 0
    # The longest way from a root, in edges.
    depth: int = 0
    in_degree: int = 0
    leaf: bool = False
    name: str = ""
    outputs: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    slots_in: list[int] = field(default_factory=list)
    slots_out: list[int] = field(default_factory=list)
    edges: list[EdgeFact] = field(default_factory=list)
    saved: list[SavedFact] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    released: bool = False
    module: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors that are saved here; memory that other nodes keep too counts here as well."""
        return sum(s.nbytes for s in self.saved)


class Graph:
    """The backward graph of some tensors, as it is now. Made by `graph`.

    nodes: in the order in which backward would run them. roots: their numbers. nbytes: of all saved memory, each storage once.
    """

    def __init__(self, nodes: list[NodeFact], roots: list[int]) -> None:
        self.nodes: Final = nodes
        self.roots: Final = roots
        self._by_number: Final = {n.number: n for n in nodes}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[NodeFact]:
        return iter(self.nodes)

    def __getitem__(self, number: int) -> NodeFact:
        return self._by_number[number]

    @property
    def leaves(self) -> list[NodeFact]:
        """The leaves that gradients would be added to."""
        return [n for n in self.nodes if n.leaf]

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is saved, each storage counted once."""
        return sum({s.storage: s.nbytes for n in self.nodes for s in n.saved}.values())

    def __str__(self) -> str:
        from wherry.inspect.graph_text import tree

        return tree(self)

    def __repr__(self) -> str:
        return f"Graph({len(self.nodes)} nodes, {len(self.leaves)} leaves, {self.nbytes} bytes saved)"

    def to_dict(self) -> dict[str, Any]:
        """The graph as plain lists and dictionaries, lines resolved."""
        nodes = []
        for n in self.nodes:
            entry = asdict_without_line(n)
            entry["line"] = {"file": n.line.file, "line": n.line.line, "function": n.line.function}
            nodes.append(entry)
        return {"roots": self.roots, "nodes": nodes, "bytes": self.nbytes}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`to_dict` as JSON text; also written to a file where one is named."""
        return written(json.dumps(self.to_dict()), path)

    def to_dot(self, path: str | os.PathLike[str] | None = None, fold: str | None = None) -> str:
        """The graph in Graphviz's language. fold: "line", "module", "none", or None to fold by line above 300 nodes."""
        from wherry.inspect.graph_draw import dot

        return written(dot(self, fold), path)

    def to_svg(self, path: str | os.PathLike[str] | None = None, fold: str | None = None) -> str:
        """The graph drawn by Graphviz; raises RuntimeError that says what to install where its `dot` is missing."""
        from wherry.inspect.graph_draw import svg

        return written(svg(self, fold), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One page to explore the graph: fold, search, step through the order; needs no network."""
        from wherry.inspect.report import graph_page

        return written(graph_page(self), path)

    def _repr_html_(self) -> str:
        from wherry.inspect.graph_draw import notebook

        return notebook(self)


def asdict_without_line(node: NodeFact) -> dict[str, Any]:
    """A NodeFact as a dictionary; the line, which holds a code object, is left to the caller."""
    entry = {name: getattr(node, name) for name in node.__slots__ if name not in ("line", "edges", "saved")}
    entry["edges"] = [asdict(e) for e in node.edges]
    entry["saved"] = [asdict(s) for s in node.saved]
    entry["nbytes"] = node.nbytes
    return entry


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text, also written to a file where one is named."""
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def graph(tensors: Any, tape: Tape | None = None) -> Graph:
    """The backward graph of a Tensor, or of several in a list.

    tape: a recording of the forward that made it, which knows the Layer of each node. Raises TypeError for anything else than
    Tensors, ValueError for tensors without history.
    """
    roots = (
        [tensors] if isinstance(tensors, TensorBase) else list(tensors) if isinstance(tensors, (list, tuple)) else None
    )
    if not roots or not all(isinstance(t, TensorBase) for t in roots):
        raise TypeError(f"graph: expected a Tensor or a non-empty list of Tensors, received {type(tensors).__name__}")
    starts = list(dict.fromkeys(n for n in (grad_node_of(t) for t in roots) if n is not None))
    if not starts:
        raise ValueError(
            "graph: expected a tensor that needs a gradient, received one with stop_gradient=True; "
            "wherry.inspect.why_no_grad(tensor) says why it is so"
        )
    order = execution_order(starts)
    modules = {} if tape is None else {c.node: "/".join(c.modules) for c in tape.calls if c.node}
    facts = [node_fact(node, modules) for node, _ in order]
    for place, (fact, (_, degree)) in enumerate(zip(facts, order)):
        fact.order = place
        fact.in_degree = degree
    result = Graph(facts, [_NUMBERS.of_node(n) for n in starts])
    for fact in facts:
        for edge in fact.edges:
            target = result[edge.target]
            target.depth = max(target.depth, fact.depth + 1)
    return result


def execution_order(starts: list[GradNodeBase]) -> list[tuple[GradNodeBase, int]]:
    """The reachable nodes in the order the engine would run them (autograd/engine.py), with their in-degrees."""
    degree: dict[GradNodeBase, int] = dict.fromkeys(starts, 0)
    pending = list(starts)
    while pending:
        node = pending.pop()
        for following in targets(node):
            if following in degree:
                degree[following] += 1
            else:
                degree[following] = 1
                pending.append(following)
    left = dict(degree)
    ready = deque(n for n in starts if degree[n] == 0 and not isinstance(n, AccumulationNode))
    leaves = [n for n in starts if degree[n] == 0 and isinstance(n, AccumulationNode)]
    order: list[tuple[GradNodeBase, int]] = []
    while ready or leaves:
        node = leaves.pop() if leaves else ready.popleft()
        order.append((node, degree[node]))
        for following in targets(node):
            left[following] -= 1
            if left[following] == 0:
                (leaves if isinstance(following, AccumulationNode) else ready).append(following)
    return order


def targets(node: GradNodeBase) -> Iterator[GradNodeBase]:
    """Where a node's gradients go, an entry for each edge."""
    for i in range(node.num_inputs()):
        following = node.edge_node(i)
        if following is not None:
            yield following


def node_fact(node: GradNodeBase, modules: dict[int, str]) -> NodeFact:
    """The facts of one node."""
    number = _NUMBERS.of_node(node)
    fact = NodeFact(number, node.op_name(), line_of_node(node), released=node.released)
    fact.module = modules.get(number, "")
    fact.slots_in, fact.slots_out = node.slots_in(), node.slots_out()
    if isinstance(node, AccumulationNode):
        fact.leaf = True
        fact.name = node.state.name or ""
        fact.slots_in = []
    fact.outputs = [(m.dtype.name, m.shape) for m in (node.output_meta(j) for j in range(node.num_outputs()))]
    fact.hooks = [function_name(h.function) for h in node.hooks or () if h.kind != 1]
    fact.saved = [
        SavedFact(
            w.name,
            w.meta.shape,
            w.meta.dtype.name,
            0 if w.dense is None else int(w.dense.array.nbytes),
            0 if w.dense is None else _NUMBERS.of_memory(w.dense),
            w.inplace_version_snapshot,
            (),
        )
        for w in node.saved()
    ]
    for i in range(node.num_inputs()):
        following = node.edge_node(i)
        if following is None:
            continue
        position = node.edge_position(i)
        slot, rank = slot_and_rank(fact.slots_in, i)
        target_slot, target_rank = slot_and_rank(following.slots_out(), position)
        meta = node.input_meta(i)
        fact.edges.append(
            EdgeFact(
                i,
                slot,
                rank,
                _NUMBERS.of_node(following),
                position,
                target_slot,
                target_rank,
                () if meta is None else meta.shape,
                "" if meta is None else meta.dtype.name,
            )
        )
    return fact
