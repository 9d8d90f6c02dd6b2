"""InferMeta of operations on the nodes and edges of graphs."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


def _nodes(name: str, meta: Meta, like: Meta | None = None) -> None:
    """Refuses what is no list of node numbers: [n] or [n, 1], of int32 or int64, all of one dtype."""
    if meta.dtype is not dt.int32 and meta.dtype is not dt.int64:
        raise TypeError(f"expected int32 or int64 for {name}, received {meta.dtype.name}")
    if like is not None and meta.dtype is not like.dtype:
        raise TypeError(f"expected {like.dtype.name} for {name} as for the others, received {meta.dtype.name}; cast it")
    if meta.ndim != 1 and not (meta.ndim == 2 and meta.shape[1] == 1):
        raise ValueError(f"expected {name} of shape [n] or [n, 1], received {list(meta.shape)}")


@infer_meta("ReindexGraphInferMeta")
def reindex_graph(x: Meta, neighbors: Meta, count: Meta) -> tuple[Meta, Meta, Meta]:
    """Edges as many as neighbors; only the kernel knows how many nodes."""
    _nodes("x", x)
    _nodes("neighbors", neighbors, x)
    _nodes("count", count)
    kinds = count.shape[0] // x.shape[0] if x.shape[0] else 0
    if count.shape[0] != kinds * x.shape[0]:
        raise ValueError(
            f"expected a count for each of the {x.shape[0]} nodes in x (and each kind of edges), received {count.shape[0]}"
        )
    edges = Meta(neighbors.shape[:1], x.dtype)
    return edges, edges, Meta((-1,), x.dtype)


@infer_meta("SampleNeighborsInferMeta")
def sample_neighbors(
    row: Meta, colptr: Meta, input_nodes: Meta, edge_weight: Meta | None, sample_size: int
) -> tuple[Meta, Meta]:
    """Only the kernel knows how many edges; a count for each node."""
    _nodes("row", row)
    _nodes("colptr", colptr, row)
    _nodes("input_nodes", input_nodes, row)
    if colptr.shape[0] == 0:
        raise ValueError("expected colptr to begin with 0, received an empty tensor")
    if edge_weight is not None and edge_weight.size != row.size:
        raise ValueError(f"expected a weight for each of the {row.size} edges, received {edge_weight.size}")
    return Meta((-1,), dt.int64), Meta(input_nodes.shape[:1], dt.int32)
