"""InferMeta of losses and decoding over sequences."""

from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


def _labels(label: Meta, batch: int) -> None:
    if not label.dtype.is_integer:
        raise TypeError(f"expected integer labels, received {label.dtype.name}")
    if label.ndim != 2 or label.shape[0] != batch:
        raise ValueError(f"expected labels of shape [{batch}, most labels], received {list(label.shape)}")


def _lengths(lengths: Meta, batch: int, name: str) -> None:
    if not lengths.dtype.is_integer:
        raise TypeError(f"expected integers in {name}, received {lengths.dtype.name}")
    if lengths.shape != (batch,):
        raise ValueError(f"expected {name} of shape [{batch}], received {list(lengths.shape)}")


def _blank(blank: int, classes: int) -> None:
    if not 0 <= blank < classes:
        raise ValueError(f"expected a blank in [0, {classes}), received {blank}")


@infer_meta("WarpctcInferMeta")
def warpctc(logits: Meta, label: Meta, logits_length: Meta, labels_length: Meta, blank: int) -> Meta:
    """A loss for each sequence, [batch, 1]."""
    if logits.ndim != 3:
        raise ValueError(f"expected logits of shape [steps, batch, classes], received {list(logits.shape)}")
    batch = logits.shape[1]
    _blank(blank, logits.shape[2])
    _labels(label, batch)
    _lengths(logits_length, batch, "input_lengths")
    _lengths(labels_length, batch, "label_lengths")
    return logits.with_shape((batch, 1))


@infer_meta("WarprnntInferMeta")
def warprnnt(input: Meta, label: Meta, input_lengths: Meta, label_lengths: Meta, blank: int) -> Meta:
    """A loss for each sequence, [batch]."""
    if input.ndim != 4:
        raise ValueError(f"expected input of shape [batch, steps, labels + 1, classes], received {list(input.shape)}")
    batch = input.shape[0]
    _blank(blank, input.shape[3])
    _labels(label, batch)
    if input.shape[2] != label.shape[1] + 1:
        raise ValueError(
            f"expected input with one place more than labels, {label.shape[1] + 1}, on axis 2, received {list(input.shape)}"
        )
    _lengths(input_lengths, batch, "input_lengths")
    _lengths(label_lengths, batch, "label_lengths")
    return input.with_shape((batch,))


@infer_meta("GatherTreeInferMeta")
def gather_tree(ids: Meta, parents: Meta) -> Meta:
    """ids' own."""
    if ids.dtype is not parents.dtype:
        raise TypeError(f"expected ids and parents of one dtype, received {ids.dtype.name} and {parents.dtype.name}")
    if ids.ndim != 3 or parents.ndim != 3 or (ids.size and ids.shape != parents.shape):
        raise ValueError(
            f"expected ids and parents of one shape [steps, batch, beams], received {list(ids.shape)} and {list(parents.shape)}"
        )
    return ids
