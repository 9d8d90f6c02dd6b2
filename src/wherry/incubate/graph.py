"""Graph operations under their first names. Source: paddle.incubate.operators, paddle.incubate.tensor.math."""

from typing import Any

from wherry.geometric import reindex_graph, sample_neighbors, send_u_recv
from wherry.geometric.segments import segment_max, segment_mean, segment_min, segment_sum
from wherry.tensor.tensor import Tensor

__all__ = [
    "graph_reindex",
    "graph_sample_neighbors",
    "graph_send_recv",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
]


def graph_send_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    pool_type: str = "sum",
    out_size: int | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """`paddle.geometric.send_u_recv` with its reduction under another name. Source: paddle.incubate.graph_send_recv."""
    return send_u_recv(x, src_index, dst_index, pool_type, out_size)


def graph_reindex(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    flag_buffer_hashtable: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`paddle.geometric.reindex_graph`. Raises ValueError for the flag without both buffers. Source: paddle.incubate.graph_reindex."""
    if flag_buffer_hashtable and (value_buffer is None or index_buffer is None):
        raise ValueError("expected value_buffer and index_buffer with flag_buffer_hashtable=True, received None")
    return reindex_graph(x, neighbors, count)


def graph_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    eids: Tensor | None = None,
    perm_buffer: Tensor | None = None,
    sample_size: int = -1,
    return_eids: bool = False,
    flag_perm_buffer: bool = False,
    name: str | None = None,
) -> Any:
    """`paddle.geometric.sample_neighbors`. Raises ValueError for the flag without its buffer. Source: paddle.incubate.graph_sample_neighbors."""
    if flag_perm_buffer and perm_buffer is None:
        raise ValueError("expected perm_buffer with flag_perm_buffer=True, received None")
    return sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)
