"""Public functions on complex numbers and kinds of dtypes."""

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["is_complex", "is_floating_point", "is_integer", "polar"]


def _tensor(x: Tensor) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"expected a Tensor, received {type(x).__name__}")
    return x


def is_complex(x: Tensor) -> bool:
    """Whether x has a complex dtype. Raises TypeError for anything but a Tensor. Source: paddle.is_complex."""
    return _tensor(x).dtype.is_complex


def is_floating_point(x: Tensor) -> bool:
    """Whether x has a floating dtype. Raises TypeError for anything but a Tensor. Source: paddle.is_floating_point."""
    return _tensor(x).dtype.is_floating


def is_integer(x: Tensor) -> bool:
    """Whether x has an integer dtype. Raises TypeError for anything but a Tensor. Source: paddle.is_integer."""
    return _tensor(x).dtype.is_integer


def polar(abs: Tensor, angle: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Complex tensor of absolute values and arguments, which broadcast. Source: paddle.polar."""
    if out is not None:
        raise NotImplementedError("the argument out is not supported; assign the result")
    return _C_ops.complex(_C_ops.multiply(abs, _C_ops.cos(angle)), _C_ops.multiply(abs, _C_ops.sin(angle)))
