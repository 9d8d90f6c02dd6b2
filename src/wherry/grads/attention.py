"""Derivative rules of attention."""

import math

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, plain

_HEADS_FIRST = (0, 2, 1, 3)


def flash_attn_rule(
    ops: Ops, q: Value, k: Value, v: Value, out_grad: Value, causal: bool
) -> tuple[Value, Value, Value]:
    if plain(q):
        grads = ops.flash_attn_grad(q, k, v, out_grad, causal)
        return grads[0], grads[1], grads[2]
    times = q.meta.shape[2] // k.meta.shape[2]
    factor = 1.0 / math.sqrt(max(q.meta.shape[3], 1))
    query, grad = ops.transpose(q, _HEADS_FIRST), ops.transpose(out_grad, _HEADS_FIRST)
    key, value = _for_each_head(ops, k, times), _for_each_head(ops, v, times)
    scores = ops.matmul(ops.scale(query, factor, 0.0, True), key, False, True)
    if causal:
        later = ops.full(scores.meta.shape[2:], float("-inf"), scores.meta.dtype)
        scores = ops.add(scores, ops.triu(later, 1))
    weights = ops.softmax(scores, -1)
    weights_grad = ops.matmul(grad, value, False, True)
    mean = ops.sum(ops.multiply(weights, weights_grad), (3,), None, True)
    scores_grad = ops.scale(ops.multiply(weights, ops.subtract(weights_grad, mean)), factor, 0.0, True)
    return (
        ops.transpose(ops.matmul(scores_grad, key, False, False), _HEADS_FIRST),
        _over_heads(ops, ops.matmul(scores_grad, query, True, False), k.meta),
        _over_heads(ops, ops.matmul(weights, grad, True, False), v.meta),
    )


def _for_each_head(ops: Ops, x: Value, times: int) -> Value:
    """Keys or values with the heads in front, each repeated for the heads of the query that share it."""
    first = ops.transpose(x, _HEADS_FIRST)
    if times == 1:
        return first
    batch, groups, length, width = first.meta.shape
    spread = ops.expand(ops.unsqueeze(first, (2,)), (batch, groups, times, length, width))
    return ops.reshape(spread, (batch, groups * times, length, width))


def _over_heads(ops: Ops, grad: Value, meta: Meta) -> Value:
    """The sum over the heads that share a key, in the key's order of axes."""
    batch, length, groups, width = meta.shape
    if grad.meta.shape[1] != groups:
        parted = ops.reshape(grad, (batch, groups, grad.meta.shape[1] // groups, length, width))
        grad = ops.sum(parted, (2,), None, False)
    return ops.transpose(grad, _HEADS_FIRST)
