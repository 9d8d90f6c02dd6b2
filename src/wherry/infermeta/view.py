"""InferMeta of the view operations. A chain is a tuple of ViewStep (autograd/structures.py)."""

from typing import Any

from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


@infer_meta("ViewReplayInferMeta")
def view_replay(x: Meta, chain: tuple[Any, ...]) -> Meta:
    """The shape at the end of the chain, and the dtype where steps lead from complex numbers to real ones or back."""
    last: Meta = chain[-1].meta
    return x.with_shape(last.shape) if last.dtype is chain[0].source.dtype else last


@infer_meta("ViewReplayGradInferMeta")
def view_replay_grad(grad: Meta, chain: tuple[Any, ...], shape: tuple[int, ...], dtype: DataType) -> Meta:
    """The base's shape and dtype."""
    return Meta(shape, dtype)


@infer_meta("ViewScatterInferMeta")
def view_scatter(x: Meta, value: Meta, chain: tuple[Any, ...]) -> Meta:
    """The base's shape; the value must have the shape at the end of the chain."""
    last: Meta = chain[-1].meta
    if value.shape != last.shape:
        raise ValueError(f"expected a value of the view's shape {list(last.shape)}, received {list(value.shape)}")
    return x
