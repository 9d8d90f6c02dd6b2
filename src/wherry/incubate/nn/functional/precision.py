"""What the fused functions share: the dtype they compute in, rounding back, and quantisation to int8."""

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.nn.quant.rounding import round_away_from_zero
from wherry.tensor.tensor import Tensor

ROUND_TO_EVEN = 0
ROUND_AWAY_FROM_ZERO = 1


def computed_in(dtype: DataType) -> DataType:
    """float32 for half precision, else the dtype itself."""
    return dt.float32 if dtype in (dt.float16, dt.bfloat16) else dtype


def as_dtype(x: Tensor, dtype: DataType) -> Tensor:
    """x in a dtype; x itself where it has it."""
    return x if x.dtype is dtype else _C_ops.cast(x, dtype)


def check_floating(x: Tensor, function: str) -> None:
    """Raise TypeError for a tensor that is not of real floating-point numbers."""
    if not x.dtype.is_floating:
        raise TypeError(
            f"{function}: expected a floating-point tensor, received {x.dtype.name}; cast it with .astype('float32')"
        )


def quantized(x: Tensor, scale: float, round_type: int, max_bound: float, min_bound: float, function: str) -> Tensor:
    """max_bound * scale * x, rounded and clipped, in int8.

    round_type: 0 takes halves to the even neighbour, 1 away from zero. Raises ValueError for another.
    """
    if round_type not in (ROUND_TO_EVEN, ROUND_AWAY_FROM_ZERO):
        raise ValueError(
            f"{function}: expected quant_round_type 0 (halves to even) or 1 (away from zero), received {round_type}"
        )
    scaled = _C_ops.scale(x.detach(), max_bound * scale, 0.0, True)
    rounded = _C_ops.round(scaled, 0) if round_type == ROUND_TO_EVEN else round_away_from_zero(scaled)
    return _C_ops.cast(_C_ops.clip(rounded, min_bound, max_bound), dt.int8)
