"""InferMeta of windows as columns, weighted rows, and pooling over regions."""

import math

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.nn import conv_output_size
from wherry.infermeta.registry import infer_meta

Ints = tuple[int, ...]


def _places(spatial: Ints, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Ints:
    """How many places the window has along each axis; refuses windows that do not fit."""
    for name, values, least in (
        ("kernel_sizes", kernel_sizes, 1),
        ("strides", strides, 1),
        ("paddings", paddings, 0),
        ("dilations", dilations, 1),
    ):
        if min(values) < least:
            raise ValueError(f"expected {name} of at least {least}, received {list(values)}")
    places = tuple(
        conv_output_size(spatial[i], kernel_sizes[i], strides[i], paddings[2 * i], paddings[2 * i + 1], dilations[i])
        for i in range(len(spatial))
    )
    if min(places) < 1:
        raise ValueError(
            f"expected a window that fits, received kernel_sizes {list(kernel_sizes)}, dilations {list(dilations)} and paddings "
            f"{list(paddings)} for the spatial shape {list(spatial)}"
        )
    return places


@infer_meta("UnfoldInferMeta")
def unfold(x: Meta, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Meta:
    """[batch, channels * kernel, places]."""
    if x.ndim != len(kernel_sizes) + 2:
        raise ValueError(f"expected x of {len(kernel_sizes) + 2} dimensions, received shape {list(x.shape)}")
    places = _places(x.shape[2:], kernel_sizes, strides, paddings, dilations)
    return x.with_shape((x.shape[0], x.shape[1] * math.prod(kernel_sizes), math.prod(places)))


@infer_meta("FoldInferMeta")
def fold(x: Meta, output_sizes: Ints, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Meta:
    """[batch, channels, output_sizes...] of columns [batch, channels * kernel, places]."""
    if x.ndim != 3:
        raise ValueError(f"expected x of 3 dimensions, received shape {list(x.shape)}")
    if min(output_sizes) < 0:
        raise ValueError(f"expected output_sizes of at least 0, received {list(output_sizes)}")
    places = math.prod(_places(output_sizes, kernel_sizes, strides, paddings, dilations))
    kernel = math.prod(kernel_sizes)
    if x.shape[1] % kernel:
        raise ValueError(
            f"expected a second dimension of x that the kernel's {kernel} elements divide, received shape {list(x.shape)}"
        )
    if x.shape[2] != places:
        raise ValueError(
            f"expected {places} columns in x for output_sizes {list(output_sizes)} and these windows, received shape {list(x.shape)}"
        )
    return x.with_shape((x.shape[0], x.shape[1] // kernel, *output_sizes))


def _check_bag(x: Meta, other: Meta, shape: Ints, name: str) -> None:
    if x.ndim != 2 or not x.dtype.is_integer:
        raise ValueError(f"expected integer indices of shape [bags, elements], received {x}")
    if other.shape != shape:
        raise ValueError(f"expected {name} of shape {list(shape)}, received {list(other.shape)}")


@infer_meta("EmbeddingBagInferMeta")
def embedding_bag(x: Meta, weight: Meta, per_sample_weights: Meta) -> Meta:
    """A sum of rows for each bag."""
    _check_bag(x, per_sample_weights, x.shape, "per_sample_weights")
    if weight.ndim != 2 or weight.dtype is not per_sample_weights.dtype:
        raise ValueError(
            f"expected a weight of two dimensions and per_sample_weights of its dtype, received {weight} and {per_sample_weights}"
        )
    return weight.with_shape((x.shape[0], weight.shape[1]))


@infer_meta("EmbeddingBagGradWeightInferMeta")
def embedding_bag_grad_weight(x: Meta, per_sample_weights: Meta, out_grad: Meta, rows: int) -> Meta:
    """The weight's shape."""
    _check_bag(x, per_sample_weights, x.shape, "per_sample_weights")
    return out_grad.with_shape((rows, out_grad.shape[1]))


@infer_meta("EmbeddingBagGradSamplesInferMeta")
def embedding_bag_grad_samples(x: Meta, weight: Meta, out_grad: Meta) -> Meta:
    """The indices' shape."""
    _check_bag(x, out_grad, (x.shape[0], weight.shape[1]), "out_grad")
    return out_grad.with_shape(x.shape)


@infer_meta("FractionalMaxPoolInferMeta")
def fractional_max_pool(x: Meta, output_size: Ints, kernel_size: Ints, random_u: float) -> tuple[Meta, Meta]:
    """As many windows as asked for, and where their maxima are."""
    count = len(output_size)
    spatial = x.shape[x.ndim - count :]
    for size, out, kernel in zip(spatial, output_size, kernel_size):
        if out < 1 or (size and out > size):
            raise ValueError(
                f"expected an output_size from 1 to the axis's size, received {list(output_size)} for the spatial shape {list(spatial)}"
            )
        if kernel < 0 or (size and kernel > size - out + 1):
            raise ValueError(
                f"expected a kernel_size of which {list(output_size)} different windows fit into {list(spatial)}, received "
                f"{list(kernel_size)}"
            )
    if 0 in spatial:
        raise ValueError(f"expected spatial axes of at least 1, received shape {list(x.shape)}")
    out_meta = x.with_shape(x.shape[: x.ndim - count] + output_size)
    return out_meta, out_meta.with_dtype(dt.int32)


def _check_regions(x: Meta, boxes: Meta, boxes_num: Meta, pooled_height: int, pooled_width: int) -> None:
    if x.ndim != 4:
        raise ValueError(f"expected x of shape [batch, channels, height, width], received {list(x.shape)}")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"expected boxes of shape [boxes, 4], received {list(boxes.shape)}")
    if boxes_num.shape != (x.shape[0],) or not boxes_num.dtype.is_integer:
        raise ValueError(f"expected boxes_num to hold an integer for each of {x.shape[0]} images, received {boxes_num}")
    if boxes.dtype is not x.dtype:
        raise TypeError(f"expected boxes of x's dtype {x.dtype.name}, received {boxes.dtype.name}")
    if pooled_height < 1 or pooled_width < 1:
        raise ValueError(f"expected an output_size of at least 1, received {[pooled_height, pooled_width]}")


@infer_meta("RoiAlignInferMeta")
def roi_align(
    x: Meta,
    boxes: Meta,
    boxes_num: Meta,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Meta:
    """[boxes, channels, height, width]."""
    _check_regions(x, boxes, boxes_num, pooled_height, pooled_width)
    return x.with_shape((boxes.shape[0], x.shape[1], pooled_height, pooled_width))


@infer_meta("RoiGradInferMeta")
def roi_grad(out_grad: Meta, boxes: Meta, boxes_num: Meta, shape: Ints) -> Meta:
    """x's shape."""
    return out_grad.with_shape(shape)


@infer_meta("RoiPoolInferMeta")
def roi_pool(
    x: Meta, boxes: Meta, boxes_num: Meta, pooled_height: int, pooled_width: int, spatial_scale: float
) -> tuple[Meta, Meta]:
    """[boxes, channels, height, width], and where the maxima are in the flattened x."""
    _check_regions(x, boxes, boxes_num, pooled_height, pooled_width)
    out = x.with_shape((boxes.shape[0], x.shape[1], pooled_height, pooled_width))
    return out, out.with_dtype(dt.int64)


@infer_meta("PsroiPoolInferMeta")
def psroi_pool(
    x: Meta,
    boxes: Meta,
    boxes_num: Meta,
    pooled_height: int,
    pooled_width: int,
    output_channels: int,
    spatial_scale: float,
) -> Meta:
    """[boxes, output channels, height, width]."""
    _check_regions(x, boxes, boxes_num, pooled_height, pooled_width)
    if output_channels < 1 or output_channels * pooled_height * pooled_width != x.shape[1]:
        raise ValueError(
            f"expected channels of x that {pooled_height} * {pooled_width} bins share evenly, received shape {list(x.shape)}"
        )
    return x.with_shape((boxes.shape[0], output_channels, pooled_height, pooled_width))
