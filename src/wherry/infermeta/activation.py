"""InferMeta of activations that have an axis."""

from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.registry import infer_meta


@infer_meta("SoftmaxInferMeta")
def softmax(x: Meta, axis: int) -> Meta:
    """x's meta, for an axis it has."""
    canonical_axis(axis, x.ndim)
    return x
