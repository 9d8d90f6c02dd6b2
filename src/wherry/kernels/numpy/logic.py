"""Kernels of comparison, logic, bits, and of what chooses by a mask; and the cast."""

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import ALL, BOOL, INTEGER, kernel, register
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.math import number_in

register("equal", np.equal, ALL, out=True)
register("not_equal", np.not_equal, ALL, out=True)
register("less_than", np.less, ALL, out=True)
register("less_equal", np.less_equal, ALL, out=True)
register("greater_than", np.greater, ALL, out=True)
register("greater_equal", np.greater_equal, ALL, out=True)
register("logical_and", np.logical_and, ALL, out=True)
register("logical_or", np.logical_or, ALL, out=True)
register("logical_xor", np.logical_xor, ALL, out=True)
register("logical_not", np.logical_not, ALL, out=True)
register("bitwise_and", np.bitwise_and, BOOL + INTEGER, out=True)
register("bitwise_or", np.bitwise_or, BOOL + INTEGER, out=True)
register("bitwise_xor", np.bitwise_xor, BOOL + INTEGER, out=True)
register("bitwise_not", np.invert, BOOL + INTEGER, out=True)


@kernel("equal_all", ALL)
def equal_all(x: Array, y: Array) -> Array:
    """Shapes count."""
    return np.asarray(x.shape == y.shape and bool((x == y).all()))


@kernel("isclose", ALL)
def isclose(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """In float64 (or complex128), where every other dtype has its value."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    left, right = x.astype(wide), y.astype(wide)
    close = np.asarray(np.abs(left - right) <= atol + rtol * np.abs(right))
    # An infinite bound holds for everything; an infinity is close to itself alone.
    close &= np.isfinite(right)
    close |= x == y
    if equal_nan:
        close |= np.isnan(left) & np.isnan(right)
    return close


@kernel("allclose", ALL)
def allclose(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """Every element close."""
    return np.asarray(isclose(x, y, rtol, atol, equal_nan).all())


@kernel("bitwise_left_shift", INTEGER)
def bitwise_left_shift(x: Array, y: Array, is_arithmetic: bool) -> Array:
    """Both kinds of shift fill with zeros. NumPy gives 0 for shifts out of range."""
    return np.asarray(np.left_shift(x, y))


@kernel("bitwise_right_shift", INTEGER)
def bitwise_right_shift(x: Array, y: Array, is_arithmetic: bool) -> Array:
    """A logical shift is one of the same bits without sign."""
    if is_arithmetic or x.dtype.kind == "u":
        return np.asarray(np.right_shift(x, y))
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.asarray(np.right_shift(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype))


@kernel("cast", ALL)
def cast(x: Array, dtype: DataType) -> Array:
    """A copy in another dtype; the imaginary part is dropped where it has no room."""
    if x.dtype.kind == "c" and not dtype.is_complex:
        return np.asarray(x != 0) if dtype.is_bool else x.real.astype(dtype.numpy)
    return x.astype(dtype.numpy)


# np.where branches on each element, which costs up to ten times the arithmetic on bits where the condition has no pattern.
_BRANCHLESS_SIZE = 8192
_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


@kernel("where", ALL)
def where(condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, y elsewhere; large ones by y ^ (condition * (x ^ y)) on the bits."""
    bits = _BITS.get(x.dtype.itemsize)
    if bits is None or condition.size < _BRANCHLESS_SIZE:
        return np.where(condition, x, y)
    left, right = x.view(bits), y.view(bits)
    if _is_zero(right):
        return np.asarray(np.multiply(left, condition)).view(x.dtype)
    if _is_zero(left):
        return np.asarray(np.multiply(right, np.logical_not(condition))).view(x.dtype)
    change = np.asarray(np.bitwise_xor(left, right))
    same_shape = change.shape == np.broadcast_shapes(change.shape, condition.shape)
    change = np.asarray(np.multiply(change, condition, out=change if same_shape else None))
    change ^= right
    return change.view(x.dtype)


def _is_zero(bits: Array) -> bool:
    """Whether it is one number, all of whose bits are 0 (which -0.0 is not)."""
    return bits.ndim == 0 and not bits


@kernel("masked_fill", ALL)
def masked_fill(x: Array, mask: Array, value: complex) -> Array:
    """The value, in x's dtype, where the mask holds."""
    return np.asarray(where(mask, np.asarray(number_in(value, x.dtype)), x))
