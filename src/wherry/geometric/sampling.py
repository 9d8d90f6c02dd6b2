"""Neighbours of nodes. Source: paddle.geometric.sampling, paddle.geometric.reindex."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor


def _sampled(
    row: Tensor, colptr: Tensor, nodes: Tensor, weight: Any, sample_size: int, eids: Any, return_eids: bool
) -> Any:
    if return_eids and eids is None:
        raise ValueError("expected eids to return with return_eids=True, received None")
    edges, count = _C_ops.graph_sample_neighbors(row, colptr, nodes, weight, sample_size)
    neighbors = _C_ops.gather(_C_ops.reshape(row, (-1,)), edges, 0)
    if not return_eids:
        return neighbors, count
    return neighbors, count, _C_ops.gather(_C_ops.reshape(eids, (-1,)), edges, 0)


def sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    perm_buffer: Tensor | None = None,
    name: str | None = None,
) -> Any:
    """Neighbours of nodes drawn without replacement, node by node, and how many each has (int32).

    row, colptr: the graph in compressed columns: the neighbours of node i are row[colptr[i]:colptr[i + 1]]. sample_size: how many are drawn
    of each node, all where it has no more or with -1. eids: numbers of the edges, of which those drawn are returned with return_eids.
    perm_buffer: memory for another machine's way to draw; not used. int32 or int64, all of one dtype. Raises IndexError for a node that
    the graph has not. Source: paddle.geometric.sample_neighbors.
    """
    return _sampled(row, colptr, input_nodes, None, sample_size, eids, return_eids)


def weighted_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    edge_weight: Tensor,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> Any:
    """As `sample_neighbors`, with edges drawn by weight. Source: paddle.geometric.weighted_sample_neighbors."""
    return _sampled(row, colptr, input_nodes, edge_weight, sample_size, eids, return_eids)


def reindex_graph(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges between nodes numbered from 0: their sources, their ends, and the nodes in the order of the new numbers.

    x: different nodes, which come first. neighbors: those of each node in turn, `count` (one for each node, adding up to them) of each. The
    buffers are memory for another machine's way to look numbers up; not used. Raises ValueError for counts or nodes that do not fit. Source:
    paddle.geometric.reindex_graph.
    """
    return _C_ops.reindex_graph(x, neighbors, count)


def reindex_heter_graph(
    x: Tensor,
    neighbors: Sequence[Tensor],
    count: Sequence[Tensor],
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`reindex_graph` for several kinds of edges: lists of neighbors and counts, one for each kind.

    The numbers go on from kind to kind. Source: paddle.geometric.reindex_heter_graph.
    """
    if len(neighbors) != len(count) or not neighbors:
        raise ValueError(f"expected as many neighbors as counts, received {len(neighbors)} and {len(count)}")
    counts = _C_ops.concat([_C_ops.reshape(c, (-1,)) for c in count], 0)
    joined = _C_ops.concat([_C_ops.reshape(n, (-1,)) for n in neighbors], 0)
    if any(c.size != x.size for c in count):
        raise ValueError(f"expected a count for each of the {x.size} nodes in x, received {[c.size for c in count]}")
    return _C_ops.reindex_graph(x, joined, counts)
