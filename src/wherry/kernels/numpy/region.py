"""Pooling over regions of images (boxes), each cut into bins.

What a bin covers is the product of what it covers along each axis. So cells and weights are worked out axis by axis for all boxes at once,
multiplied out, and applied to all channels as a sparse matrix. The loops run over parts of the boxes, to limit the memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.kernels.numpy.common import Array, in_float32

Ints = tuple[int, ...]
# Cells that are worked on at a time.
_CELLS: Final = 1 << 21


@dataclass(frozen=True)
class Cover:
    """What bins cover along one axis: for [box, bin] the number of cells; all bins' cells one after another, with their weights."""

    counts: Array
    cells: Array
    weights: Array


def _ragged(counts: Array) -> tuple[Array, Array]:
    """For rows of the given lengths, one after another: the row of each element, and its place in the row."""
    flat = counts.reshape(-1).astype(np.int64)
    rows = np.repeat(np.arange(flat.size), flat)
    return rows, np.arange(rows.size) - np.repeat(np.cumsum(flat) - flat, flat)


def _starts(counts: Array) -> Array:
    flat = counts.reshape(-1)
    return (np.cumsum(flat) - flat).reshape(counts.shape)


def _images(boxes: Array, boxes_num: Array) -> Array:
    """The image of each box."""
    if boxes_num.size and int(boxes_num.min()) < 0 or int(boxes_num.sum()) != boxes.shape[0]:
        raise ValueError(
            f"expected boxes_num of at least 0 that add up to the {boxes.shape[0]} boxes, received {boxes_num.tolist()}"
        )
    if not np.isfinite(boxes).all():
        bad = int(np.flatnonzero(~np.isfinite(boxes).all(axis=1))[0])
        raise ValueError(f"expected finite boxes, received {boxes[bad].tolist()} at {bad}")
    return np.repeat(np.arange(boxes_num.size), boxes_num)


def _sampled(start: Array, size: Array, bins: int, sampling_ratio: int, length: int) -> Cover:
    """Linear interpolation at evenly spaced places in each bin: two cells each; places beyond the image count as zeros."""
    wide = size / size.dtype.type(bins)
    grid = np.full(start.shape, sampling_ratio) if sampling_ratio > 0 else np.ceil(wide).astype(np.int64)
    grid = np.maximum(grid, 0)
    counts = np.broadcast_to(grid[:, None], (start.size, bins))
    rows, at = _ragged(counts)
    box, cell = rows // bins, (rows % bins).astype(start.dtype)
    place = start[box] + wide[box] * (cell + (at + 0.5).astype(start.dtype) / grid[box].astype(start.dtype))
    inside = (place >= -1) & (place <= length)
    rows, box, place = rows[inside], box[inside], np.maximum(place[inside], 0)
    low = np.minimum(place.astype(np.int64), length - 1)
    high = np.minimum(low + 1, length - 1)
    share = np.where(high > low, place - low, 0)
    weights = (np.stack((1 - share, share), axis=1) / grid[box, None]).reshape(-1).astype(start.dtype)
    # A cell without weight is not read: what it holds may be infinite.
    read = np.flatnonzero(weights)
    counts = np.bincount(np.repeat(rows, 2)[read], minlength=start.size * bins).reshape(start.size, bins)
    return Cover(counts, np.stack((low, high), axis=1).reshape(-1)[read], weights[read])


def _whole(start: Array, end: Array, dtype: Any) -> Cover:
    """All cells from start to end [box, bin], each with the same weight."""
    counts = np.maximum(end - start, 0)
    rows, at = _ragged(counts)
    return Cover(counts, start.reshape(-1)[rows] + at, (1.0 / counts.reshape(-1)[rows]).astype(dtype))


def _parts(y: Cover, x: Cover, channels: int = 1) -> Iterator[slice]:
    """Runs of boxes with about _CELLS cells each; `channels`: for work on every channel of every cell."""
    totals = np.cumsum(y.counts.sum(axis=1) * x.counts.sum(axis=1)) * channels
    start = 0
    while start < totals.size:
        before = int(totals[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, before + _CELLS, side="right")))
        yield slice(start, stop)
        start = stop


def _cells(y: Cover, x: Cover, part: slice, width: int) -> tuple[Array, Array, Array, Array]:
    """Of the bins [box, bin of y, bin of x] of a part: how many cells, the bin of each cell, the cells in an image, their weights."""
    ny, nx = y.counts[part][:, :, None], x.counts[part][:, None, :]
    counts = ny * nx
    bins, at = _ragged(counts)
    across = np.broadcast_to(nx, counts.shape).reshape(-1)[bins]
    down = at // across
    at_y = np.broadcast_to(_starts(y.counts)[part][:, :, None], counts.shape).reshape(-1)[bins] + down
    at_x = np.broadcast_to(_starts(x.counts)[part][:, None, :], counts.shape).reshape(-1)[bins] + at - down * across
    return counts, bins, y.cells[at_y] * width + x.cells[at_x], y.weights[at_y] * x.weights[at_x]


def _matrices(y: Cover, x: Cover, first: Array, width: int, rows: int) -> Iterator[tuple[slice, Any]]:
    """Part after part of the boxes, the matrix [bins, rows] that takes means; first [box, bin of y, bin of x]: the bin's first row."""
    from scipy.sparse import csr_matrix

    for part in _parts(y, x):
        counts, bins, cells, weights = _cells(y, x, part, width)
        begin = np.concatenate(([0], np.cumsum(counts.reshape(-1))))
        columns = first[part].reshape(-1)[bins] + cells
        yield part, csr_matrix((weights, columns, begin), (counts.size, rows))


def _align_cover(
    boxes: Array, shape: Ints, bins: Ints, spatial_scale: float, sampling_ratio: int, aligned: bool
) -> tuple[Cover, Cover]:
    scaled = boxes * boxes.dtype.type(spatial_scale) - boxes.dtype.type(0.5 if aligned else 0.0)
    size = scaled[:, 2:] - scaled[:, :2]
    if not aligned:
        size = np.maximum(size, 1)
    covers = [_sampled(scaled[:, a], size[:, a], bins[1 - a], sampling_ratio, shape[3 - a]) for a in (0, 1)]
    return covers[1], covers[0]


def _align_matrices(
    boxes: Array, boxes_num: Array, shape: Ints, bins: Ints, spatial_scale: float, sampling_ratio: int, aligned: bool
) -> Iterator[tuple[slice, Any]]:
    images = _images(boxes, boxes_num)
    y, x = _align_cover(boxes, shape, bins, spatial_scale, sampling_ratio, aligned)
    area = shape[2] * shape[3]
    first = np.broadcast_to((images * area)[:, None, None], (images.size, *bins))
    return _matrices(y, x, first, shape[3], shape[0] * area)


def _rows(x: Array) -> Array:
    """[images * height * width, channels] of [images, channels, height, width]."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(-1, x.shape[1])


@kernel("roi_align", FLOAT)
@in_float32
def roi_align(
    x: Array,
    boxes: Array,
    boxes_num: Array,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Array:
    """Means of samples between the cells of each bin."""
    bins, channels = (pooled_height, pooled_width), x.shape[1]
    out = np.zeros((boxes.shape[0], *bins, channels), x.dtype)
    if x.size:
        rows = _rows(x)
        for part, matrix in _align_matrices(boxes, boxes_num, x.shape, bins, spatial_scale, sampling_ratio, aligned):
            out[part] = (matrix @ rows).reshape(-1, *bins, channels)
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2))


@kernel("roi_align_grad", FLOAT)
@in_float32
def roi_align_grad(
    out_grad: Array,
    boxes: Array,
    boxes_num: Array,
    shape: Ints,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Array:
    """The transpose of roi_align."""
    images, channels, height, width = shape
    total = np.zeros((images * height * width, channels), out_grad.dtype)
    if total.size:
        grads = np.ascontiguousarray(out_grad.transpose(0, 2, 3, 1))
        bins = grads.shape[1:3]
        for part, matrix in _align_matrices(boxes, boxes_num, shape, bins, spatial_scale, sampling_ratio, aligned):
            total += matrix.T @ grads[part].reshape(-1, channels)
    return np.ascontiguousarray(total.reshape(images, height, width, channels).transpose(0, 3, 1, 2))


def _rounded(x: Array) -> Array:
    """To the nearest integer, halves away from zero as C's round."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def _pool_cover(boxes: Array, axis: int, bins: int, spatial_scale: float, length: int) -> Cover:
    ends = _rounded(boxes[:, axis::2] * boxes.dtype.type(spatial_scale)).astype(np.int64)
    size = np.maximum(ends[:, 1] - ends[:, 0] + 1, 1).astype(np.float32) / np.float32(bins)
    edge = np.arange(bins + 1, dtype=np.float32)
    start = np.floor(edge[:-1] * size[:, None]).astype(np.int64) + ends[:, :1]
    stop = np.ceil(edge[1:] * size[:, None]).astype(np.int64) + ends[:, :1]
    return _whole(np.clip(start, 0, length), np.clip(stop, 0, length), boxes.dtype)


@kernel("roi_pool", FLOAT)
@in_float32
def roi_pool(
    x: Array, boxes: Array, boxes_num: Array, pooled_height: int, pooled_width: int, spatial_scale: float
) -> tuple[Array, Array]:
    """Maxima of the cells of each bin and their places in the flattened x; 0 and -1 for a bin without cells. A NaN is a maximum."""
    images, bins, channels = _images(boxes, boxes_num), (pooled_height, pooled_width), x.shape[1]
    best = np.zeros((boxes.shape[0], *bins, channels), x.dtype)
    index = np.full(best.shape, -1, np.int64)
    if x.size:
        height, width = x.shape[2:]
        area = height * width
        y = _pool_cover(boxes, 1, pooled_height, spatial_scale, height)
        across = _pool_cover(boxes, 0, pooled_width, spatial_scale, width)
        rows = _rows(x)
        for part in _parts(y, across, channels):
            counts, bin_of, cells, _ = _cells(y, across, part, width)
            if not cells.size:
                continue
            image = np.repeat(images[part], bins[0] * bins[1])[bin_of]
            values = rows[image * area + cells]
            filled = np.flatnonzero(counts)
            begin = _starts(counts).reshape(-1)[filled]
            top = np.maximum.reduceat(values, begin, axis=0)
            order = np.repeat(np.arange(filled.size), counts.reshape(-1)[filled])
            hit = (values == top[order]) | np.isnan(values)
            # The first cell that holds the maximum has the smallest number.
            flat = np.where(hit, (image * channels * area + cells)[:, None], np.iinfo(np.int64).max)
            place = np.minimum.reduceat(flat, begin, axis=0) + np.arange(channels) * area
            best[part].reshape(-1, channels)[filled] = top
            index[part].reshape(-1, channels)[filled] = place
    return np.ascontiguousarray(best.transpose(0, 3, 1, 2)), np.ascontiguousarray(index.transpose(0, 3, 1, 2))


def _psroi_cover(boxes: Array, axis: int, bins: int, spatial_scale: float, length: int) -> Cover:
    dtype = boxes.dtype.type
    ends = _rounded(boxes[:, axis::2])
    start, stop = ends[:, 0] * dtype(spatial_scale), (ends[:, 1] + dtype(1)) * dtype(spatial_scale)
    size = np.maximum(stop - start, dtype(0.1)) / dtype(bins)
    edge = np.arange(bins + 1, dtype=boxes.dtype)
    low = np.floor(edge[:-1] * size[:, None] + start[:, None])
    high = np.ceil(edge[1:] * size[:, None] + start[:, None])
    return _whole(np.clip(low, 0, length).astype(np.int64), np.clip(high, 0, length).astype(np.int64), boxes.dtype)


def _psroi_matrices(
    boxes: Array, boxes_num: Array, shape: Ints, bins: Ints, spatial_scale: float
) -> Iterator[tuple[slice, Any]]:
    images = _images(boxes, boxes_num)
    height, width = shape[2:]
    y = _psroi_cover(boxes, 1, bins[0], spatial_scale, height)
    x = _psroi_cover(boxes, 0, bins[1], spatial_scale, width)
    area = height * width
    # Each bin has channels of its own.
    first = (images[:, None] * bins[0] * bins[1] + np.arange(bins[0] * bins[1])) * area
    return _matrices(y, x, first.reshape(-1, *bins), width, shape[0] * bins[0] * bins[1] * area)


@kernel("psroi_pool", FLOAT)
@in_float32
def psroi_pool(
    x: Array,
    boxes: Array,
    boxes_num: Array,
    pooled_height: int,
    pooled_width: int,
    output_channels: int,
    spatial_scale: float,
) -> Array:
    """Means of the cells of each bin, in the channels that belong to the bin; 0 for a bin without cells."""
    bins = (pooled_height, pooled_width)
    out = np.zeros((boxes.shape[0], *bins, output_channels), x.dtype)
    if x.size:
        split = x.reshape(x.shape[0], output_channels, pooled_height * pooled_width, -1)
        rows = np.ascontiguousarray(split.transpose(0, 2, 3, 1)).reshape(-1, output_channels)
        for part, matrix in _psroi_matrices(boxes, boxes_num, x.shape, bins, spatial_scale):
            out[part] = (matrix @ rows).reshape(-1, *bins, output_channels)
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2))


@kernel("psroi_pool_grad", FLOAT)
@in_float32
def psroi_pool_grad(out_grad: Array, boxes: Array, boxes_num: Array, shape: Ints, spatial_scale: float) -> Array:
    """The transpose of psroi_pool."""
    output_channels, bins = out_grad.shape[1], out_grad.shape[2:]
    images, area = shape[0], shape[2] * shape[3]
    total = np.zeros((images * bins[0] * bins[1] * area, output_channels), out_grad.dtype)
    if total.size:
        grads = np.ascontiguousarray(out_grad.transpose(0, 2, 3, 1))
        for part, matrix in _psroi_matrices(boxes, boxes_num, shape, bins, spatial_scale):
            total += matrix.T @ grads[part].reshape(-1, output_channels)
    split = total.reshape(images, bins[0] * bins[1], area, output_channels)
    return np.ascontiguousarray(split.transpose(0, 3, 1, 2)).reshape(shape)
