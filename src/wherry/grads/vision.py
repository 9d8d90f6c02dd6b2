"""Derivative rules of windows as columns, weighted rows and pooling over regions: linear maps, each with its transpose."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj

Ints = tuple[int, ...]


def unfold_grad(
    ops: Ops, x_meta: Meta, out_grad: Value, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints
) -> Value:
    return ops.fold(out_grad, x_meta.shape[2:], kernel_sizes, strides, paddings, dilations)


def fold_grad(ops: Ops, out_grad: Value, kernel_sizes: Ints, strides: Ints, paddings: Ints, dilations: Ints) -> Value:
    return ops.unfold(out_grad, kernel_sizes, strides, paddings, dilations)


def embedding_bag_rule_weight(
    ops: Ops, x: Value, weight_meta: Meta, per_sample_weights: Value, out_grad: Value
) -> Value:
    return ops.embedding_bag_grad_weight(x, conj(ops, per_sample_weights), out_grad, weight_meta.shape[0])


def embedding_bag_rule_samples(ops: Ops, x: Value, weight: Value, out_grad: Value) -> Value:
    return ops.embedding_bag_grad_samples(x, conj(ops, weight), out_grad)


def embedding_bag_grad_weight_rule_samples(ops: Ops, x: Value, out_grad: Value, weight_grad_grad: Value) -> Value:
    return ops.embedding_bag_grad_samples(x, weight_grad_grad, conj(ops, out_grad))


def embedding_bag_grad_weight_rule_out_grad(
    ops: Ops, x: Value, per_sample_weights: Value, weight_grad_grad: Value
) -> Value:
    return ops.embedding_bag(x, weight_grad_grad, conj(ops, per_sample_weights))


def embedding_bag_grad_samples_rule_weight(
    ops: Ops, x: Value, weight_meta: Meta, out_grad: Value, per_sample_weights_grad_grad: Value
) -> Value:
    return ops.embedding_bag_grad_weight(x, per_sample_weights_grad_grad, conj(ops, out_grad), weight_meta.shape[0])


def embedding_bag_grad_samples_rule_out_grad(
    ops: Ops, x: Value, weight: Value, per_sample_weights_grad_grad: Value
) -> Value:
    return ops.embedding_bag(x, conj(ops, weight), per_sample_weights_grad_grad)


def fractional_max_pool_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value, output_size: Ints) -> Value:
    return ops.max_pool_scatter(out_grad, index, x_meta.shape[x_meta.ndim - len(output_size) :], True)


def roi_align_rule(
    ops: Ops,
    x_meta: Meta,
    boxes: Value,
    boxes_num: Value,
    out_grad: Value,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Value:
    return ops.roi_align_grad(out_grad, boxes, boxes_num, x_meta.shape, spatial_scale, sampling_ratio, aligned)


def roi_align_grad_rule(
    ops: Ops,
    out_grad_meta: Meta,
    boxes: Value,
    boxes_num: Value,
    x_grad_grad: Value,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Value:
    height, width = out_grad_meta.shape[2:]
    return ops.roi_align(x_grad_grad, boxes, boxes_num, height, width, spatial_scale, sampling_ratio, aligned)


def roi_pool_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value) -> Value:
    # A bin without cells has the index -1, and its gradient no place to go.
    kept = ops.where(ops.less_than(index, 0), 0.0, out_grad)
    return ops.take_grad(kept, index, "clip", x_meta.shape)


def psroi_pool_rule(
    ops: Ops, x_meta: Meta, boxes: Value, boxes_num: Value, out_grad: Value, spatial_scale: float
) -> Value:
    return ops.psroi_pool_grad(out_grad, boxes, boxes_num, x_meta.shape, spatial_scale)


def psroi_pool_grad_rule(
    ops: Ops, out_grad_meta: Meta, boxes: Value, boxes_num: Value, x_grad_grad: Value, spatial_scale: float
) -> Value:
    channels, height, width = out_grad_meta.shape[1:]
    return ops.psroi_pool(x_grad_grad, boxes, boxes_num, height, width, channels, spatial_scale)
