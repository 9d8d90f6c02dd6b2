"""Attention and transformer layers."""

import collections
import copy
from typing import Any

from wherry.nn import functional as F
from wherry.nn.layer.common import Dropout, Linear
from wherry.nn.layer.container import LayerList
from wherry.nn.layer.layers import Layer
from wherry.nn.layer.norm import LayerNorm


def as_mask(mask: Any, dtype: Any) -> Any:
    """What is added to attention scores: a bool mask (True: may attend) becomes 0 and -1e9, an integer one likewise."""
    if mask is None or mask.dtype.is_floating:
        return mask
    return (mask.astype(dtype) - 1.0) * 1e9


class MultiHeadAttention(Layer):
    """Attention with several heads.

    query [batch, n, embed_dim], key and value [batch, m, kdim and vdim]; attn_mask broadcasts to [batch, heads, n, m]. Returns
    [batch, n, embed_dim]; the weights too with need_weights; the cache too where one is given. Raises ValueError where
    num_heads does not divide embed_dim. Source: paddle.nn.MultiHeadAttention.
    """

    Cache = collections.namedtuple("Cache", ["k", "v"])
    StaticCache = collections.namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads != 0:
            raise ValueError(
                f"MultiHeadAttention: expected embed_dim divisible by num_heads, received {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.need_weights = need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Any) -> Any:
        # -1 rather than the sizes: a batch of zero sequences keeps its shape through the explicit sizes only.
        return x.reshape([x.shape[0], x.shape[1], self.num_heads, self.head_dim]).transpose([0, 2, 1, 3])

    def compute_kv(self, key: Any, value: Any) -> tuple[Any, Any]:
        """Projected keys and values, [batch, heads, m, head_dim]."""
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def gen_cache(self, key: Any, value: Any = None, type: Any = Cache) -> Any:
        """A cache for step-by-step decoding: StaticCache of (key, value), or a growing Cache, empty where value is None."""
        from wherry.api.creation import zeros

        if type is MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is None:
            empty = [key.shape[0], self.num_heads, 0, self.head_dim]
            return self.Cache(zeros(empty, key.dtype), zeros(empty, key.dtype))
        return self.Cache(key, value)

    def forward(self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None) -> Any:
        from wherry import _C_ops

        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            k, v = cache.k, cache.v
        else:
            k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            k = _C_ops.concat([cache.k, k], 2)
            v = _C_ops.concat([cache.v, v], 2)
            cache = self.Cache(k, v)
        scores = (q * self.head_dim**-0.5).matmul(k, transpose_y=True)
        mask = as_mask(attn_mask, scores.dtype)
        weights = F.softmax(scores if mask is None else scores + mask)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training, mode="upscale_in_train")
        out = weights.matmul(v).transpose([0, 2, 1, 3])
        out = self.out_proj(out.reshape([out.shape[0], out.shape[1], self.embed_dim]))
        outputs = [out]
        if self.need_weights:
            outputs.append(weights)
        if cache is not None:
            outputs.append(cache)
        return out if len(outputs) == 1 else tuple(outputs)


def _pair(attr: Any, count: int) -> list[Any]:
    """One attribute for each part of a transformer layer: a list as it is, anything else repeated."""
    return list(attr) if isinstance(attr, (list, tuple)) else [attr] * count


class TransformerEncoderLayer(Layer):
    """Self-attention and a two-layer perceptron, each with residual and layer normalisation (before it with normalize_before).

    Source: paddle.nn.TransformerEncoderLayer.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before = normalize_before
        weights, biases = _pair(weight_attr, 2), _pair(bias_attr, 2)
        self.self_attn = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weights[0], bias_attr=biases[0])
        self.linear1 = Linear(d_model, dim_feedforward, weights[1], biases[1])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[1], biases[1])
        self.norm1 = LayerNorm(d_model, layer_norm_eps)
        self.norm2 = LayerNorm(d_model, layer_norm_eps)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = getattr(F, activation)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        residual = src
        if self.normalize_before:
            src = self.norm1(src)
        if cache is None:
            src = self.self_attn(src, src, src, src_mask)
        else:
            src, cache = self.self_attn(src, src, src, src_mask, cache)
        src = residual + self.dropout1(src)
        if not self.normalize_before:
            src = self.norm1(src)
        residual = src
        if self.normalize_before:
            src = self.norm2(src)
        src = residual + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(src)))))
        if not self.normalize_before:
            src = self.norm2(src)
        return src if cache is None else (src, cache)

    def gen_cache(self, src: Any) -> Any:
        """An empty cache for step-by-step encoding."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


class TransformerEncoder(Layer):
    """Copies of an encoder layer, one after the other. Source: paddle.nn.TransformerEncoder."""

    def __init__(self, encoder_layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__()
        # The copies start from values of their own, as if each had been made anew.
        self.layers = LayerList([encoder_layer, *(renewed(encoder_layer) for _ in range(num_layers - 1))])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        new_caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                src = layer(src, src_mask=src_mask)
            else:
                src, new_cache = layer(src, src_mask=src_mask, cache=cache[i])
                new_caches.append(new_cache)
        if self.norm is not None:
            src = self.norm(src)
        return src if cache is None else (src, new_caches)

    def gen_cache(self, src: Any) -> list[Any]:
        """Empty caches, one a layer."""
        return [layer.gen_cache(src) for layer in self.layers]


def renewed(layer: Layer) -> Layer:
    """A deep copy of a layer whose Linear weights are drawn again."""
    from wherry.nn.initializer import XavierUniform

    twin = copy.deepcopy(layer)
    draw = XavierUniform()
    for sublayer in twin.sublayers(include_self=True):
        if isinstance(sublayer, Linear) and not _has_own_initializer(sublayer):
            draw(sublayer.weight)
    return twin


def _has_own_initializer(layer: Linear) -> bool:
    from wherry.api.param_attr import ParamAttr

    attr = ParamAttr._to_attr(layer._weight_attr)
    return bool(attr and attr.initializer is not None)


class TransformerDecoderLayer(Layer):
    """Self-attention, attention to the encoder's memory and a perceptron. Source: paddle.nn.TransformerDecoderLayer."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before = normalize_before
        weights, biases = _pair(weight_attr, 3), _pair(bias_attr, 3)
        self.self_attn = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weights[0], bias_attr=biases[0])
        self.cross_attn = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weights[1], bias_attr=biases[1])
        self.linear1 = Linear(d_model, dim_feedforward, weights[2], biases[2])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[2], biases[2])
        self.norm1 = LayerNorm(d_model, layer_norm_eps)
        self.norm2 = LayerNorm(d_model, layer_norm_eps)
        self.norm3 = LayerNorm(d_model, layer_norm_eps)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = getattr(F, activation)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        if cache is not None:
            raise NotImplementedError("TransformerDecoderLayer: 'cache' is not supported")
        before = self.normalize_before
        inner = self.norm1(tgt) if before else tgt
        tgt = tgt + self.dropout1(self.self_attn(inner, inner, inner, tgt_mask))
        tgt = tgt if before else self.norm1(tgt)
        inner = self.norm2(tgt) if before else tgt
        tgt = tgt + self.dropout2(self.cross_attn(inner, memory, memory, memory_mask))
        tgt = tgt if before else self.norm2(tgt)
        inner = self.norm3(tgt) if before else tgt
        tgt = tgt + self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(inner)))))
        return tgt if before else self.norm3(tgt)


class TransformerDecoder(Layer):
    """Copies of a decoder layer, one after the other. Source: paddle.nn.TransformerDecoder."""

    def __init__(self, decoder_layer: Layer, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__()
        self.layers = LayerList([decoder_layer, *(renewed(decoder_layer) for _ in range(num_layers - 1))])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None) -> Any:
        if cache is not None:
            raise NotImplementedError("TransformerDecoder: 'cache' is not supported")
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)
        return tgt if self.norm is None else self.norm(tgt)
