"""Operations on bits, which take `out` in Paddle's older place. Source: paddle.tensor.logic, paddle.tensor.math."""

from wherry import _C_ops
from wherry.api.arguments import refuse_out
from wherry.tensor.tensor import Tensor

__all__ = [
    "bitwise_and",
    "bitwise_and_",
    "bitwise_invert",
    "bitwise_invert_",
    "bitwise_left_shift",
    "bitwise_left_shift_",
    "bitwise_not",
    "bitwise_not_",
    "bitwise_or",
    "bitwise_or_",
    "bitwise_right_shift",
    "bitwise_right_shift_",
    "bitwise_xor",
    "bitwise_xor_",
]
METHODS = __all__


def bitwise_and(x: Tensor, y: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """x and y combined bit by bit: and.

    Shapes broadcast. Integer dtypes, which must agree, and bool. Raises TypeError for any other. Source:
    paddle.bitwise_and.
    """
    refuse_out(out)
    return _C_ops.bitwise_and(x, y)


def bitwise_and_(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """In-place `bitwise_and`: the result is written to x. Source: paddle.bitwise_and_."""
    return _C_ops.bitwise_and_(x, y)


def bitwise_or(x: Tensor, y: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """x and y combined bit by bit: or.

    Shapes broadcast. Integer dtypes, which must agree, and bool. Raises TypeError for any other. Source:
    paddle.bitwise_or.
    """
    refuse_out(out)
    return _C_ops.bitwise_or(x, y)


def bitwise_or_(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """In-place `bitwise_or`: the result is written to x. Source: paddle.bitwise_or_."""
    return _C_ops.bitwise_or_(x, y)


def bitwise_xor(x: Tensor, y: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """x and y combined bit by bit: exclusive or.

    Shapes broadcast. Integer dtypes, which must agree, and bool. Raises TypeError for any other. Source:
    paddle.bitwise_xor.
    """
    refuse_out(out)
    return _C_ops.bitwise_xor(x, y)


def bitwise_xor_(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """In-place `bitwise_xor`: the result is written to x. Source: paddle.bitwise_xor_."""
    return _C_ops.bitwise_xor_(x, y)


def bitwise_not(x: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Every bit of x turned over; the negation of a bool.

    Shape and dtype of x: an integer dtype or bool. Source: paddle.bitwise_not.
    """
    refuse_out(out)
    return _C_ops.bitwise_not(x)


def bitwise_not_(x: Tensor, name: str | None = None) -> Tensor:
    """In-place `bitwise_not`: the result is written to x. Source: paddle.bitwise_not_."""
    return _C_ops.bitwise_not_(x)


bitwise_invert = bitwise_not
bitwise_invert_ = bitwise_not_


def bitwise_left_shift(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Bits of x moved up by y places, element by element, with broadcasting.

    Integer dtypes, which must agree. A negative shift, or one by all bits or more, gives 0. Source:
    paddle.bitwise_left_shift.
    """
    refuse_out(out)
    return _C_ops.bitwise_left_shift(x, y, is_arithmetic)


def bitwise_left_shift_(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """In-place `bitwise_left_shift`: the result is written to x. Source: paddle.bitwise_left_shift_."""
    refuse_out(out)
    return _C_ops.bitwise_left_shift_(x, y, is_arithmetic)


def bitwise_right_shift(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Bits of x moved down by y places, element by element, with broadcasting.

    Integer dtypes, which must agree. An arithmetic shift fills with the sign, a logical one (`is_arithmetic=False`)
    with zeros. A negative shift, or one by all bits or more, leaves only what was filled in. Source:
    paddle.bitwise_right_shift.
    """
    refuse_out(out)
    return _C_ops.bitwise_right_shift(x, y, is_arithmetic)


def bitwise_right_shift_(
    x: Tensor, y: Tensor, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """In-place `bitwise_right_shift`: the result is written to x. Source: paddle.bitwise_right_shift_."""
    refuse_out(out)
    return _C_ops.bitwise_right_shift_(x, y, is_arithmetic)
