"""InferMeta of pooling."""

import math

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.core.pooling import output_sizes
from wherry.infermeta.registry import infer_meta


def _lead(x: Meta, count: int) -> tuple[int, ...]:
    if x.ndim < count + 1:
        raise ValueError(
            f"expected x of at least {count + 1} dimensions ({count} of them pooled), received {list(x.shape)}"
        )
    return x.shape[: x.ndim - count]


@infer_meta("MaxPoolWithIndexInferMeta")
def max_pool_with_index(
    x: Meta, kernel_size: tuple[int, ...], strides: tuple[int, ...], paddings: tuple[int, ...], ceil_mode: bool
) -> tuple[Meta, Meta]:
    """The windows' maxima, and where they are (int32, flat over the spatial axes)."""
    out = avg_pool(x, kernel_size, strides, paddings, ceil_mode, True)
    return out, out.with_dtype(dt.int32)


@infer_meta("MaxPoolInferMeta")
def max_pool(
    x: Meta, kernel_size: tuple[int, ...], strides: tuple[int, ...], paddings: tuple[int, ...], ceil_mode: bool
) -> Meta:
    """One value for each window."""
    return avg_pool(x, kernel_size, strides, paddings, ceil_mode, True)


@infer_meta("AvgPoolInferMeta")
def avg_pool(
    x: Meta,
    kernel_size: tuple[int, ...],
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    ceil_mode: bool,
    exclusive: bool,
) -> Meta:
    """One value for each window."""
    lead = _lead(x, len(kernel_size))
    return x.with_shape(lead + output_sizes(x.shape[len(lead) :], kernel_size, strides, paddings, ceil_mode))


@infer_meta("AvgPoolBackwardInferMeta")
def avg_pool_backward(out_grad: Meta, spatial_size: tuple[int, ...], *attributes: object) -> Meta:
    """The shape before pooling."""
    return out_grad.with_shape(_lead(out_grad, len(spatial_size)) + spatial_size)


@infer_meta("AdaptiveMaxPoolInferMeta")
def adaptive_max_pool(x: Meta, output_size: tuple[int, ...]) -> tuple[Meta, Meta]:
    """As many windows as asked for."""
    lead = _lead(x, len(output_size))
    if min(output_size) < 1:
        raise ValueError(f"expected at least one window, received output_size {list(output_size)}")
    out = x.with_shape(lead + output_size)
    return out, out.with_dtype(dt.int32)


@infer_meta("MaxPoolScatterInferMeta")
def max_pool_scatter(value: Meta, index: Meta, spatial_size: tuple[int, ...], overlapping: bool) -> Meta:
    """The shape before pooling."""
    return value.with_shape(_lead(value, len(spatial_size)) + spatial_size)


@infer_meta("MaxPoolGatherInferMeta")
def max_pool_gather(x: Meta, index: Meta, spatial_axes: int) -> Meta:
    """The index's shape."""
    count = math.prod(index.shape)
    if count and x.size == 0:
        raise ValueError(f"expected elements to gather from, received {x}")
    return x.with_shape(index.shape)
