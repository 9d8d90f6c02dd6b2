"""Nodes and edges of graphs."""

import numpy as np

from wherry.core import dtype as dt
from wherry.core.generator import default_generator
from wherry.dispatch.kernel_factory import kernel
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.scatter import in_bounds

_INDEX = (dt.int32, dt.int64)


@kernel("reindex_graph", _INDEX)
def reindex_graph(x: Array, neighbors: Array, count: Array) -> tuple[Array, Array, Array]:
    """Nodes numbered in the order in which they occur, those of x first."""
    x, neighbors, count = x.reshape(-1), neighbors.reshape(-1), count.reshape(-1)
    if (count < 0).any() or int(count.sum()) != neighbors.size:
        raise ValueError(f"expected counts that add up to the {neighbors.size} neighbors, received {int(count.sum())}")
    nodes, first, inverse = np.unique(np.concatenate([x, neighbors]), return_index=True, return_inverse=True)
    if np.count_nonzero(first < x.size) != x.size:
        raise ValueError("expected different nodes in x, received one twice")
    order = np.argsort(first, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    source = number[inverse.reshape(-1)[x.size :]]
    # Several kinds of edges have counts one after the other.
    target = np.repeat(np.arange(count.size) % max(x.size, 1), count)
    return source.astype(x.dtype), target.astype(x.dtype), nodes[order]


@kernel("graph_sample_neighbors", _INDEX)
def graph_sample_neighbors(
    row: Array, colptr: Array, input_nodes: Array, edge_weight: Array | None, sample_size: int
) -> tuple[Array, Array]:
    """The places in row of the edges drawn, node by node, and how many each has; all edges of a node in their order."""
    starts = colptr.reshape(-1).astype(np.int64)
    if (np.diff(starts) < 0).any() or starts[0] < 0 or starts[-1] > row.size:
        raise ValueError(f"expected colptr to rise from 0 to at most the {row.size} edges, received other numbers")
    nodes = in_bounds(input_nodes.reshape(-1), starts.size - 1, 0, "input_nodes", negative=False)
    begin, degree = starts[nodes], starts[nodes + 1] - starts[nodes]
    owner = np.repeat(np.arange(nodes.size), degree)
    within = np.arange(owner.size) - np.repeat(np.cumsum(degree) - degree, degree)
    edges = np.repeat(begin, degree) + within
    if sample_size < 0:
        return edges, degree.astype(np.int32)
    # Every edge draws a number; the lowest of each node are a sample without replacement.
    draw = -np.log1p(-default_generator().random(owner.size))
    if edge_weight is not None:
        weight = edge_weight.reshape(-1)[edges].astype(np.float64)
        if not (weight >= 0.0).all():
            raise ValueError("expected edge weights of at least 0, received others")
        draw = np.where(weight > 0.0, draw / np.where(weight > 0.0, weight, 1.0), np.inf)
    crowded = degree > sample_size
    key = np.where(crowded[owner], draw, 0.0)
    order = np.lexsort((within, key, owner))
    chosen = np.sort(order[within < sample_size])
    return edges[chosen], np.minimum(degree, sample_size).astype(np.int32)
