"""Rounding as quantisation has it."""

from wherry import _C_ops
from wherry.tensor.tensor import Tensor


def round_away_from_zero(x: Tensor) -> Tensor:
    """The nearest integers, halves away from zero; exact where x + 0.5 would round."""
    whole = _C_ops.trunc(x)
    return _C_ops.add(whole, _C_ops.trunc(_C_ops.scale(_C_ops.subtract(x, whole), 2.0, 0.0, True)))
