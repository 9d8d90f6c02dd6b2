"""Layer 2, the eager function of every operation: arguments checked and converted, then layer 3.

`eager1` and `eager2` serve operations of one and two plain tensors; `eager` any; `eager_inplace` the twins that write.
"""

from typing import Any, Final

import numpy as np

from wherry.autograd.ad_func import ad_func, ad_func1, ad_func2
from wherry.autograd.history import new_tensor
from wherry.autograd.inplace import ad_func_inplace
from wherry.autograd.structures import TensorBase
from wherry.autograd.type_promotion import scalar_dtype
from wherry.core import dtype as dt
from wherry.core.dense_tensor import DenseTensor, dense_from_array
from wherry.core.dtype import DataType
from wherry.core.errors import explained
from wherry.core.meta import Meta
from wherry.core.place import Place
from wherry.dispatch import op_def as od
from wherry.dispatch.op_def import REQUIRED, OpDef

_NUMBERS: Final = (bool, int, float, complex, np.number, np.bool_)


def eager1(op: OpDef, x: Any) -> Any:
    """Call an operation of one plain tensor."""
    if isinstance(x, TensorBase):
        return ad_func1(op, x, ())
    return ad_func(op, checked_inputs(op, (x,)), ())


def eager2(op: OpDef, x: Any, y: Any) -> Any:
    """Call an operation of two plain tensors; a number takes the part of one."""
    if isinstance(x, TensorBase) and isinstance(y, TensorBase):
        return ad_func2(op, x, y, ())
    inputs = checked_inputs(op, (x, y))
    return ad_func2(op, inputs[0], inputs[1], ())


def eager(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """Call any operation."""
    count = len(inputs)
    if op.fast and count != 0:
        x = inputs[0]
        if isinstance(x, TensorBase):
            if count == 1:
                return ad_func1(op, x, checked_attributes(op, attrs))
            y = inputs[1]
            if isinstance(y, TensorBase):
                return ad_func2(op, x, y, checked_attributes(op, attrs))
    return ad_func(op, checked_inputs(op, inputs), checked_attributes(op, attrs))


def eager_inplace(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """Call an operation that writes its result into an input."""
    return ad_func_inplace(op, checked_inputs(op, inputs), checked_attributes(op, attrs))


def wrong_type(op: OpDef, name: str, position: int, expected: str, value: Any) -> Exception:
    """The error for an argument of the wrong type."""
    error = TypeError(
        f"expected {expected} for the argument {name!r} (position {position}), received {type(value).__name__}"
        + (f" {value!r}" if isinstance(value, (str, bool, int, float)) else "")
    )
    return explained(error, op, ())


def checked_inputs(op: OpDef, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensor arguments as Tensors, lists of Tensors and None; raises TypeError for anything else."""
    plain = True
    for kind, value in zip(op.input_kinds, inputs):
        if not isinstance(value, TensorBase) and not (value is None and kind == od.OPTIONAL):
            plain = False
    if plain:
        return inputs
    return tuple([checked_input(op, i, v, inputs) for i, v in enumerate(inputs)])


def checked_input(op: OpDef, position: int, value: Any, inputs: tuple[Any, ...]) -> Any:
    """One tensor argument."""
    kind = op.input_kinds[position]
    name = op.inputs[position]
    if kind == od.LIST or kind == od.OPTIONAL_LIST:
        if value is None and kind == od.OPTIONAL_LIST:
            return None
        if isinstance(value, TensorBase):
            return [value]
        if not isinstance(value, (list, tuple)):
            raise wrong_type(op, name, position, "a list or tuple of Tensors", value)
        for item in value:
            if not isinstance(item, TensorBase):
                raise wrong_type(op, name, position, "a list or tuple of Tensors", item)
        return list(value)
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, DenseTensor):
        return new_tensor(value)
    if value is None and kind == od.OPTIONAL:
        return None
    if isinstance(value, np.ndarray):
        return from_array(value)
    if isinstance(value, _NUMBERS) and op.promote:
        # A bool tensor (the condition of where) has no say in a number's dtype while there is another.
        chosen: TensorBase | None = None
        for other in inputs:
            if isinstance(other, TensorBase) and (chosen is None or chosen.impl.meta.dtype.is_bool):
                chosen = other
        if chosen is not None:
            return from_number(value, chosen.impl.meta)
    raise wrong_type(op, name, position, "a Tensor" if kind == od.TENSOR else "a Tensor or None", value)


def from_array(array: Any) -> TensorBase:
    """A Tensor over a copy of a user's array."""
    return new_tensor(dense_from_array(np.array(array)))


def from_number(value: Any, other: Meta) -> TensorBase:
    """A 0-D Tensor of a number in the dtype in which it meets the other operand."""
    if isinstance(value, np.generic):
        value = value.item()
    dtype = scalar_dtype(value, other.dtype)
    if dtype.is_integer:
        bounds = np.iinfo(dtype.numpy)
        if not bounds.min <= value <= bounds.max:
            # NumPy refuses a number out of range; Paddle wraps it as C does.
            value = (value - int(bounds.min)) % (1 << (8 * dtype.itemsize)) + int(bounds.min)
    return new_tensor(DenseTensor(np.asarray(value, dtype.numpy), Meta((), dtype)))


def checked_attributes(op: OpDef, attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The attributes in canonical form (see docs/adding-an-op.md); raises TypeError or ValueError that names the argument."""
    codes = op.attr_codes
    count = len(codes)
    if len(attrs) == count:
        for i in range(count):
            if not canonical(codes[i], attrs[i]):
                break
        else:
            return attrs
    result: list[Any] = []
    for i in range(count):
        value = attrs[i] if i < len(attrs) else op.attr_defaults[i]
        if value is REQUIRED:
            raise explained(TypeError(f"missing the argument {op.attrs[i]!r}"), op, ())
        result.append(value if canonical(codes[i], value) else converted_attribute(op, i, codes[i], value))
    return tuple(result)


def canonical(code: int, value: Any) -> bool:
    """Whether an attribute is in the form that kernels take already."""
    if code == od.INT_ARRAY:
        return type(value) is tuple and all_plain_ints(value)
    if code == od.BOOL_ATTR:
        return value is True or value is False
    if code == od.INT_ATTR:
        return type(value) is int
    if code == od.FLOAT_ATTR:
        return type(value) is float
    if code == od.SCALAR:
        return type(value) is float or type(value) is int
    if code == od.DATA_TYPE:
        return value is None or isinstance(value, DataType)
    if code == od.STR_ATTR:
        return type(value) is str
    return code == od.OPAQUE or (code == od.PLACE and value is None)


def converted_attribute(op: OpDef, i: int, code: int, value: Any) -> Any:
    """One attribute in canonical form; raises TypeError that names it."""
    if code == od.INT_ARRAY:
        return int_array(op, i, value)
    if code == od.BOOL_ATTR:
        return boolean(op, i, value)
    if code == od.INT_ATTR:
        return integer(op, i, value)
    if code == od.FLOAT_ATTR:
        return floating(op, i, value)
    if code == od.SCALAR:
        return scalar(op, i, value)
    if code == od.DATA_TYPE:
        return data_type(op, i, value)
    if code == od.LIST_ATTR:
        return array_of(op, i, op.attr_kinds[i], value)
    if code == od.PLACE:
        return value if isinstance(value, Place) else None
    raise attribute_error(op, i, "a str", value)


def all_plain_ints(values: tuple[Any, ...]) -> bool:
    """Whether all are int (not bool, not a tensor)."""
    for v in values:
        if type(v) is not int:
            return False
    return True


def attribute_error(op: OpDef, i: int, expected: str, value: Any) -> Exception:
    """The error for an attribute of the wrong type."""
    return wrong_type(op, op.attrs[i], len(op.inputs) + i, expected, value)


def single(value: Any) -> Any:
    """The number in a one-element tensor or NumPy scalar; anything else as it is."""
    if isinstance(value, TensorBase):
        array = value.impl.array
        return array.item() if array.size == 1 else value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size == 1):
        return value.item()
    return value


def integer(op: OpDef, i: int, value: Any) -> int:
    """An int, from an int, a bool, a NumPy integer or a one-element integer tensor."""
    value = single(value)
    if isinstance(value, (bool, int)):
        return int(value)
    if hasattr(value, "__index__") and not isinstance(value, TensorBase):
        return int(value.__index__())
    raise attribute_error(op, i, "an int", value)


def int_array(op: OpDef, i: int, value: Any) -> tuple[int, ...]:
    """A tuple of int, from an int, a sequence of int or one-element tensors, or an integer tensor or array."""
    if isinstance(value, TensorBase):
        array = value.impl.array
        if not value.impl.meta.dtype.is_integer:
            raise attribute_error(op, i, "integers", value)
        return tuple([int(v) for v in array.reshape(-1).tolist()])
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return tuple([int(v) for v in value.reshape(-1).tolist()])
    if isinstance(value, (list, tuple)):
        return tuple([integer(op, i, v) for v in value])
    return (integer(op, i, value),)


def boolean(op: OpDef, i: int, value: Any) -> bool:
    """A bool, from a bool, 0, 1 or a one-element bool tensor."""
    value = single(value)
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise attribute_error(op, i, "a bool", value)


def floating(op: OpDef, i: int, value: Any) -> float:
    """A float, from any real number or one-element real tensor."""
    value = single(value)
    if isinstance(value, (bool, int, float)):
        return float(value)
    raise attribute_error(op, i, "a float", value)


def scalar(op: OpDef, i: int, value: Any) -> Any:
    """A Python number, from any number or one-element tensor."""
    value = single(value)
    if isinstance(value, (bool, int, float, complex)):
        return value
    raise attribute_error(op, i, "a number or a one-element Tensor", value)


def data_type(op: OpDef, i: int, value: Any) -> DataType:
    """A DataType, from anything that names one."""
    try:
        return dt.convert_dtype(value)
    except TypeError as error:
        raise explained(TypeError(f"for the argument {op.attrs[i]!r}: {error}"), op, ())


def array_of(op: OpDef, i: int, kind: str, value: Any) -> tuple[Any, ...]:
    """A tuple of the kind's element type."""
    if isinstance(value, (TensorBase, np.ndarray)):
        array = value.impl.array if isinstance(value, TensorBase) else value
        value = array.reshape(-1).tolist()
    if not isinstance(value, (list, tuple)):
        value = [value]
    element = kind[:-2]
    if element == "str":
        for v in value:
            if not isinstance(v, str):
                raise attribute_error(op, i, "a list of str", v)
        return tuple(value)
    if element == "bool":
        return tuple([boolean(op, i, v) for v in value])
    if element == "float" or element == "double":
        return tuple([floating(op, i, v) for v in value])
    return tuple([scalar(op, i, v) for v in value])
