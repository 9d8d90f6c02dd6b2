"""Attention. Source: paddle.nn.functional.scaled_dot_product_attention."""

import math

from wherry import _C_ops
from wherry.nn.functional.common import dropout
from wherry.tensor.tensor import Tensor

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: str | None = None,
) -> Tensor:
    """softmax(query key^T / sqrt(width) + mask) value, head by head.

    query, key, value: [batch, length, heads, width]; key and value may have fewer heads that divide query's. attn_mask: broadcasts to
    [batch, heads, length, length]; bool (True: attend) or added. is_causal: no place sees a later one. Raises ValueError for a mask together
    with is_causal, or shapes that do not fit. Source: paddle.nn.functional.scaled_dot_product_attention.
    """
    if attn_mask is not None and is_causal:
        raise ValueError("scaled_dot_product_attention: expected attn_mask or is_causal=True, received both")
    if attn_mask is None and (dropout_p == 0.0 or not training):
        return _C_ops.flash_attn(query, key, value, is_causal)
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError(
            "scaled_dot_product_attention: expected [batch, length, heads, width], received shapes "
            f"{list(query.shape)}, {list(key.shape)}, {list(value.shape)}"
        )
    heads, groups = query.shape[2], key.shape[2]
    if groups == 0 or heads % groups:
        raise ValueError(f"scaled_dot_product_attention: expected heads that {groups} divides, received {heads}")
    q, k, v = (_C_ops.transpose(t, (0, 2, 1, 3)) for t in (query, key, value))
    if groups != heads:
        k, v = (_repeated(t, heads // groups) for t in (k, v))
    scores = _C_ops.matmul(_C_ops.scale(q, 1.0 / math.sqrt(query.shape[3]), 0.0, True), k, False, True)
    if is_causal:
        rows, columns = scores.shape[-2], scores.shape[-1]
        hidden = _C_ops.triu(_C_ops.full((rows, columns), float("-inf"), scores.dtype), 1)
        scores = _C_ops.add(scores, hidden)
    elif attn_mask is not None:
        if attn_mask.dtype.is_bool:
            scores = _C_ops.where(attn_mask, scores, _C_ops.full_like(scores, float("-inf")))
        else:
            scores = _C_ops.add(scores, attn_mask)
    weights = dropout(_C_ops.softmax(scores, -1), dropout_p, training=training)
    return _C_ops.transpose(_C_ops.matmul(weights, v, False, False), (0, 2, 1, 3))


def _repeated(x: Tensor, times: int) -> Tensor:
    batch, heads, length, width = x.shape
    spread = _C_ops.expand(_C_ops.unsqueeze(x, (2,)), (batch, heads, times, length, width))
    return _C_ops.reshape(spread, (batch, heads * times, length, width))
