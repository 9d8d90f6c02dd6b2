"""Rows of windows as columns, weighted rows and pooling over regions."""

import itertools
from typing import Any

import numpy as np

from tests.op_table.references import sifted
from tests.op_table.row import FLOATS, Case, Row


def unfold(x: np.ndarray, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> np.ndarray:
    """Window by window."""
    padded = np.pad(x, ((0, 0), (0, 0), paddings[:2], paddings[2:]))
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel_sizes)]
    counts = [(padded.shape[2 + i] - spans[i]) // strides[i] + 1 for i in (0, 1)]
    columns = []
    for i, j in np.ndindex(*counts):
        top, left = i * strides[0], j * strides[1]
        window = padded[:, :, top : top + spans[0] : dilations[0], left : left + spans[1] : dilations[1]]
        columns.append(window.reshape(x.shape[0], x.shape[1] * int(np.prod(kernel_sizes))))
    return np.stack(columns, axis=-1)


def transpose_of(function: Any, out_grad: np.ndarray, shape: Any) -> np.ndarray:
    """The transpose of a linear map, column by column."""
    total = np.zeros(int(np.prod(shape)), out_grad.dtype)
    for place in range(total.size):
        unit = np.zeros(total.size)
        unit[place] = 1
        total[place] = sifted(function(unit.reshape(shape)).astype(out_grad.dtype), out_grad).sum()
    return total.reshape(shape)


def fold(x: np.ndarray, output_sizes: Any, kernel_sizes: Any, **attrs: Any) -> np.ndarray:
    shape = (x.shape[0], x.shape[1] // int(np.prod(kernel_sizes)), *output_sizes)
    return transpose_of(lambda y: unfold(y, kernel_sizes, **attrs), x, shape)


def bag(x: np.ndarray, weight: np.ndarray, per_sample_weights: np.ndarray) -> np.ndarray:
    out = np.zeros((x.shape[0], weight.shape[1]), weight.dtype)
    for i, j in np.ndindex(*x.shape):
        if x[i, j] >= 0:
            out[i] += per_sample_weights[i, j] * weight[x[i, j]]
    return out


def bag_grad_weight(x: np.ndarray, per_sample_weights: np.ndarray, out_grad: np.ndarray, rows: int) -> np.ndarray:
    out = np.zeros((rows, out_grad.shape[1]), out_grad.dtype)
    for i, j in np.ndindex(*x.shape):
        if x[i, j] >= 0:
            out[x[i, j]] += per_sample_weights[i, j] * out_grad[i]
    return out


def bag_grad_samples(x: np.ndarray, weight: np.ndarray, out_grad: np.ndarray) -> np.ndarray:
    out = np.zeros(x.shape, out_grad.dtype)
    for i, j in np.ndindex(*x.shape):
        if x[i, j] >= 0:
            out[i, j] = (weight[x[i, j]] * out_grad[i]).sum()
    return out


def fractional(x: np.ndarray, output_size: Any, kernel_size: Any, random_u: float) -> Any:
    """Window by window, at the places of Graham's formula with floor instead of ceil."""
    count = len(output_size)
    spatial, lead = x.shape[-count:], x.shape[:-count]
    lines = []
    for size, out, kernel in zip(spatial, output_size, kernel_size):
        alpha = (size - kernel) / (out - 1 if kernel else out)
        u = random_u
        if not kernel:
            u *= min((size // out + 2) / alpha - 1, (size + 1 - size // out) / alpha - (out - 1))
        edges = [int((i + u) * alpha) - int(u * alpha) for i in range(out + 1)]
        lines.append([(edges[i], edges[i] + kernel if kernel else edges[i + 1]) for i in range(out)])
    best, index = np.empty(lead + tuple(output_size), x.dtype), np.empty(lead + tuple(output_size), np.int32)
    places = np.arange(int(np.prod(spatial))).reshape(spatial)
    for cell in np.ndindex(*output_size):
        cut = tuple(slice(*line[c]) for line, c in zip(lines, cell))
        flat = x[(..., *cut)].reshape(*lead, places[cut].size)
        best[(..., *cell)] = flat.max(-1)
        index[(..., *cell)] = places[cut].reshape(-1)[flat.argmax(-1)]
    return best, index


def c_round(x: np.ndarray) -> np.ndarray:
    """Halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def image_of(boxes_num: np.ndarray) -> list[int]:
    return [image for image, count in enumerate(boxes_num) for _ in range(count)]


def read(plane: np.ndarray, y: float, x: float) -> np.ndarray:
    """Linear interpolation in the last two axes; a cell beyond them is still its neighbour's value, further out there is nothing."""
    height, width = plane.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(plane.shape[:-2], plane.dtype)
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    total = np.zeros(plane.shape[:-2], plane.dtype)
    for row, column in itertools.product({int(y), min(int(y) + 1, height - 1)}, {int(x), min(int(x) + 1, width - 1)}):
        total = total + sifted((1 - abs(y - row)) * (1 - abs(x - column)), plane[..., row, column])
    return total


def roi_align(
    x: np.ndarray,
    boxes: np.ndarray,
    boxes_num: np.ndarray,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> np.ndarray:
    """Sample by sample."""
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width), x.dtype)
    for number, image in enumerate(image_of(boxes_num)):
        left, top, right, bottom = boxes[number].astype(np.float64) * spatial_scale - (0.5 if aligned else 0)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1), max(width, 1)
        tall, wide = height / pooled_height, width / pooled_width
        down = sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(tall)), 0)
        across = sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(wide)), 0)
        for i, j in np.ndindex(pooled_height, pooled_width):
            for a, b in np.ndindex(down, across):
                y, place = top + tall * (i + (a + 0.5) / down), left + wide * (j + (b + 0.5) / across)
                out[number, :, i, j] += read(x[image], y, place) / (down * across)
    return out


def roi_pool(
    x: np.ndarray, boxes: np.ndarray, boxes_num: np.ndarray, pooled_height: int, pooled_width: int, spatial_scale: float
) -> Any:
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width), x.dtype)
    index = np.full(out.shape, -1)
    places = np.arange(x.size).reshape(x.shape)
    for number, image in enumerate(image_of(boxes_num)):
        left, top, right, bottom = c_round(boxes[number] * spatial_scale).astype(int)
        tall, wide = max(bottom - top + 1, 1) / pooled_height, max(right - left + 1, 1) / pooled_width
        for i, j in np.ndindex(pooled_height, pooled_width):
            rows = slice(*np.clip([top + int(np.floor(i * tall)), top + int(np.ceil((i + 1) * tall))], 0, x.shape[2]))
            columns = slice(
                *np.clip([left + int(np.floor(j * wide)), left + int(np.ceil((j + 1) * wide))], 0, x.shape[3])
            )
            window = x[image, :, rows, columns].reshape(x.shape[1], -1)
            if window.shape[1]:
                out[number, :, i, j] = window.max(-1)
                where = places[image, :, rows, columns].reshape(x.shape[1], -1)
                index[number, :, i, j] = np.take_along_axis(where, window.argmax(-1)[:, None], 1)[:, 0]
    return out, index


def psroi_pool(
    x: np.ndarray,
    boxes: np.ndarray,
    boxes_num: np.ndarray,
    pooled_height: int,
    pooled_width: int,
    output_channels: int,
    spatial_scale: float,
) -> np.ndarray:
    out = np.zeros((len(boxes), output_channels, pooled_height, pooled_width), x.dtype)
    for number, image in enumerate(image_of(boxes_num)):
        start = c_round(boxes[number, :2]) * spatial_scale
        size = np.maximum((c_round(boxes[number, 2:]) + 1) * spatial_scale - start, 0.1)
        for c, i, j in np.ndindex(*out.shape[1:]):
            cut = []
            for axis, (bin_, bins) in enumerate(((j, pooled_width), (i, pooled_height))):
                low, high = start[axis] + size[axis] / bins * bin_, start[axis] + size[axis] / bins * (bin_ + 1)
                cut.append(slice(*np.clip([int(np.floor(low)), int(np.ceil(high))], 0, x.shape[3 - axis])))
            window = x[image, (c * pooled_height + i) * pooled_width + j, cut[1], cut[0]]
            out[number, c, i, j] = window.mean() if window.size else 0
    return out


def roi_align_grad(out_grad: np.ndarray, boxes: np.ndarray, boxes_num: np.ndarray, shape: Any, **attrs: Any) -> Any:
    return transpose_of(lambda x: roi_align(x, boxes, boxes_num, *out_grad.shape[2:], **attrs), out_grad, shape)


def psroi_pool_grad(
    out_grad: np.ndarray, boxes: np.ndarray, boxes_num: np.ndarray, shape: Any, spatial_scale: float
) -> np.ndarray:
    channels, *bins = out_grad.shape[1:]
    return transpose_of(lambda x: psroi_pool(x, boxes, boxes_num, *bins, channels, spatial_scale), out_grad, shape)


def _windows(kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> dict[str, Any]:
    return {"kernel_sizes": kernel_sizes, "strides": strides, "paddings": paddings, "dilations": dilations}


_UNFOLD = (
    Case(((2, 2, 4, 5),), _windows((2, 3), (1, 1), (0, 0, 0, 0), (1, 1))),
    Case(((1, 1, 5, 4),), _windows((2, 2), (2, 1), (1, 0, 0, 2), (2, 1))),
    Case(((0, 2, 3, 3),), _windows((2, 2), (1, 1), (0, 0, 0, 0), (1, 1))),
)
_FOLD = (
    Case(((2, 12, 9),), {"output_sizes": (4, 5), **_UNFOLD[0].attrs}),
    Case(((1, 4, 10),), {"output_sizes": (5, 4), **_UNFOLD[1].attrs}),
)
_BOTH = ("float64", "complex128")
_BAGS = np.array([[0, 2, -1], [1, 1, 3], [-1, -1, -1], [3, 0, 2]])
_BOXES = np.array([[0.3, 0.7, 4.2, 3.1], [1.0, -1.5, 2.9, 6.4], [2.2, 1.1, 2.6, 1.3]])
_TURNED = np.array([[3.0, 2.0, 1.0, 1.0], [-9.0, -9.0, -7.0, -7.0], [0.0, 0.0, 3.0, 2.0]])
_NUM = np.array([2, 1], np.int32)
_ALIGN: tuple[dict[str, Any], ...] = (
    {"spatial_scale": 1.0, "sampling_ratio": -1, "aligned": True},
    {"spatial_scale": 0.5, "sampling_ratio": 2, "aligned": False},
)
_SIZE = {"pooled_height": 2, "pooled_width": 3}
_GIVEN = {
    "empty": "boxes are given, and belong to images that an emptied batch does not have",
    "halves": "boxes rounded to a half reach other cells",
}
_SHAPED = {"empty": "an attribute tells a shape, which emptied inputs do not fit"}

ROWS = (
    Row("unfold", _UNFOLD, unfold, (*FLOATS, "int32", "float16", "bfloat16", "complex128"), grad_dtypes=_BOTH),
    Row("fold", _FOLD, fold, (*FLOATS, "float16", "complex128"), grad_dtypes=_BOTH, exempt=_SHAPED),
    Row(
        "embedding_bag",
        (Case((_BAGS, (4, 3), (4, 3))), Case((np.empty((0, 2), np.int64), (4, 3), (0, 2)))),
        bag,
        (*FLOATS, "float16", "complex128"),
        grad_dtypes=_BOTH,
        exempt=_SHAPED,
    ),
    Row(
        "embedding_bag_grad_weight",
        (Case((_BAGS, (4, 3), (4, 2)), {"rows": 5}),),
        bag_grad_weight,
        (*FLOATS, "complex128"),
        grad_dtypes=_BOTH,
        exempt=_SHAPED,
    ),
    Row(
        "embedding_bag_grad_samples",
        (Case((_BAGS, (5, 2), (4, 2))),),
        bag_grad_samples,
        (*FLOATS, "complex128"),
        grad_dtypes=_BOTH,
        exempt=_SHAPED,
    ),
    Row(
        "fractional_max_pool",
        (
            Case(((2, 2, 7, 6),), {"output_size": (3, 4), "kernel_size": (0, 0), "random_u": 0.3}),
            Case(((1, 2, 7, 7),), {"output_size": (3, 3), "kernel_size": (2, 3), "random_u": 0.6}),
            Case(((1, 1, 4, 5, 3),), {"output_size": (2, 3, 3), "kernel_size": (0, 0, 0), "random_u": 0.7}),
            Case(((0, 2, 4, 4),), {"output_size": (2, 2), "kernel_size": (0, 0), "random_u": 0.5}),
        ),
        fractional,
        (*FLOATS, "float16", "int32"),
        distinct=True,
    ),
    Row(
        "roi_align",
        tuple(Case(((2, 2, 4, 5), b, _NUM), {**_SIZE, **a}) for b in (_BOXES, _TURNED) for a in _ALIGN),
        roi_align,
        ("float64",),
        grad_inputs=(0,),
        exempt=_GIVEN,
    ),
    Row(
        "roi_align_grad",
        tuple(Case(((3, 2, 2, 3), _BOXES, _NUM), {"shape": (2, 2, 4, 5), **a}) for a in _ALIGN),
        roi_align_grad,
        ("float64",),
        grad_inputs=(0,),
        exempt=_SHAPED,
    ),
    Row(
        "roi_pool",
        tuple(
            Case(((2, 2, 4, 5), b, _NUM), {**_SIZE, "spatial_scale": s}) for b in (_BOXES, _TURNED) for s in (1.0, 0.5)
        ),
        roi_pool,
        ("float64",),
        grad_inputs=(0,),
        distinct=True,
        exempt=_GIVEN,
    ),
    Row(
        "psroi_pool",
        tuple(
            Case(((2, 12, 4, 5), b, _NUM), {**_SIZE, "output_channels": 2, "spatial_scale": s})
            for b in (_BOXES, _TURNED)
            for s in (1.0, 0.5)
        ),
        psroi_pool,
        ("float64",),
        grad_inputs=(0,),
        exempt=_GIVEN,
    ),
    Row(
        "psroi_pool_grad",
        (Case(((3, 2, 2, 3), _BOXES, _NUM), {"shape": (2, 12, 4, 5), "spatial_scale": 0.5}),),
        psroi_pool_grad,
        ("float64",),
        grad_inputs=(0,),
        exempt=_SHAPED,
    ),
)
