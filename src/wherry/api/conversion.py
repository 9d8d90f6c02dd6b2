"""Tensors from and to other things, tensors like another, and what a dtype can hold."""

from typing import Any

import ml_dtypes
import numpy as np

from wherry import _C_ops
from wherry.api.creation import DTypeLike, ShapeLike, finished, number, to_tensor
from wherry.core.dtype import convert_dtype
from wherry.infermeta.common import real_dtype
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = [
    "as_tensor",
    "asarray",
    "cartesian_prod",
    "combinations",
    "finfo",
    "from_numpy",
    "iinfo",
    "is_tensor",
    "tolist",
    "view_as_complex",
    "view_as_real",
]
METHODS = ["combinations", "new_empty", "new_full", "new_ones", "new_zeros", "view_as_complex", "view_as_real"]


def is_tensor(x: Any) -> bool:
    """Whether x is a Tensor. Source: paddle.is_tensor."""
    return isinstance(x, Tensor)


def as_tensor(
    data: Any,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`to_tensor` under another name. Source: paddle.as_tensor."""
    return finished(to_tensor(data, dtype), None, device, requires_grad, pin_memory)


def asarray(
    obj: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the data; the memory of a NumPy array or a tensor is shared, where `copy` is not true and dtype
    allows.

    Raises ValueError where copy=False cannot be kept. Source: paddle.asarray.
    """
    wanted = None if dtype is None else convert_dtype(dtype)
    made = None
    if copy is not True and isinstance(obj, np.ndarray) and obj.flags.writeable and obj.dtype != np.uint16:
        made = tensor_from_array(obj, True)
    elif copy is not True and isinstance(obj, Tensor):
        made = obj.detach()
    if made is not None and (wanted is None or made.dtype is wanted):
        return finished(made, None, device, requires_grad)
    if copy is False:
        raise ValueError("expected data that needs no copy, received data that must be copied; pass copy=None")
    return finished(to_tensor(obj, dtype), None, device, requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a NumPy array, which stays shared (a read-only array is copied).

    Raises TypeError for anything but an array. Source: paddle.from_numpy.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected a NumPy array, received {type(ndarray).__name__}")
    return asarray(ndarray)


def tolist(x: Tensor) -> Any:
    """The elements as nested lists of Python numbers. Source: paddle.tolist."""
    return x.tolist()


def view_as_complex(input: Tensor) -> Tensor:
    """The same as `as_complex`, a copy. Source: paddle.view_as_complex."""
    return _C_ops.as_complex(input)


def view_as_real(input: Tensor) -> Tensor:
    """The same as `as_real`, a copy. Source: paddle.view_as_real."""
    return _C_ops.as_real(input)


def _size(size: Any, more: tuple[Any, ...]) -> Any:
    return [size, *more] if more else size


def new_full(
    var: Tensor,
    size: ShapeLike,
    fill_value: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`fill_value` in every place of a shape, in this tensor's dtype unless dtype says otherwise.

    Source: paddle.Tensor.new_full.
    """
    wanted = var.dtype if dtype is None else convert_dtype(dtype)
    made = _C_ops.full(size, number(fill_value, "fill_value"), wanted)
    return finished(made, None, device, requires_grad, pin_memory)


def new_zeros(
    var: Tensor,
    size: ShapeLike,
    *more: int,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros of a shape, in this tensor's dtype unless dtype says otherwise. Source: paddle.Tensor.new_zeros."""
    shape = _size(size, more)
    return new_full(var, shape, 0, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def new_ones(
    var: Tensor,
    size: ShapeLike,
    *more: int,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones of a shape, in this tensor's dtype unless dtype says otherwise. Source: paddle.Tensor.new_ones."""
    shape = _size(size, more)
    return new_full(var, shape, 1, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def new_empty(
    var: Tensor,
    size: ShapeLike,
    *more: int,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Memory as it comes of a shape, in this tensor's dtype unless dtype says otherwise.

    Source: paddle.Tensor.new_empty.
    """
    made = _C_ops.empty(_size(size, more), var.dtype if dtype is None else convert_dtype(dtype))
    return finished(made, None, device, requires_grad, pin_memory)


def cartesian_prod(x: Any, name: str | None = None) -> Tensor:
    """Every way to take one element of each vector, one a row; of a single vector the vector itself.

    Raises ValueError for tensors of other than one dimension. Source: paddle.cartesian_prod.
    """
    vectors = list(x)
    for vector in vectors:
        if vector.ndim != 1:
            raise ValueError(f"expected tensors of 1 dimension, received shape {list(vector.shape)}")
    if len(vectors) == 1:
        return _C_ops.assign(vectors[0])
    sizes = [v.shape[0] for v in vectors]
    columns = []
    for i, vector in enumerate(vectors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        columns.append(_C_ops.reshape(_C_ops.expand(_C_ops.reshape(vector, shape), sizes), [-1]))
    return _C_ops.stack(columns, 1)


def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """Every way to take r elements of the vector x in order, one a row; with_replacement takes an element more than
    once.

    Raises ValueError for x of other than one dimension or a negative r. Source: paddle.combinations.
    """
    import itertools

    if x.ndim != 1:
        raise ValueError(f"expected x of 1 dimension, received shape {list(x.shape)}")
    if r < 0:
        raise ValueError(f"expected r >= 0, received {r}")
    if r == 0:
        return _C_ops.full([0], 0, x.dtype)
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(chosen(range(x.shape[0]), r))
    index = np.array(rows, np.int64).reshape(len(rows), r)
    return _C_ops.reshape(_C_ops.index_select(x, to_tensor(index.reshape(-1)), 0), [len(rows), r])


class finfo:
    """What a floating dtype (a complex one's parts) can hold: bits, eps, min, max, tiny, smallest_normal, resolution,
    dtype.

    Raises TypeError for other dtypes. Source: paddle.finfo.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        found = real_dtype(convert_dtype(dtype))
        if not found.is_floating:
            raise TypeError(f"expected a floating or complex dtype, received {found.name}; integers have iinfo")
        info = ml_dtypes.finfo(found.numpy)
        self.bits = int(info.bits)
        self.eps = float(info.eps)
        self.min = float(info.min)
        self.max = float(info.max)
        self.tiny = float(info.smallest_normal)
        self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -int(info.precision)
        self.dtype = found.name

    def __repr__(self) -> str:
        return (
            f"paddle.finfo(min={self.min:g}, max={self.max:g}, eps={self.eps:g}, resolution={self.resolution:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, bits={self.bits}, dtype={self.dtype})"
        )


class iinfo:
    """What an integer dtype can hold: bits, min, max, dtype.

    Raises TypeError for other dtypes. Source: paddle.iinfo.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        found = convert_dtype(dtype)
        if not found.is_integer:
            raise TypeError(f"expected an integer dtype, received {found.name}; floating ones have finfo")
        info = np.iinfo(found.numpy)
        self.bits = int(info.bits)
        self.min = int(info.min)
        self.max = int(info.max)
        self.dtype = found.name

    def __repr__(self) -> str:
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"
