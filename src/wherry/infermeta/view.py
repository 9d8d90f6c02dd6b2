"""InferMeta of the view operations. A chain is a tuple of ViewStep (autograd/structures.py)."""

from typing import Any

from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


@infer_meta("ViewReplayInferMeta")
def view_replay(x: Meta, chain: tuple[Any, ...]) -> Meta:
    """The shape at the end of the chain."""
    return x.with_shape(chain[-1].shape)


@infer_meta("ViewScatterInferMeta")
def view_scatter(x: Meta, value: Meta, chain: tuple[Any, ...]) -> Meta:
    """The base's shape; the value must have the shape at the end of the chain."""
    if value.shape != chain[-1].shape:
        raise ValueError(f"expected a value of the view's shape {list(chain[-1].shape)}, received {list(value.shape)}")
    return x
