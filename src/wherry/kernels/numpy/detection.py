"""Boxes of object detection: overlap, suppression, proposals, coding. A box is (left, top, right, bottom).

Suppression is sequential by nature: it has one step for each box, but what the steps look at is worked out for a block of boxes at a time.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.infermeta.detection import expanded_ratios
from wherry.kernels.numpy.common import Array, in_float32

Floats = tuple[float, ...]
# The largest growth of a box by its delta, as in Detectron.
_LARGEST: Final = float(np.log(1000.0 / 16.0))
# Boxes that suppression works on at a time.
_BLOCK: Final = 64


def _area(boxes: Array, offset: float) -> Array:
    """Areas; 0 where a box ends before it begins. offset: 1 where the last pixel belongs to the box."""
    size = boxes[..., 2:] - boxes[..., :2]
    return np.where((size < 0).any(axis=-1), 0, (size + boxes.dtype.type(offset)).prod(axis=-1))


def _overlap(boxes: Array, others: Array, offset: float) -> Array:
    """Intersection over union, box by box with broadcasting."""
    low = np.maximum(boxes[..., :2], others[..., :2])
    high = np.minimum(boxes[..., 2:], others[..., 2:])
    common = (high - low + boxes.dtype.type(offset)).prod(axis=-1)
    apart = (high < low).any(axis=-1)
    return np.where(apart, 0, common / (_area(boxes, offset) + _area(others, offset) - common))


def _kept(boxes: Array, collides: Callable[[Array, Array], Array]) -> Array:
    """The places of the boxes that collide with no earlier kept box.

    A block of boxes is compared with itself and its kept ones with all that are left, so that the sequential part is a row of bools for
    each box of a block.
    """
    left = np.arange(boxes.shape[0])
    found: list[Array] = [left[:0]]
    while left.size:
        head, left = left[:_BLOCK], left[_BLOCK:]
        hit = collides(boxes[head][:, None], boxes[head][None])
        alive = np.ones(head.size, np.bool_)
        for i in range(head.size):
            if alive[i]:
                alive[i + 1 :] &= ~hit[i, i + 1 :]
        head = head[alive]
        found.append(head)
        if left.size:
            left = left[~collides(boxes[head][:, None], boxes[left][None]).any(axis=0)]
    return np.concatenate(found)


@kernel("nms", FLOAT)
def nms(x: Array, threshold: float) -> Array:
    """The places of the boxes that overlap no earlier kept box by more than the threshold."""

    def collides(a: Array, b: Array) -> Array:
        width, height = (np.minimum(a[..., i + 2], b[..., i + 2]) - np.maximum(a[..., i], b[..., i]) for i in (0, 1))
        common = np.maximum(width, 0) * np.maximum(height, 0)
        areas = (a[..., 2:] - a[..., :2]).prod(axis=-1) + (b[..., 2:] - b[..., :2]).prod(axis=-1)
        return np.asarray(common / (areas - common) > np.float32(threshold))

    return _kept(x.astype(np.float32) if x.dtype.itemsize == 2 else x, collides)


def _suppressed(boxes: Array, threshold: float, eta: float, offset: float) -> Array:
    """The places of kept boxes; with eta below 1 the threshold, while above 0.5, shrinks by it with each of them."""
    if eta >= 1 or threshold <= 0.5:
        return _kept(boxes, lambda a, b: ~(_overlap(a, b, offset) <= threshold))
    left = np.arange(boxes.shape[0])
    most = np.zeros(left.size, boxes.dtype)
    kept: list[int] = []
    while left.size:
        kept.append(int(left[0]))
        most = np.maximum(most[1:], _overlap(boxes[0], boxes[1:], offset))
        if threshold > 0.5:
            threshold *= eta
        good = most <= threshold
        left, boxes, most = left[1:][good], boxes[1:][good], most[good]
    return np.array(kept, np.int64)


def _decayed(boxes: Array, scores: Array, use_gaussian: bool, gaussian_sigma: float, offset: float) -> Array:
    """Scores, sorted from the highest, each lowered by its overlaps with those before it (Wang et al., 2020)."""
    overlap = np.tril(_overlap(boxes[:, None], boxes[None], offset), -1)
    most = overlap.max(axis=1)
    if use_gaussian:
        decay = np.exp((most * most - overlap * overlap) * boxes.dtype.type(gaussian_sigma))
    else:
        decay = (1 - overlap) / (1 - most)
    before = np.tri(*decay.shape, -1, dtype=np.bool_)
    return np.fmin.reduce(np.where(before, decay, 1), axis=1, initial=1) * scores


@kernel("matrix_nms", FLOAT)
@in_float32
def matrix_nms(
    bboxes: Array,
    scores: Array,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    post_threshold: float,
    use_gaussian: bool,
    gaussian_sigma: float,
    background_label: int,
    normalized: bool,
) -> tuple[Array, Array, Array]:
    """Class, score and box of what is kept, the place among all boxes, and the number for each image; one step for each image and class."""
    images, classes, boxes = scores.shape
    dtype = bboxes.dtype.type
    rows, places, counts = [np.empty((0, 6), dtype)], [np.empty(0, np.int64)], []
    for image in range(images):
        found = [np.empty((0, 2), dtype)]
        which = [np.empty(0, np.int64)]
        for label in range(classes):
            if label == background_label:
                continue
            above = np.flatnonzero(scores[image, label] > dtype(score_threshold))
            order = above[np.argsort(-scores[image, label, above], kind="stable")]
            order = order[:nms_top_k] if nms_top_k > -1 else order
            if not order.size:
                continue
            lowered = _decayed(
                bboxes[image, order], scores[image, label, order], use_gaussian, gaussian_sigma, float(not normalized)
            )
            good = lowered > dtype(post_threshold)
            found.append(np.stack((np.full(int(good.sum()), label, dtype), lowered[good].astype(dtype)), axis=1))
            which.append(order[good])
        pairs, own = np.concatenate(found), np.concatenate(which)
        best = np.argsort(-pairs[:, 1], kind="stable")
        best = best[:keep_top_k] if keep_top_k > -1 else best
        rows.append(np.concatenate((pairs[best], bboxes[image, own[best]]), axis=1))
        places.append(own[best] + image * boxes)
        counts.append(best.size)
    index = np.concatenate(places).astype(np.int32)[:, None]
    return np.concatenate(rows), index, np.array(counts, np.int32)


def _moved(anchors: Array, deltas: Array, variances: Array, offset: float) -> Array:
    """Anchors moved and scaled by deltas."""
    one = anchors.dtype.type(offset)
    size = anchors[:, 2:] - anchors[:, :2] + one
    centre = anchors[:, :2] + size / 2
    shift = variances * deltas
    centre = shift[:, :2] * size + centre
    half = np.exp(np.minimum(shift[:, 2:], anchors.dtype.type(_LARGEST))) * size / 2
    return np.concatenate((centre - half, centre + half - one), axis=1)


def _proposals(
    scores: Array,
    deltas: Array,
    shape: Array,
    anchors: Array,
    variances: Array,
    pre_nms_top_n: int,
    post_nms_top_n: int,
    nms_thresh: float,
    min_size: float,
    eta: float,
    pixel_offset: bool,
) -> tuple[Array, Array]:
    """Boxes and scores of one image, from the highest score."""
    offset = float(pixel_offset)
    order = np.argsort(-scores, kind="stable")
    order = order[:pre_nms_top_n] if pre_nms_top_n > 0 else order
    boxes = _moved(anchors[order], deltas[order], variances[order], offset)
    ends = np.tile(shape[1::-1] - shape.dtype.type(offset), 2)
    boxes = np.maximum(np.minimum(boxes, ends), 0)
    size = boxes[:, 2:] - boxes[:, :2] + boxes.dtype.type(offset)
    good = (size >= max(min_size, 1.0)).all(axis=1)
    if pixel_offset:
        good &= (boxes[:, :2] + size / 2 <= shape[1::-1]).all(axis=1)
    boxes, chosen = boxes[good], scores[order][good]
    if not boxes.size:
        return np.zeros((1, 4), boxes.dtype), np.zeros((1, 1), boxes.dtype)
    if nms_thresh > 0:
        kept = _suppressed(boxes, nms_thresh, eta, offset)
        kept = kept[:post_nms_top_n] if post_nms_top_n > 0 else kept
        boxes, chosen = boxes[kept], chosen[kept]
    return boxes, chosen[:, None]


@kernel("generate_proposals", FLOAT)
@in_float32
def generate_proposals(
    scores: Array,
    bbox_deltas: Array,
    im_shape: Array,
    anchors: Array,
    variances: Array,
    pre_nms_top_n: int,
    post_nms_top_n: int,
    nms_thresh: float,
    min_size: float,
    eta: float,
    pixel_offset: bool,
) -> tuple[Array, Array, Array]:
    """The best boxes of each image; one step for each image."""
    images = scores.shape[0]
    settings = (pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, eta, pixel_offset)
    flat_scores = scores.transpose(0, 2, 3, 1).reshape(images, -1)
    flat_deltas = bbox_deltas.transpose(0, 2, 3, 1).reshape(images, -1, 4)
    corners, factors = anchors.reshape(-1, 4), variances.reshape(-1, 4)
    found = [
        _proposals(flat_scores[i], flat_deltas[i], im_shape[i], corners, factors, *settings) for i in range(images)
    ]
    boxes = np.concatenate([np.empty((0, 4), scores.dtype)] + [b for b, _ in found])
    probabilities = np.concatenate([np.empty((0, 1), scores.dtype)] + [p for _, p in found])
    return boxes, probabilities, np.array([b.shape[0] for b, _ in found], np.int32)


@kernel("distribute_fpn_proposals", FLOAT)
def distribute_fpn_proposals(
    fpn_rois: Array,
    rois_num: Array,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool,
) -> tuple[Array, Array, Array]:
    """Boxes sorted by the level that suits their size (Lin et al., 2017), the way back, and the number for each level and image."""
    rois = fpn_rois.astype(np.float32) if fpn_rois.dtype.itemsize == 2 else fpn_rois
    if (rois_num.size and int(rois_num.min()) < 0) or int(rois_num.sum()) != rois.shape[0]:
        raise ValueError(
            f"expected rois_num of at least 0 that add up to the {rois.shape[0]} boxes, received {rois_num.tolist()}"
        )
    scale = np.sqrt(_area(rois, float(pixel_offset))) / rois.dtype.type(refer_scale)
    level = np.floor(np.log2(scale + rois.dtype.type(1e-6)) + rois.dtype.type(refer_level))
    level = np.nan_to_num(np.clip(level, min_level, max_level), nan=min_level).astype(np.int64) - min_level
    order = np.argsort(level, kind="stable")
    restore = np.empty((order.size, 1), np.int32)
    restore[order, 0] = np.arange(order.size)
    image = np.repeat(np.arange(rois_num.size), rois_num)
    levels = max_level - min_level + 1
    counts = np.bincount(level * rois_num.size + image, minlength=levels * rois_num.size)
    return fpn_rois[order], restore, counts.reshape(levels, rois_num.size).astype(np.int32)


@kernel("box_coder", FLOAT)
@in_float32
def box_coder(
    prior_box: Array,
    prior_box_var: Array | None,
    target_box: Array,
    code_type: str,
    box_normalized: bool,
    axis: int,
    variance: Floats,
) -> Array:
    """Centres and sizes relative to prior boxes, or back from them."""
    one = prior_box.dtype.type(0 if box_normalized else 1)
    factors = np.array(variance, prior_box.dtype) if prior_box_var is None and variance else prior_box_var
    size = prior_box[:, 2:] - prior_box[:, :2] + one
    centre = prior_box[:, :2] + size / 2
    if code_type == "encode_center_size":
        target_size = target_box[:, 2:] - target_box[:, :2] + one
        target_centre = (target_box[:, 2:] + target_box[:, :2]) / 2
        where = (target_centre[:, None] - centre) / size
        out = np.concatenate((where, np.log(np.abs(target_size[:, None] / size))), axis=2)
        return out if factors is None else out / factors
    if axis == 1:
        size, centre = size[:, None], centre[:, None]
        factors = factors[:, None] if factors is not None and factors.ndim == 2 else factors
    shift = target_box if factors is None else factors * target_box
    middle = shift[..., :2] * size + centre
    half = np.exp(shift[..., 2:]) * size / 2
    return np.concatenate((middle - half, middle + half - one), axis=2)


@kernel("prior_box", FLOAT)
@in_float32
def prior_box(
    input: Array,
    image: Array,
    min_sizes: Floats,
    max_sizes: Floats,
    aspect_ratios: Floats,
    variances: Floats,
    flip: bool,
    clip: bool,
    step_w: float,
    step_h: float,
    offset: float,
    min_max_aspect_ratios_order: bool,
) -> tuple[Array, Array]:
    """Boxes of every size and ratio around every place, in parts of the image; the same everywhere, so only the places are arrays."""
    dtype = input.dtype.type
    height, width = input.shape[2:]
    half = np.array(_half_sizes(min_sizes, max_sizes, aspect_ratios, flip, min_max_aspect_ratios_order), dtype)
    if not input.size or not image.size:
        empty = np.zeros((height, width, half.shape[0], 4), dtype)
        return empty, empty.copy()
    whole = np.array([image.shape[3], image.shape[2]], dtype)
    step = np.array([step_w, step_h], dtype)
    if not step.all():
        step = whole / np.array([width, height], dtype)
    centres = np.empty((height, width, 1, 2), dtype)
    centres[..., 0] = ((np.arange(width, dtype=dtype) + dtype(offset)) * step[0])[:, None]
    centres[..., 1] = ((np.arange(height, dtype=dtype) + dtype(offset)) * step[1])[:, None, None]
    out = np.concatenate(((centres - half) / whole, (centres + half) / whole), axis=3)
    if clip:
        np.clip(out, 0, 1, out=out)
    return out, np.broadcast_to(np.array(variances, dtype), out.shape).copy()


def _half_sizes(
    min_sizes: Floats, max_sizes: Floats, aspect_ratios: Floats, flip: bool, squares_first: bool
) -> list[tuple[float, float]]:
    result: list[tuple[float, float]] = []
    for number, size in enumerate(min_sizes):
        ratios = [r**0.5 for r in expanded_ratios(aspect_ratios, flip)]
        shapes = [(size * r / 2, size / r / 2) for r in ratios]
        square = [((size * max_sizes[number]) ** 0.5 / 2,) * 2] if max_sizes else []
        result += shapes[:1] + square + shapes[1:] if squares_first else shapes + square
    return result
