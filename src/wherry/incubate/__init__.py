"""paddle.incubate: what Paddle keeps apart as young; here it is imported when it is named."""

import importlib
from typing import Any

_PARTS = ("autograd", "distributed", "nn")
# name: the module that has it.
_FUNCTIONS = {
    "graph_reindex": "graph",
    "graph_sample_neighbors": "graph",
    "graph_send_recv": "graph",
    "identity_loss": "fused",
    "segment_max": "graph",
    "segment_mean": "graph",
    "segment_min": "graph",
    "segment_sum": "graph",
    "softmax_mask_fuse": "fused",
    "softmax_mask_fuse_upper_triangle": "fused",
}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"wherry.incubate.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"wherry.incubate.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'wherry.incubate' has no attribute {name!r}")
