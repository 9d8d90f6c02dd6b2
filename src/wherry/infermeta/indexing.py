"""InferMeta of `x[key]` and `x[key] = value`."""

from typing import Any

from wherry.core.meta import Meta
from wherry.infermeta.common import broadcast_shapes
from wherry.infermeta.registry import infer_meta

# A basic key: int, slice and None for each axis, and one Ellipsis. With index tensors: (basic key, axes of its result that the
# tensors index, in rising order), and where a tensor numbers the elements of several axes made one (a mask's do), as third entry
# how many axes each takes.
BasicSpec = tuple[Any, ...]
AdvancedSpec = tuple[Any, ...]


def basic_shape(shape: tuple[int, ...], spec: BasicSpec) -> tuple[int, ...]:
    """The shape that a basic key gives; raises IndexError that names index, axis and size."""
    used = 0
    for item in spec:
        if item is not None and item is not Ellipsis:
            used += 1
    ndim = len(shape)
    if used > ndim:
        raise IndexError(f"expected at most {ndim} indices for a tensor of shape {list(shape)}, received {used}")
    dims: list[int] = []
    axis = 0
    for item in spec:
        if type(item) is int:
            dim = shape[axis]
            if not -dim <= item < dim:
                raise IndexError(
                    f"expected an index in [{-dim}, {dim}) for axis {axis} of size {dim} (shape {list(shape)}), received {item}"
                )
            axis += 1
        elif item is Ellipsis:
            rest = ndim - used
            dims.extend(shape[axis : axis + rest])
            axis += rest
        elif item is None:
            dims.append(1)
        else:
            dims.append(len(range(*item.indices(shape[axis]))))
            axis += 1
    return tuple(dims)


def merged_axes(
    shape: tuple[int, ...], axes: tuple[int, ...], widths: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and indexed axes after each tensor's axes are made one."""
    dims = list(shape)
    places = list(axes)
    for i in range(len(axes) - 1, -1, -1):
        width = widths[i]
        if width > 1:
            at = axes[i]
            size = 1
            for dim in dims[at : at + width]:
                size *= dim
            dims[at : at + width] = [size]
            for j in range(i + 1, len(axes)):
                places[j] -= width - 1
    return tuple(dims), tuple(places)


def advanced_shape(shape: tuple[int, ...], indices: list[tuple[int, ...]], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that index tensors give on the result of the basic key.

    The indexed axes are replaced by the broadcast shape of the tensors: where the first of them stood if they are neighbours,
    else in front. Raises ValueError for tensors that do not broadcast together.
    """
    joint: tuple[int, ...] = ()
    for index in indices:
        if index != joint:
            try:
                joint = broadcast_shapes(joint, index)
            except ValueError:
                raise ValueError(
                    "expected index tensors that broadcast together, received shapes "
                    + ", ".join(str(list(i)) for i in indices)
                ) from None
    first = axes[0] if axes[-1] - axes[0] + 1 == len(axes) else 0
    rest = [dim for axis, dim in enumerate(shape) if axis not in axes]
    return tuple(rest[:first]) + joint + tuple(rest[first:])


def _region(x: Meta, indices: list[Meta], spec: AdvancedSpec) -> tuple[int, ...]:
    for index in indices:
        if not index.dtype.is_integer:
            raise TypeError(f"expected index tensors of an integer dtype, received {index.dtype.name}")
    shape, axes = basic_shape(x.shape, spec[0]), spec[1]
    if len(spec) > 2:
        shape, axes = merged_axes(shape, axes, spec[2])
    return advanced_shape(shape, [i.shape for i in indices], axes)


def _check_value(x: Meta, value: Meta, region: tuple[int, ...]) -> None:
    if value.dtype is not x.dtype:
        raise TypeError(f"expected a value of the dtype {x.dtype.name} of x, received {value.dtype.name}")
    shape = value.shape
    # Ones in front may be dropped.
    extra = len(shape) - len(region)
    fits = all(dim == 1 for dim in shape[: max(extra, 0)])
    for have, want in zip(reversed(shape), reversed(region)):
        fits = fits and have in (1, want)
    if not fits:
        raise ValueError(
            f"expected a value that broadcasts to the shape {list(region)} of the indexed region, received shape {list(shape)}"
        )


@infer_meta("GetitemBasicInferMeta")
def getitem_basic(x: Meta, spec: BasicSpec) -> Meta:
    """The region's shape."""
    return x.with_shape(basic_shape(x.shape, spec))


@infer_meta("GetitemAdvancedInferMeta")
def getitem_advanced(x: Meta, indices: list[Meta], spec: AdvancedSpec) -> Meta:
    """The region's shape."""
    return x.with_shape(_region(x, indices, spec))


@infer_meta("GetitemBasicGradInferMeta")
def getitem_basic_grad(grad: Meta, spec: BasicSpec, shape: tuple[int, ...]) -> Meta:
    """The indexed tensor's shape."""
    return grad.with_shape(shape)


@infer_meta("GetitemAdvancedGradInferMeta")
def getitem_advanced_grad(grad: Meta, indices: list[Meta], spec: AdvancedSpec, shape: tuple[int, ...]) -> Meta:
    """The indexed tensor's shape."""
    return grad.with_shape(shape)


@infer_meta("SetitemBasicInferMeta")
def setitem_basic(x: Meta, value: Meta, spec: BasicSpec) -> Meta:
    """x's own meta; the value broadcasts to the region."""
    _check_value(x, value, basic_shape(x.shape, spec))
    return x


@infer_meta("SetitemAdvancedInferMeta")
def setitem_advanced(x: Meta, value: Meta, indices: list[Meta], spec: AdvancedSpec, accumulate: bool) -> Meta:
    """x's own meta; the value broadcasts to the region."""
    _check_value(x, value, _region(x, indices, spec))
    return x


@infer_meta("SetitemAdvancedGradInferMeta")
def setitem_advanced_grad(grad: Meta, indices: list[Meta], spec: AdvancedSpec) -> Meta:
    """The region's shape."""
    return grad.with_shape(_region(grad, indices, spec))
