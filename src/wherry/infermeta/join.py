"""InferMeta of the operations that join, split and repeat tensors."""

from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.registry import infer_meta


def _same_dtype(metas: list[Meta]) -> None:
    for position, meta in enumerate(metas):
        if meta.dtype is not metas[0].dtype:
            raise TypeError(
                f"expected tensors of one dtype, received {metas[0].dtype.name} at position 0 and {meta.dtype.name} at "
                f"position {position}; cast them first"
            )


@infer_meta("ConcatInferMeta")
def concat(x: list[Meta], axis: int) -> Meta:
    """Sizes add up along the axis; all others agree."""
    if not x:
        raise ValueError("expected at least one tensor to join, received an empty list")
    _same_dtype(x)
    first = x[0]
    if first.ndim == 0:
        raise ValueError(
            f"expected tensors of at least one dimension, received {len(x)} 0-D tensors (axis {axis}); use stack to join them"
        )
    axis = canonical_axis(axis, first.ndim)
    total = 0
    for position, meta in enumerate(x):
        if meta.ndim != first.ndim or any(a != b for i, (a, b) in enumerate(zip(meta.shape, first.shape)) if i != axis):
            raise ValueError(
                f"expected shapes that differ only along axis {axis}, received {list(first.shape)} at position 0 and "
                f"{list(meta.shape)} at position {position}"
            )
        total += meta.shape[axis]
    return first.with_shape(first.shape[:axis] + (total,) + first.shape[axis + 1 :])


@infer_meta("StackInferMeta")
def stack(x: list[Meta], axis: int) -> Meta:
    """A new axis of the number of tensors, whose shapes agree."""
    if not x:
        raise ValueError("expected at least one tensor to stack, received an empty list")
    _same_dtype(x)
    first = x[0]
    for position, meta in enumerate(x):
        if meta.shape != first.shape:
            raise ValueError(
                f"expected tensors of one shape, received {list(first.shape)} at position 0 and {list(meta.shape)} at "
                f"position {position}"
            )
    axis = canonical_axis(axis, first.ndim + 1)
    return first.with_shape(first.shape[:axis] + (len(x),) + first.shape[axis:])


def split_sizes(size: int, sections: tuple[int, ...]) -> tuple[int, ...]:
    """The sections with a -1 replaced by what is left; raises ValueError where they do not add up to the size."""
    unknown = [i for i, s in enumerate(sections) if s == -1]
    if len(unknown) > 1 or any(s < -1 for s in sections):
        raise ValueError(f"expected sections >= 0 with at most one -1, received {list(sections)}")
    total = sum(s for s in sections if s != -1)
    if total > size or (not unknown and total != size):
        raise ValueError(
            f"expected sections that add up to the size {size} of the axis, received {list(sections)} with sum {total}"
        )
    return tuple(size - total if s == -1 else s for s in sections)


def _pieces(x: Meta, axis: int, sizes: tuple[int, ...]) -> list[Meta]:
    return [x.with_shape(x.shape[:axis] + (size,) + x.shape[axis + 1 :]) for size in sizes]


def _splittable(x: Meta, axis: int) -> int:
    if x.ndim == 0:
        raise ValueError(f"expected a tensor of at least one dimension, received a 0-D tensor (axis {axis})")
    return canonical_axis(axis, x.ndim)


@infer_meta("SplitInferMeta")
def split(x: Meta, sections: tuple[int, ...], axis: int) -> list[Meta]:
    """One meta a section."""
    axis = _splittable(x, axis)
    return _pieces(x, axis, split_sizes(x.shape[axis], sections))


@infer_meta("SplitWithNumInferMeta")
def split_with_num(x: Meta, num: int, axis: int) -> list[Meta]:
    """Equal sections."""
    axis = _splittable(x, axis)
    size = x.shape[axis]
    if num <= 0:
        raise ValueError(f"expected a number of sections > 0, received {num}")
    if size % num != 0:
        raise ValueError(
            f"expected a number of sections that divides the size {size} of axis {axis}, received {num} for shape "
            f"{list(x.shape)}; give the sizes as a list, or use tensor_split"
        )
    return _pieces(x, axis, (size // num,) * num)


@infer_meta("UnbindInferMeta")
def unbind(input: Meta, axis: int) -> list[Meta]:
    """One meta for each position of the axis, which is dropped."""
    axis = _splittable(input, axis)
    piece = input.with_shape(input.shape[:axis] + input.shape[axis + 1 :])
    return [piece] * input.shape[axis]


def tiled(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and repeats brought to one length by ones in front."""
    ndim = max(len(shape), len(repeats))
    return (1,) * (ndim - len(shape)) + shape, (1,) * (ndim - len(repeats)) + repeats


@infer_meta("TileInferMeta")
def tile(x: Meta, repeat_times: tuple[int, ...]) -> Meta:
    """Each size times its repeats."""
    if any(r < 0 for r in repeat_times):
        raise ValueError(f"expected repeat_times >= 0, received {list(repeat_times)}")
    shape, repeats = tiled(x.shape, repeat_times)
    return x.with_shape(tuple(dim * r for dim, r in zip(shape, repeats)))


@infer_meta("RepeatInterleaveInferMeta")
def repeat_interleave(x: Meta, repeats: int, axis: int) -> Meta:
    """The axis's size times the repeats."""
    axis = _splittable(x, axis)
    if repeats < 0:
        raise ValueError(f"expected repeats >= 0, received {repeats}")
    return x.with_shape(x.shape[:axis] + (x.shape[axis] * repeats,) + x.shape[axis + 1 :])


@infer_meta("RepeatIndexInferMeta")
def repeat_index(repeats: Meta) -> Meta:
    """As many as the repeats add up to."""
    if repeats.ndim != 1 or not repeats.dtype.is_integer:
        raise ValueError(f"expected a 1-D integer tensor of repeats, received {repeats}")
    return Meta((-1,), repeats.dtype)
