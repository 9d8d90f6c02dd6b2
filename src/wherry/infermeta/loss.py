"""InferMeta of losses."""

from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.registry import infer_meta


@infer_meta("CrossEntropyWithSoftmaxInferMeta")
def cross_entropy_with_softmax(logits: Meta, label: Meta, ignore_index: int, axis: int) -> tuple[Meta, Meta]:
    """The probabilities, and a loss for each label. A label has the logits' shape with 1 along the axis."""
    axis = canonical_axis(axis, logits.ndim)
    expected = logits.shape[:axis] + (1,) + logits.shape[axis + 1 :]
    if label.shape != expected:
        raise ValueError(
            f"expected labels of shape {list(expected)} (or without axis {axis}) for logits of shape {list(logits.shape)}, received "
            f"{list(label.shape)}"
        )
    if not label.dtype.is_integer:
        raise TypeError(f"expected integer labels, received {label.dtype.name}; for probabilities pass soft_label=True")
    if not logits.dtype.is_floating:
        raise TypeError(f"expected floating logits, received {logits.dtype.name}")
    return logits, logits.with_shape(expected)


@infer_meta("LabelOneHotInferMeta")
def label_one_hot(label: Meta, classes: int, ignore_index: int, axis: int, dtype: DataType) -> Meta:
    """The labels' shape with `classes` along the axis."""
    axis = canonical_axis(axis, label.ndim)
    return Meta(label.shape[:axis] + (classes,) + label.shape[axis + 1 :], dtype)
