"""InferMeta of histograms, frequencies and choices among tensors."""

import math

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.registry import infer_meta


@infer_meta("IsinInferMeta")
def isin(x: Meta, test_x: Meta) -> Meta:
    """x's shape, bool."""
    return x.with_dtype(dt.bool_)


@infer_meta("ModeInferMeta")
def mode(x: Meta, axis: int, keepdim: bool) -> tuple[Meta, Meta]:
    """Without the axis, or with size 1 there."""
    axis = canonical_axis(axis, x.ndim)
    if x.ndim == 0:
        return x, x.with_dtype(dt.int64)
    middle = (1,) if keepdim else ()
    shape = x.shape[:axis] + middle + x.shape[axis + 1 :]
    out = x.with_shape(shape)
    if x.shape[axis] == 0 and out.size:
        raise ValueError(f"expected at least one element along axis {axis}, received shape {list(x.shape)}")
    return out, out.with_dtype(dt.int64)


@infer_meta("HistogramInferMeta")
def histogram(input: Meta, weight: Meta | None, bins: int, min: float, max: float, density: bool) -> Meta:
    """One number for each bin."""
    if bins < 1:
        raise ValueError(f"expected bins of at least 1, received {bins}")
    if not min <= max or math.isinf(min) or math.isinf(max):
        raise ValueError(f"expected finite numbers min <= max, received min = {min} and max = {max}")
    if weight is not None and (weight.shape != input.shape or weight.dtype is not input.dtype):
        raise ValueError(
            f"expected weights of input's shape {list(input.shape)} and dtype {input.dtype.name}, received "
            f"{list(weight.shape)}, {weight.dtype.name}"
        )
    return Meta((bins,), dt.float32 if density or weight is not None else dt.int64)


@infer_meta("MultiplexInferMeta")
def multiplex(inputs: list[Meta], index: Meta) -> Meta:
    """As many rows as the index has."""
    if len(inputs) < 2:
        raise ValueError(f"expected at least two tensors to choose from, received {len(inputs)}")
    first = inputs[0]
    for position, meta in enumerate(inputs):
        if meta.shape != first.shape or meta.dtype is not first.dtype:
            raise ValueError(
                f"expected tensors of one shape and dtype, received {list(first.shape)}, {first.dtype.name} at position 0 and "
                f"{list(meta.shape)}, {meta.dtype.name} at position {position}"
            )
    if first.ndim < 2:
        raise ValueError(f"expected tensors of at least two dimensions, received shape {list(first.shape)}")
    if index.dtype is not dt.int32 and index.dtype is not dt.int64:
        raise TypeError(f"expected an index of int32 or int64, received {index.dtype.name}")
    if index.ndim != 2 or index.shape[1] != 1 or index.shape[0] > first.shape[0]:
        raise ValueError(
            f"expected an index of shape [rows, 1] with at most {first.shape[0]} rows, received {list(index.shape)}"
        )
    return first.with_shape(index.shape[:1] + first.shape[1:])
