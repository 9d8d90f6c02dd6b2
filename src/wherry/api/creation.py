"""Public functions that make tensors, where Paddle's signature is not the entry's."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default, get_default_complex, get_default_dtype, set_default_dtype
from wherry.core.dtype import DataType, convert_dtype
from wherry.core.place import CPU_PLACE
from wherry.core.state import observers
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = [
    "arange",
    "assign",
    "clone",
    "diagflat",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "get_default_dtype",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "set_default_dtype",
    "to_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]
METHODS = ["clone", "diagflat"]

DTypeLike = Any
ShapeLike = Any


def check_device(device: Any, argument: str = "device") -> None:
    """Raises NotImplementedError unless the device is None or the CPU."""
    if device is None or device == CPU_PLACE or (isinstance(device, str) and device.split(":")[0] == "cpu"):
        return
    raise NotImplementedError(f"expected {argument} None or 'cpu', received {device!r}: it has no backend")


def finished(tensor: Any, out: Any, device: Any, requires_grad: bool, pin_memory: bool = False) -> Any:
    """Apply what creation functions share: `out` takes the values, `requires_grad` clears stop_gradient."""
    check_device(device)
    if pin_memory:
        raise NotImplementedError("expected pin_memory=False, received True: there is no GPU backend to pin memory for")
    if out is not None:
        out.set_value(tensor.astype(out.dtype) if out.dtype is not tensor.dtype else tensor)
        tensor = out
    if requires_grad:
        tensor.stop_gradient = False
    return tensor


def float_dtype(dtype: DTypeLike | None) -> DataType:
    """The dtype asked for, else the default floating one."""
    return get_default() if dtype is None else convert_dtype(dtype)


def number(value: Any, name: str) -> Any:
    """A Python number from a number, a NumPy scalar or a tensor of one element; raises TypeError or ValueError for
    others.
    """
    if isinstance(value, Tensor):
        if value.size != 1:
            raise ValueError(f"expected {name} to be a number or of one element, received shape {list(value.shape)}")
        return value.item()
    if isinstance(value, (np.generic, np.ndarray)) and value.size == 1:
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        return value
    raise TypeError(f"expected {name} to be a number or a tensor of one element, received {type(value).__name__}")


def to_tensor(data: Any, dtype: DTypeLike | None = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """A tensor with a copy of the data: a number, nested lists or tuples of numbers or tensors, a NumPy array, or a
    tensor.

    Without `dtype`, Python numbers become bool, int64, the default float or its complex; lists of NumPy floats count as
    Python ones; NumPy arrays and tensors keep their dtype (uint16 arrays are bfloat16 bits, as in Paddle). Raises
    TypeError for data or a dtype that no tensor has, ValueError for ragged lists, NotImplementedError for a place other
    than the CPU. Source: paddle.to_tensor.
    """
    check_device(place, "place")
    wanted = None if dtype is None else convert_dtype(dtype)
    array = _array_of(data, wanted is None)
    if wanted is not None and array.dtype != wanted.numpy:
        array = cast_array(array, wanted)
    tensor = tensor_from_array(np.array(array, order="C"), stop_gradient)
    for observer in observers():
        observer.tensor_created(tensor, data)
    return tensor


def cast_array(array: "np.ndarray[Any, Any]", dtype: DataType) -> "np.ndarray[Any, Any]":
    """The array in another dtype as C casts it: complex numbers lose their imaginary part, integers wrap."""
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    return array.astype(dtype.numpy)


def _array_of(data: Any, defaults: bool) -> "np.ndarray[Any, Any]":
    """The data as an array; with `defaults`, Python numbers in the dtypes that Paddle gives them, otherwise with all their digits."""
    if isinstance(data, Tensor):
        return data.impl.array
    if isinstance(data, np.ndarray):
        if data.dtype == np.uint16:
            return data.view(dt.bfloat16.numpy)
        return _checked(data)
    if isinstance(data, np.generic):
        return _checked(np.asarray(data))
    if isinstance(data, (bool, int, float, complex)):
        return _default_kind(np.array(data), defaults)
    if isinstance(data, (list, tuple)):
        return _array_of_list(data, defaults)
    if isinstance(data, memoryview) or hasattr(data, "__array__"):
        return _checked(np.asarray(data))
    raise TypeError(
        f"expected data that is a number, a list, a tuple, a NumPy array or a Tensor, received {type(data).__name__}"
    )


def _default_kind(array: "np.ndarray[Any, Any]", defaults: bool) -> "np.ndarray[Any, Any]":
    """Python numbers' arrays in the dtypes that Paddle gives them."""
    if not defaults:
        return _checked(array)
    if array.dtype.kind == "f":
        return array.astype(get_default().numpy)
    if array.dtype.kind == "c":
        return array.astype(get_default_complex().numpy)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64)
    return _checked(array)


def _checked(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    if array.dtype.byteorder not in ("=", "|", "<" if np.little_endian else ">"):
        array = array.astype(array.dtype.newbyteorder("="))
    dt.from_numpy(array.dtype)
    return array


def _array_of_list(data: Sequence[Any], defaults: bool) -> "np.ndarray[Any, Any]":
    dtypes: set[Any] = set()
    weak: list[Any] = []
    plain = _plain(data, dtypes, weak) if _holds_tensor(data) else data
    try:
        array = np.array(plain)
    except ValueError as error:
        raise ValueError(f"expected lists that are nested evenly, received ragged ones ({error})") from None
    if dtypes:
        # Python numbers beside tensors take the tensors' dtype where it can hold their kind.
        common = np.result_type(*dtypes, *weak) if not _has_bfloat16(dtypes) else next(iter(dtypes))
        return array.astype(common)
    return _default_kind(array, defaults)


def _has_bfloat16(dtypes: set[Any]) -> bool:
    return len(dtypes) == 1 and dt.bfloat16.numpy in dtypes


def _holds_tensor(data: Sequence[Any]) -> bool:
    """Whether a tensor stands anywhere in the nested lists; looks at each list's types once, not at each number."""
    types = set(map(type, data))
    if any(issubclass(kind, Tensor) for kind in types):
        return True
    if not any(issubclass(kind, (list, tuple)) for kind in types):
        return False
    return any(isinstance(item, (list, tuple)) and _holds_tensor(item) for item in data)


def _plain(data: Any, dtypes: set[Any], weak: list[Any]) -> Any:
    """The nested lists with arrays for tensors.

    With tensors, `dtypes` collects their dtypes, `weak` one Python number of each kind.
    """
    if isinstance(data, (list, tuple)):
        return [_plain(item, dtypes, weak) for item in data]
    if isinstance(data, Tensor):
        dtypes.add(data.dtype.numpy)
        return data.impl.array
    if isinstance(data, (int, float, complex)) and not any(type(data) is type(w) for w in weak):
        weak.append(type(data)(0))
    return data


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros of a shape, in the default float unless dtype says otherwise. Source: paddle.zeros."""
    made = _C_ops.full(() if shape is None else shape, 0, float_dtype(dtype))
    return finished(made, out, device, requires_grad, pin_memory)


def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones of a shape, in the default float unless dtype says otherwise. Source: paddle.ones."""
    made = _C_ops.full(() if shape is None else shape, 1, float_dtype(dtype))
    return finished(made, out, device, requires_grad, pin_memory)


def _fill_number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else number(value, "fill_value")


def full(
    shape: ShapeLike,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`fill_value` (a number, its text, or a tensor of one element) in every place of a shape.

    Without dtype: bool for a bool, complex128 for a complex number, else the default float. Source: paddle.full.
    """
    value = _fill_number(fill_value)
    if dtype is not None:
        wanted = convert_dtype(dtype)
    elif isinstance(value, bool):
        wanted = dt.bool_
    else:
        wanted = dt.complex128 if isinstance(value, complex) else get_default()
    made = _C_ops.full(() if shape is None else shape, value, wanted)
    return finished(made, out, device, requires_grad, pin_memory)


def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of a shape whose values are whatever was in memory, in the default float unless dtype says otherwise.

    Source: paddle.empty.
    """
    made = _C_ops.empty(() if shape is None else shape, float_dtype(dtype))
    return finished(made, out, device, requires_grad, pin_memory)


def zeros_like(
    x: Tensor,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros of x's shape and, unless dtype says otherwise, its dtype. Source: paddle.zeros_like."""
    return finished(_C_ops.full_like(x, 0, dtype), None, device, requires_grad, pin_memory)


def ones_like(
    x: Tensor,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones of x's shape and, unless dtype says otherwise, its dtype. Source: paddle.ones_like."""
    return finished(_C_ops.full_like(x, 1, dtype), None, device, requires_grad, pin_memory)


def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`fill_value` in every place of x's shape, in x's dtype unless dtype says otherwise. Source: paddle.full_like."""
    made = _C_ops.full_like(x, _fill_number(fill_value), dtype)
    return finished(made, None, device, requires_grad, pin_memory)


def empty_like(
    x: Tensor,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of x's shape whose values are whatever was in memory. Source: paddle.empty_like."""
    return finished(_C_ops.empty_like(x, dtype), None, device, requires_grad, pin_memory)


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """The numbers from `start`, `step` apart, up to but without `end`; arange(n) counts from 0.

    Numbers or tensors of one element. Without dtype: int64 where all are integers, else the default
    float. Raises ValueError for a step of 0. Source: paddle.arange.
    """
    if end is None:
        start, end = 0, start
    wanted = _arange_dtype((start, end, step)) if dtype is None else convert_dtype(dtype)
    made = _C_ops.arange(number(start, "start"), number(end, "end"), number(step, "step"), wanted)
    return finished(made, out, device, requires_grad, pin_memory)


def _arange_dtype(values: tuple[Any, ...]) -> DataType:
    for value in values:
        whole = value.dtype.is_integer if isinstance(value, Tensor) else isinstance(value, (int, np.integer))
        if not whole:
            return get_default()
    return dt.int64


def linspace(
    start: Any,
    stop: Any,
    num: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included, in the default float unless dtype says
    otherwise.

    Raises ValueError for a negative num. Source: paddle.linspace.
    """
    made = _C_ops.linspace(number(start, "start"), number(stop, "stop"), int(number(num, "num")), float_dtype(dtype))
    return finished(made, out, device, requires_grad)


def logspace(
    start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Powers of `base` with `num` evenly spaced exponents from `start` to `stop`, both included.

    The default float unless dtype says otherwise. Raises ValueError for a negative num. Source: paddle.logspace.
    """
    return _C_ops.logspace(
        number(start, "start"),
        number(stop, "stop"),
        int(number(num, "num")),
        number(base, "base"),
        float_dtype(dtype),
    )


def _count(value: Any, name: str) -> int:
    found = number(value, name)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise TypeError(f"expected {name} to be an integer >= 0, received {value!r}")
    return found


def eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Matrix with ones on the diagonal; square without `num_columns`, in the default float unless dtype says otherwise.

    Raises TypeError for counts that are not integers >= 0. Source: paddle.eye.
    """
    rows = _count(num_rows, "num_rows")
    columns = rows if num_columns is None else _count(num_columns, "num_columns")
    return finished(_C_ops.eye(rows, columns, float_dtype(dtype)), out, device, requires_grad, pin_memory)


def diagflat(x: Tensor, offset: int = 0, name: str | None = None) -> Tensor:
    """Matrix with the elements of x, in row-major order, on a diagonal. Source: paddle.diagflat."""
    return _C_ops.diag(_C_ops.reshape(x, [-1]), offset, 0.0)


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """A copy of a tensor, NumPy array, number or nested list of them, through which gradients pass.

    A number gives shape [1]. Python floats count as float64. `output`, if given, is overwritten (in its own dtype) and returned; gradients
    pass from it to x. Raises TypeError for other data, ValueError for an output of another shape, RuntimeError where it is a leaf that needs a
    gradient and x needs one too. Source: paddle.assign.
    """
    if isinstance(x, Tensor):
        made = _C_ops.assign(x)
    else:
        made = _assigned(x)
    if output is None:
        return made
    if list(made.shape) != list(output.shape):
        raise ValueError(
            f"assign: expected an output of the data's shape {list(made.shape)}, received {list(output.shape)}"
        )
    if made.stop_gradient and output.is_leaf:
        output.set_value(_C_ops.cast(made, output.dtype))
    else:
        output[...] = made
    return output


def _assigned(x: Any) -> Tensor:
    if isinstance(x, (list, tuple)) and x and all(isinstance(item, Tensor) for item in x):
        return _C_ops.stack(list(x), 0)
    if isinstance(x, (bool, int, float, complex, np.generic)):
        x = [x]
    if not isinstance(x, (list, tuple, np.ndarray)):
        raise TypeError(f"expected a Tensor, a NumPy array, a number or a list, received {type(x).__name__}")
    array = np.asarray(_plain(x, set(), []) if isinstance(x, (list, tuple)) else x)
    return tensor_from_array(np.array(_checked(array), order="C"), True)


def clone(x: Tensor, name: str | None = None) -> Tensor:
    """A copy through which gradients pass. Source: paddle.clone."""
    return _C_ops.assign(x)


def tril_indices(row: int, col: int, offset: int = 0, dtype: DTypeLike = "int64") -> Tensor:
    """Row and column numbers of a matrix's lower triangle, as a tensor of two rows.

    `offset` counts upwards from the main diagonal. Raises TypeError for negative sizes. Source: paddle.tril_indices.
    """
    return _C_ops.tril_indices(_count(row, "row"), _count(col, "col"), offset, convert_dtype(dtype))


def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: DTypeLike = "int64") -> Tensor:
    """Row and column numbers of a matrix's upper triangle, as a tensor of two rows; square without `col`.

    `offset` counts upwards from the main diagonal. Raises TypeError for negative sizes. Source: paddle.triu_indices.
    """
    rows = _count(row, "row")
    return _C_ops.triu_indices(rows, rows if col is None else _count(col, "col"), offset, convert_dtype(dtype))
