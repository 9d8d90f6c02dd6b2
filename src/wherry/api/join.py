"""Public functions that join, split and repeat tensors. Source: paddle.tensor.manipulation."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import AxisLike, axes_of, axis_of, refuse_out
from wherry.api.shape import ShapeLike, atleast_1d, atleast_2d, atleast_3d, dims_of
from wherry.infermeta.common import canonical_axis
from wherry.tensor.tensor import Tensor

__all__ = [
    "block_diag",
    "cat",
    "chunk",
    "column_stack",
    "concat",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "repeat_interleave",
    "row_stack",
    "split",
    "stack",
    "tensor_split",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]
METHODS = [
    "block_diag",
    "chunk",
    "concat",
    "dsplit",
    "hsplit",
    "repeat",
    "repeat_interleave",
    "split",
    "split_with_sizes",
    "stack",
    "tensor_split",
    "tile",
    "unstack",
    "vsplit",
]


def tensor_list(x: Any, function: str) -> list[Tensor]:
    """A list or tuple of tensors; raises ValueError for a single tensor, which would be taken apart by accident."""
    if isinstance(x, Tensor) or not isinstance(x, (list, tuple)):
        raise ValueError(
            f"{function}: expected a list or tuple of Tensors, received {type(x).__name__}; put it into a list"
        )
    return list(x)


def concat(
    x: Sequence[Tensor], axis: int | Tensor = 0, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The tensors one after the other along an axis.

    They have one dtype, and one shape but for that axis. Raises ValueError that names the shapes that clash, for an axis out
    of range, and for 0-D tensors; TypeError for dtypes. Source: paddle.concat.
    """
    refuse_out(out)
    return _C_ops.concat(tensor_list(x, "concat"), axis_of(axis))


cat = concat


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape and dtype along a new axis.

    Raises ValueError for shapes that differ and an axis out of range, TypeError for dtypes. Source: paddle.stack.
    """
    refuse_out(out)
    return _C_ops.stack(tensor_list(x, "stack"), axis)


def _as_list(value: Any) -> list[Tensor]:
    return value if isinstance(value, list) else [value]


def hstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The tensors side by side: along axis 0 where they are 0-D or 1-D, else along axis 1. Source: paddle.hstack."""
    tensors = _as_list(atleast_1d(*tensor_list(x, "hstack")))
    return _C_ops.concat(tensors, 0 if tensors and tensors[0].ndim == 1 else 1)


def vstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The tensors one below the other; a vector counts as a row. Source: paddle.vstack."""
    return _C_ops.concat(_as_list(atleast_2d(*tensor_list(x, "vstack"))), 0)


row_stack = vstack


def dstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The tensors along the third axis. Source: paddle.dstack."""
    return _C_ops.concat(_as_list(atleast_3d(*tensor_list(x, "dstack"))), 2)


def column_stack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The tensors side by side; a vector counts as a column. Source: paddle.column_stack."""
    columns = [t if t.ndim >= 2 else _C_ops.reshape(t, (t.impl.meta.size, 1)) for t in tensor_list(x, "column_stack")]
    return _C_ops.concat(columns, 1)


def block_diag(inputs: Sequence[Tensor], name: str | None = None) -> Tensor:
    """A matrix with the inputs as blocks on its diagonal; a vector counts as a row.

    Raises ValueError for an input of more than two dimensions. Source: paddle.block_diag.
    """
    blocks = _as_list(atleast_2d(*tensor_list(inputs, "block_diag")))
    for position, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag: expected at most two dimensions, received shape {list(block.shape)} at position {position}"
            )
    width = sum(block.impl.meta.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        size = block.impl.meta.shape[1]
        rows.append(_C_ops.pad(block, (0, 0, before, width - before - size), 0.0))
        before += size
    return _C_ops.concat(rows, 0)


def split(
    x: Tensor, num_or_sections: int | Sequence[int], axis: int | Tensor = 0, name: str | None = None
) -> list[Tensor]:
    """x cut along an axis into equal parts, or into parts of the given sizes (one may be -1); views of x, in a list.

    Raises ValueError where the parts do not add up to the axis's size. Source: paddle.split.
    """
    if isinstance(num_or_sections, (list, tuple)):
        return _C_ops.split(x, num_or_sections, axis_of(axis))
    return _C_ops.split_with_num(x, axis_of(num_or_sections, "num_or_sections"), axis_of(axis))


def chunk(x: Tensor, chunks: int, axis: int | Tensor = 0, name: str | None = None) -> list[Tensor]:
    """x cut along an axis into equal parts, which must be possible. Source: paddle.chunk."""
    return _C_ops.split_with_num(x, chunks, axis_of(axis))


def tensor_split(
    x: Tensor, num_or_indices: int | Sequence[int], axis: int | Tensor = 0, name: str | None = None
) -> list[Tensor]:
    """x cut along an axis into a number of parts whose sizes differ by at most one, or before each of the given indices.

    Views of x, in a list. Raises ValueError for a number <= 0 or an axis out of range. Source: paddle.tensor_split.
    """
    ndim = x.impl.meta.ndim
    if ndim == 0:
        raise ValueError("tensor_split: expected a tensor of at least one dimension, received a 0-D tensor")
    place = canonical_axis(axis_of(axis), ndim)
    size = x.impl.meta.shape[place]
    if isinstance(num_or_indices, (list, tuple)):
        cuts = [axis_of(i, "num_or_indices") for i in num_or_indices]
    else:
        number = axis_of(num_or_indices, "num_or_indices")
        if number <= 0:
            raise ValueError(f"tensor_split: expected a number of parts > 0, received {number}")
        base, larger = divmod(size, number)
        return _C_ops.split(x, tuple(base + (i < larger) for i in range(number)), place)
    starts, ends = [0, *cuts], [*cuts, size]
    return [_C_ops.slice(x, (place,), (start,), (end,)) for start, end in zip(starts, ends)]


def _split_along(x: Tensor, num_or_indices: Any, axis: int, least: int, function: str) -> list[Tensor]:
    if x.impl.meta.ndim < least:
        raise ValueError(
            f"{function}: expected a tensor of at least {least} dimensions, received shape {list(x.shape)}"
        )
    return tensor_split(x, num_or_indices, axis)


def hsplit(x: Tensor, num_or_indices: int | Sequence[int], name: str | None = None) -> list[Tensor]:
    """tensor_split along axis 1, or axis 0 of a vector. Source: paddle.hsplit."""
    return _split_along(x, num_or_indices, 0 if x.impl.meta.ndim == 1 else 1, 1, "hsplit")


def vsplit(x: Tensor, num_or_indices: int | Sequence[int], name: str | None = None) -> list[Tensor]:
    """tensor_split along axis 0, for at least two dimensions. Source: paddle.vsplit."""
    return _split_along(x, num_or_indices, 0, 2, "vsplit")


def dsplit(x: Tensor, num_or_indices: int | Sequence[int], name: str | None = None) -> list[Tensor]:
    """tensor_split along axis 2, for at least three dimensions. Source: paddle.dsplit."""
    return _split_along(x, num_or_indices, 2, 3, "dsplit")


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The parts of x at each position of the axis, which is dropped; `num`, where given, must be their number.

    Raises ValueError for another number and for an axis out of range. Source: paddle.unstack.
    """
    if num is not None and x.impl.meta.ndim:
        size = x.impl.meta.shape[canonical_axis(axis_of(axis), x.impl.meta.ndim)]
        if num != size:
            raise ValueError(f"unstack: expected num to be the size {size} of axis {axis}, received {num}")
    return _C_ops.unbind(x, axis)


def tile(x: Tensor, repeat_times: ShapeLike, *more: int, name: str | None = None) -> Tensor:
    """x repeated as a whole, as often along each axis as repeat_times says.

    Missing axes are put in front. Raises ValueError for a negative number of times. Source: paddle.tile.
    """
    return _C_ops.tile(x, dims_of(repeat_times, more))


def repeat(input: Tensor, repeats: ShapeLike, *more: int) -> Tensor:
    """tile under the name it has as a method: input repeated as a whole. Source: paddle.Tensor.repeat."""
    return _C_ops.tile(input, dims_of(repeats, more))


def split_with_sizes(x: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """x cut along an axis into parts of the given sizes. Source: paddle.Tensor.split_with_sizes."""
    return _C_ops.split(x, axes_of(split_sizes, "split_sizes"), dim)


def repeat_interleave(
    x: Tensor,
    repeats: int | Tensor,
    axis: AxisLike = None,
    name: str | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """x with each element along an axis (of the flattened tensor where axis is None) repeated.

    `repeats` is an integer, or a 1-D integer tensor with a number for each element. `output_size` is the size that results, and is
    checked. Raises ValueError for negative repeats or a wrong number of them. Source: paddle.repeat_interleave.
    """
    if axis is None or x.impl.meta.ndim == 0:
        for a in axes_of(axis):
            canonical_axis(a, x.impl.meta.ndim)
        x, place = _C_ops.flatten(x, 0, -1), 0
    else:
        place = canonical_axis(axis_of(axis), x.impl.meta.ndim)
    size = x.impl.meta.shape[place]
    if isinstance(repeats, Tensor):
        if repeats.impl.meta.shape != (size,):
            raise ValueError(
                f"repeat_interleave: expected repeats of shape [{size}], one for each element along axis {place}, received "
                f"{list(repeats.shape)}"
            )
        result = _C_ops.index_select(x, _C_ops.repeat_index(repeats), place)
    else:
        result = _C_ops.repeat_interleave(x, repeats, place)
    if output_size is not None and output_size != result.impl.meta.shape[place]:
        raise ValueError(
            f"repeat_interleave: expected output_size to be {result.impl.meta.shape[place]}, what the repeats add up to, received {output_size}"
        )
    return result
