"""InferMeta of attention."""

from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


@infer_meta("FlashAttnInferMeta")
def flash_attn(q: Meta, k: Meta, v: Meta, causal: bool) -> Meta:
    """[batch, length, heads, width of v]; refuses shapes that do not fit."""
    shapes = f"received shapes {list(q.shape)}, {list(k.shape)}, {list(v.shape)}"
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise ValueError(f"expected [batch, length, heads, width], {shapes}")
    batch, rows, heads, width = q.shape
    if k.shape[0] != batch or k.shape[3] != width or v.shape[:3] != k.shape[:3]:
        raise ValueError(
            f"expected query, key and value of one batch, key and value of one length and number of heads, and a key of the query's width, {shapes}"
        )
    groups = k.shape[2]
    if groups == 0 or heads % groups != 0:
        raise ValueError(f"expected a number of query heads that the key's {groups} divide, {shapes}")
    return q.with_shape((batch, rows, heads, v.shape[3]))


@infer_meta("FlashAttnGradInferMeta")
def flash_attn_grad(q: Meta, k: Meta, v: Meta, out_grad: Meta, causal: bool) -> tuple[Meta, Meta, Meta]:
    """The inputs' metas."""
    return q, k, v
