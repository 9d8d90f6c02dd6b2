"""Kernels of gather, scatter and their kin. Indices are checked before use; negative ones count from the end."""

from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import ALL, FLOATING_OR_COMPLEX, kernel
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.indexing import positions
from wherry.kernels.numpy.scatter import add_at, in_bounds, own


def along(axis: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The spec of one index along an axis."""
    return (Ellipsis,), (axis,)


def taken(x: Array, index: Array, axis: int) -> Array:
    """x's slices at the index, in fresh memory."""
    try:
        return x.take(index, axis)
    except IndexError:
        in_bounds(index, x.shape[axis], axis)
        raise


def add_slices(target: Array, index: Array, values: Array, axis: int) -> None:
    """Add slices to an array, contiguous or not, along an axis."""
    index = in_bounds(index, target.shape[axis], axis)
    dense = target if target.flags.c_contiguous else np.ascontiguousarray(target)
    add_at(dense, positions(target.shape, [index], along(axis)), values)
    if dense is not target:
        target[...] = dense


@kernel("gather", ALL)
def gather(x: Array, index: Array, axis: int) -> Array:
    """Slices of x in the index's order."""
    return taken(x, index.reshape(-1) if index.ndim > 1 else index, axis % x.ndim)


@kernel("gather_grad", FLOATING_OR_COMPLEX)
def gather_grad(grad: Array, index: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """The gradients of a slice taken several times add up."""
    result = np.zeros(shape, grad.dtype)
    add_slices(result, index.reshape(-1) if index.ndim > 1 else index, grad, axis % len(shape))
    return result


@kernel("index_select", ALL)
def index_select(x: Array, index: Array, axis: int) -> Array:
    """Slices of x in the index's order."""
    return taken(x, index.reshape(-1), axis % x.ndim)


@kernel("index_add", ALL, out=True)
def index_add(x: Array, index: Array, add_value: Array, axis: int, out: Array | None = None) -> Array:
    """x with slices added."""
    axis = axis % x.ndim
    index = in_bounds(index.reshape(-1), x.shape[axis], axis)
    value = add_value[(slice(None),) * axis + (slice(0, index.size),)]
    if out is not None and np.may_share_memory(value, out):
        value = value.copy()
    result = own(x, out)
    add_slices(result, index, value, axis)
    return result


def columns(shape: tuple[int, ...], index: Array) -> list[Array]:
    """The checked indices that the last dimension of an n-d index holds, one for each axis."""
    return [in_bounds(index[..., i], shape[i], i) for i in range(index.shape[-1])]


@kernel("gather_nd", ALL)
def gather_nd(x: Array, index: Array) -> Array:
    """Slices of x at n-d positions."""
    if index.shape[-1] == 0:
        return np.broadcast_to(x, index.shape[:-1] + x.shape).copy()
    picked: Array = x[tuple(columns(x.shape, index))]
    return np.asarray(picked)


@kernel("scatter_nd_add", ALL)
def scatter_nd_add(x: Array, index: Array, updates: Array) -> Array:
    """x with slices added at n-d positions."""
    depth = index.shape[-1]
    result = np.array(x, order="C")
    if depth == 0:
        places = np.broadcast_to(np.arange(x.size).reshape(x.shape), updates.shape)
    else:
        places = positions(x.shape, columns(x.shape, index), ((Ellipsis,), tuple(range(depth))))
    add_at(result, places, updates)
    return result


@kernel("scatter", ALL, out=True)
def scatter(x: Array, index: Array, updates: Array, overwrite: bool, out: Array | None = None) -> Array:
    """x with rows replaced, or set to zero and then added to."""
    if index.ndim == 0:
        index, updates = index.reshape(1), updates.reshape((1,) + x.shape[1:])
    index = in_bounds(index.reshape(-1), x.shape[0], 0)
    updates = updates[: index.size]
    if out is not None and np.may_share_memory(updates, out):
        updates = updates.copy()
    result = own(x, out)
    if overwrite:
        result[index] = updates
    else:
        result[index] = 0
        add_slices(result, index, updates, 0)
    return result


def last_writer(places: Array, size: int) -> Array:
    """Whether each of the flat positions is the last of its value."""
    order = np.arange(places.size)
    last = np.zeros(size, np.int64)
    last[places] = order
    result: Array = last[places] == order
    return result


@kernel("scatter_grad", FLOATING_OR_COMPLEX)
def scatter_grad(grad: Array, index: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of the rows that replaced others: zero for a row that a later one has replaced."""
    flat = in_bounds(index.reshape(-1), grad.shape[0], 0)
    result = np.zeros(shape, grad.dtype)
    rows = result.reshape((flat.size if index.ndim == 0 else shape[0],) + grad.shape[1:])
    picked = grad[flat]
    picked[~last_writer(flat, grad.shape[0])] = 0
    rows[: flat.size] = picked
    return result


@kernel("index_sample", ALL)
def index_sample(x: Array, index: Array) -> Array:
    """For each row, the elements that the index's row names."""
    in_bounds(index, x.shape[1], 1, negative=False)
    return np.take_along_axis(x, index, 1)


def flat_index(index: Array, size: int, mode: str) -> Array:
    """An index into the flattened tensor, counted from the front."""
    if mode == "raise":
        return in_bounds(index, size, 0)
    if size == 0 and index.size:
        raise IndexError(
            f"expected a tensor with elements to take from, received none for an index of shape {list(index.shape)}"
        )
    wide = index.astype(np.int64)
    return wide % size if mode == "wrap" and size else wide.clip(0, max(size - 1, 0))


@kernel("take", ALL)
def take(x: Array, index: Array, mode: str) -> Array:
    """Elements of the flattened tensor."""
    return np.asarray(x.reshape(-1)[flat_index(index, x.size, mode)])


@kernel("take_grad", FLOATING_OR_COMPLEX)
def take_grad(grad: Array, index: Array, mode: str, shape: tuple[int, ...]) -> Array:
    """The gradients of an element taken several times add up."""
    result = np.zeros(shape, grad.dtype)
    add_at(result, flat_index(index, result.size, mode), grad)
    return result
