"""Normalisation fused with a bias and a residual. Source: paddle.incubate.nn.functional."""

import math

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.incubate.nn.functional.precision import as_dtype, check_floating, computed_in, quantized
from wherry.tensor.tensor import Tensor

__all__ = ["fused_layer_norm", "fused_rms_norm"]


def _begin_axis(x: Tensor, axis: int, function: str) -> int:
    begin = axis + x.ndim if axis < 0 else axis
    if not 0 <= begin < x.ndim:
        raise ValueError(
            f"{function}: expected begin_norm_axis in [{-x.ndim}, {x.ndim}) for shape {list(x.shape)}, received {axis}"
        )
    return begin


def _check_size(weight: Tensor | None, size: int, name: str, function: str) -> None:
    if weight is not None and weight.size != size:
        raise ValueError(
            f"{function}: expected {name} of {size} elements, as many as are normalised together, received shape "
            f"{list(weight.shape)}"
        )


def _with_residual(x: Tensor, bias: Tensor | None, residual: Tensor | None, alpha: float, function: str) -> Tensor:
    """x + bias + alpha * residual in the dtype that is computed in."""
    wide = computed_in(x.dtype)
    total = as_dtype(x, wide)
    if bias is not None:
        total = _C_ops.add(total, as_dtype(bias, wide))
        if total.shape != x.shape:
            raise ValueError(
                f"{function}: expected a bias that broadcasts to x's shape {list(x.shape)}, received {list(bias.shape)}"
            )
    if residual is not None:
        if residual.shape != x.shape:
            raise ValueError(
                f"{function}: expected a residual of x's shape {list(x.shape)}, received {list(residual.shape)}"
            )
        total = _C_ops.add(total, _C_ops.scale(as_dtype(residual, wide), alpha, 0.0, True))
    return total


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, begin: int) -> Tensor:
    shape = tuple(x.shape[begin:])
    if weight is not None:
        x = _C_ops.multiply(x, _C_ops.reshape(as_dtype(weight, x.dtype), shape))
    if bias is not None:
        x = _C_ops.add(x, _C_ops.reshape(as_dtype(bias, x.dtype), shape))
    return x


def fused_rms_norm(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor | None,
    epsilon: float,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor | None]:
    """Root-mean-square norm of x + bias + residual over the axes from begin_norm_axis on, times norm_weight, plus norm_bias.

    Returns (out, the sum that was normalised); the second is None where there is no residual. quant_scale > 0: out is int8,
    quant_max_bound * quant_scale * out, rounded and clipped. Raises ValueError for an axis or sizes that do not fit, TypeError for
    integers. Source: paddle.incubate.nn.functional.fused_rms_norm.
    """
    name = "fused_rms_norm"
    check_floating(x, name)
    begin = _begin_axis(x, begin_norm_axis, name)
    size = math.prod(x.shape[begin:])
    _check_size(norm_weight, size, "norm_weight", name)
    _check_size(norm_bias, size, "norm_bias", name)
    total = _with_residual(x, bias, residual, 1.0, name)
    square = _C_ops.mean(_C_ops.square(total), tuple(range(begin, x.ndim)), True)
    out = _C_ops.multiply(total, _C_ops.rsqrt(_C_ops.scale(square, 1.0, epsilon, True)))
    out = _scaled(out, norm_weight, norm_bias, begin)
    residual_out = None if residual is None else as_dtype(total, x.dtype)
    if quant_scale > 0:
        return quantized(out, quant_scale, quant_round_type, quant_max_bound, quant_min_bound, name), residual_out
    return as_dtype(out, x.dtype), residual_out


def fused_layer_norm(
    x: Tensor,
    norm_weight: Tensor | None,
    norm_bias: Tensor | None,
    epsilon: float,
    residual_alpha: float = 1.0,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Layer norm of x + bias + residual_alpha * residual over the axes from begin_norm_axis on, times norm_weight, plus norm_bias.

    Returns (out, the sum that was normalised, its mean, its variance), the last two in float32 and one number for each row; the
    second is None where there is no residual. Where norm_weight and norm_bias are both None nothing is normalised: out is the sum
    and the others are None. quant_scale > 0: out is int8, quant_max_bound * quant_scale * out, rounded and clipped. Raises
    ValueError for an axis or sizes that do not fit, TypeError for integers.
    Source: paddle.incubate.nn.functional.fused_layer_norm.
    """
    name = "fused_layer_norm"
    check_floating(x, name)
    begin = _begin_axis(x, begin_norm_axis, name)
    size = math.prod(x.shape[begin:])
    _check_size(norm_weight, size, "norm_weight", name)
    _check_size(norm_bias, size, "norm_bias", name)
    total = _with_residual(x, bias, residual, residual_alpha, name)
    normalised = norm_weight is not None or norm_bias is not None
    out, mean, variance = total, None, None
    if normalised:
        out = _scaled(_C_ops.layer_norm(total, None, None, epsilon, begin), norm_weight, norm_bias, begin)
        rows = _C_ops.reshape(total.detach(), (math.prod(x.shape[:begin]), size))
        centre = _C_ops.mean(rows, (1,), True)
        mean = as_dtype(_C_ops.reshape(centre, (rows.shape[0],)), dt.float32)
        variance = as_dtype(_C_ops.mean(_C_ops.square(_C_ops.subtract(rows, centre)), (1,), False), dt.float32)
    residual_out = as_dtype(total, x.dtype) if normalised and residual is not None else None
    if quant_scale > 0:
        out = quantized(out, quant_scale, quant_round_type, quant_max_bound, quant_min_bound, name)
    else:
        out = as_dtype(out, x.dtype)
    return out, residual_out, mean, variance
