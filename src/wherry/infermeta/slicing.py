"""InferMeta of the operations that take a part of a tensor, pad it, or turn it round."""

from typing import Any

from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axes, canonical_axis
from wherry.infermeta.registry import infer_meta
from wherry.infermeta.shape import count


def slice_key(
    ndim: int, axes: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[slice, ...]:
    """The NumPy key of a slice along some axes; raises ValueError for lengths that differ and for a stride of 0."""
    if not len(axes) == len(starts) == len(ends) == len(strides):
        raise ValueError(
            f"expected lists of one length, received axes {list(axes)} ({len(axes)}), starts {list(starts)} ({len(starts)}), "
            f"ends {list(ends)} ({len(ends)}) and strides {list(strides)} ({len(strides)})"
        )
    key = [slice(None)] * ndim
    for axis, start, end, stride in zip(canonical_axes(axes, ndim, "axes"), starts, ends, strides):
        if stride == 0:
            raise ValueError(f"expected strides other than 0, received {list(strides)}")
        key[axis] = slice(start, end, stride)
    return tuple(key)


def sliced(shape: tuple[int, ...], key: tuple[slice, ...]) -> tuple[int, ...]:
    """The shape that a key of slices gives."""
    return tuple(len(range(*item.indices(dim))) for item, dim in zip(key, shape))


@infer_meta("StridedSliceInferMeta")
def strided_slice(
    x: Meta, axes: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...], strides: tuple[int, ...]
) -> Meta:
    """The sizes of the ranges."""
    return x.with_shape(sliced(x.shape, slice_key(x.ndim, axes, starts, ends, strides)))


@infer_meta("SliceInferMeta")
def slice_(input: Meta, axes: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...]) -> Meta:
    """The sizes of the ranges."""
    return input.with_shape(sliced(input.shape, slice_key(input.ndim, axes, starts, ends, (1,) * len(axes))))


@infer_meta("FlipInferMeta")
def flip(x: Meta, axis: tuple[int, ...]) -> Meta:
    """The same shape."""
    if x.ndim == 0 and axis:
        raise ValueError(f"expected no axis for a 0-D tensor, received {list(axis)}")
    canonical_axes(axis, x.ndim)
    return x


@infer_meta("RollInferMeta")
def roll(x: Meta, shifts: tuple[int, ...], axis: tuple[int, ...]) -> Meta:
    """The same shape."""
    if len(shifts) != (len(axis) if axis else 1):
        raise ValueError(
            f"expected one shift for each axis (one in all where axis is None), received {list(shifts)} for axis {list(axis)}"
        )
    for a in axis:
        if x.ndim == 0:
            raise ValueError(f"expected no axis for a 0-D tensor, received {list(axis)}")
        canonical_axis(a, x.ndim)
    return x


def pad_pairs(ndim: int, paddings: tuple[int, ...]) -> list[tuple[int, int]]:
    """(before, after) of each axis; raises ValueError where there is not one pair an axis."""
    if len(paddings) != 2 * ndim:
        raise ValueError(f"expected {2 * ndim} paddings for {ndim} dimensions, received {list(paddings)}")
    return [(paddings[2 * i], paddings[2 * i + 1]) for i in range(ndim)]


def padded(shape: tuple[int, ...], paddings: tuple[int, ...]) -> tuple[int, ...]:
    """The padded shape; a negative padding crops. Raises ValueError where more is cropped than there is."""
    dims = []
    for axis, (dim, (before, after)) in enumerate(zip(shape, pad_pairs(len(shape), paddings))):
        if dim + before + after < 0 or dim + min(before, 0) + min(after, 0) < 0:
            raise ValueError(
                f"expected paddings that leave a size >= 0, received ({before}, {after}) for axis {axis} of size {dim}"
            )
        dims.append(dim + before + after)
    return tuple(dims)


@infer_meta("PadInferMeta")
def pad(x: Meta, paddings: tuple[int, ...], pad_value: Any) -> Meta:
    """The padded shape."""
    if isinstance(pad_value, complex) and not x.dtype.is_complex:
        raise TypeError(f"expected a real value to pad a tensor of dtype {x.dtype.name}, received {pad_value}")
    return x.with_shape(padded(x.shape, paddings))


@infer_meta("PadModeInferMeta")
def pad_mode(x: Meta, paddings: tuple[int, ...], mode: str) -> Meta:
    """The padded shape; the elements that the mode repeats must be there."""
    if mode not in ("reflect", "replicate", "circular"):
        raise ValueError(f"expected the mode reflect, replicate or circular, received {mode!r}")
    for axis, (dim, pair) in enumerate(zip(x.shape, pad_pairs(x.ndim, paddings))):
        if pair != (0, 0) and x.size > 0:
            if mode == "reflect" and max(pair) >= dim:
                raise ValueError(
                    f"expected paddings smaller than the size {dim} of axis {axis} for the mode reflect, received {pair}"
                )
        elif dim == 0 and pair[0] + pair[1] > 0:
            raise ValueError(f"expected elements to repeat along axis {axis}, received size 0 and paddings {pair}")
    return x.with_shape(padded(x.shape, paddings))


@infer_meta("PadModeGradInferMeta")
def pad_mode_grad(grad: Meta, paddings: tuple[int, ...], mode: str, shape: tuple[int, ...]) -> Meta:
    """The shape before padding."""
    return grad.with_shape(shape)


@infer_meta("AsStridedInferMeta")
def as_strided(input: Meta, dims: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Meta:
    """The dims; every element reached must be one of the input's."""
    if len(dims) != len(stride):
        raise ValueError(f"expected shape and stride of one length, received {list(dims)} and {list(stride)}")
    if offset < 0 or any(d < 0 for d in dims) or any(s < 0 for s in stride):
        raise ValueError(
            f"expected shape, stride and offset >= 0, received {list(dims)}, {list(stride)} and offset {offset}"
        )
    if count(dims) > 0:
        last = offset + sum((d - 1) * s for d, s in zip(dims, stride))
        if last >= input.size:
            raise ValueError(
                f"expected a view inside the {input.size} elements of the input, received shape {list(dims)}, stride "
                f"{list(stride)}, offset {offset}, which reaches element {last}"
            )
    return input.with_shape(dims)


@infer_meta("AsStridedGradInferMeta")
def as_strided_grad(
    grad: Meta, dims: tuple[int, ...], stride: tuple[int, ...], offset: int, shape: tuple[int, ...]
) -> Meta:
    """The input's shape."""
    return grad.with_shape(shape)


def diagonal_shape(shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> tuple[int, ...]:
    """The shape of a diagonal; raises ValueError for one axis named twice."""
    if len(shape) < 2:
        raise ValueError(f"expected a tensor of at least two dimensions, received shape {list(shape)}")
    first, second = canonical_axis(axis1, len(shape), "axis1"), canonical_axis(axis2, len(shape), "axis2")
    if first == second:
        raise ValueError(f"expected two different axes, received axis1 {axis1} and axis2 {axis2}")
    rows, columns = shape[first], shape[second]
    length = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    return tuple(d for i, d in enumerate(shape) if i not in (first, second)) + (max(length, 0),)


@infer_meta("DiagonalInferMeta")
def diagonal(x: Meta, offset: int, axis1: int, axis2: int) -> Meta:
    """The two axes dropped, the diagonal's length last."""
    return x.with_shape(diagonal_shape(x.shape, offset, axis1, axis2))


@infer_meta("DiagonalScatterInferMeta")
def diagonal_scatter(x: Meta, y: Meta, offset: int, axis1: int, axis2: int) -> Meta:
    """The input's meta; y has the diagonal's shape."""
    shape = diagonal_shape(x.shape, offset, axis1, axis2)
    if y.shape != shape:
        raise ValueError(f"expected y of the diagonal's shape {list(shape)}, received {list(y.shape)}")
    if y.dtype is not x.dtype:
        raise TypeError(f"expected x and y of one dtype, received {x.dtype.name} and {y.dtype.name}")
    return x


def unfolded(shape: tuple[int, ...], axis: int, size: int, step: int) -> tuple[int, ...]:
    """The shape of the windows along an axis."""
    ndim = max(len(shape), 1)
    axis = canonical_axis(axis, len(shape))
    length = shape[axis] if shape else 1
    if not 0 <= size <= length:
        raise ValueError(f"expected a size in [0, {length}] for axis {axis} of shape {list(shape)}, received {size}")
    if step <= 0:
        raise ValueError(f"expected a step > 0, received {step}")
    windows = (length - size) // step + 1
    if not shape:
        return (size,)
    return tuple(windows if i == axis else shape[i] for i in range(ndim)) + (size,)


@infer_meta("TensorUnfoldInferMeta")
def tensor_unfold(input: Meta, axis: int, size: int, step: int) -> Meta:
    """Number of windows in the axis's place, their size last."""
    return input.with_shape(unfolded(input.shape, axis, size, step))


@infer_meta("TensorUnfoldGradInferMeta")
def tensor_unfold_grad(grad: Meta, axis: int, size: int, step: int, shape: tuple[int, ...]) -> Meta:
    """The input's shape."""
    return grad.with_shape(shape)
