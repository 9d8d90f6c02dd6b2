"""Attention at the positions of a sparse mask. Source: paddle.sparse.nn.functional.attention."""

import math
from typing import Any

from wherry import _C_ops
from wherry.api.sparse_tensor import SparseCsrTensor, taken
from wherry.sparse.matmul import masked_matmul, matmul
from wherry.sparse.nn.functional.activation import softmax
from wherry.tensor.tensor import Tensor

__all__ = ["attention"]

_NAME = "sparse.nn.functional.attention"


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sparse_mask: SparseCsrTensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """softmax(query key^T / sqrt(width)) value, only at the positions that sparse_mask stores.

    query, key, value: [batch, heads, length, width]. sparse_mask: compressed rows, [batch * heads, length, length]; its values do not
    count. key_padding_mask [batch, length] and attn_mask [length, length] hide where they are 0; a row without any place left is zero.
    Raises ValueError for shapes that do not fit, TypeError for another kind of mask. Source: paddle.sparse.nn.functional.attention.
    """
    if not isinstance(sparse_mask, SparseCsrTensor):
        raise TypeError(f"{_NAME}: expected sparse_mask to be a SparseCsrTensor, received {type(sparse_mask).__name__}")
    if query.ndim != 4 or key.shape != query.shape or value.shape != query.shape:
        raise ValueError(
            f"{_NAME}: expected query, key and value of one shape [batch, heads, length, width], received "
            f"{[list(t.shape) for t in (query, key, value)]}"
        )
    batch, heads, length, width = query.shape
    wanted = (
        (sparse_mask, [batch * heads, length, length]),
        (key_padding_mask, [batch, length]),
        (attn_mask, [length] * 2),
    )
    for mask, shape in wanted:
        if mask is not None and list(mask.shape) != shape:
            raise ValueError(f"{_NAME}: expected a mask of shape {shape}, received {list(mask.shape)}")
    q, k, v = (_C_ops.reshape(t, (batch * heads, length, width)) for t in (query, key, value))
    scaled = _C_ops.scale(q, 1.0 / math.sqrt(width), 0.0, True)
    scores = masked_matmul(scaled, _C_ops.transpose(k, (0, 2, 1)), sparse_mask)
    kept = _kept(sparse_mask, key_padding_mask, attn_mask, heads)
    if kept is not None:
        # The lowest finite number has no weight beside any other, and no infinity is subtracted from itself.
        hidden = _C_ops.full_like(scores.values(), _lowest(scores.values()))
        scores = scores.with_values(_C_ops.where(kept, scores.values(), hidden))
    weights = softmax(scores)
    if kept is not None:
        weights = weights.with_values(_C_ops.multiply(weights.values(), _C_ops.cast(kept, weights.dtype)))
    out: Any = matmul(weights, v)
    return _C_ops.reshape(out, tuple(query.shape))


def _lowest(values: Tensor) -> float:
    return -1e4 if values.dtype.itemsize == 2 else -1e30


def _kept(
    sparse_mask: SparseCsrTensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, heads: int
) -> Tensor | None:
    """Which stored positions no mask hides, in bool; None without masks."""
    matrix, row, column = sparse_mask.coordinates().positions()
    length = sparse_mask.shape[-1]
    kept = None
    for mask, place in (
        (key_padding_mask, matrix // max(heads, 1) * length + column),
        (attn_mask, row * length + column),
    ):
        if mask is not None:
            flat = taken(_C_ops.reshape(mask.detach(), (mask.size,)), place)
            seen = _C_ops.not_equal(flat, _C_ops.full_like(flat, 0))
            kept = seen if kept is None else _C_ops.logical_and(kept, seen)
    return kept
