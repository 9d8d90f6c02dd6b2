"""Attention, a part of the scores at a time: backward computes the weights again, so that none are kept."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.kernels.numpy.common import Array

# Scores of a part: these and their gradients fit in a core's second-level cache, and the matrix products are large enough.
_PART: Final = 1 << 17

# A part of the work: batches, heads that share a key, rows of the query, and how many keys those rows may see.
Part = tuple[slice, slice, slice, int]


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _by_group(x: Array, groups: int) -> Array:
    """[batch, length, heads, width] as [batch, group, head of the group, length, width]: a view."""
    batch, length, heads, width = x.shape
    return x.reshape(batch, length, groups, heads // groups, width).transpose(0, 2, 3, 1, 4)


def _parts(q: Array, keys: int, causal: bool) -> Iterator[Part]:
    """The work cut so that the scores of a part have at most _PART elements, or are one row."""
    batch, groups, heads, rows, _ = q.shape
    whole = slice(0, groups)
    if groups * heads * rows * keys <= _PART:
        step = _PART // (groups * heads * rows * keys)
        for start in range(0, batch, step):
            yield slice(start, start + step), whole, slice(0, rows), keys
        return
    shared = max(1, min(groups, _PART // (heads * rows * keys)))
    step = min(rows, max(1, _PART // (heads * keys)))
    for b in range(batch):
        for g in range(0, groups, shared):
            for start in range(0, rows, step):
                stop = min(start + step, rows)
                yield slice(b, b + 1), slice(g, g + shared), slice(start, stop), min(keys, stop) if causal else keys


def _scores(q: Array, k: Array, part: Part, causal: bool) -> tuple[Array, Array]:
    """query / sqrt(width) of a part, and its product with the keys: -inf where a later place would be seen."""
    batches, groups, rows, keys = part
    query = q[batches, groups, :, rows] * q.dtype.type(1.0 / math.sqrt(max(q.shape[-1], 1)))
    scores = np.matmul(query, k[batches, groups, :, :keys].swapaxes(-1, -2))
    if causal and keys > rows.start:
        later = np.arange(rows.start, keys) > np.arange(rows.start, rows.stop)[:, None]
        np.copyto(scores[..., rows.start :], -np.inf, where=later)
    return query, scores


def _over_heads(x: Array) -> Array:
    """The sum over the heads that share a key."""
    return x if x.shape[2] == 1 else x.sum(axis=2, keepdims=True)


def _exponentials(scores: Array) -> tuple[Array, Array]:
    """exp(scores - the row's largest), in their memory, and the sum of each row: the weights are the one by the other."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    return scores, scores.sum(axis=-1, keepdims=True)


@kernel("flash_attn", FLOAT)
def flash_attn(q: Array, k: Array, v: Array, causal: bool) -> Array:
    """softmax(q k^T / sqrt(width)) v."""
    groups, keys = k.shape[2], k.shape[1]
    query, key, value = (_by_group(_wide(x), groups) for x in (q, k, v))
    out = np.zeros((*q.shape[:3], v.shape[3]), query.dtype)
    if out.size and keys:
        result = _by_group(out, groups)
        for part in _parts(query, keys, causal):
            b, g, r, seen = part
            weights, total = _exponentials(_scores(query, key, part, causal)[1])
            np.divide(np.matmul(weights, value[b, g, :, :seen]), total, out=result[b, g, :, r])
    return out.astype(q.dtype, copy=False)


@kernel("flash_attn_grad", FLOAT)
def flash_attn_grad(q: Array, k: Array, v: Array, out_grad: Array, causal: bool) -> tuple[Array, Array, Array]:
    """The weights again, then the gradients of the two products and of softmax.

    Kept are the exponentials, not the weights: the gradient that arrives is divided by the sums instead, which is less work.
    """
    groups, keys = k.shape[2], k.shape[1]
    query, key, value, grads = (_by_group(_wide(x), groups) for x in (q, k, v, out_grad))
    q_grad, k_grad, v_grad = (np.zeros(x.shape, query.dtype) for x in (q, k, v))
    if query.size and keys:
        to_query, to_key, to_value = (_by_group(x, groups) for x in (q_grad, k_grad, v_grad))
        factor = query.dtype.type(1.0 / math.sqrt(q.shape[3]))
        for part in _parts(query, keys, causal):
            b, g, r, seen = part
            scaled, scores = _scores(query, key, part, causal)
            weights, total = _exponentials(scores)
            grad = grads[b, g, :, r] / total
            to_value[b, g, :, :seen] += _over_heads(np.matmul(weights.swapaxes(-1, -2), grad))
            inner = np.matmul(grad, value[b, g, :, :seen].swapaxes(-1, -2))
            inner -= np.einsum("...i,...i->...", weights, inner)[..., None] / total
            inner *= weights
            np.multiply(np.matmul(inner, key[b, g, :, :seen]), factor, out=to_query[b, g, :, r])
            to_key[b, g, :, :seen] += _over_heads(np.matmul(inner.swapaxes(-1, -2), scaled))
    return tuple(x.astype(q.dtype, copy=False) for x in (q_grad, k_grad, v_grad))  # type: ignore[return-value]
