"""Weights in int8 and int4, and products with them. Source: paddle.nn.quant."""

from wherry.nn.quant.quantized_linear import (
    apply_per_channel_scale,
    llm_int8_linear,
    weight_dequantize,
    weight_only_linear,
    weight_quantize,
)

__all__ = ["apply_per_channel_scale", "llm_int8_linear", "weight_dequantize", "weight_only_linear", "weight_quantize"]
