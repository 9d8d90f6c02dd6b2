"""Losses with a margin, and the sampling of classes for them. Source: paddle.nn.functional."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn.functional.distance import pairwise_distance
from wherry.nn.functional.loss import _reduced
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = [
    "class_center_sample",
    "margin_cross_entropy",
    "multi_label_soft_margin_loss",
    "multi_margin_loss",
    "triplet_margin_with_distance_loss",
]

# An ignore_index that no label has: every label outside the classes is refused.
NOTHING_IGNORED = -(1 << 62)


def _one_process(group: Any, name: str) -> None:
    if group is None or group is False:
        return
    if not hasattr(group, "is_member"):
        raise ValueError(f"{name}: expected group None, False or a Group, received {group!r}")
    if getattr(group, "nranks", 1) != 1:
        raise NotImplementedError(f"{name}: the argument 'group' is supported with one process only")


def margin_cross_entropy(
    logits: Tensor,
    label: Tensor,
    margin1: float = 1.0,
    margin2: float = 0.5,
    margin3: float = 0.0,
    scale: float = 64.0,
    group: Any = None,
    return_softmax: bool = False,
    reduction: str | None = "mean",
) -> Any:
    """Cross entropy of cosines, with cos(margin1 * angle + margin2) - margin3 in the label's place, all times scale (ArcFace, CosFace, SphereFace).

    logits: cosines [batch, classes]; label: integers [batch] or [batch, 1]. reduction "none" or None gives [batch, 1]. return_softmax: gives the probabilities too.
    Raises ValueError for shapes that do not fit or labels outside the classes, NotImplementedError for a group of several processes.
    Source: paddle.nn.functional.margin_cross_entropy.
    """
    _one_process(group, "margin_cross_entropy")
    if reduction not in ("mean", "sum", "none", None):
        raise ValueError(
            f"margin_cross_entropy: expected reduction 'mean', 'sum', 'none' or None, received {reduction!r}"
        )
    if not logits.ndim or logits.shape[-1] == 0:
        raise ValueError(
            f"margin_cross_entropy: expected classes on the last axis, received shape {list(logits.shape)}"
        )
    if label.ndim == logits.ndim - 1:
        label = _C_ops.unsqueeze(label, (-1,))
    out_dtype = logits.dtype
    if out_dtype.name == "float16":
        logits = _C_ops.cast(logits, "float32")
    classes = logits.shape[-1]
    hot = _C_ops.label_one_hot(label, classes, NOTHING_IGNORED, logits.ndim - 1, logits.dtype)
    chosen = _C_ops.not_equal(hot, 0.0)
    # The angle is taken of the label's cosine alone: at the others it would have infinite slopes at 1 for nothing.
    cosine = _C_ops.sum(_C_ops.multiply(hot, logits), (-1,), None, True)
    if margin1 != 1.0 or margin2 != 0.0:
        cosine = _C_ops.cos(_C_ops.scale(_C_ops.acos(cosine), margin1, margin2, True))
    cosine = _C_ops.scale(cosine, 1.0, -margin3, True)
    scores = _C_ops.scale(_C_ops.where(chosen, cosine, logits), scale, 0.0, True)
    loss = _C_ops.cross_entropy_with_softmax(scores, label, NOTHING_IGNORED, logits.ndim - 1)
    loss = _C_ops.cast(_reduced(loss, reduction or "none", "margin_cross_entropy"), out_dtype)
    if not return_softmax:
        return loss
    return loss, _C_ops.cast(_C_ops.softmax(scores, -1), out_dtype)


def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """max(0, margin - x[label] + x) ** p of all other classes, over the number of classes.

    input: [batch, classes]; label: integers [batch]; weight: one for each class, taken at the label. Raises ValueError for shapes that do not fit or labels
    outside the classes. Source: paddle.nn.functional.multi_margin_loss.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"multi_margin_loss: expected reduction 'mean', 'sum' or 'none', received {reduction!r}")
    if input.ndim != 2 or label.size != input.shape[0]:
        raise ValueError(
            f"multi_margin_loss: expected input [batch, classes] and label [batch], received {list(input.shape)} and {list(label.shape)}"
        )
    classes = input.shape[1]
    if weight is not None and list(weight.shape) != [classes]:
        raise ValueError(f"multi_margin_loss: expected a weight of shape [{classes}], received {list(weight.shape)}")
    hot = _C_ops.label_one_hot(_C_ops.reshape(label, (-1, 1)), classes, NOTHING_IGNORED, 1, input.dtype)
    own = _C_ops.sum(_C_ops.multiply(hot, input), (1,), None, True)
    gaps = _C_ops.relu(_C_ops.scale(_C_ops.subtract(input, own), 1.0, margin, True))
    powers = gaps if p == 1 else _C_ops.pow(gaps, p)
    others = _C_ops.where(_C_ops.equal(hot, 0.0), powers, _C_ops.full_like(powers, 0.0))
    loss = _C_ops.mean(others, (1,), False)
    if weight is not None:
        loss = _C_ops.multiply(loss, _C_ops.sum(_C_ops.multiply(hot, weight), (1,), None, False))
    return _reduced(loss, reduction, "multi_margin_loss")


def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """Binary cross entropy of sigmoid(input), mean over the last axis.

    input, label: one shape; weight broadcasts to it. Raises ValueError for shapes that differ or another reduction.
    Source: paddle.nn.functional.multi_label_soft_margin_loss.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(
            f"multi_label_soft_margin_loss: expected reduction 'mean', 'sum' or 'none', received {reduction!r}"
        )
    if list(input.shape) != list(label.shape):
        raise ValueError(
            f"multi_label_soft_margin_loss: expected two tensors of one shape, received {list(input.shape)} and {list(label.shape)}"
        )
    negative = _C_ops.logsigmoid(_C_ops.scale(input, -1.0, 0.0, True))
    logs = _C_ops.add(
        _C_ops.multiply(label, _C_ops.logsigmoid(input)),
        _C_ops.multiply(_C_ops.scale(label, -1.0, 1.0, True), negative),
    )
    loss = _C_ops.scale(logs, -1.0, 0.0, True)
    if weight is not None:
        loss = _C_ops.multiply(loss, weight)
    return _reduced(_C_ops.mean(loss, (-1,), False), reduction, "multi_label_soft_margin_loss")


def triplet_margin_with_distance_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """max(0, d(input, positive) - d(input, negative) + margin), for a distance d (pairwise_distance by default).

    swap: d(positive, negative) counts where it is less than d(input, negative). Raises ValueError for shapes that differ, a negative margin, a distance
    below 0, another reduction. Source: paddle.nn.functional.triplet_margin_with_distance_loss.
    """
    title = "triplet_margin_with_distance_loss"
    if margin < 0:
        raise ValueError(f"{title}: expected a margin of at least 0, received {margin}")
    shapes = [list(t.shape) for t in (input, positive, negative)]
    if shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise ValueError(
            f"{title}: expected three tensors of one shape, received {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = _C_ops.minimum(far, distance(positive, negative))
    for one in (near, far):
        if one.size and not _C_ops.min(one, (), False).item() >= 0:
            raise ValueError(f"{title}: expected distances of at least 0, received another from {distance_function}")
    gap = _C_ops.scale(_C_ops.subtract(near, far), 1.0, margin, True)
    return _reduced(_C_ops.relu(gap), reduction, title)


def class_center_sample(label: Tensor, num_classes: int, num_samples: int, group: Any = None) -> tuple[Tensor, Tensor]:
    """The classes of the labels, filled up to num_samples with others drawn at random; and the labels as places among them.

    label: integers [batch]. Returns (places [batch], classes); the labels' own classes come first, in order, and all of them where they are more than
    num_samples. Raises ValueError for no labels, labels outside the classes, num_samples above num_classes, NotImplementedError for a group of
    several processes. Source: paddle.nn.functional.class_center_sample.
    """
    _one_process(group, "class_center_sample")
    if num_samples > num_classes:
        raise ValueError(f"class_center_sample: expected num_samples of at most {num_classes}, received {num_samples}")
    if label.ndim != 1 or not label.size:
        raise ValueError(f"class_center_sample: expected labels of shape [batch], received {list(label.shape)}")
    if label.dtype.name not in ("int32", "int64"):
        raise TypeError(f"class_center_sample: expected labels of int32 or int64, received {label.dtype.name}")
    values = label.impl.array
    own, places = np.unique(values, return_inverse=True)
    if own[0] < 0 or own[-1] >= num_classes:
        wrong = own[0] if own[0] < 0 else own[-1]
        raise ValueError(f"class_center_sample: expected labels in [0, {num_classes}), received {int(wrong)}")
    missing = max(num_samples - len(own), 0)
    order = _C_ops.randperm(num_classes, "int64").impl.array
    others = order[~np.isin(order, own)][:missing]
    chosen = np.concatenate([own, others.astype(values.dtype)])
    return tensor_from_array(places.reshape(values.shape).astype(values.dtype)), tensor_from_array(chosen)
