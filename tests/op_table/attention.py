"""Rows of attention."""

import math
from typing import Any

import numpy as np

from tests.op_table.row import FLOATS, Case, Row

_FUSED = "the fused derivative serves passes that are not recorded; recorded ones use formulas"
_EXEMPT = {
    "local": "a weight of zero times NaN is NaN",
    "limits": "an infinite score leaves no weights",
    "special": "an infinite score leaves no weights",
    "infinite_gradient": "a weight of zero times an infinite gradient is NaN",
    "recorded": "what is left where numbers of 1e30 nearly cancel is rounding",
}


def weights_of(q: np.ndarray, k: np.ndarray, causal: bool) -> Any:
    """Softmax of the scores by one einsum: [batch, heads, rows, keys]."""
    k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
    scores = np.einsum("brhw,bkhw->bhrk", q.astype(np.float64), k.astype(np.float64)) / math.sqrt(q.shape[3])
    if causal:
        rows, keys = scores.shape[2:]
        scores = np.where(np.tri(rows, keys, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(3, keepdims=True, initial=-np.inf))
    return powers / powers.sum(3, keepdims=True)


def flash_attn(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False) -> Any:
    weights = weights_of(q, k, causal)
    v = np.repeat(v, q.shape[2] // v.shape[2], axis=2)
    return np.einsum("bhrk,bkhw->brhw", weights, v.astype(np.float64)).astype(q.dtype)


def flash_attn_grad(q: np.ndarray, k: np.ndarray, v: np.ndarray, out_grad: np.ndarray, causal: bool = False) -> Any:
    """By the Jacobian of softmax, written out."""
    batch, keys, groups, width = k.shape
    times = q.shape[2] // groups
    weights = weights_of(q, k, causal)
    many_k, many_v = np.repeat(k, times, axis=2), np.repeat(v, times, axis=2)
    arrived = np.einsum("brhw,bkhw->bhrk", out_grad, many_v)
    jacobian = np.einsum("bhrk,kl->bhrkl", weights, np.eye(keys)) - np.einsum("bhrk,bhrl->bhrkl", weights, weights)
    scores = np.einsum("bhrkl,bhrl->bhrk", jacobian, arrived) / math.sqrt(width)
    q_grad = np.einsum("bhrk,bkhw->brhw", scores, many_k)
    k_grad = np.einsum("bhrk,brhw->bkhw", scores, q).reshape(batch, keys, groups, times, width).sum(3)
    v_grad = np.einsum("bhrk,brhw->bkhw", weights, out_grad).reshape(batch, keys, groups, times, -1).sum(3)
    return q_grad, k_grad, v_grad


ROWS = (
    Row(
        "flash_attn",
        (
            Case(((2, 3, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2)), {"causal": True}),
            Case(((1, 2, 4, 2), (1, 3, 2, 2), (1, 3, 2, 3)), {"causal": False}),
            Case(((1, 3, 2, 1), (1, 2, 1, 1), (1, 2, 1, 2)), {"causal": True}),
        ),
        flash_attn,
        FLOATS,
        outputs_differentiable=(0,),
        exempt=_EXEMPT,
    ),
    Row(
        "flash_attn_grad",
        (
            Case(((2, 3, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2)), {"causal": True}),
            Case(((1, 2, 4, 2), (1, 3, 2, 2), (1, 3, 2, 3), (1, 2, 4, 3)), {"causal": False}),
            Case(((1, 3, 2, 1), (1, 2, 1, 1), (1, 2, 1, 2), (1, 3, 2, 2)), {"causal": True}),
        ),
        flash_attn_grad,
        FLOATS,
        order=0,
        exempt={"special": _EXEMPT["special"]},
        reason=_FUSED,
    ),
)
