"""InferMeta of object detection."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta

Ints = tuple[int, ...]
Floats = tuple[float, ...]


def _one_dtype(first: Meta, *others: Meta) -> None:
    for other in others:
        if other.dtype is not first.dtype:
            raise TypeError(f"expected tensors of one dtype, received {first.dtype.name} and {other.dtype.name}")


def _check_boxes(boxes: Meta, name: str) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"expected {name} of shape [boxes, 4], received {list(boxes.shape)}")


@infer_meta("NmsInferMeta")
def nms(x: Meta, threshold: float) -> Meta:
    """The places of as many boxes as are kept."""
    _check_boxes(x, "boxes")
    return Meta((-1,), dt.int64)


@infer_meta("MatrixNmsInferMeta")
def matrix_nms(bboxes: Meta, scores: Meta) -> tuple[Meta, Meta, Meta]:
    """Class, score and box of as many as are kept, their places, and how many there are for each image."""
    if bboxes.ndim != 3 or scores.ndim != 3 or bboxes.shape[2] != 4:
        raise ValueError(
            "expected bboxes of shape [images, boxes, 4] and scores of shape [images, classes, boxes], received "
            f"{list(bboxes.shape)} and {list(scores.shape)}"
        )
    if scores.shape[0] > bboxes.shape[0] or scores.shape[2] != bboxes.shape[1]:
        raise ValueError(
            f"expected scores of as many images and boxes as bboxes, received {list(scores.shape)} and {list(bboxes.shape)}"
        )
    _one_dtype(bboxes, scores)
    return (
        bboxes.with_shape((-1, 6)),
        Meta((-1, 1), dt.int32),
        Meta((scores.shape[0],), dt.int32),
    )


@infer_meta("GenerateProposalsInferMeta")
def generate_proposals(
    scores: Meta, bbox_deltas: Meta, im_shape: Meta, anchors: Meta, variances: Meta
) -> tuple[Meta, Meta, Meta]:
    """Boxes and scores of as many as are kept, and how many there are for each image."""
    if scores.ndim != 4 or bbox_deltas.ndim != 4:
        raise ValueError(
            "expected scores [images, anchors, height, width] and bbox_deltas [images, 4 * anchors, height, width], received shapes "
            f"{list(scores.shape)} and {list(bbox_deltas.shape)}"
        )
    images, count, height, width = scores.shape
    if bbox_deltas.shape != (images, 4 * count, height, width):
        raise ValueError(
            f"expected bbox_deltas of shape {[images, 4 * count, height, width]}, received {list(bbox_deltas.shape)}"
        )
    if im_shape.ndim != 2 or im_shape.shape[0] != images or im_shape.shape[1] < 2:
        raise ValueError(f"expected img_size of shape [{images}, 2], received {list(im_shape.shape)}")
    for name, meta in (("anchors", anchors), ("variances", variances)):
        if meta.size != 4 * count * height * width:
            raise ValueError(
                f"expected {name} of 4 numbers for each of {count * height * width} scores, received shape {list(meta.shape)}"
            )
    _one_dtype(scores, bbox_deltas, im_shape, anchors, variances)
    return scores.with_shape((-1, 4)), scores.with_shape((-1, 1)), Meta((images,), dt.int32)


@infer_meta("DistributeFpnProposalsInferMeta")
def distribute_fpn_proposals(fpn_rois: Meta, rois_num: Meta, min_level: int, max_level: int) -> tuple[Meta, Meta, Meta]:
    """The boxes level by level, the way back, and how many there are for each level and image."""
    _check_boxes(fpn_rois, "fpn_rois")
    if rois_num.ndim != 1 or not rois_num.dtype.is_integer:
        raise ValueError(f"expected rois_num to hold an integer for each image, received {rois_num}")
    return (
        fpn_rois,
        Meta((fpn_rois.shape[0], 1), dt.int32),
        Meta((max_level - min_level + 1, rois_num.shape[0]), dt.int32),
    )


@infer_meta("BoxCoderInferMeta")
def box_coder(
    prior_box: Meta,
    prior_box_var: Meta | None,
    target_box: Meta,
    code_type: str,
    box_normalized: bool,
    axis: int,
    variance: Floats,
) -> Meta:
    """Every target against every prior box, or the boxes decoded in place."""
    _check_boxes(prior_box, "prior_box")
    _one_dtype(prior_box, target_box)
    if prior_box_var is not None:
        _one_dtype(prior_box, prior_box_var)
        if prior_box_var.shape != prior_box.shape:
            raise ValueError(
                f"expected prior_box_var of prior_box's shape {list(prior_box.shape)}, received {list(prior_box_var.shape)}"
            )
    if code_type == "encode_center_size":
        _check_boxes(target_box, "target_box")
        return target_box.with_shape((target_box.shape[0], prior_box.shape[0], 4))
    if code_type != "decode_center_size":
        raise ValueError(f"expected code_type 'encode_center_size' or 'decode_center_size', received {code_type!r}")
    if axis not in (0, 1):
        raise ValueError(f"expected axis 0 or 1, received {axis}")
    if target_box.ndim != 3 or target_box.shape[2] != 4 or target_box.shape[1 - axis] != prior_box.shape[0]:
        wanted = ["targets", prior_box.shape[0], 4] if axis == 0 else [prior_box.shape[0], "targets", 4]
        raise ValueError(f"expected target_box of shape {wanted} with axis={axis}, received {list(target_box.shape)}")
    return target_box


def expanded_ratios(aspect_ratios: Floats, flip: bool) -> list[float]:
    """1, then each ratio that has not been, and with flip its inverse."""
    ratios = [1.0]
    for ratio in aspect_ratios:
        if any(abs(ratio - r) < 1e-6 for r in ratios):
            continue
        ratios.append(ratio)
        if flip:
            ratios.append(1.0 / ratio)
    return ratios


@infer_meta("PriorBoxInferMeta")
def prior_box(
    input: Meta,
    image: Meta,
    min_sizes: Floats,
    max_sizes: Floats,
    aspect_ratios: Floats,
    variances: Floats,
    flip: bool,
) -> tuple[Meta, Meta]:
    """[height, width, priors, 4], twice."""
    if input.ndim != 4 or image.ndim != 4:
        raise ValueError(
            f"expected input and image of 4 dimensions, received shapes {list(input.shape)} and {list(image.shape)}"
        )
    if not min_sizes or min(min_sizes) <= 0:
        raise ValueError(f"expected positive min_sizes, received {list(min_sizes)}")
    if max_sizes:
        if len(max_sizes) != len(min_sizes):
            raise ValueError(
                f"expected as many max_sizes as min_sizes, received {list(max_sizes)} and {list(min_sizes)}"
            )
        for low, high in zip(min_sizes, max_sizes):
            if high <= low:
                raise ValueError(
                    f"expected max_sizes above min_sizes, received {list(max_sizes)} and {list(min_sizes)}"
                )
    if len(variances) != 4 or min(variances) <= 0:
        raise ValueError(f"expected 4 positive numbers in variance, received {list(variances)}")
    if aspect_ratios and min(aspect_ratios) <= 0:
        raise ValueError(f"expected positive aspect_ratios, received {list(aspect_ratios)}")
    priors = len(expanded_ratios(aspect_ratios, flip)) * len(min_sizes) + len(max_sizes)
    out = input.with_shape((input.shape[2], input.shape[3], priors, 4))
    return out, out


def _check_anchors(anchors: Ints) -> int:
    if not anchors or len(anchors) % 2 or min(anchors) < 1:
        raise ValueError(f"expected positive pairs (width, height) in anchors, received {list(anchors)}")
    return len(anchors) // 2


@infer_meta("YoloBoxInferMeta")
def yolo_box(x: Meta, img_size: Meta, anchors: Ints, class_num: int, iou_aware: bool) -> tuple[Meta, Meta]:
    """Boxes and scores of every anchor at every place."""
    count = _check_anchors(anchors)
    if class_num < 1:
        raise ValueError(f"expected class_num of at least 1, received {class_num}")
    channels = count * (class_num + (6 if iou_aware else 5))
    if x.ndim != 4 or x.shape[1] != channels:
        raise ValueError(
            f"expected x of shape [images, {channels}, height, width] ({count} anchors, {class_num} classes, iou_aware={iou_aware}), "
            f"received {list(x.shape)}"
        )
    if img_size.shape != (x.shape[0], 2) or not img_size.dtype.is_integer:
        raise ValueError(f"expected img_size to be integers of shape [{x.shape[0]}, 2], received {img_size}")
    boxes = count * x.shape[2] * x.shape[3]
    return x.with_shape((x.shape[0], boxes, 4)), x.with_shape((x.shape[0], boxes, class_num))


@infer_meta("YoloTargetsInferMeta")
def yolo_targets(
    x: Meta,
    gt_box: Meta,
    gt_label: Meta,
    gt_score: Meta | None,
    anchors: Ints,
    anchor_mask: Ints,
    class_num: int,
    downsample_ratio: int,
) -> tuple[Meta, Meta, Meta, Meta]:
    """Objectness of every place; place in x, target and weight of every number that a true box is compared with."""
    count = _check_anchors(anchors)
    if not anchor_mask or min(anchor_mask) < 0 or max(anchor_mask) >= count:
        raise ValueError(f"expected anchor_mask to hold numbers in [0, {count}), received {list(anchor_mask)}")
    if class_num < 1 or downsample_ratio < 1:
        raise ValueError(
            f"expected class_num and downsample_ratio of at least 1, received {class_num} and {downsample_ratio}"
        )
    channels = len(anchor_mask) * (class_num + 5)
    if x.ndim != 4 or x.shape[1] != channels:
        raise ValueError(
            f"expected x of shape [images, {channels}, height, width] ({len(anchor_mask)} anchors, {class_num} classes), received "
            f"{list(x.shape)}"
        )
    if gt_box.ndim != 3 or gt_box.shape[0] != x.shape[0] or gt_box.shape[2] != 4:
        raise ValueError(f"expected gt_box of shape [{x.shape[0]}, boxes, 4], received {list(gt_box.shape)}")
    _one_dtype(x, gt_box)
    if gt_label.shape != gt_box.shape[:2] or not gt_label.dtype.is_integer:
        raise ValueError(f"expected gt_label to be integers of shape {list(gt_box.shape[:2])}, received {gt_label}")
    if gt_score is not None:
        _one_dtype(x, gt_score)
        if gt_score.shape != gt_box.shape[:2]:
            raise ValueError(f"expected gt_score of shape {list(gt_box.shape[:2])}, received {list(gt_score.shape)}")
    compared = x.with_shape((*gt_box.shape[:2], class_num + 4))
    objectness = x.with_shape((x.shape[0], len(anchor_mask), *x.shape[2:]))
    return objectness, compared.with_dtype(dt.int64), compared, compared
