"""The backward graph as text: one line for each line of the user's program, repeats folded."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from wherry.inspect.backward_graph import Graph, NodeFact

# The longest stretch of lines that is looked for as the body of a loop, and the most lines that are shown.
_LONGEST_BODY: Final = 64
_MOST_LINES: Final = 200
_LONGEST_TEXT: Final = 400


@dataclass
class Group:
    """Neighbours in the order of execution that come from one line."""

    place: str
    nodes: list[NodeFact]

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What makes two groups the same: the line and the operations."""
        return self.place, tuple(n.op for n in self.nodes)


def size_text(nbytes: int) -> str:
    """Bytes for people: 1536 -> "1.5 KiB"."""
    value = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def groups_of(graph: Graph) -> list[Group]:
    """The nodes in groups; leaves stand with the node that sends them their last gradient."""
    groups: list[Group] = []
    for node in graph.nodes:
        place = "" if node.leaf else str(node.line)
        if groups and (node.leaf or place == groups[-1].place):
            groups[-1].nodes.append(node)
        else:
            groups.append(Group(place, [node]))
    return groups


def repeats(keys: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """A sequence as (count, start, length): a stretch that follows itself `count` times, the longest cover first."""
    ids: dict[Hashable, int] = {}
    numbers = [ids.setdefault(k, len(ids)) for k in keys]
    result: list[tuple[int, int, int]] = []
    i = 0
    while i < len(numbers):
        best = (1, 1)
        for length in range(1, min(_LONGEST_BODY, (len(numbers) - i) // 2) + 1):
            if numbers[i] != numbers[i + length]:
                continue
            count = 1
            body = numbers[i : i + length]
            while numbers[i + count * length : i + (count + 1) * length] == body:
                count += 1
            if count > 1 and count * length > best[0] * best[1]:
                best = (count, length)
        result.append((best[0], i, best[1]))
        i += best[0] * best[1]
    return result


def chain(names: list[str]) -> str:
    """Names joined by arrows, repeats folded: (matmul -> add) x 3."""
    parts = []
    for count, start, length in repeats(names):
        body = " -> ".join(names[start : start + length])
        parts.append(body if count == 1 else f"({body}) x {count}" if length > 1 else f"{body} x {count}")
    text = " -> ".join(parts)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " ..."


def describe_group(group: Group, count: int) -> str:
    """One line of text for a group."""
    ops = chain([n.op + (f" (hooks: {', '.join(n.hooks)})" if n.hooks else "") for n in group.nodes if not n.leaf])
    leaves = [leaf_text(n) for n in group.nodes if n.leaf]
    numbers = f"#{group.nodes[0].order}" + (f"-{group.nodes[-1].order}" if len(group.nodes) > 1 else "")
    text = f"{numbers:<9} {ops}" if ops else f"{numbers:<9}"
    if leaves:
        text += (" -> " if ops else " ") + (", ".join(leaves) if len(leaves) < 5 else f"{len(leaves)} leaves")
    nbytes = sum(n.nbytes for n in group.nodes)
    if nbytes:
        text += f"   [{size_text(nbytes)} saved{' each time' if count > 1 else ''}]"
    if any(n.released and not n.leaf for n in group.nodes):
        text += "   [released]"
    return text + (f"\n          at {group.place}" if group.place else "")


def leaf_text(node: NodeFact) -> str:
    """A leaf by its name or its shape."""
    dtype, shape = node.outputs[0]
    return f"leaf {node.name or dtype + str(list(shape))}"


def tree(graph: Graph) -> str:
    """The whole text: a headline, then the groups in the order in which backward runs them."""
    lines = [
        f"backward graph: {len(graph)} nodes, {len(graph.leaves)} leaves, {size_text(graph.nbytes)} saved; "
        "in the order in which backward runs"
    ]
    groups = groups_of(graph)
    for count, start, length in repeats([g.key for g in groups]):
        body = groups[start : start + length]
        if len(lines) > _MOST_LINES:
            lines.append(f"... and more; see to_html() for all {len(graph)} nodes")
            break
        if count == 1:
            lines += [describe_group(g, 1) for g in body]
            continue
        lines.append(f"repeated {count} times:")
        for group in body:
            lines += ["    " + line for line in describe_group(group, count).split("\n")]
    return "\n".join(lines)
