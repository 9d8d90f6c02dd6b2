"""Public functions that take a part of a tensor or shift it. Source: paddle.tensor.manipulation."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import AxisLike, axes_of, axis_of
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.slicing import slice_key
from wherry.tensor.tensor import Tensor

__all__ = [
    "as_strided",
    "crop",
    "narrow",
    "roll",
    "select_scatter",
    "slice",
    "slice_scatter",
    "unfold",
]
METHODS = ["as_strided", "narrow", "roll", "select_scatter", "slice", "slice_scatter", "unfold"]


def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """The part of input from starts to ends along some axes, a view.

    The three are lists (or integer tensors) of one length; starts and ends count from the back where negative, and are cut to
    the axis. Raises ValueError for lengths that differ, no axes, and axes out of range. Source: paddle.slice.
    """
    if len(axes_of(axes, "axes")) == 0:
        raise ValueError("slice: expected at least one axis in axes, received none")
    return _C_ops.slice(input, axes, starts, ends)


def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """The part of x of a shape, beginning at offsets (0 where not given); a -1 in shape takes all that follows. A view.

    Raises ValueError for a part that does not lie inside x. Source: paddle.crop.
    """
    old = x.impl.meta.shape
    sizes = old if shape is None else axes_of(shape, "shape")
    begins = (0,) * len(old) if offsets is None else axes_of(offsets, "offsets")
    if len(sizes) != len(old) or len(begins) != len(old):
        raise ValueError(
            f"crop: expected shape and offsets of {len(old)} entries for a tensor of shape {list(old)}, received {list(sizes)} and "
            f"{list(begins)}"
        )
    ends = []
    for axis, (size, begin, dim) in enumerate(zip(sizes, begins, old)):
        end = dim if size == -1 else begin + size
        if size < -1 or not 0 <= begin <= end <= dim:
            raise ValueError(
                f"crop: expected a part inside the tensor of shape {list(old)}, received shape {list(sizes)} and offsets {list(begins)}: "
                f"{begin} to {end} is not inside axis {axis} of size {dim}"
            )
        ends.append(end)
    if not old:
        return _C_ops.assign(x)
    return _C_ops.slice(x, tuple(range(len(old))), begins, tuple(ends))


def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` elements of an axis from `start` on (negative: from the back), a view.

    Raises ValueError for a range outside the axis. Source: paddle.narrow.
    """
    if input.impl.meta.ndim == 0:
        raise ValueError("narrow: expected a tensor of at least one dimension, received a 0-D tensor")
    axis = canonical_axis(axis_of(dim, "dim"), input.impl.meta.ndim, "dim")
    size = input.impl.meta.shape[axis]
    begin = axis_of(start, "start")
    begin = begin + size if begin < 0 else begin
    if length < 0 or not 0 <= begin <= size or begin + length > size:
        raise ValueError(
            f"narrow: expected a range inside axis {axis} of size {size}, received start {start} and length {length}"
        )
    return _C_ops.slice(input, (axis,), (begin,), (begin + length,))


def roll(x: Tensor, shifts: Any, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """x with its elements shifted along axes, those that fall off coming back at the other end.

    `shifts` is an integer or a list with one for each axis; without axis the flattened tensor is shifted. Raises ValueError for lengths
    that differ and axes out of range. Source: paddle.roll.
    """
    return _C_ops.roll(x, axes_of(shifts, "shifts"), axes_of(axis))


def slice_scatter(
    x: Tensor,
    value: Tensor,
    axes: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    strides: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """A copy of x with a slice of it replaced by value, which broadcasts.

    Raises ValueError for a value that does not fit and lists of different length. Source: paddle.slice_scatter.
    """
    lists = [axes_of(v, n) for v, n in ((axes, "axes"), (starts, "starts"), (ends, "ends"), (strides, "strides"))]
    key = slice_key(x.impl.meta.ndim, lists[0], lists[1], lists[2], lists[3])
    return _C_ops.setitem_basic(x, value, (*key, Ellipsis))


def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """A copy of x with the part at one index of an axis replaced by values, which have that part's shape.

    Raises ValueError for values of another shape, IndexError for an index out of bounds. Source: paddle.select_scatter.
    """
    shape = x.impl.meta.shape
    place = canonical_axis(axis_of(axis), len(shape))
    part = shape[:place] + shape[place + 1 :]
    if values.impl.meta.shape != part:
        raise ValueError(f"select_scatter: expected values of shape {list(part)}, received {list(values.shape)}")
    key: list[Any] = [slice_of_all()] * place
    return _C_ops.setitem_basic(x, values, (*key, axis_of(index, "index"), Ellipsis))


def slice_of_all() -> Any:
    """The key that takes a whole axis; the built-in is hidden by the public function of its name."""
    import builtins

    return builtins.slice(None)


def as_strided(
    x: Tensor, shape: Sequence[int], stride: Sequence[int], offset: int = 0, name: str | None = None
) -> Tensor:
    """A tensor over x's elements (in their order) with its own shape, strides and offset, counted in elements.

    A view where x is contiguous. Raises ValueError for negative numbers and for a view that leaves x. Source: paddle.as_strided.
    """
    return _C_ops.as_strided(x, shape, stride, offset)


def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """All windows of `size` elements along an axis, `step` apart: their number in the axis's place, their size as last axis.

    A view where x is contiguous. Raises ValueError for a size larger than the axis and a step <= 0. Source: paddle.unfold.
    """
    return _C_ops.tensor_unfold(x, axis, size, step)
