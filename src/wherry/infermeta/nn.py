"""InferMeta of neural-network operations."""

import math

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta

Ints = tuple[int, ...]


@infer_meta("EmbeddingInferMeta")
def embedding(x: Meta, weight: Meta, padding_idx: int) -> Meta:
    """A row of the weight for each index."""
    if not x.dtype.is_integer:
        raise TypeError(f"expected integer indices, received {x.dtype.name}")
    if weight.ndim != 2:
        raise ValueError(f"expected a weight of two dimensions, received shape {list(weight.shape)}")
    return Meta((*x.shape, weight.shape[1]), weight.dtype)


@infer_meta("EmbeddingGradInferMeta")
def embedding_grad(x: Meta, out_grad: Meta, rows: int, padding_idx: int) -> Meta:
    """The weight's shape."""
    return Meta((rows, out_grad.shape[-1]), out_grad.dtype)


@infer_meta("DropoutInferMeta")
def dropout(x: Meta, p: float, upscale: bool, mask_shape: Ints) -> tuple[Meta, Meta]:
    """x's meta, and the mask."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"expected p in [0, 1], received {p}")
    if not x.dtype.is_floating:
        raise TypeError(f"expected a floating tensor, received {x.dtype.name}")
    return x, Meta(mask_shape, dt.bool_)


def conv_output_size(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    """How many places a dilated kernel has along an axis."""
    return (size + before + after - (dilation * (kernel - 1) + 1)) // stride + 1


@infer_meta("ConvInferMeta")
def conv(x: Meta, filter: Meta, strides: Ints, paddings: Ints, dilations: Ints, groups: int) -> Meta:
    """[batch, filters, places...] of channel-first x and filters [filters, channels / groups, kernel...]."""
    count = len(strides)
    if x.ndim != count + 2 or filter.ndim != count + 2:
        raise ValueError(
            f"expected x and filter of {count + 2} dimensions, received shapes {list(x.shape)} and {list(filter.shape)}"
        )
    if groups < 1 or filter.shape[0] % groups:
        raise ValueError(f"expected a number of filters that groups={groups} divides, received {filter.shape[0]}")
    if x.shape[1] != filter.shape[1] * groups:
        raise ValueError(
            f"expected x of {filter.shape[1] * groups} channels (filter's {filter.shape[1]} times groups {groups}), received "
            f"{x.shape[1]} in shape {list(x.shape)}"
        )
    if x.dtype is not filter.dtype:
        raise TypeError(f"expected x and filter of one dtype, received {x.dtype.name} and {filter.dtype.name}")
    if min(strides) < 1 or min(dilations) < 1:
        raise ValueError(
            f"expected strides and dilations of at least 1, received {list(strides)} and {list(dilations)}"
        )
    if 0 in filter.shape[2:]:
        raise ValueError(f"expected a kernel of at least 1 along each axis, received {list(filter.shape[2:])}")
    sizes = []
    for i in range(count):
        places = conv_output_size(
            x.shape[2 + i], filter.shape[2 + i], strides[i], paddings[2 * i], paddings[2 * i + 1], dilations[i]
        )
        if places <= 0:
            raise ValueError(
                f"expected a kernel that fits, received kernel {list(filter.shape[2:])}, dilation {list(dilations)} and padding "
                f"{list(paddings)} for x of shape {list(x.shape)}: axis {2 + i} would have {places} places"
            )
        sizes.append(places)
    return Meta((x.shape[0], filter.shape[0], *sizes), x.dtype)


@infer_meta("ConvGradInputInferMeta")
def conv_grad_input(
    out_grad: Meta, filter: Meta, spatial_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Meta:
    """The input's shape."""
    if out_grad.ndim != filter.ndim or out_grad.shape[1] != filter.shape[0]:
        raise ValueError(
            f"expected {filter.shape[0]} channels, one for each filter of {list(filter.shape)}, received shape "
            f"{list(out_grad.shape)}"
        )
    return Meta((out_grad.shape[0], filter.shape[1] * groups, *spatial_size), out_grad.dtype)


@infer_meta("ConvGradFilterInferMeta")
def conv_grad_filter(
    x: Meta, out_grad: Meta, kernel_size: Ints, strides: Ints, paddings: Ints, dilations: Ints, groups: int
) -> Meta:
    """The filter's shape."""
    return Meta((out_grad.shape[1], x.shape[1] // groups, *kernel_size), x.dtype)


def _check_affine(scale: Meta | None, bias: Meta | None, size: int) -> None:
    for name, given in (("weight", scale), ("bias", bias)):
        if given is not None and given.size != size:
            raise ValueError(f"expected {name} of {size} elements, received shape {list(given.shape)}")


@infer_meta("LayerNormInferMeta")
def layer_norm(
    x: Meta, scale: Meta | None, bias: Meta | None, epsilon: float, begin_norm_axis: int
) -> tuple[Meta, Meta, Meta]:
    """x's meta; mean and variance of each row in float32 or wider."""
    _check_affine(scale, bias, math.prod(x.shape[begin_norm_axis:]))
    rows = Meta((math.prod(x.shape[:begin_norm_axis]),), _statistics_dtype(x))
    return x, rows, rows


@infer_meta("LayerNormGradInferMeta")
def layer_norm_grad(
    x: Meta, scale: Meta | None, mean: Meta, variance: Meta, out_grad: Meta, epsilon: float, begin_norm_axis: int
) -> tuple[Meta, Meta, Meta]:
    """x's meta, and a row's for scale and bias."""
    row = Meta((math.prod(x.shape[begin_norm_axis:]),), _statistics_dtype(x))
    return x, row, row


def _statistics_dtype(x: Meta) -> dt.DataType:
    return dt.float64 if x.dtype is dt.float64 else dt.float32


@infer_meta("BatchNormInferMeta")
def batch_norm(x: Meta, scale: Meta | None, bias: Meta | None, epsilon: float) -> tuple[Meta, Meta, Meta]:
    """x's meta; mean and variance of each channel."""
    if x.ndim < 2:
        raise ValueError(f"expected x of at least two dimensions, received shape {list(x.shape)}")
    _check_affine(scale, bias, x.shape[1])
    channel = Meta((x.shape[1],), _statistics_dtype(x))
    return x, channel, channel


@infer_meta("BatchNormGradInferMeta")
def batch_norm_grad(
    x: Meta, scale: Meta | None, mean: Meta, variance: Meta, out_grad: Meta, epsilon: float
) -> tuple[Meta, Meta, Meta]:
    """x's meta, and a channel's for scale and bias."""
    return x, mean, mean


@infer_meta("UpdateRunningInferMeta")
def update_running(
    running_mean: Meta, running_var: Meta, mean: Meta, variance: Meta, momentum: float
) -> tuple[Meta, Meta]:
    """The running statistics' own metas."""
    if running_mean.shape != mean.shape or running_var.shape != variance.shape:
        raise ValueError(
            f"expected running statistics of shape {list(mean.shape)}, one for each channel, received "
            f"{list(running_mean.shape)} and {list(running_var.shape)}"
        )
    return running_mean, running_var
