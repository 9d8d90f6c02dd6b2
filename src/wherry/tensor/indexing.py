"""`x[key]` and `x[key] = value`: keys are parsed into a basic spec and index tensors, and handed to the operations.

Integers, slices, None and Ellipsis are applied first, as one view; index tensors then index axes of that view. So an integer beside
an index tensor does not take part in the tensors' broadcasting, as in Paddle (and unlike NumPy).
"""

import operator
from typing import Any

import numpy as np

from wherry.autograd.ad_func import ad_func
from wherry.autograd.eager import from_number
from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.inplace import ad_func_inplace
from wherry.autograd.structures import TensorBase
from wherry.autograd.type_promotion import cast_to
from wherry.core.dense_tensor import dense_from_array
from wherry.core.errors import explained

_EXPECTED = "integers, slices, None, ..., bool and integer tensors, arrays and lists"


def parse_key(key: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[TensorBase]]:
    """A key as (spec, index tensors).

    Without index tensors the spec is a NumPy key with one Ellipsis; with them it is (such a key, the axes of its result that they
    index), and with masks of several axes (key, axes, how many axes each tensor takes). Raises IndexError for an index out of bounds, too many of them, or a mask of the wrong shape, TypeError for anything
    that cannot index, ValueError for a slice step of 0.
    """
    if type(key) is int or type(key) is slice:
        return (plain_slice(key) if type(key) is slice else key, Ellipsis), []
    items = key if isinstance(key, tuple) else (key,)
    basic: list[Any] = []
    axes: list[int] = []
    widths: list[int] = []
    indices: list[Any] = []
    axis = place = 0
    ellipsis_at = -1
    for position, item in enumerate(items):
        kind = type(item)
        if kind is int:
            basic.append(item)
            axis += 1
        elif kind is slice:
            basic.append(plain_slice(item))
            axis += 1
            place += 1
        elif item is None:
            basic.append(None)
            place += 1
        elif item is Ellipsis:
            if ellipsis_at >= 0:
                raise IndexError("expected at most one ... in an index, received two")
            rest = len(shape) - consumed(items)
            ellipsis_at = position
            basic.append(Ellipsis)
            axis += max(rest, 0)
            place += max(rest, 0)
        else:
            index = index_of(item)
            if isinstance(index, int):
                basic.append(index)
                axis += 1
            elif index_kind(index) != "b":
                basic.append(slice(None))
                axes.append(place)
                widths.append(1)
                indices.append(index)
                axis += 1
                place += 1
            else:
                axes.append(place)
                indices.append(mask_places(index, shape, axis))
                width = index.ndim
                basic.extend([slice(None)] * width if width else [None])
                axis += width
                width = max(width, 1)
                widths.append(width)
                place += width
    if axis > len(shape):
        raise IndexError(f"expected at most {len(shape)} indices for a tensor of shape {list(shape)}, received {axis}")
    if ellipsis_at < 0:
        basic.append(Ellipsis)
    if not axes:
        return tuple(basic), []
    tensors = [as_tensor(i) for i in indices]
    if max(widths) == 1:
        return (tuple(basic), tuple(axes)), tensors
    return (tuple(basic), tuple(axes), tuple(widths)), tensors


def plain_slice(item: slice) -> slice:
    """A slice of plain integers and None; raises TypeError for anything else in it and ValueError for a step of 0."""
    start, stop, step = item.start, item.stop, item.step
    if step is None and (start is None or type(start) is int) and (stop is None or type(stop) is int):
        return item
    item = slice(bound(start), bound(stop), bound(step))
    if item.step == 0:
        raise ValueError("expected a slice step other than 0, received 0")
    return item


def bound(value: Any) -> int | None:
    """A bound of a slice as an int or None."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, TensorBase):
        array = value.impl.array
        if array.size == 1 and array.dtype.kind in "iub":
            return int(array.reshape(-1)[0])
    elif isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iub":
        return int(value.reshape(-1)[0])
    else:
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(
        f"expected integers, integer tensors of one element, or None in a slice, received {type(value).__name__} {value!r}"
    )


def consumed(items: tuple[Any, ...]) -> int:
    """How many axes the items of a key take, the Ellipsis apart."""
    count = 0
    for item in items:
        if type(item) is int or type(item) is slice:
            count += 1
        elif item is not None and item is not Ellipsis:
            index = index_of(item)
            count += index.ndim if not isinstance(index, int) and index_kind(index) == "b" else 1
    return count


def index_of(item: Any) -> Any:
    """What indexes with values: an int for any single integer, else a Tensor or a NumPy array of integers or bool."""
    if isinstance(item, TensorBase):
        dtype = item.impl.meta.dtype
        if dtype.is_integer:
            return int(item.impl.array) if item.impl.meta.ndim == 0 else item
        if dtype.is_bool:
            return item.impl.array
        raise TypeError(f"expected index tensors of an integer dtype or bool, received {dtype.name}")
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (list, tuple, range)):
        array = np.asarray(plain_list(item))
        if array.size == 0:
            array = array.astype(np.int64)
    elif isinstance(item, np.ndarray):
        array = item
    else:
        try:
            return operator.index(item)
        except TypeError:
            raise TypeError(f"expected {_EXPECTED} in an index, received {type(item).__name__} {item!r}") from None
    if array.dtype.kind not in "iub":
        raise TypeError(f"expected {_EXPECTED} in an index, received a {type(item).__name__} of {array.dtype}")
    return int(array) if array.ndim == 0 and array.dtype.kind != "b" else array


def plain_list(item: Any) -> Any:
    """A nested sequence with the tensors in it replaced by their values."""
    if isinstance(item, TensorBase):
        return item.impl.array
    if isinstance(item, (list, tuple)):
        return [plain_list(i) for i in item]
    if item is None or isinstance(item, (slice, str)) or item is Ellipsis:
        raise TypeError(f"expected integers or bool in a list that indexes, received {type(item).__name__} {item!r}")
    return item


def index_kind(index: Any) -> str:
    """NumPy's letter for the kind of dtype of an index."""
    return str((index.impl.array if isinstance(index, TensorBase) else index).dtype.kind)


def mask_places(array: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The numbers of the true elements of a mask; one without dimensions is a new axis of size 1, taken once or not at all."""
    taken = shape[axis : axis + array.ndim]
    if array.shape != taken:
        raise IndexError(
            f"expected a mask of shape {list(taken)} at axis {axis} of a tensor of shape {list(shape)}, received {list(array.shape)}"
        )
    return array.reshape(-1).nonzero()[0]


def as_tensor(index: Any) -> TensorBase:
    """An index as a Tensor."""
    if isinstance(index, TensorBase):
        return index
    return new_tensor(dense_from_array(np.array(index, np.int64)))


def getitem(x: TensorBase, key: Any) -> Any:
    """`x[key]`: a view of x for a basic key, a copy where index tensors take part.

    Raises IndexError that names index, axis and size, TypeError for a key of another type. Source: paddle.Tensor.__getitem__.
    """
    op = REGISTRY.ops["getitem_basic"]
    try:
        spec, indices = parse_key(key, x.impl.meta.shape)
    except Exception as error:
        raise explained(error, op, (x,))
    if not indices:
        return ad_func(op, (x,), (spec,))
    return ad_func(REGISTRY.ops["getitem_advanced"], (x, indices), (spec,))


def setitem(x: TensorBase, key: Any, value: Any) -> None:
    """`x[key] = value`, in place: the value takes x's dtype and broadcasts to the region.

    Raises IndexError as `getitem`, ValueError for a value that does not broadcast, TypeError for one that is no number, tensor
    or array; nothing is written then. Source: paddle.Tensor.__setitem__.
    """
    op = REGISTRY.ops["setitem_basic"]
    try:
        spec, indices = parse_key(key, x.impl.meta.shape)
        value = value_of(value, x)
    except Exception as error:
        raise explained(error, op, (x,))
    if not indices:
        ad_func_inplace(op, (x, value), (spec,))
    else:
        ad_func_inplace(REGISTRY.ops["setitem_advanced"], (x, value, indices), (spec, False))


def value_of(value: Any, x: TensorBase) -> TensorBase:
    """An assigned value as a Tensor of x's dtype; a cast of a tensor is recorded."""
    meta = x.impl.meta
    if isinstance(value, TensorBase):
        return value if value.impl.meta.dtype is meta.dtype else cast_to(value, meta.dtype)
    if isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)):
        if type(value) is int and meta.dtype.is_integer:
            return from_number(value, meta)
        array = np.asarray(value)
        if array.dtype.kind == "c" and not meta.dtype.is_complex:
            raise TypeError(
                f"expected a real value to assign to a tensor of dtype {meta.dtype.name}, received a complex one"
            )
        with np.errstate(all="ignore"):
            return new_tensor(dense_from_array(array.astype(meta.dtype.numpy)))
    raise TypeError(f"expected a number, a Tensor or a NumPy array to assign, received {type(value).__name__}")
