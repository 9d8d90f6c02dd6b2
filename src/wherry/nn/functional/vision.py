"""Images resampled, cut into windows and rearranged. Source: paddle.nn.functional.vision."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn.functional.sampling import sampled
from wherry.nn.functional.windows import Size, ints
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["affine_grid", "channel_shuffle", "fold", "grid_sample", "temporal_shift", "unfold"]


def affine_grid(theta: Tensor, out_shape: Any, align_corners: bool = True, name: str | None = None) -> Tensor:
    """The places an affine map reads from, for `grid_sample`.

    theta: [N, 2, 3] with out_shape [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W]; the grid is [N, H, W, 2] or [N, D, H, W, 3].
    align_corners: -1 and 1 are the centres of the outermost cells, else their outer edges; an axis of one cell has its centre at 0.
    Raises ValueError for shapes that do not fit. Source: paddle.nn.functional.affine_grid.
    """
    if not isinstance(theta, Tensor):
        raise TypeError(f"affine_grid: expected a Tensor as theta, received {type(theta).__name__}")
    sizes = [int(v) for v in (out_shape.tolist() if isinstance(out_shape, Tensor) else out_shape)]
    count = len(sizes) - 2
    if count not in (2, 3):
        raise ValueError(f"affine_grid: expected 4 or 5 numbers in out_shape, received {sizes}")
    if theta.ndim != 3 or list(theta.shape[1:]) != [count, count + 1]:
        raise ValueError(
            f"affine_grid: expected theta of shape [N, {count}, {count + 1}] for out_shape {sizes}, received {list(theta.shape)}"
        )
    spatial = sizes[2:]
    if min(spatial) < 0:
        raise ValueError(f"affine_grid: expected an out_shape of at least 0, received {sizes}")
    lines = [_centres(size, align_corners) for size in spatial]
    places = np.meshgrid(*lines, indexing="ij")
    # The last axis comes first in a place.
    base = np.stack([*reversed(places), np.ones(spatial)], axis=-1).reshape(-1, count + 1)
    out = _C_ops.matmul(tensor_from_array(base.astype(theta.dtype.numpy)), theta, False, True)
    return _C_ops.reshape(out, (theta.shape[0], *spatial, count))


def _centres(size: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(size)
    return (2 * np.arange(size) + 1) / max(size, 1) - 1


def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: str | None = None,
) -> Tensor:
    """x read at the places of a grid.

    x: [N, C, H, W] with grid [N, H', W', 2], or [N, C, D, H, W] with grid [N, D', H', W', 3]; a place is (x, y) or (x, y, z), from -1 to 1.
    mode: 'bilinear' (linear along every axis) or 'nearest' (halves to the even cell). padding_mode: outside x there is nothing ('zeros'), its
    outermost cells ('border') or its mirror image ('reflection'). align_corners: -1 and 1 are the centres of the outermost cells, else
    their outer edges. Derivatives of every order, by x and by grid. Raises ValueError for a mode, shape or dtype that does not fit.
    Source: paddle.nn.functional.grid_sample.
    """
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"grid_sample: expected mode 'bilinear' or 'nearest', received {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: expected padding_mode 'zeros', 'border' or 'reflection', received {padding_mode!r}"
        )
    count = x.ndim - 2
    if count not in (2, 3) or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != count:
        raise ValueError(
            "grid_sample: expected x [N, C, H, W] and grid [N, H', W', 2], or x [N, C, D, H, W] and grid [N, D', H', W', 3], received "
            f"shapes {list(x.shape)} and {list(grid.shape)}"
        )
    if grid.dtype is not x.dtype:
        raise ValueError(
            f"grid_sample: expected x and grid of one dtype, received {x.dtype.name} and {grid.dtype.name}"
        )
    spatial = list(x.shape[2:])
    if 0 in spatial:
        raise ValueError(f"grid_sample: expected spatial axes of x of at least 1, received shape {list(x.shape)}")
    if grid.dtype.numpy.itemsize == 2:
        # The places of a large image need more digits than a half has.
        grid = _C_ops.cast(grid, "float32")
    sizes = spatial[::-1]
    points = math.prod(grid.shape[1:-1])
    location = _C_ops.reshape(grid, (grid.shape[0], points, count))
    location = _padded(_in_cells(location, sizes, align_corners), sizes, padding_mode, align_corners)
    steps = [math.prod(sizes[:axis]) for axis in range(count)]
    out = sampled(x, location, sizes, steps, nearest=mode == "nearest")
    out = _C_ops.reshape(out, (*grid.shape[:-1], x.shape[1]))
    return _C_ops.transpose(out, (0, count + 1, *range(1, count + 1)))


def _row(values: Sequence[float], like: Tensor) -> Tensor:
    return tensor_from_array(np.array(values, like.dtype.numpy))


def _in_cells(grid: Tensor, sizes: list[int], align_corners: bool) -> Tensor:
    """Places from -1 to 1 as places in cells, 0 being the centre of the first."""
    half = [(size - 1 if align_corners else size) * 0.5 for size in sizes]
    out = _C_ops.multiply(_C_ops.scale(grid, 1.0, 1.0, True), _row(half, grid))
    return out if align_corners else _C_ops.scale(out, 1.0, -0.5, True)


def _padded(location: Tensor, sizes: list[int], padding_mode: str, align_corners: bool) -> Tensor:
    """Places outside moved to those whose values they take. At the ends the derivative is that of the inner side."""
    if padding_mode == "zeros":
        return location
    if padding_mode == "reflection":
        location = _reflected(location, sizes, align_corners)
        if align_corners:
            return location
    zero, last = _row([0.0], location), _row([size - 1.0 for size in sizes], location)
    location = _C_ops.where(_C_ops.less_than(location, zero), zero, location)
    return _C_ops.where(_C_ops.greater_than(location, last), last, location)


def _reflected(location: Tensor, sizes: list[int], align_corners: bool) -> Tensor:
    """Mirrored at both ends as often as needed: at the outermost centres, or at the outer edges."""
    edge = 0.0 if align_corners else 0.5
    spans = [2.0 * (size - 1 if align_corners else size) for size in sizes]
    span = _row([s or 1.0 for s in spans], location)
    shifted = _C_ops.scale(location, 1.0, edge, True)
    size = _C_ops.where(_C_ops.less_than(shifted, _row([0.0], location)), _C_ops.neg(shifted), shifted)
    rounds = _C_ops.floor(_C_ops.divide(size, span)).detach()
    rest = _C_ops.subtract(size, _C_ops.multiply(rounds, span))
    back = _C_ops.subtract(span, rest)
    out = _C_ops.scale(_C_ops.where(_C_ops.greater_than(rest, back), back, rest), 1.0, -edge, True)
    if all(spans):
        return out
    # One cell, mirrored at its centre, is everywhere.
    single = tensor_from_array(np.array([s == 0 for s in spans]))
    return _C_ops.where(_C_ops.logical_and(single, _C_ops.isfinite(out)), _row([0.0], out), out)


def _paddings(paddings: Any, name: str) -> tuple[int, ...]:
    """(top, bottom, left, right) of one number, (height, width) or (top, left, bottom, right)."""
    if isinstance(paddings, int):
        return (paddings,) * 4
    values = [int(v) for v in paddings]
    if len(values) == 2:
        return values[0], values[0], values[1], values[1]
    if len(values) == 4:
        return values[0], values[2], values[1], values[3]
    raise ValueError(f"{name}: expected 1, 2 or 4 numbers in paddings, received {values}")


def unfold(
    x: Tensor,
    kernel_sizes: Size,
    strides: Size = 1,
    paddings: Any = 0,
    dilations: Size = 1,
    name: str | None = None,
) -> Tensor:
    """Every window of images as a column.

    x: [N, C, H, W]; the result is [N, C * kernel height * kernel width, places]. paddings: a number, (height, width) or (top, left, bottom,
    right). Raises ValueError for a window that does not fit. Source: paddle.nn.functional.unfold.
    """
    return _C_ops.unfold(
        x,
        ints(kernel_sizes, 2, "kernel_sizes"),
        ints(strides, 2, "strides"),
        _paddings(paddings, "unfold"),
        ints(dilations, 2, "dilations"),
    )


def fold(
    x: Tensor,
    output_sizes: Size,
    kernel_sizes: Size,
    strides: Size = 1,
    paddings: Any = 0,
    dilations: Size = 1,
    name: str | None = None,
) -> Tensor:
    """Columns added up where their windows lie: the transpose of `unfold`.

    x: [N, C * kernel height * kernel width, places]; the result is [N, C, *output_sizes]. Raises ValueError for another number of places
    than windows of these sizes have. Source: paddle.nn.functional.fold.
    """
    return _C_ops.fold(
        x,
        ints(output_sizes, 2, "output_sizes"),
        ints(kernel_sizes, 2, "kernel_sizes"),
        ints(strides, 2, "strides"),
        _paddings(paddings, "fold"),
        ints(dilations, 2, "dilations"),
    )


def _image_format(x: Tensor, data_format: str, name: str) -> bool:
    """Whether the channels are last."""
    if x.ndim != 4:
        raise ValueError(f"{name}: expected x of 4 dimensions, received shape {list(x.shape)}")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"{name}: expected data_format 'NCHW' or 'NHWC', received {data_format!r}")
    return data_format == "NHWC"


def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """The channels dealt out to the groups in turn: those of one group end up apart.

    x: [N, C, H, W] or [N, H, W, C]. Raises TypeError for groups that is no int, ValueError where it does not divide the channels.
    Source: paddle.nn.functional.channel_shuffle.
    """
    last = _image_format(x, data_format, "channel_shuffle")
    if not isinstance(groups, int):
        raise TypeError(f"channel_shuffle: expected an int as groups, received {type(groups).__name__}")
    shape = list(x.shape)
    axis = 3 if last else 1
    if groups < 1 or shape[axis] % groups:
        raise ValueError(f"channel_shuffle: expected groups that divide {shape[axis]} channels, received {groups}")
    split = _C_ops.reshape(x, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))
    order = list(range(5))
    order[axis], order[axis + 1] = axis + 1, axis
    return _C_ops.reshape(_C_ops.transpose(split, tuple(order)), tuple(shape))


def temporal_shift(
    x: Tensor,
    seg_num: int,
    shift_ratio: float = 0.25,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """Some channels of each frame taken from the frame before, as many from the frame after, the rest as they are.

    x: [N * seg_num, C, H, W] or channel-last, seg_num frames after one another. shift_ratio: the part of the channels for each direction, in
    (0, 0.5). Beyond the first and the last frame there are zeros. Raises ValueError for arguments that do not fit.
    Source: paddle.nn.functional.temporal_shift.
    """
    last = _image_format(x, data_format, "temporal_shift")
    if seg_num < 1 or x.shape[0] % seg_num:
        raise ValueError(
            f"temporal_shift: expected a seg_num that divides the {x.shape[0]} frames of x, received {seg_num}"
        )
    if not 0.0 < shift_ratio < 0.5:
        raise ValueError(f"temporal_shift: expected a shift_ratio in (0, 0.5), received {shift_ratio}")
    axis = 4 if last else 2
    channels = x.shape[axis - 1]
    first, second = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    frames = _C_ops.reshape(x, (x.shape[0] // seg_num, seg_num, *x.shape[1:]))
    parts = [
        _shifted(_C_ops.slice(frames, [axis], [0], [first]), 1),
        _shifted(_C_ops.slice(frames, [axis], [first], [second]), -1),
        _C_ops.slice(frames, [axis], [second], [channels]),
    ]
    kept = [part for part, width in zip(parts, (first, second - first, channels - second)) if width]
    out = _C_ops.concat(kept, axis) if kept else frames
    return _C_ops.reshape(out, tuple(x.shape))


def _shifted(frames: Tensor, step: int) -> Tensor:
    """Frames [N, frames, ...] one place later (step 1) or earlier (-1), with zeros where none comes from."""
    count = frames.shape[1]
    start, stop = (0, count - 1) if step > 0 else (1, count)
    kept = _C_ops.slice(frames, [1], [start], [max(stop, start)])
    paddings = [0] * (2 * frames.ndim)
    paddings[2 if step > 0 else 3] = 1
    return _C_ops.pad(kept, tuple(paddings), 0.0)
