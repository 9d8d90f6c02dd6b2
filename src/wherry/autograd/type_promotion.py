"""Type promotion by Paddle 3's rules (paddle/phi/common/type_promotion.h).

Two tensors of different dtypes promote where both are floating, or one is complex; an integer with a floating tensor is refused,
unless one of them is 0-D: then the 0-D one counts as a number and only lifts the other to its own category.
"""

from typing import Any, Final

from wherry.autograd.history import REGISTRY
from wherry.autograd.structures import TensorBase
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.dispatch.op_def import OpDef

_CATEGORY: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def category(dtype: DataType) -> int:
    """0 bool, 1 integer, 2 floating, 3 complex."""
    return _CATEGORY[dtype.kind]


def wider(x: DataType, y: DataType) -> DataType:
    """The common dtype of two floating or complex dtypes; a real one only contributes its precision to a complex one."""
    if x is y:
        return x
    if x.is_complex or y.is_complex:
        double = dt.float64 in (x, y) or dt.complex128 in (x, y)
        return dt.complex128 if double else dt.complex64
    if x.itemsize == y.itemsize:
        return dt.float32
    return x if x.itemsize > y.itemsize else y


def promoted_dtype(x: Meta, y: Meta) -> DataType:
    """The dtype in which x and y meet; raises TypeError that names both where Paddle has no rule."""
    a = x.dtype
    b = y.dtype
    if a is b:
        return a
    if (x.ndim == 0) != (y.ndim == 0):
        number, tensor = (a, b) if x.ndim == 0 else (b, a)
        return with_number(number, tensor)
    if a.is_complex or b.is_complex or (a.is_floating and b.is_floating):
        return wider(a, b)
    raise TypeError(
        f"expected two floating dtypes, or one complex, received x: {a.name}, y: {b.name}; integer and floating tensors do not "
        f"promote (a silent cast could lose the fraction): convert one with .astype('{(b if b.is_floating else a).name}')"
    )


def with_number(number: DataType, tensor: DataType) -> DataType:
    """The dtype of a 0-D tensor of dtype `number` with an N-D one of dtype `tensor`."""
    if category(number) > category(tensor):
        return wider(number, tensor) if number.is_complex else number
    if tensor.is_complex and number is dt.float64:
        return dt.complex128
    return tensor


def scalar_dtype(value: Any, tensor: DataType) -> DataType:
    """The dtype in which a Python (or NumPy) number meets a tensor: the number is never truncated."""
    if isinstance(value, bool):
        return tensor
    if isinstance(value, int):
        return dt.int64 if tensor.is_bool else tensor
    if isinstance(value, float):
        return tensor if tensor.is_floating or tensor.is_complex else get_default()
    if tensor.is_complex:
        return tensor
    return dt.complex128 if tensor is dt.float64 else dt.complex64


def cast_to(tensor: Any, dtype: DataType) -> Any:
    """The tensor in another dtype, through the recorded cast operation."""
    if tensor.impl.meta.dtype is dtype:
        return tensor
    return REGISTRY.recorded_ops.cast(tensor, dtype)


def promote(op: OpDef, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The promotion phase: the tensor inputs of an entry with `promote` in their common dtype."""
    # A bool condition (where) selects and does not promote.
    first = 1 if op.inputs[0] == "condition" else 0
    target: DataType | None = None
    shape: tuple[int, ...] = ()
    for value in inputs[first:]:
        if not isinstance(value, TensorBase):
            continue
        meta = value.impl.meta
        if target is None:
            target = meta.dtype
            shape = meta.shape
        elif meta.dtype is not target:
            target = promoted_dtype(Meta(shape, target), meta)
            shape = shape if len(shape) >= meta.ndim else meta.shape
    if target is None:
        return inputs
    changed: list[Any] = list(inputs[:first])
    for value in inputs[first:]:
        changed.append(cast_to(value, target) if isinstance(value, TensorBase) else value)
    return tuple(changed)
