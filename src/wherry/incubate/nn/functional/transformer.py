"""The two halves of a transformer layer. Source: paddle.incubate.nn.functional.fused_transformer."""

import math
from numbers import Real

from wherry import _C_ops
from wherry.incubate.nn.functional.dropout import check_mode, check_vector
from wherry.nn.functional.common import dropout
from wherry.tensor.tensor import Tensor

__all__ = ["fused_feedforward", "fused_multi_head_attention"]

# What an integer or boolean mask adds to the scores of hidden places, as Paddle's attention layers have it.
_HIDDEN = 1e9


def _check_common(ring_id: int, mode: str, rates: dict[str, float], function: str) -> None:
    if ring_id != -1:
        raise NotImplementedError(f"{function}: the argument 'ring_id' is not supported (tensor parallelism)")
    check_mode(mode, function)
    for name, rate in rates.items():
        if not isinstance(rate, Real):
            raise TypeError(f"{function}: expected {name} to be a number, received {type(rate).__name__}")
        if not 0 <= rate <= 1:
            raise ValueError(f"{function}: expected {name} in [0, 1], received {rate}")


def _projected(
    x: Tensor, weight: Tensor, bias: Tensor | None, num_heads: int, transpose_qkv_wb: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, each [batch, heads, length, width]."""
    function = "fused_multi_head_attention"
    batch, length, embed = x.shape
    if transpose_qkv_wb:
        if num_heads < 1 or embed % num_heads:
            raise ValueError(f"{function}: expected num_heads that divides {embed}, received {num_heads}")
        expected, heads, width = [embed, 3 * embed], num_heads, embed // num_heads
    else:
        if weight.ndim != 4 or weight.shape[0] != 3 or weight.shape[3] != embed:
            raise ValueError(
                f"{function}: expected qkv_weight of shape [3, heads, width, {embed}], received {list(weight.shape)}"
            )
        expected, heads, width = list(weight.shape), weight.shape[1], weight.shape[2]
    if list(weight.shape) != expected:
        raise ValueError(f"{function}: expected qkv_weight of shape {expected}, received {list(weight.shape)}")
    if not transpose_qkv_wb:
        weight = _C_ops.reshape(weight, (3 * heads * width, embed))
    out = _C_ops.matmul(x, weight, False, not transpose_qkv_wb)
    if bias is not None:
        if bias.size != 3 * heads * width:
            raise ValueError(
                f"{function}: expected qkv_bias of {3 * heads * width} elements, received shape {list(bias.shape)}"
            )
        out = _C_ops.add(out, _C_ops.reshape(bias, (3 * heads * width,)))
    parts = _C_ops.transpose(_C_ops.reshape(out, (batch, length, 3, heads, width)), (2, 0, 3, 1, 4))
    q, k, v = _C_ops.unbind(parts, 0)
    return q, k, v


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if not mask.dtype.is_floating:
        mask = _C_ops.scale(_C_ops.cast(mask, scores.dtype), _HIDDEN, -_HIDDEN, True)
    return _C_ops.add(scores, mask)


def fused_multi_head_attention(
    x: Tensor,
    qkv_weight: Tensor,
    linear_weight: Tensor,
    pre_layer_norm: bool = False,
    pre_ln_scale: Tensor | None = None,
    pre_ln_bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    pre_ln_epsilon: float = 1e-05,
    qkv_bias: Tensor | None = None,
    linear_bias: Tensor | None = None,
    cache_kv: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_rate: float = 0.5,
    attn_dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-05,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    num_heads: int = -1,
    transpose_qkv_wb: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Self-attention with its projections, dropout, residual and layer norm (before it, or at the end).

    x: [batch, length, embed]. qkv_weight: [3, heads, width, embed] and qkv_bias [3, heads, width], or with transpose_qkv_wb and
    num_heads [embed, 3 * embed] and [3 * embed]. linear_weight: [heads * width, embed]. cache_kv: [2, batch, heads, earlier, width],
    keys and values that come before; then the result is (out, the cache with the new ones). attn_mask: broadcasts to
    [batch, heads, length, keys]; float is added, bool and integers hide where they are 0. Raises ValueError for shapes, rates or a
    mode that do not fit, NotImplementedError for ring_id. Source: paddle.incubate.nn.functional.fused_multi_head_attention.
    """
    function = "fused_multi_head_attention"
    rates = {"dropout_rate": dropout_rate, "attn_dropout_rate": attn_dropout_rate}
    _check_common(ring_id, mode, rates, function)
    if x.ndim != 3:
        raise ValueError(f"{function}: expected x of shape [batch, length, embed], received {list(x.shape)}")
    norms = {"pre_ln_scale": pre_ln_scale, "pre_ln_bias": pre_ln_bias, "ln_scale": ln_scale, "ln_bias": ln_bias}
    for called, vector in norms.items():
        check_vector(vector, x, called, function)
    out = _C_ops.layer_norm(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon, 2) if pre_layer_norm else x
    q, k, v = _projected(out, qkv_weight, qkv_bias, num_heads, transpose_qkv_wb)
    new_cache = None
    if cache_kv is not None:
        new_cache = _C_ops.concat([cache_kv, _C_ops.stack([k, v], 0)], 3)
        k, v = _C_ops.unbind(new_cache, 0)
    batch, heads, length, width = q.shape
    scores = _C_ops.matmul(_C_ops.scale(q, 1.0 / math.sqrt(width), 0.0, True), k, False, True)
    if attn_mask is not None:
        scores = _masked(scores, attn_mask)
    weights = dropout(_C_ops.softmax(scores, -1), attn_dropout_rate, training=training, mode=mode)
    out = _C_ops.transpose(_C_ops.matmul(weights, v, False, False), (0, 2, 1, 3))
    out = _C_ops.matmul(_C_ops.reshape(out, (batch, length, heads * width)), linear_weight, False, False)
    if linear_bias is not None:
        out = _C_ops.add(out, linear_bias)
    out = dropout(out, dropout_rate, training=training, mode=mode)
    if add_residual:
        out = _C_ops.add(x, out)
    if not pre_layer_norm:
        out = _C_ops.layer_norm(out, ln_scale, ln_bias, ln_epsilon, 2)
    return out if new_cache is None else (out, new_cache)


def fused_feedforward(
    x: Tensor,
    linear1_weight: Tensor,
    linear2_weight: Tensor,
    linear1_bias: Tensor | None = None,
    linear2_bias: Tensor | None = None,
    ln1_scale: Tensor | None = None,
    ln1_bias: Tensor | None = None,
    ln2_scale: Tensor | None = None,
    ln2_bias: Tensor | None = None,
    dropout1_rate: float = 0.5,
    dropout2_rate: float = 0.5,
    activation: str = "relu",
    ln1_epsilon: float = 1e-5,
    ln2_epsilon: float = 1e-5,
    pre_layer_norm: bool = False,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    name: str | None = None,
) -> Tensor:
    """x + dropout2(linear2(dropout1(activation(linear1(x))))), normalised at the end; with pre_layer_norm, what enters linear1 is.

    The first norm (ln1_*) is the one before, the second (ln2_*) the one at the end. activation: "relu" or "gelu". add_residual:
    whether x is added. Raises ValueError for another activation, and for shapes, rates or a mode that do not fit,
    NotImplementedError for ring_id. Source: paddle.incubate.nn.functional.fused_feedforward.
    """
    function = "fused_feedforward"
    rates = {"dropout1_rate": dropout1_rate, "dropout2_rate": dropout2_rate}
    _check_common(ring_id, mode, rates, function)
    if activation not in ("relu", "gelu"):
        raise ValueError(f"{function}: expected activation 'relu' or 'gelu', received {activation!r}")
    norms = {"ln1_scale": ln1_scale, "ln1_bias": ln1_bias, "ln2_scale": ln2_scale, "ln2_bias": ln2_bias}
    for called, vector in norms.items():
        check_vector(vector, x, called, function)
    last = x.ndim - 1
    out = _C_ops.layer_norm(x, ln1_scale, ln1_bias, ln1_epsilon, last) if pre_layer_norm else x
    out = _C_ops.matmul(out, linear1_weight, False, False)
    if linear1_bias is not None:
        out = _C_ops.add(out, linear1_bias)
    out = _C_ops.relu(out) if activation == "relu" else _C_ops.gelu(out, False)
    out = _C_ops.matmul(dropout(out, dropout1_rate, training=training, mode=mode), linear2_weight, False, False)
    if linear2_bias is not None:
        out = _C_ops.add(out, linear2_bias)
    out = dropout(out, dropout2_rate, training=training, mode=mode)
    if add_residual:
        out = _C_ops.add(x, out)
    return out if pre_layer_norm else _C_ops.layer_norm(out, ln2_scale, ln2_bias, ln2_epsilon, last)
