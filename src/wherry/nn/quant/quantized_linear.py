"""Quantising weights, and products with quantised weights. Source: paddle.nn.quant.quantized_linear."""

from typing import Any

from wherry import _C_ops
from wherry.api.arguments import dtype_of
from wherry.core import dtype as dt
from wherry.nn.quant.rounding import round_away_from_zero
from wherry.nn.quant.weight_layout import Layout, packed, unpacked
from wherry.tensor.tensor import Tensor

__all__ = ["apply_per_channel_scale", "llm_int8_linear", "weight_dequantize", "weight_only_linear", "weight_quantize"]

_ARCHES = (70, 75, 80, 86, 89, 90)
# What is taken where no architecture is named: there is no device to ask.
_DEFAULT_ARCH = 80
_GROUP_SIZES = (-1, 64, 128)
_ALGORITHMS = {"weight_only_int8": 8, "weight_only_int4": 4, "llm.int8": 8}


def _layout(algo: str, arch: int | None, function: str) -> Layout:
    if algo in ("w4a8", "w4afp8"):
        raise NotImplementedError(f"{function}: the algorithm {algo!r} is not supported")
    if algo not in _ALGORITHMS:
        raise ValueError(f"{function}: expected algo of {tuple(_ALGORITHMS)}, received {algo!r}")
    arch = _DEFAULT_ARCH if arch is None else arch
    if arch not in _ARCHES:
        raise ValueError(f"{function}: expected arch of {_ARCHES}, received {arch}")
    return Layout(_ALGORITHMS[algo], arch, algo == "llm.int8")


def _check_group(group_size: int, function: str) -> None:
    if group_size not in _GROUP_SIZES:
        raise ValueError(f"{function}: expected group_size -1, 64 or 128, received {group_size}")


def _spread_scale(scale: Tensor, rows: int, columns: int, group_size: int, function: str) -> Tensor:
    """The scale of every element, in float32, in a shape that broadcasts to [rows, columns]."""
    groups = -(-rows // group_size) if group_size > 0 else 1
    if scale.size != groups * columns:
        expected = [columns] if group_size < 0 else [groups, columns]
        raise ValueError(f"{function}: expected a scale of shape {expected}, received {list(scale.shape)}")
    wide = _C_ops.reshape(_C_ops.cast(scale, dt.float32), (groups, 1, columns))
    if groups == 1:
        return _C_ops.reshape(wide, (1, columns))
    every = _C_ops.reshape(_C_ops.expand(wide, (groups, group_size, columns)), (groups * group_size, columns))
    return _C_ops.slice(every, (0,), (0,), (rows,))


def _largest(x: Tensor, group_size: int) -> Tensor:
    """The largest magnitude of each column, or of each group of rows of a column."""
    magnitude = _C_ops.abs(x)
    rows, columns = x.shape
    if group_size < 0:
        return _C_ops.max(magnitude, (0,), False)
    groups = -(-rows // group_size)
    rest = groups * group_size - rows
    if rest:
        magnitude = _C_ops.concat([magnitude, _C_ops.full((rest, columns), 0.0, x.dtype)], 0)
    return _C_ops.max(_C_ops.reshape(magnitude, (groups, group_size, columns)), (1,), False)


def weight_quantize(
    x: Tensor, algo: str = "weight_only_int8", arch: int | None = None, group_size: int = -1
) -> tuple[Tensor, Tensor]:
    """A weight [rows, columns] in float16 or bfloat16 as int8 (or int4) numbers and the scales that undo it.

    Each column, or with group_size each group of its rows, is divided by its largest magnitude / 127 (7 for int4), rounded (halves away
    from zero) and clipped. Returns (numbers, scales): [columns, rows], for "weight_only_int4" [columns / 2, rows] with two numbers to a
    byte, in the memory order that kernels of `arch` read (70, 75, 80, 86, 89, 90; None: 80; plain for "llm.int8"), and [columns] or
    [groups, columns] in x's dtype, in float32 for "llm.int8". Raises TypeError for another dtype, ValueError for sizes that the order
    cannot hold. Source: paddle.nn.quant.weight_quantize.
    """
    function = "weight_quantize"
    _check_group(group_size, function)
    layout = _layout(algo, arch, function)
    if x.dtype not in (dt.float16, dt.bfloat16):
        raise TypeError(f"{function}: expected x of float16 or bfloat16, received {x.dtype.name}; cast it")
    if x.ndim != 2:
        raise ValueError(f"{function}: expected x of two dimensions, received shape {list(x.shape)}")
    rows, columns = x.shape
    scale_dtype = dt.float32 if layout.plain else x.dtype
    if not x.size:
        shape = (columns,) if group_size < 0 else (-(-rows // group_size), columns)
        return _C_ops.full((columns * layout.bits // 8, rows), 0, dt.int8), _C_ops.full(shape, 0.0, scale_dtype)
    layout.check(rows, columns, function)
    bound = 127.0 if layout.bits == 8 else 7.0
    wide = _C_ops.cast(x.detach(), dt.float32)
    largest = _largest(wide, group_size)
    scale = _C_ops.cast(_C_ops.divide(largest, _C_ops.full_like(largest, bound)), scale_dtype)
    every = _spread_scale(scale, rows, columns, group_size, function)
    rounded = round_away_from_zero(_C_ops.divide(wide, every))
    # A column of zeros has the scale zero: whatever number it holds stands for zero, and Paddle's is this.
    filler = _C_ops.full_like(every, bound if layout.bits == 8 else -bound)
    rounded = _C_ops.where(_C_ops.equal(every, _C_ops.full_like(every, 0.0)), filler, rounded)
    numbers = _C_ops.cast(_C_ops.clip(rounded, -bound, bound), dt.int8)
    return packed(numbers, layout), scale


def _restored(weight: Tensor, scale: Tensor, layout: Layout, group_size: int, function: str) -> Tensor:
    """The float32 weight [rows, columns]."""
    if weight.dtype is not dt.int8 or weight.ndim != 2:
        raise TypeError(
            f"{function}: expected an int8 weight of two dimensions, received {weight.dtype.name} of shape {list(weight.shape)}"
        )
    rows, columns = weight.shape[1], weight.shape[0] * 8 // layout.bits
    layout.check(rows, columns, function)
    every = _spread_scale(scale, rows, columns, group_size, function)
    return _C_ops.multiply(_C_ops.cast(unpacked(weight, layout), dt.float32), every)


def weight_dequantize(
    x: Tensor, scale: Tensor, algo: str = "weight_only_int8", out_dtype: Any = "float16", group_size: int = -1
) -> Tensor:
    """The weight [rows, columns] that `weight_quantize` made x and scale of (for arch 75 to 90), in scale's dtype.

    out_dtype has no effect, as in Paddle. Raises TypeError for x that is not int8, ValueError for sizes that do not fit.
    Source: paddle.nn.quant.weight_dequantize.
    """
    function = "weight_dequantize"
    _check_group(group_size, function)
    return _C_ops.cast(_restored(x, scale, _layout(algo, None, function), group_size, function), scale.dtype)


def _check_product(x: Tensor, weight: Tensor, scale: Tensor | None, function: str) -> Tensor:
    """The scale; raises where x, weight and scale do not go together."""
    if not x.dtype.is_floating:
        raise TypeError(f"{function}: expected a floating-point x, received {x.dtype.name}")
    if scale is None:
        raise ValueError(f"{function}: expected weight_scale, received None")
    if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"{function}: expected x [..., rows] and weight [columns, rows], received {list(x.shape)} and {list(weight.shape)}"
        )
    return scale


def _with_bias(out: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    if bias is not None:
        out = _C_ops.add(out, _C_ops.cast(bias, out.dtype))
    return _C_ops.cast(out, x.dtype)


def _wide(x: Tensor) -> Tensor:
    return _C_ops.cast(x, dt.float32) if x.dtype in (dt.float16, dt.bfloat16) else x


def weight_only_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    weight_scale: Tensor | None = None,
    weight_dtype: Any = "int8",
    arch: int | None = None,
    group_size: int = -1,
) -> Tensor:
    """x @ the weight that `weight_quantize` stored for `arch`, plus bias, in x's dtype.

    x: [..., rows]; weight: [columns, rows], or [columns / 2, rows] with weight_dtype "int4"; gradients go to x and bias. Raises
    ValueError for sizes that do not fit, another weight_dtype or no weight_scale. Source: paddle.nn.quant.weight_only_linear.
    """
    function = "weight_only_linear"
    _check_group(group_size, function)
    name = weight_dtype if isinstance(weight_dtype, str) else getattr(dtype_of(weight_dtype), "name", None)
    if name not in ("int8", "int4"):
        raise ValueError(f"{function}: expected weight_dtype 'int8' or 'int4', received {weight_dtype!r}")
    scale = _check_product(x, weight, weight_scale, function)
    layout = _layout(f"weight_only_{name}", arch, function)
    restored = _restored(weight.detach(), scale.detach(), layout, group_size, function)
    wide = _wide(x)
    return _with_bias(_C_ops.matmul(wide, _C_ops.cast(restored, wide.dtype), False, False), bias, x)


def llm_int8_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    weight_scale: Tensor | None = None,
    threshold: float = 6.0,
) -> Tensor:
    """x @ the weight of `weight_quantize(..., algo="llm.int8")`, plus bias, with x rounded to int8 too, in x's dtype.

    Columns of x in which any magnitude exceeds threshold are multiplied as they are; the others are rounded in each row to 127ths of
    its largest magnitude among them, and the int8 numbers are multiplied exactly. x: [..., rows], weight: [columns, rows]. The result
    has no gradient but to bias, as rounding has none. Raises ValueError for sizes that do not fit or no weight_scale.
    Source: paddle.nn.quant.llm_int8_linear.
    """
    function = "llm_int8_linear"
    scale = _check_product(x, weight, weight_scale, function)
    layout = _layout("llm.int8", None, function)
    if weight.dtype is not dt.int8:
        raise TypeError(f"{function}: expected an int8 weight, received {weight.dtype.name}")
    rows, columns = weight.shape[1], weight.shape[0]
    every = _spread_scale(scale.detach(), rows, columns, -1, function)
    numbers = _C_ops.cast(unpacked(weight.detach(), layout), dt.float64)
    flat = _C_ops.cast(_C_ops.reshape(x.detach(), (-1, rows)), dt.float32)
    magnitude = _C_ops.abs(flat)
    outlier = _C_ops.any(_C_ops.greater_than(magnitude, _C_ops.full_like(magnitude, threshold)), (0,), True)
    nothing = _C_ops.full_like(flat, 0.0)
    kept, apart = _C_ops.where(outlier, nothing, flat), _C_ops.where(outlier, flat, nothing)
    span = _C_ops.max(_C_ops.abs(kept), (1,), True)
    safe = _C_ops.where(_C_ops.equal(span, _C_ops.full_like(span, 0.0)), _C_ops.full_like(span, 1.0), span)
    ratio = _C_ops.scale(_C_ops.divide(kept, safe), 127.0, 0.0, True)
    rounded = round_away_from_zero(ratio)
    # Sums of int8 products are exact in float64.
    exact = _C_ops.cast(_C_ops.matmul(_C_ops.cast(rounded, dt.float64), numbers, False, False), dt.float32)
    out = _C_ops.multiply(_C_ops.scale(_C_ops.multiply(exact, safe), 1.0 / 127.0, 0.0, True), every)
    restored = _C_ops.multiply(_C_ops.cast(numbers, dt.float32), every)
    out = _C_ops.add(out, _C_ops.matmul(apart, restored, False, False))
    return _with_bias(_C_ops.reshape(out, (*x.shape[:-1], columns)), bias, x)


def apply_per_channel_scale(x: Tensor, scales: Tensor) -> Tensor:
    """x times scales along its last axis, in x's dtype.

    Raises ValueError where they are not as long. Source: paddle.nn.quant.quantized_linear.apply_per_channel_scale.
    """
    if scales.size != x.shape[-1]:
        raise ValueError(
            f"apply_per_channel_scale: expected {x.shape[-1]} scales, as x's last axis, received {list(scales.shape)}"
        )
    return _C_ops.multiply(x, _C_ops.cast(_C_ops.reshape(scales, (x.shape[-1],)), x.dtype))
