"""`NativeTensor`: the Python operators of tensors, straight to the dispatcher."""

from typing import Any, Final

import numpy as np
from mypy_extensions import mypyc_attr

from wherry.autograd.ad_func import ad_func1, ad_func2, ad_func_number
from wherry.autograd.eager import eager1, eager2, from_array, from_number
from wherry.autograd.structures import TensorBase
from wherry.autograd.type_promotion import cast_to
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dense_tensor import DenseTensor
from wherry.dispatch.op_def import OpDef

# A number that is used again and again (0.5 in a loss) becomes an array once for each dtype. Zeros are left out: -0.0 equals 0.0.
_NUMBERS: Final[list[dict[Any, DenseTensor]]] = [{} for _ in range(dt.NUM_CODES)]
_MOST_NUMBERS: Final = 256


class OperatorTable:
    """The operations behind the operators; filled at import."""

    def __init__(self, ops: dict[str, OpDef]) -> None:
        self.add: Final = ops["add"]
        self.subtract: Final = ops["subtract"]
        self.multiply: Final = ops["multiply"]
        self.divide: Final = ops["divide"]
        self.floor_divide: Final = ops["floor_divide"]
        self.remainder: Final = ops["remainder"]
        self.elementwise_pow: Final = ops["elementwise_pow"]
        self.pow: Final = ops["pow"]
        self.matmul: Final = ops["matmul"]
        self.equal: Final = ops["equal"]
        self.not_equal: Final = ops["not_equal"]
        self.less_than: Final = ops["less_than"]
        self.less_equal: Final = ops["less_equal"]
        self.greater_than: Final = ops["greater_than"]
        self.greater_equal: Final = ops["greater_equal"]
        self.bitwise_and: Final = ops["bitwise_and"]
        self.bitwise_or: Final = ops["bitwise_or"]
        self.bitwise_xor: Final = ops["bitwise_xor"]
        self.bitwise_not: Final = ops["bitwise_not"]
        self.bitwise_left_shift: Final = ops["bitwise_left_shift"]
        self.bitwise_right_shift: Final = ops["bitwise_right_shift"]
        self.abs: Final = ops["abs"]
        self.scale: Final = ops["scale"]


class Operators:
    """Holds the table."""

    def __init__(self) -> None:
        self.table: OperatorTable | None = None


_OPERATORS: Final = Operators()


def set_operator_table(ops: dict[str, OpDef]) -> None:
    """Fill the table from the generated operations."""
    _OPERATORS.table = OperatorTable(ops)


def table() -> OperatorTable:
    """The operations behind the operators."""
    found = _OPERATORS.table
    if found is None:
        raise RuntimeError("the operations are not loaded yet: import wherry, not its submodules alone")
    return found


def number_array(value: Any, x: TensorBase) -> DenseTensor | None:
    """A Python int or float as a 0-D array of x's dtype, where that is the dtype in which they meet; else None."""
    meta = x.impl.meta
    dtype = meta.dtype
    kind = type(value)
    if kind is float:
        if not (dtype.is_floating or dtype.is_complex):
            return None
    elif kind is not int or dtype.is_bool:
        return None
    known = _NUMBERS[dtype.code].get(value)
    if known is not None:
        return known
    made = from_number(value, meta).impl
    if value != 0 and len(_NUMBERS[dtype.code]) < _MOST_NUMBERS:
        _NUMBERS[dtype.code][value] = made
    return made


def operand(value: Any, other: TensorBase) -> TensorBase | None:
    """The other operand as a tensor; None where it is nothing that a tensor can meet."""
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        return from_number(value, other.impl.meta)
    if isinstance(value, np.ndarray):
        return from_array(value)
    return None


def binary(op: OpDef, x: TensorBase, other: Any) -> Any:
    """x op other."""
    known = number_array(other, x)
    if known is not None:
        return ad_func_number(op, x, known, False)
    x = floating_for(x, other)
    y = operand(other, x)
    return NotImplemented if y is None else ad_func2(op, x, y, ())


def reflected(op: OpDef, x: TensorBase, other: Any) -> Any:
    """other op x."""
    known = number_array(other, x)
    if known is not None:
        return ad_func_number(op, x, known, True)
    x = floating_for(x, other)
    y = operand(other, x)
    return NotImplemented if y is None else ad_func2(op, y, x, ())


def compared(op: OpDef, x: TensorBase, other: Any) -> Any:
    """x op other, for comparisons."""
    known = number_array(other, x)
    if known is not None:
        return ad_func_number(op, x, known, False)
    x = floating_for(x, other)
    y = operand(other, x)
    return NotImplemented if y is None else eager2(op, x, y)


def floating_for(x: TensorBase, value: Any) -> TensorBase:
    """An integer tensor that meets a float is converted first, as the number must not be truncated."""
    dtype = x.impl.meta.dtype
    if isinstance(value, complex) and not dtype.is_complex:
        return cast_to(x, dt.complex128 if dtype is dt.float64 else dt.complex64)  # type: ignore[no-any-return]
    if isinstance(value, float) and (dtype.is_integer or dtype.is_bool):
        return cast_to(x, get_default())  # type: ignore[no-any-return]
    if isinstance(value, int) and not isinstance(value, bool) and dtype.is_bool:
        return cast_to(x, dt.int64)  # type: ignore[no-any-return]
    return x


@mypyc_attr(allow_interpreted_subclasses=True)
class NativeTensor(TensorBase):
    """Operators. `wherry.Tensor` is its subclass."""

    def __add__(self, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return ad_func2(table().add, self, other, ())
        return binary(table().add, self, other)

    def __radd__(self, other: Any) -> Any:
        return reflected(table().add, self, other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return ad_func2(table().subtract, self, other, ())
        return binary(table().subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return reflected(table().subtract, self, other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return ad_func2(table().multiply, self, other, ())
        return binary(table().multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return reflected(table().multiply, self, other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return ad_func2(table().divide, self, other, ())
        return binary(table().divide, self.for_division(other), other)

    def __rtruediv__(self, other: Any) -> Any:
        return reflected(table().divide, self.for_division(other), other)

    def for_division(self, other: Any) -> TensorBase:
        """An integer tensor divided by (or dividing) a number is converted first: true division is floating."""
        dtype = self.impl.meta.dtype
        if (dtype.is_integer or dtype.is_bool) and isinstance(other, (int, float, np.number)):
            return cast_to(self, get_default())  # type: ignore[no-any-return]
        return floating_for(self, other)

    def __floordiv__(self, other: Any) -> Any:
        return binary(table().floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return reflected(table().floor_divide, self, other)

    def __mod__(self, other: Any) -> Any:
        return binary(table().remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return reflected(table().remainder, self, other)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (bool, int, float, complex)):
            return ad_func1(table().pow, floating_for(self, other), (other,))
        return binary(table().elementwise_pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return reflected(table().elementwise_pow, self, other)

    def __matmul__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().matmul, self, y, (False, False))

    def __rmatmul__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().matmul, y, self, (False, False))

    def __and__(self, other: Any) -> Any:
        return binary(table().bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return reflected(table().bitwise_and, self, other)

    def __or__(self, other: Any) -> Any:
        return binary(table().bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return reflected(table().bitwise_or, self, other)

    def __xor__(self, other: Any) -> Any:
        return binary(table().bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return reflected(table().bitwise_xor, self, other)

    def __lshift__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().bitwise_left_shift, self, y, (True,))

    def __rlshift__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().bitwise_left_shift, y, self, (True,))

    def __rshift__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().bitwise_right_shift, self, y, (True,))

    def __rrshift__(self, other: Any) -> Any:
        y = operand(other, self)
        return NotImplemented if y is None else ad_func2(table().bitwise_right_shift, y, self, (True,))

    def __neg__(self) -> Any:
        return ad_func1(table().scale, self, (-1.0, 0.0, True))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return eager1(table().abs, self)

    def __invert__(self) -> Any:
        return ad_func1(table().bitwise_not, self, ())

    def __eq__(self, other: Any) -> Any:
        return False if other is None else compared(table().equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else compared(table().not_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return compared(table().less_than, self, other)

    def __le__(self, other: Any) -> Any:
        return compared(table().less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return compared(table().greater_than, self, other)

    def __ge__(self, other: Any) -> Any:
        return compared(table().greater_equal, self, other)

    def __hash__(self) -> int:
        return id(self)
