"""Kernels of take_along_axis and put_along_axis."""

from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import ALL, FLOATING_OR_COMPLEX, INTEGER, kernel
from wherry.kernels.numpy.common import Array, in_float32
from wherry.kernels.numpy.gather import last_writer
from wherry.kernels.numpy.scatter import in_bounds, own

_UFUNCS = {
    "add": np.add,
    "mean": np.add,
    "mul": np.multiply,
    "multiply": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def along_key(indices: Array, axis: int) -> tuple[Any, ...]:
    """The NumPy key that takes, at each place, the element that the indices name along the axis."""
    ndim = indices.ndim
    return tuple(
        indices if i == axis else np.arange(dim).reshape((dim,) + (1,) * (ndim - 1 - i))
        for i, dim in enumerate(indices.shape)
    )


def along_positions(shape: tuple[int, ...], indices: Array, axis: int) -> Array:
    """Flat positions in a C-contiguous array of that shape."""
    total: Any = 0
    step = 1
    key = along_key(indices, axis)
    for i in range(len(shape) - 1, -1, -1):
        total = total + key[i].astype(np.int64) * step
        step *= shape[i]
    return np.broadcast_to(total, indices.shape).reshape(-1)


@kernel("take_along_axis", ALL)
def take_along_axis(arr: Array, indices: Array, axis: int) -> Array:
    """The elements that the indices name along the axis."""
    axis = axis % arr.ndim
    picked: Array = arr[along_key(in_bounds(indices, arr.shape[axis], axis, "indices"), axis)]
    return picked


@kernel("put_along_axis", ALL, out=True)
def put_along_axis(
    arr: Array, indices: Array, values: Array, axis: int, reduce: str, include_self: bool, out: Array | None = None
) -> Array:
    """arr with values put or reduced in along the axis."""
    axis = axis % arr.ndim
    indices = in_bounds(indices, arr.shape[axis], axis, "indices")
    values = values[tuple(slice(0, dim) for dim in indices.shape)]
    if out is not None and (np.may_share_memory(values, out) or np.may_share_memory(indices, out)):
        values, indices = values.copy(), indices.copy()
    if reduce != "assign":
        reduced = _reduced(arr, indices, values, axis, reduce, include_self)
        if out is None:
            return reduced
        out[...] = reduced
        return out
    result = own(arr, out)
    result[along_key(np.ascontiguousarray(indices), axis)] = values
    return result


def _reduced(arr: Array, indices: Array, values: Array, axis: int, reduce: str, include_self: bool) -> Array:
    @in_float32
    def compute(arr: Array, values: Array) -> Array:
        flat = np.array(arr, order="C").reshape(-1)
        places = along_positions(arr.shape, indices, axis)
        new = np.ascontiguousarray(values).reshape(-1)
        if not include_self:
            # What the first value is combined with changes nothing; a maximum may start from any of the values.
            start: Any = {"add": 0, "mean": 0, "mul": 1, "multiply": 1}.get(reduce, new)
            flat[places] = start
        _UFUNCS[reduce].at(flat, places, new)
        if reduce == "mean":
            counts = _counts(flat.size, places, include_self)
            touched = counts > 1
            whole = flat.dtype.kind in "iub"
            flat[touched] = (
                flat[touched] // counts[touched] if whole else flat[touched] / counts[touched].astype(flat.dtype)
            )
        return flat.reshape(arr.shape)

    result: Array = compute(arr, values)
    return result


def _counts(size: int, places: Array, include_self: bool) -> Array:
    """How many values make each element: those put there, and its own."""
    counts = np.bincount(places, minlength=size)
    return counts + 1 if include_self else np.maximum(counts, 1)


@kernel("put_along_axis_count", FLOATING_OR_COMPLEX)
def put_along_axis_count(arr: Array, indices: Array, axis: int, include_self: bool) -> Array:
    """How many values make each element of put_along_axis."""
    axis = axis % arr.ndim
    places = along_positions(arr.shape, in_bounds(indices, arr.shape[axis], axis, "indices"), axis)
    return _counts(arr.size, places, include_self).reshape(arr.shape).astype(arr.dtype)


@kernel("put_along_axis_order", INTEGER)
def put_along_axis_order(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Array, Array, Array]:
    """An order in which the flattened values that go to one element stand together; the place of each value in it; where a new element begins."""
    axis = axis % len(shape)
    places = along_positions(shape, in_bounds(indices, shape[axis], axis, "indices"), axis)
    order = np.argsort(places, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    together = places[order]
    return order, place, np.append(True, together[1:] != together[:-1])[: order.size]


@kernel("put_along_axis_grad", FLOATING_OR_COMPLEX)
def put_along_axis_grad(grad: Array, indices: Array, axis: int) -> Array:
    """The gradient of assigned values: zero for a value that a later one has overwritten."""
    axis = axis % grad.ndim
    indices = in_bounds(indices, grad.shape[axis], axis, "indices")
    picked: Array = grad[along_key(indices, axis)]
    places = along_positions(grad.shape, indices, axis)
    return np.where(last_writer(places, grad.size).reshape(indices.shape), picked, np.zeros((), grad.dtype))
