"""InferMeta of the operations that change a shape and keep the elements."""

from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axes, canonical_axis
from wherry.infermeta.registry import infer_meta


def count(shape: tuple[int, ...]) -> int:
    """Number of elements of a shape."""
    result = 1
    for dim in shape:
        result *= dim
    return result


def reshaped(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `reshape` gives: 0 copies the input's dimension, one -1 takes what is left.

    In a tensor without elements a 0 is the size itself. Raises ValueError where the numbers of elements differ.
    """
    size = count(old)
    dims: list[int] = []
    unknown = -1
    for i, dim in enumerate(new):
        if dim == -1:
            if unknown >= 0:
                raise ValueError(
                    f"expected at most one -1 in shape, received {list(new)} with -1 at {unknown} and at {i}"
                )
            unknown = i
            dims.append(1)
        elif dim == 0 and size > 0:
            if i >= len(old):
                raise ValueError(
                    f"expected each 0 in shape to stand for a dimension of the input, received {list(new)} with 0 at "
                    f"position {i} for an input of shape {list(old)}; write the size itself"
                )
            dims.append(old[i])
        elif dim < -1:
            raise ValueError(
                f"expected sizes >= 0 (or -1 once) in shape, received {dim} at position {i} of {list(new)}"
            )
        else:
            dims.append(dim)
    if unknown >= 0:
        if size > 0:
            rest = count(tuple(dims))
            if size % rest != 0:
                raise ValueError(
                    f"expected a shape of {size} elements, received {list(new)} for an input of shape {list(old)}: "
                    f"{size} is not a multiple of {rest}"
                )
            dims[unknown] = size // rest
        elif 0 in dims:
            # Every size fits; the one that keeps the product of the other dimensions is the useful one.
            fixed = count(tuple(d for d in dims if d))
            rest = count(tuple(d for d in old if d))
            dims[unknown] = rest // fixed if rest % fixed == 0 else 1
        else:
            dims[unknown] = 0
    elif count(tuple(dims)) != size:
        raise ValueError(
            f"expected a shape of {size} elements, received {list(new)}, which has {count(tuple(dims))}, "
            f"for an input of shape {list(old)}"
        )
    return tuple(dims)


@infer_meta("ReshapeInferMeta")
def reshape(x: Meta, shape: tuple[int, ...]) -> Meta:
    """Shape with 0 and -1 resolved."""
    return x.with_shape(reshaped(x.shape, shape))


def expanded(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `expand` gives; -1 keeps a dimension, no shape at all the input's. Raises ValueError that names both shapes."""
    if not new:
        return old
    lead = len(new) - len(old)
    if lead < 0:
        raise ValueError(
            f"expected a shape of at least {len(old)} dimensions for an input of shape {list(old)}, received {list(new)}"
        )
    dims = []
    for i, dim in enumerate(new):
        have = old[i - lead] if i >= lead else 1
        if dim == -1 and i >= lead:
            dims.append(have)
        elif dim < 0:
            raise ValueError(
                f"expected sizes >= 0 in shape (or -1 for a dimension the input has), received {dim} at position {i} of "
                f"{list(new)} for an input of shape {list(old)}"
            )
        elif have not in (1, dim):
            raise ValueError(
                f"expected a shape that {list(old)} expands to, received {list(new)}: size {have} of the input cannot "
                f"become {dim} at position {i}; only a size of 1 expands"
            )
        else:
            dims.append(dim)
    return tuple(dims)


@infer_meta("ExpandInferMeta")
def expand(x: Meta, shape: tuple[int, ...]) -> Meta:
    """Shape with -1 resolved."""
    return x.with_shape(expanded(x.shape, shape))


def squeezed_axes(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that `squeeze` removes: those named (all where none is) whose size is 1; repeats are allowed."""
    if not axis:
        return tuple(i for i, dim in enumerate(shape) if dim == 1)
    if not shape:
        for a in axis:
            canonical_axis(a, 0)
        return ()
    return tuple(sorted({a for a in (canonical_axis(a, len(shape)) for a in axis) if shape[a] == 1}))


@infer_meta("SqueezeInferMeta")
def squeeze(x: Meta, axis: tuple[int, ...]) -> Meta:
    """Shape without the axes of size 1."""
    drop = squeezed_axes(x.shape, axis)
    return x.with_shape(tuple(dim for i, dim in enumerate(x.shape) if i not in drop)) if drop else x


def unsqueezed(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with a 1 put in for each axis, one after the other; each counts in the shape made so far."""
    dims = list(shape)
    for position, a in enumerate(axis):
        ndim = len(dims) + 1
        if not -ndim <= a < ndim:
            raise ValueError(
                f"expected axis in [{-ndim}, {ndim}) for an input of shape {list(shape)}"
                + (f" after {position} earlier axes" if position else "")
                + f", received {a} in {list(axis)}"
            )
        dims.insert(a + ndim if a < 0 else a, 1)
    return tuple(dims)


@infer_meta("UnsqueezeInferMeta")
def unsqueeze(x: Meta, axis: tuple[int, ...]) -> Meta:
    """Shape with sizes of 1 put in."""
    return x.with_shape(unsqueezed(x.shape, axis))


def canonical_perm(perm: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """A permutation with axes counted from the front; raises ValueError for one that does not fit."""
    if len(perm) != ndim:
        raise ValueError(
            f"expected perm to have one entry for each of the {ndim} dimensions of the input, "
            f"received {list(perm)} with {len(perm)}"
        )
    return canonical_axes(perm, ndim, "perm") if ndim else ()


@infer_meta("TransposeInferMeta")
def transpose(x: Meta, perm: tuple[int, ...]) -> Meta:
    """Permuted shape."""
    shape = x.shape
    return x.with_shape(tuple([shape[a] for a in canonical_perm(perm, x.ndim)]))


def flattened(shape: tuple[int, ...], start_axis: int, stop_axis: int) -> tuple[int, ...]:
    """The shape with the axes from start to stop made one; a 0-D tensor becomes 1-D."""
    ndim = len(shape)
    start, stop = canonical_axis(start_axis, ndim, "start_axis"), canonical_axis(stop_axis, ndim, "stop_axis")
    if start > stop:
        raise ValueError(
            f"expected start_axis at or before stop_axis, received {start_axis} and {stop_axis} for shape {list(shape)}"
        )
    return shape[:start] + (count(shape[start : stop + 1]),) + shape[stop + 1 :]


@infer_meta("FlattenInferMeta")
def flatten(x: Meta, start_axis: int, stop_axis: int) -> Meta:
    """Some axes made one."""
    return x.with_shape(flattened(x.shape, start_axis, stop_axis))


@infer_meta("ViewDtypeInferMeta")
def view_dtype(x: Meta, dtype: DataType) -> Meta:
    """The last size changes with the width of an element."""
    if dtype.itemsize == x.dtype.itemsize:
        return x.with_dtype(dtype)
    if x.ndim == 0:
        raise ValueError(
            f"expected a dtype of {x.dtype.itemsize} bytes for a 0-D {x.dtype.name} tensor, received {dtype.name}"
        )
    last = x.shape[-1] * x.dtype.itemsize
    if last % dtype.itemsize != 0:
        raise ValueError(
            f"expected a last dimension that divides into elements of {dtype.itemsize} bytes, received shape {list(x.shape)} of "
            f"{x.dtype.name} for {dtype.name}"
        )
    return x.with_dtype(dtype).with_shape(x.shape[:-1] + (last // dtype.itemsize,))
