"""The backward graph for Graphviz and for notebooks; big graphs are folded into a box for each line or module."""

import html
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from wherry.inspect.backward_graph import Graph, NodeFact
from wherry.inspect.graph_text import size_text, tree

# Above this many nodes a drawing is folded by line unless asked otherwise; above the other one Graphviz would take minutes.
_FOLD_ABOVE: Final = 300
_MOST_BOXES: Final = 3000


@dataclass
class Box:
    """What is drawn as one: a node, or all nodes of a line or module."""

    name: str
    nodes: list[NodeFact] = field(default_factory=list)


def boxes_of(graph: Graph, fold: str | None) -> dict[str, Box]:
    """The boxes by key; raises ValueError for another fold than "line", "module", "none" or None."""
    keys: dict[str | None, Callable[[NodeFact], str]] = {
        "none": lambda n: f"n{n.number}",
        "line": lambda n: f"leaf {n.number}" if n.leaf else str(n.line),
        "module": lambda n: f"leaf {n.number}" if n.leaf else n.module or str(n.line),
    }
    if fold is None:
        fold = "none" if len(graph) <= _FOLD_ABOVE else "line"
    if fold not in keys:
        raise ValueError(f'fold: expected "line", "module" or "none", received {fold!r}')
    boxes: dict[str, Box] = {}
    for node in graph.nodes:
        key = keys[fold](node)
        boxes.setdefault(key, Box(key)).nodes.append(node)
    return boxes


def label(box: Box) -> str:
    """The text of a box."""
    first = box.nodes[0]
    if first.leaf:
        dtype, shape = first.outputs[0]
        return f"{first.name or 'leaf'}\n{dtype}{list(shape)}"
    saved = size_text(sum(n.nbytes for n in box.nodes))
    place = f"{first.line.file.rsplit('/', 1)[-1]}:{first.line.line}"
    if len(box.nodes) == 1:
        return f"{first.op}  #{first.order}\n{place}\nsaved {saved}"
    ops: dict[str, int] = {}
    for node in box.nodes:
        ops[node.op] = ops.get(node.op, 0) + 1
    names = ", ".join(f"{op} x {count}" if count > 1 else op for op, count in list(ops.items())[:6])
    head = first.module if box.name == first.module and first.module else place
    return f"{head}\n{names}{', ...' if len(ops) > 6 else ''}\nsaved {saved}"


def dot(graph: Graph, fold: str | None) -> str:
    """The graph in Graphviz's language."""
    boxes = boxes_of(graph, fold)
    numbers = {key: i for i, key in enumerate(boxes)}
    home = {n.number: key for key, box in boxes.items() for n in box.nodes}
    lines = ["digraph backward {", "  node [shape=box, fontname=monospace, fontsize=10];", "  edge [fontsize=9];"]
    for key, box in boxes.items():
        style = ', style=filled, fillcolor="#dcefdc"' if box.nodes[0].leaf else ""
        lines.append(f"  b{numbers[key]} [label={quoted(label(box))}{style}];")
    edges: dict[tuple[int, int], list[str]] = {}
    for node in graph.nodes:
        for edge in node.edges:
            ends = (numbers[home[node.number]], numbers[home[edge.target]])
            if ends[0] != ends[1]:
                edges.setdefault(ends, []).append(str(list(edge.shape)))
    for (source, target), shapes in edges.items():
        text = shapes[0] if len(set(shapes)) == 1 else f"{len(shapes)} gradients"
        lines.append(f"  b{source} -> b{target} [label={quoted(text)}];")
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A string of Graphviz's language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def svg(graph: Graph, fold: str | None) -> str:
    """The graph drawn by Graphviz's dot."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            "to_svg: expected Graphviz's program `dot` on the path, found none; install the package graphviz of your "
            "system, or use to_html(), which needs no program"
        )
    if len(boxes_of(graph, fold)) > _MOST_BOXES:
        raise ValueError(
            f"to_svg: {len(boxes_of(graph, fold))} boxes are too many to draw; use fold='line' or fold='module', or to_html()"
        )
    done = subprocess.run([program, "-Tsvg"], input=dot(graph, fold), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"to_svg: dot failed: {done.stderr.strip()}")
    return done.stdout[done.stdout.index("<svg") :]


def notebook(graph: Graph) -> str:
    """For a notebook: the drawing where Graphviz is there and the graph small enough, else the text."""
    if shutil.which("dot") is not None and len(boxes_of(graph, None)) <= _FOLD_ABOVE:
        return svg(graph, None)
    return f"<pre>{html.escape(tree(graph))}</pre>"
