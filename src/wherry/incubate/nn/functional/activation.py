"""Activations fused with a gate, a bias and quantisation. Source: paddle.incubate.nn.functional."""

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.incubate.nn.functional.precision import as_dtype, check_floating, computed_in, quantized
from wherry.tensor.tensor import Tensor

__all__ = ["fused_bias_act", "swiglu"]

_COMPUTE_DTYPES = {"fp16": dt.float16, "bf16": dt.bfloat16, "fp32": dt.float32}
_ACTIVATIONS = ("gelu", "relu", "geglu", "swiglu")


def _halves(x: Tensor, function: str) -> list[Tensor]:
    if x.ndim == 0 or x.shape[-1] % 2:
        raise ValueError(f"{function}: expected an even length of the last axis, received shape {list(x.shape)}")
    return _C_ops.split_with_num(x, 2, -1)


def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """silu(x) * y; without y, the first half of x's last axis is x and the second is y.

    Raises ValueError for shapes that differ or an odd last axis, TypeError for integers.
    Source: paddle.incubate.nn.functional.swiglu.
    """
    check_floating(x, "swiglu")
    if y is None:
        x, y = _halves(x, "swiglu")
    elif x.shape != y.shape:
        raise ValueError(f"swiglu: expected x and y of one shape, received {list(x.shape)} and {list(y.shape)}")
    wide = computed_in(x.dtype)
    return as_dtype(_C_ops.multiply(_C_ops.silu(as_dtype(x, wide)), as_dtype(y, wide)), x.dtype)


def _activated(x: Tensor, act_method: str) -> Tensor:
    if act_method == "relu":
        return _C_ops.relu(x)
    if act_method == "gelu":
        return _C_ops.gelu(x, False)
    first, second = _halves(x, "fused_bias_act")
    gate = _C_ops.gelu(first, False) if act_method == "geglu" else _C_ops.silu(first)
    return _C_ops.multiply(gate, second)


def _dtype_out(x: Tensor, compute_dtype: str) -> DataType:
    if compute_dtype != "default" and compute_dtype not in _COMPUTE_DTYPES:
        raise ValueError(
            f"fused_bias_act: expected compute_dtype 'default', 'fp16', 'bf16' or 'fp32', received {compute_dtype!r}"
        )
    if x.dtype is dt.int32:
        if compute_dtype == "default":
            raise ValueError(
                "fused_bias_act: expected compute_dtype 'fp16', 'bf16' or 'fp32' for an int32 x, received 'default'"
            )
        return _COMPUTE_DTYPES[compute_dtype]
    check_floating(x, "fused_bias_act")
    return x.dtype


def fused_bias_act(
    x: Tensor,
    bias: Tensor | None = None,
    dequant_scales: Tensor | None = None,
    shift: Tensor | None = None,
    smooth: Tensor | None = None,
    act_method: str = "gelu",
    compute_dtype: str = "default",
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> Tensor:
    """(act(x * dequant_scales + bias) + shift) * smooth, act being "gelu", "relu", "geglu" or "swiglu".

    The last two halve the last axis: act of the first half times the second. An int32 x needs dequant_scales and compute_dtype
    ("fp16", "bf16", "fp32"), which is the dtype of the output; otherwise that is x's. quant_scale > 0: the output is int8,
    quant_max_bound * quant_scale * out, rounded (quant_round_type 0: halves to even, 1: away from zero) and clipped. Raises
    ValueError for another act_method or arguments that do not fit. Source: paddle.incubate.nn.functional.fused_bias_act.
    """
    if act_method not in _ACTIVATIONS:
        raise ValueError(f"fused_bias_act: expected act_method of {_ACTIVATIONS}, received {act_method!r}")
    if (shift is None) != (smooth is None):
        raise ValueError("fused_bias_act: expected shift and smooth together, received one of them")
    if (dequant_scales is None) == (x.dtype is dt.int32):
        raise ValueError(
            f"fused_bias_act: expected dequant_scales with an int32 x and only then, received x of {x.dtype.name} "
            f"{'without' if dequant_scales is None else 'with'} dequant_scales"
        )
    dtype = _dtype_out(x, compute_dtype)
    wide = computed_in(dtype)
    value = as_dtype(x, wide)
    if dequant_scales is not None:
        value = _C_ops.multiply(value, as_dtype(dequant_scales, wide))
    if bias is not None:
        value = _C_ops.add(value, as_dtype(bias, wide))
    value = _activated(value, act_method)
    if shift is not None and smooth is not None:
        value = _C_ops.multiply(_C_ops.add(value, as_dtype(shift, wide)), as_dtype(smooth, wide))
    if quant_scale > 0:
        return quantized(value, quant_scale, quant_round_type, quant_max_bound, quant_min_bound, "fused_bias_act")
    return as_dtype(value, dtype)
