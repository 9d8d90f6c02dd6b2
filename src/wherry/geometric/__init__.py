"""Operations on graphs: segments, messages along edges, neighbours. Source: paddle.geometric."""

from wherry.geometric.messages import send_u_recv, send_ue_recv, send_uv
from wherry.geometric.sampling import reindex_graph, reindex_heter_graph, sample_neighbors, weighted_sample_neighbors
from wherry.geometric.segments import segment_max, segment_mean, segment_min, segment_sum

__all__ = [
    "reindex_graph",
    "reindex_heter_graph",
    "sample_neighbors",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
    "weighted_sample_neighbors",
]
