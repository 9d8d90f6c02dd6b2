"""Rows of operations on graphs."""

from typing import Any

import numpy as np

from tests.op_table.row import Case, Row

_NODES = "nodes and edges are numbers"
_ROW = np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
_POINTERS = np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])


def reindex_graph(x: np.ndarray, neighbors: np.ndarray, count: np.ndarray) -> Any:
    numbers: dict[int, int] = {}
    for node in [*x.reshape(-1).tolist(), *neighbors.reshape(-1).tolist()]:
        numbers.setdefault(node, len(numbers))
    source = [numbers[node] for node in neighbors.reshape(-1).tolist()]
    target = [i for i, n in enumerate(count.reshape(-1).tolist()) for _ in range(n)]
    return tuple(np.array(part, x.dtype) for part in (source, target, list(numbers)))


def all_neighbors(row: np.ndarray, colptr: np.ndarray, nodes: np.ndarray, weight: Any, sample_size: int) -> Any:
    edges = [edge for node in nodes.reshape(-1) for edge in range(colptr[node], colptr[node + 1])]
    counts = [colptr[node + 1] - colptr[node] for node in nodes.reshape(-1)]
    return np.array(edges, np.int64), np.array(counts, np.int32).reshape(-1)


ROWS = (
    Row(
        "reindex_graph",
        (
            Case((np.array([0, 1, 2]), np.array([8, 9, 0, 4, 7, 6, 7]), np.array([2, 3, 2], np.int32))),
            Case((np.array([5, 1], np.int32), np.array([1, 5, 9], np.int32), np.array([0, 3], np.int32))),
            Case((np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))),
        ),
        reindex_graph,
        ("int64",),
        order=0,
        reason=_NODES,
    ),
    Row(
        "graph_sample_neighbors",
        (
            Case((_ROW, _POINTERS, np.array([0, 8, 1, 2]), None), {"sample_size": -1}),
            Case((_ROW, _POINTERS, np.array([[7], [0], [0]]), None), {"sample_size": 2}),
            Case((_ROW, _POINTERS, np.array([5]), np.linspace(0.1, 1.0, 13)), {"sample_size": 9}),
            Case((_ROW, _POINTERS, np.zeros(0, np.int64), None), {"sample_size": 1}),
        ),
        all_neighbors,
        ("int64",),
        order=0,
        reason=_NODES,
    ),
)
