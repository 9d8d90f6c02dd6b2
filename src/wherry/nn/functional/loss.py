"""Losses. Source: paddle.nn.functional.loss."""

import math
from typing import Any

from wherry import _C_ops
from wherry.nn.functional.common import cosine_similarity
from wherry.tensor.tensor import Tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "label_smooth",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "sigmoid_focal_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax_with_cross_entropy",
    "square_error_cost",
    "triplet_margin_loss",
]


def _reduced(loss: Tensor, reduction: str, name: str) -> Tensor:
    if reduction == "mean":
        return _C_ops.mean(loss, (), False)
    if reduction == "sum":
        return _C_ops.sum(loss, (), None, False)
    if reduction == "none":
        return loss
    raise ValueError(f"{name}: expected reduction 'mean', 'sum' or 'none', received {reduction!r}")


def _same_shape(x: Tensor, y: Tensor, name: str) -> None:
    if x.shape != y.shape:
        raise ValueError(f"{name}: expected two tensors of one shape, received {list(x.shape)} and {list(y.shape)}")


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """(input - label) squared. Source: paddle.nn.functional.square_error_cost."""
    return _C_ops.square(_C_ops.subtract(input, label))


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Mean (or sum, or each) of squared differences.

    reduction: "mean", "sum" or "none"; raises ValueError for another. Source: paddle.nn.functional.mse_loss.
    """
    return _reduced(square_error_cost(input, label), reduction, "mse_loss")


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Mean (or sum, or each) of absolute differences. Source: paddle.nn.functional.l1_loss."""
    return _reduced(_C_ops.abs(_C_ops.subtract(input, label)), reduction, "l1_loss")


def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """Half the square of differences below delta, delta (|d| - delta / 2) beyond; without is_huber that over delta.

    Source: paddle.nn.functional.smooth_l1_loss.
    """
    difference = _C_ops.abs(_C_ops.subtract(input, label))
    inner = _C_ops.scale(_C_ops.square(difference), 0.5, 0.0, True)
    outer = _C_ops.scale(difference, delta, -0.5 * delta * delta, True)
    loss = _C_ops.where(_C_ops.less_than(difference, delta), inner, outer)
    if not is_huber:
        loss = _C_ops.scale(loss, 1.0 / delta, 0.0, True)
    return _reduced(loss, reduction, "smooth_l1_loss")


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cross entropy between logits (or probabilities, with use_softmax=False) and labels.

    input: [..., classes, ...] with the classes along `axis`. label: integers of that shape without the axis (or with 1 there), or with soft_label
    probabilities of input's shape. weight: one for each class; the mean is then over the labels' weights. Labels equal to
    ignore_index count nothing. Raises ValueError for labels outside the classes, shapes that do not fit, another reduction, a
    label_smoothing outside [0, 1]. Source: paddle.nn.functional.cross_entropy.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"cross_entropy: expected reduction 'mean', 'sum' or 'none', received {reduction!r}")
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"cross_entropy: expected label_smoothing in [0, 1], received {label_smoothing}")
    axis = axis + input.ndim if axis < 0 else axis
    if soft_label or label_smoothing > 0.0:
        return _soft_cross_entropy(
            input, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing
        )
    squeezed = label.ndim == input.ndim - 1
    places = _C_ops.unsqueeze(label, (axis,)) if squeezed else label
    if use_softmax:
        loss = _C_ops.cross_entropy_with_softmax(input, places, ignore_index, axis)
    else:
        hot = _C_ops.label_one_hot(places, input.shape[axis], ignore_index, axis, input.dtype)
        picked = _C_ops.sum(_C_ops.multiply(hot, _C_ops.log(input)), (axis,), None, True)
        loss = _C_ops.scale(picked, -1.0, 0.0, True)
    if weight is None:
        if squeezed and reduction == "none":
            loss = _C_ops.squeeze(loss, (axis,))
        if reduction == "mean":
            ignored = int((label.impl.array == ignore_index).sum())
            if ignored:
                return _C_ops.scale(_C_ops.sum(loss, (), None, False), 1.0 / max(label.size - ignored, 1), 0.0, True)
        return _reduced(loss, reduction, "cross_entropy")
    return _weighted(loss, places, weight, ignore_index, reduction, squeezed, axis, input)


def _weighted(
    loss: Tensor,
    places: Tensor,
    weight: Tensor,
    ignore_index: int,
    reduction: str,
    squeezed: bool,
    axis: int,
    input: Tensor,
) -> Tensor:
    """A loss for each label times its class's weight; the mean is over the weights."""
    classes = input.shape[axis]
    if weight.size != classes:
        raise ValueError(
            f"cross_entropy: expected {classes} weights, one for each class, received {list(weight.shape)}"
        )
    row = tuple(classes if i == axis else 1 for i in range(input.ndim))
    hot = _C_ops.label_one_hot(places, classes, ignore_index, axis, input.dtype)
    factors = _C_ops.sum(_C_ops.multiply(hot, _C_ops.reshape(weight, row)), (axis,), None, True)
    loss = _C_ops.multiply(loss, factors)
    if reduction == "mean":
        total = _C_ops.sum(factors, (), None, False)
        return _C_ops.divide(_C_ops.sum(loss, (), None, False), _C_ops.where(_C_ops.equal(total, 0.0), 1.0, total))
    if squeezed and reduction == "none":
        loss = _C_ops.squeeze(loss, (axis,))
    return _reduced(loss, reduction, "cross_entropy")


def _soft_cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    soft_label: bool,
    axis: int,
    use_softmax: bool,
    label_smoothing: float,
) -> Tensor:
    squeezed = False
    valid: Tensor | None = None
    classes = input.shape[axis]
    if not soft_label:
        squeezed = label.ndim == input.ndim - 1
        places = _C_ops.unsqueeze(label, (axis,)) if squeezed else label
        label = _C_ops.label_one_hot(places, classes, ignore_index, axis, input.dtype)
        valid = _C_ops.sum(label, (axis,), None, True)
    elif list(label.shape) != list(input.shape):
        raise ValueError(
            f"cross_entropy: expected probabilities of input's shape {list(input.shape)}, received {list(label.shape)}"
        )
    if label_smoothing > 0.0:
        label = _C_ops.scale(label, 1.0 - label_smoothing, label_smoothing / classes, True)
        if valid is not None:
            label = _C_ops.multiply(label, valid)
    logs = _C_ops.log_softmax(input, axis) if use_softmax else _C_ops.log(input)
    loss = _C_ops.scale(_C_ops.sum(_C_ops.multiply(label, logs), (axis,), None, True), -1.0, 0.0, True)
    if weight is not None:
        row = tuple(classes if i == axis else 1 for i in range(input.ndim))
        factors = _C_ops.sum(_C_ops.multiply(label, _C_ops.reshape(weight, row)), (axis,), None, True)
        loss = _C_ops.multiply(loss, factors)
        if reduction == "mean":
            return _C_ops.divide(_C_ops.sum(loss, (), None, False), _C_ops.sum(factors, (), None, False))
    if squeezed and reduction == "none":
        loss = _C_ops.squeeze(loss, (axis,))
    if valid is not None and reduction == "mean":
        count = int(valid.impl.array.sum())
        return _C_ops.scale(_C_ops.sum(loss, (), None, False), 1.0 / max(count, 1), 0.0, True)
    return _reduced(loss, reduction, "cross_entropy")


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The loss of each label, with 1 along the axis; with return_softmax the probabilities too.

    Source: paddle.nn.functional.softmax_with_cross_entropy.
    """
    if not numeric_stable_mode:
        raise NotImplementedError(
            "softmax_with_cross_entropy: the argument 'numeric_stable_mode' is supported as True only"
        )
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    if loss.ndim < logits.ndim:
        loss = _C_ops.unsqueeze(loss, (axis,))
    return (loss, _C_ops.softmax(logits, axis)) if return_softmax else loss


def nll_loss(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Negative of the log-probabilities (along axis 1) at the labels.

    input: [batch, classes, ...]; label: [batch, ...]. weight and ignore_index as in cross_entropy. Raises ValueError for labels outside the
    classes. Source: paddle.nn.functional.nll_loss.
    """
    if input.ndim < 2 or list(label.shape) != [input.shape[0], *input.shape[2:]]:
        raise ValueError(
            f"nll_loss: expected labels of input's shape {list(input.shape)} without axis 1, received {list(label.shape)}"
        )
    places = _C_ops.unsqueeze(label, (1,))
    hot = _C_ops.label_one_hot(places, input.shape[1], ignore_index, 1, input.dtype)
    if weight is not None:
        row = (1, input.shape[1], *(1,) * (input.ndim - 2))
        hot = _C_ops.multiply(hot, _C_ops.reshape(weight, row))
    loss = _C_ops.scale(_C_ops.sum(_C_ops.multiply(hot, input), (1,), None, False), -1.0, 0.0, True)
    if reduction == "mean":
        return _C_ops.divide(_C_ops.sum(loss, (), None, False), _C_ops.sum(hot, (), None, False))
    return _reduced(loss, reduction, "nll_loss")


def binary_cross_entropy(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """-(y log p + (1 - y) log(1 - p)) of probabilities p; the logarithms are at least -100.

    Raises ValueError for shapes that differ or another reduction. Source: paddle.nn.functional.binary_cross_entropy.
    """
    _same_shape(input, label, "binary_cross_entropy")
    least = _C_ops.full_like(input, -100.0)
    log_p = _C_ops.maximum(_C_ops.log(input), least)
    log_q = _C_ops.maximum(_C_ops.log1p(_C_ops.scale(input, -1.0, 0.0, True)), least)
    rest = _C_ops.scale(label, -1.0, 1.0, True)
    loss = _C_ops.add(_C_ops.multiply(label, log_p), _C_ops.multiply(rest, log_q))
    loss = _C_ops.scale(loss, -1.0, 0.0, True)
    if weight is not None:
        loss = _C_ops.multiply(loss, weight)
    return _reduced(loss, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    logit: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Binary cross entropy of the sigmoid of logits, exact in both tails.

    pos_weight: multiplies the loss of positive labels. Raises ValueError for shapes that differ or another reduction.
    Source: paddle.nn.functional.binary_cross_entropy_with_logits.
    """
    _same_shape(logit, label, "binary_cross_entropy_with_logits")
    # (1 - y) x + w softplus(-x), with w = 1 + (pos_weight - 1) y.
    tail = _C_ops.scale(_C_ops.logsigmoid(logit), -1.0, 0.0, True)
    if pos_weight is not None:
        extra = _C_ops.multiply(label, _C_ops.scale(pos_weight, 1.0, -1.0, True))
        tail = _C_ops.multiply(tail, _C_ops.scale(extra, 1.0, 1.0, True))
    loss = _C_ops.add(_C_ops.multiply(_C_ops.scale(label, -1.0, 1.0, True), logit), tail)
    if weight is not None:
        loss = _C_ops.multiply(loss, weight)
    return _reduced(loss, reduction, "binary_cross_entropy_with_logits")


def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """label * (log(label) - input), for log-probabilities `input`; "batchmean" divides the sum by the first size.

    Source: paddle.nn.functional.kl_div.
    """
    if log_target:
        loss = _C_ops.multiply(_C_ops.exp(label), _C_ops.subtract(label, input))
    else:
        there = _C_ops.greater_than(label, 0.0)
        safe = _C_ops.where(there, label, _C_ops.full_like(label, 1.0))
        loss = _C_ops.multiply(label, _C_ops.subtract(_C_ops.log(safe), input))
        loss = _C_ops.where(there, loss, _C_ops.full_like(loss, 0.0))
    if reduction == "batchmean":
        return _C_ops.scale(_C_ops.sum(loss, (), None, False), 1.0 / max(input.shape[0], 1), 0.0, True)
    return _reduced(loss, reduction, "kl_div")


def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: str | None = None) -> Tensor:
    """-y log(p + epsilon) - (1 - y) log(1 - p + epsilon). Source: paddle.nn.functional.log_loss."""
    positive = _C_ops.multiply(label, _C_ops.log(_C_ops.scale(input, 1.0, epsilon, True)))
    rest = _C_ops.multiply(
        _C_ops.scale(label, -1.0, 1.0, True), _C_ops.log(_C_ops.scale(input, -1.0, 1.0 + epsilon, True))
    )
    return _C_ops.scale(_C_ops.add(positive, rest), -1.0, 0.0, True)


def label_smooth(
    label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: str | None = None
) -> Tensor:
    """(1 - epsilon) * label + epsilon * prior, uniform by default. Source: paddle.nn.functional.label_smooth."""
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"label_smooth: expected epsilon in [0, 1], received {epsilon}")
    if prior_dist is None:
        return _C_ops.scale(label, 1.0 - epsilon, epsilon / label.shape[-1], True)
    return _C_ops.add(_C_ops.scale(label, 1.0 - epsilon, 0.0, True), _C_ops.scale(prior_dist, epsilon, 0.0, True))


def _hinge(value: Tensor) -> Tensor:
    return _C_ops.relu(value)


def margin_ranking_loss(
    input: Tensor,
    other: Tensor,
    label: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """max(0, -label * (input - other) + margin). Source: paddle.nn.functional.margin_ranking_loss."""
    product = _C_ops.multiply(label, _C_ops.subtract(other, input))
    return _reduced(_hinge(_C_ops.scale(product, 1.0, margin, True)), reduction, "margin_ranking_loss")


def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """input where the label is 1, max(0, margin - input) where it is -1. Source: paddle.nn.functional.hinge_embedding_loss."""
    zero = _C_ops.full_like(input, 0.0)
    positive = _C_ops.where(_C_ops.equal(label, 1.0), input, zero)
    negative = _C_ops.where(_C_ops.equal(label, -1.0), _hinge(_C_ops.scale(input, -1.0, margin, True)), zero)
    return _reduced(_C_ops.add(positive, negative), reduction, "hinge_embedding_loss")


def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """log(1 + exp(-label * input)). Source: paddle.nn.functional.soft_margin_loss."""
    _same_shape(input, label, "soft_margin_loss")
    product = _C_ops.multiply(_C_ops.cast(label, input.dtype), input)
    return _reduced(_C_ops.scale(_C_ops.logsigmoid(product), -1.0, 0.0, True), reduction, "soft_margin_loss")


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    label: Tensor,
    margin: float = 0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """1 - cos where the label is 1, max(0, cos - margin) where it is -1. Source: paddle.nn.functional.cosine_embedding_loss."""
    cosine = cosine_similarity(input1, input2, -1, 1e-12)
    positive = _C_ops.scale(cosine, -1.0, 1.0, True)
    negative = _hinge(_C_ops.scale(cosine, 1.0, -margin, True))
    return _reduced(_C_ops.where(_C_ops.equal(label, 1), positive, negative), reduction, "cosine_embedding_loss")


def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """max(0, |a - p| - |a - n| + margin), with p-norms of the last axis. Source: paddle.nn.functional.triplet_margin_loss."""

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return _C_ops.p_norm(_C_ops.scale(_C_ops.subtract(x, y), 1.0, epsilon, True), float(p), (-1,), False)

    far = distance(input, negative)
    if swap:
        far = _C_ops.minimum(far, distance(positive, negative))
    gap = _C_ops.subtract(distance(input, positive), far)
    return _reduced(_hinge(_C_ops.scale(gap, 1.0, margin, True)), reduction, "triplet_margin_loss")


def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Tensor:
    """Binary cross entropy times alpha-weighted (1 - p of the truth) ** gamma. Source: paddle.nn.functional.sigmoid_focal_loss."""
    if not math.isfinite(gamma):
        raise ValueError(f"sigmoid_focal_loss: expected a finite gamma, received {gamma}")
    bce = binary_cross_entropy_with_logits(logit, label, reduction="none")
    p = _C_ops.sigmoid(logit)
    rest = _C_ops.scale(label, -1.0, 1.0, True)
    truth = _C_ops.add(_C_ops.multiply(p, label), _C_ops.multiply(_C_ops.scale(p, -1.0, 1.0, True), rest))
    share = _C_ops.scale(label, 2 * alpha - 1.0, 1.0 - alpha, True)
    loss = _C_ops.multiply(_C_ops.multiply(bce, share), _C_ops.pow(_C_ops.scale(truth, -1.0, 1.0, True), gamma))
    if normalizer is not None:
        loss = _C_ops.divide(loss, normalizer)
    return _reduced(loss, reduction, "sigmoid_focal_loss")
