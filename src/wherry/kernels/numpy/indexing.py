"""Kernels of `x[key]` and `x[key] = value`."""

from typing import Any

import numpy as np

from wherry.dispatch.kernel_factory import ALL, FLOATING_OR_COMPLEX, kernel
from wherry.infermeta.indexing import AdvancedSpec, BasicSpec, merged_axes
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.scatter import add_at, own


@kernel("getitem_basic", ALL)
def getitem_basic(x: Array, spec: BasicSpec) -> Array:
    """A view; the key's Ellipsis keeps NumPy from making a scalar of a single element."""
    view: Array = x[spec]
    return view


@kernel("getitem_basic_grad", FLOATING_OR_COMPLEX)
def getitem_basic_grad(grad: Array, spec: BasicSpec, shape: tuple[int, ...]) -> Array:
    """The gradient in its region, zeros elsewhere."""
    result = np.zeros(shape, grad.dtype)
    result[spec] = grad
    return result


@kernel("setitem_basic", ALL, out=True)
def setitem_basic(x: Array, value: Array, spec: BasicSpec, out: Array | None = None) -> Array:
    """x with the region replaced."""
    result = own(x, out)
    result[spec] = value
    return result


def full_key(indices: list[Array], axes: tuple[int, ...]) -> tuple[Any, ...]:
    """The NumPy key that indexes some axes with arrays and takes the others whole."""
    key: list[Any] = [slice(None)] * (axes[-1] + 1)
    for axis, index in zip(axes, indices):
        key[axis] = index
    return tuple(key)


def explained_bounds(x: Array, indices: list[Array], spec: AdvancedSpec, error: IndexError) -> IndexError:
    """An IndexError that names the first index out of bounds, its axis in x, and the size there."""
    basic, axes = spec[0], spec[1]
    for axis, index in zip(axes, indices):
        size = x[basic].shape[axis]
        outside = (index < -size) | (index >= size)
        if outside.any():
            where = _axis_of(x.ndim, basic, axis)
            value = int(index.reshape(-1)[outside.reshape(-1).argmax()])
            return IndexError(
                f"expected indices in [{-size}, {size}) for axis {where} of size {size}, received {value}"
            )
    return error


def _axis_of(ndim: int, basic: BasicSpec, position: int) -> int:
    """The axis of x that the axis `position` of the basic key's result is."""
    used = sum(1 for item in basic if item is not None and item is not Ellipsis)
    axis, place = 0, 0
    for item in basic:
        width = ndim - used if item is Ellipsis else 0 if type(item) is int else 1
        if place <= position < place + width:
            return axis + position - place
        place += width
        axis += ndim - used if item is Ellipsis else 0 if item is None else 1
    return axis


def target_of(x: Array, spec: AdvancedSpec, indices: list[Array]) -> tuple[Array, list[Array], tuple[int, ...]]:
    """The view of x that the index arrays index, the arrays, and the axes; never a copy.

    Where axes cannot be made one in place, the numbers of their elements are taken apart into an index for each axis.
    """
    view, axes = x[spec[0]], spec[1]
    if len(spec) == 2:
        return view, indices, axes
    shape, places = merged_axes(view.shape, axes, spec[2])
    try:
        return view.reshape(shape, copy=False), indices, places
    except ValueError:
        pass
    apart: list[Array] = []
    each: list[int] = []
    for axis, width, index in zip(axes, spec[2], indices):
        apart += np.unravel_index(index, view.shape[axis : axis + width]) if width > 1 else [index]
        each += range(axis, axis + width)
    return view, apart, tuple(each)


def checked_pick(x: Array, indices: list[Array], spec: AdvancedSpec) -> Array:
    """The indexed elements, in fresh memory."""
    view, arrays, axes = target_of(x, spec, indices)
    try:
        if len(axes) == 1 and view.size:
            # On an array without elements it would not look at the indices.
            return view.take(arrays[0], axes[0])
        picked: Array = view[full_key(arrays, axes)]
        return picked
    except IndexError as error:
        raise explained_bounds(x, indices, spec, error) from None


@kernel("getitem_advanced", ALL)
def getitem_advanced(x: Array, indices: list[Array], spec: AdvancedSpec) -> Array:
    """A copy of the indexed elements."""
    return checked_pick(x, indices, spec)


def positions(shape: tuple[int, ...], indices: list[Array], spec: AdvancedSpec) -> Array:
    """The flat position in a C-contiguous array of that shape of each element of the region.

    Worked out from strides, so that it costs as much as the region is large, not the array.
    """
    axes: tuple[int, ...] = spec[1]
    steps, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        steps[axis] = step
        step *= shape[axis]
    offset, dims, strides = _walk(shape, tuple(steps), spec[0])
    if len(spec) > 2:
        # The axes of a mask are whole, so the last one's stride steps through all of them.
        last = [axis + width - 1 for axis, width in zip(axes, spec[2])]
        kept = [i for i in range(len(dims)) if i in last or not any(a <= i < e for a, e in zip(axes, last))]
        strides = [strides[i] for i in kept]
        merged, axes = merged_axes(tuple(dims), axes, spec[2])
        dims = list(merged)
    ndim = sum(1 for axis in range(len(dims)) if axis not in axes)
    first = axes[0] if axes[-1] - axes[0] + 1 == len(axes) else 0
    joint = np.broadcast_arrays(*indices) if len(indices) > 1 else indices
    total: Any = 0
    for axis, index in zip(axes, joint):
        wide = index.astype(np.int64)
        total = total + np.where(wide < 0, wide + dims[axis], wide) * strides[axis]
    depth = joint[0].ndim
    total = total.reshape(total.shape + (1,) * (ndim - first)) + offset
    place = 0
    for axis, dim in enumerate(dims):
        if axis in axes:
            continue
        # Axes before the tensors' own stand in front of them, the others behind.
        behind = ndim - 1 - place + (depth if place < first else 0)
        total = total + (np.arange(dim) * strides[axis]).reshape((dim,) + (1,) * behind)
        place += 1
    result: Array = total
    return result


def _walk(shape: tuple[int, ...], steps: tuple[int, ...], basic: BasicSpec) -> tuple[int, list[int], list[int]]:
    """Offset, sizes and strides (in elements) of a basic key's view."""
    used = sum(1 for item in basic if item is not None and item is not Ellipsis)
    offset, axis = 0, 0
    dims: list[int] = []
    strides: list[int] = []
    for item in basic:
        if item is None:
            dims.append(1)
            strides.append(0)
        elif item is Ellipsis:
            for _ in range(len(shape) - used):
                dims.append(shape[axis])
                strides.append(steps[axis])
                axis += 1
        elif type(item) is int:
            offset += (item + shape[axis] if item < 0 else item) * steps[axis]
            axis += 1
        else:
            start, stop, step = item.indices(shape[axis])
            offset += start * steps[axis]
            dims.append(len(range(start, stop, step)))
            strides.append(step * steps[axis])
            axis += 1
    return offset, dims, strides


@kernel("getitem_advanced_grad", FLOATING_OR_COMPLEX)
def getitem_advanced_grad(grad: Array, indices: list[Array], spec: AdvancedSpec, shape: tuple[int, ...]) -> Array:
    """The gradients of an element taken several times add up."""
    result = np.zeros(shape, grad.dtype)
    index = indices[0]
    if len(indices) == 1 and index.ndim == 1 and (index[1:] > index[:-1]).all() and (index.size == 0 or index[0] >= 0):
        # No element is taken twice: a mask, or indices in order.
        view, arrays, axes = target_of(result, spec, indices)
        view[full_key(arrays, axes)] = grad
    else:
        add_at(result, positions(shape, indices, spec), grad)
    return result


@kernel("setitem_advanced", ALL, out=True)
def setitem_advanced(
    x: Array, value: Array, indices: list[Array], spec: AdvancedSpec, accumulate: bool, out: Array | None = None
) -> Array:
    """x with the region replaced (the last of several values for an element stays) or added to."""
    if len(indices) > 1:
        # In memory order, which is the order of assignment.
        indices = [np.array(i, order="C") for i in np.broadcast_arrays(*indices)]
    elif not indices[0].flags.c_contiguous:
        indices = [np.array(indices[0], order="C")]
    if out is not None and np.may_share_memory(value, out):
        value = value.copy()
    if out is not None:
        indices = [i.copy() if np.may_share_memory(i, out) else i for i in indices]
    try:
        if accumulate:
            checked_pick(x, indices, spec)
            result = own(x, out)
            _accumulate(result, value, indices, spec)
        else:
            result = own(x, out)
            view, arrays, axes = target_of(result, spec, indices)
            ndim = view.ndim - len(axes) + arrays[0].ndim
            view[full_key(arrays, axes)] = value.reshape(value.shape[max(0, value.ndim - ndim) :])
    except IndexError as error:
        raise explained_bounds(x, indices, spec, error) from None
    return result


def _accumulate(result: Array, value: Array, indices: list[Array], spec: AdvancedSpec) -> None:
    places = positions(result.shape, indices, spec)
    value = value.reshape(value.shape[max(0, value.ndim - places.ndim) :])
    if result.flags.c_contiguous:
        add_at(result, places, value)
        return
    dense = np.ascontiguousarray(result)
    add_at(dense, places, value)
    result[...] = dense


@kernel("setitem_advanced_grad", FLOATING_OR_COMPLEX)
def setitem_advanced_grad(grad: Array, indices: list[Array], spec: AdvancedSpec) -> Array:
    """The gradient of the written values: zero for a value that a later one has overwritten."""
    places = positions(grad.shape, indices, spec)
    flat = places.reshape(-1)
    order = np.arange(flat.size)
    last = np.zeros(grad.size, np.int64)
    last[flat] = order
    picked = np.ascontiguousarray(grad).reshape(-1)[flat]
    picked[last[flat] != order] = 0
    return picked.reshape(places.shape)
