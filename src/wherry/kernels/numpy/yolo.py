"""Boxes from a YOLO head, and what its loss compares it with (Redmon and Farhadi, 2018)."""

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.kernels.numpy.common import Array, in_float32

Ints = tuple[int, ...]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _centres(x: Array, scale_x_y: float) -> tuple[Array, Array]:
    """Centres along the width and the height as parts of the image, from the first two entries of [images, anchors, entries, height, width]."""
    dtype = x.dtype.type
    height, width = x.shape[3:]
    shift = dtype(-0.5 * (scale_x_y - 1.0))
    across = (np.arange(width, dtype=dtype) + _sigmoid(x[:, :, 0]) * dtype(scale_x_y) + shift) / dtype(width)
    down = np.arange(height, dtype=dtype)[:, None] + _sigmoid(x[:, :, 1]) * dtype(scale_x_y) + shift
    return across, down / dtype(height)


def _sizes(x: Array, anchors: Array, downsample_ratio: int) -> tuple[Array, Array]:
    """Widths and heights as parts of the image."""
    dtype = x.dtype.type
    height, width = x.shape[3:]
    across = np.exp(x[:, :, 2]) * anchors[:, 0].astype(dtype)[:, None, None] / dtype(downsample_ratio * width)
    return across, np.exp(x[:, :, 3]) * anchors[:, 1].astype(dtype)[:, None, None] / dtype(downsample_ratio * height)


@kernel("yolo_box", FLOAT)
@in_float32
def yolo_box(
    x: Array,
    img_size: Array,
    anchors: Ints,
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool,
    scale_x_y: float,
    iou_aware: bool,
    iou_aware_factor: float,
) -> tuple[Array, Array]:
    """Boxes in pixels and scores of the classes; zeros where the confidence is below the threshold."""
    dtype = x.dtype.type
    pairs = np.array(anchors).reshape(-1, 2)
    count, (images, _, height, width) = pairs.shape[0], x.shape
    head = x[:, count:] if iou_aware else x
    head = head.reshape(images, count, class_num + 5, height, width)
    confidence = _sigmoid(head[:, :, 4])
    if iou_aware:
        factor = dtype(iou_aware_factor)
        confidence = confidence ** (1 - factor) * _sigmoid(x[:, :count]) ** factor
    sure = ~(confidence < dtype(conf_thresh))
    sizes = img_size.astype(dtype)[:, ::-1, None, None, None]
    boxes = np.zeros((images, count, height, width, 4), dtype)
    for axis, (centre, size) in enumerate(zip(_centres(head, scale_x_y), _sizes(head, pairs, downsample_ratio))):
        whole = sizes[:, axis]
        low, high = centre * whole - size * whole / 2, centre * whole + size * whole / 2
        if clip_bbox:
            low, high = np.maximum(low, 0), np.minimum(high, whole - 1)
        boxes[..., axis] = np.where(sure, low, 0)
        boxes[..., axis + 2] = np.where(sure, high, 0)
    scores = np.where(sure[:, :, None], confidence[:, :, None] * _sigmoid(head[:, :, 5:]), 0)
    places = count * height * width
    return boxes.reshape(images, places, 4), scores.transpose(0, 1, 3, 4, 2).reshape(images, places, class_num)


def _share(first: tuple[Array, ...], second: tuple[Array, ...]) -> Array:
    """Intersection over union of boxes given as (centre, centre, width, height)."""
    common: Array | None = None
    for axis in (0, 1):
        low = np.maximum(first[axis] - first[axis + 2] / 2, second[axis] - second[axis + 2] / 2)
        high = np.minimum(first[axis] + first[axis + 2] / 2, second[axis] + second[axis + 2] / 2)
        length = np.maximum(high - low, 0)
        common = length if common is None else common * length
    assert common is not None
    return common / (first[2] * first[3] + second[2] * second[3] - common)


@kernel("yolo_targets", FLOAT)
@in_float32
def yolo_targets(
    x: Array,
    gt_box: Array,
    gt_label: Array,
    gt_score: Array | None,
    anchors: Ints,
    anchor_mask: Ints,
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    use_label_smooth: bool,
    scale_x_y: float,
) -> tuple[Array, Array, Array, Array]:
    """Objectness of each place: the score of the box it answers for, -1 where it overlaps one enough to be left out, else 0; and for each box
    the places in x of its location and classes, what they should be, and how much each counts (0 for a box without an anchor here).
    """
    dtype = x.dtype.type
    images, boxes = gt_box.shape[:2]
    height, width = x.shape[2:]
    head = x.reshape(images, len(anchor_mask), class_num + 5, height, width)
    pairs, mask = np.array(anchors).reshape(-1, 2), np.array(anchor_mask)
    valid = (gt_box[..., 2] >= 1e-6) & (gt_box[..., 3] >= 1e-6)
    objectness = _ignored(head, gt_box, valid, pairs[mask], ignore_thresh, downsample_ratio, scale_x_y)
    anchor, row, column, location = _assigned(gt_box, pairs, (height, width), downsample_ratio)
    slot = np.argmax(mask == anchor[..., None], axis=-1)
    used = valid & (mask == anchor[..., None]).any(axis=-1)
    score = np.ones((images, boxes), dtype) if gt_score is None else gt_score
    image = np.broadcast_to(np.arange(images)[:, None], used.shape)
    # Boxes later in the list take a place from earlier ones, as in Paddle.
    objectness[image[used], slot[used], row[used], column[used]] = score[used]
    entries = np.concatenate((np.arange(4), np.arange(5, 5 + class_num)))
    first = (image * mask.size + slot) * (class_num + 5)
    index = (first[..., None] + entries) * (height * width) + (row * width + column)[..., None]
    smooth = min(1.0 / class_num, 1.0 / 40) if use_label_smooth else 0.0
    labels = np.where(np.arange(class_num) == gt_label[..., None], 1.0 - smooth, smooth)
    target = np.concatenate((location, labels), axis=2).astype(dtype)
    weight = np.empty(target.shape, dtype)
    weight[..., :4] = ((2 - gt_box[..., 2] * gt_box[..., 3]) * score)[..., None]
    weight[..., 4:] = score[..., None]
    weight[~used] = 0
    return objectness, np.where(used[..., None], index, 0), np.where(used[..., None], target, 0).astype(dtype), weight


def _ignored(
    head: Array,
    gt_box: Array,
    valid: Array,
    anchors: Array,
    ignore_thresh: float,
    downsample_ratio: int,
    scale_x_y: float,
) -> Array:
    """-1 where the predicted box overlaps a true one by more than the threshold, else 0; one step for each true box of an image."""
    predicted = _centres(head, scale_x_y) + _sizes(head, anchors, downsample_ratio)
    best = np.zeros(predicted[0].shape, head.dtype)
    for box in range(gt_box.shape[1]):
        true = tuple(gt_box[:, box, i, None, None, None] for i in range(4))
        np.fmax(best, np.where(valid[:, box, None, None, None], _share(predicted, true), 0), out=best)
    return np.where(best > np.float32(ignore_thresh), -1, 0).astype(head.dtype)


def _assigned(gt_box: Array, anchors: Array, shape: Ints, downsample_ratio: int) -> tuple[Array, Array, Array, Array]:
    """Of each true box the anchor most like it, the row and column of its centre, and its location as the head should give it."""
    dtype = gt_box.dtype
    height, width = shape
    whole = np.array([width, height], dtype)
    relative = anchors.astype(dtype) / (whole * dtype.type(downsample_ratio))
    size = gt_box[..., None, 2:]
    common = np.minimum(size, relative).prod(axis=-1)
    overlap = common / (size.prod(axis=-1) + relative.prod(axis=-1) - common)
    anchor = np.argmax(np.nan_to_num(overlap), axis=-1)
    centre = gt_box[..., :2] * whole
    cell = np.clip(np.nan_to_num(centre), 0, whole - 1).astype(np.int64)
    location = np.concatenate((centre - cell, np.log(gt_box[..., 2:] / relative[anchor])), axis=-1)
    return anchor, cell[..., 1], cell[..., 0], location
