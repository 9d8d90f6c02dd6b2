"""Boxes proposed, chosen and coded. Source: paddle.vision.ops."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor


def nms(
    boxes: Tensor,
    iou_threshold: float = 0.3,
    scores: Tensor | None = None,
    category_idxs: Tensor | None = None,
    categories: Sequence[int] | None = None,
    top_k: int | None = None,
) -> Tensor:
    """The places (int64) of the boxes that overlap no better box by more than iou_threshold.

    boxes: [boxes, 4], from the best on; or in any order with scores [boxes], and then the result is from the best on. category_idxs: [boxes], the
    category of each; only boxes of the same category suppress one another, and those of none of `categories` are left out. top_k: at
    most so many. Raises ValueError for category_idxs without scores or categories, or a top_k above the number of boxes.
    Source: paddle.vision.ops.nms.
    """
    if scores is None:
        if category_idxs is not None or top_k is not None:
            raise ValueError("nms: expected scores with category_idxs or top_k, received None")
        return _C_ops.nms(boxes, iou_threshold)
    order = _C_ops.argsort(scores, -1, True, True)[1]
    if top_k is not None and top_k > scores.shape[0]:
        raise ValueError(f"nms: expected a top_k of at most {scores.shape[0]}, the number of boxes, received {top_k}")
    if category_idxs is None:
        kept = _C_ops.gather(order, _C_ops.nms(_C_ops.gather(boxes, order, 0), iou_threshold), 0)
    else:
        if categories is None:
            raise ValueError("nms: expected categories with category_idxs, received None")
        own = _C_ops.gather(category_idxs, order, 0)
        found = []
        for category in dict.fromkeys(int(c) for c in categories):
            same = _C_ops.equal(own, _C_ops.full_like(own, category, None))
            places = _C_ops.masked_select(order, same)
            found.append(_C_ops.gather(places, _C_ops.nms(_C_ops.gather(boxes, places, 0), iou_threshold), 0))
        if not found:
            return _C_ops.slice(order, [0], [0], [0])
        kept = _C_ops.concat(found, 0)
        best = _C_ops.argsort(_C_ops.gather(scores, kept, 0), -1, True, True)[1]
        kept = _C_ops.gather(kept, best, 0)
    return kept if top_k is None else _C_ops.slice(kept, [0], [0], [top_k])


def matrix_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    post_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    use_gaussian: bool = False,
    gaussian_sigma: float = 2.0,
    background_label: int = 0,
    normalized: bool = True,
    return_index: bool = False,
    return_rois_num: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Scores lowered by overlaps instead of boxes left out one after another (Wang et al., 2020).

    bboxes: [N, boxes, 4], scores: [N, classes, boxes]. Of each class but background_label the nms_top_k boxes with a score above
    score_threshold take part, and those with a lowered score above post_threshold are kept, at most keep_top_k for each image (-1: all).
    Returns (out [kept, 6] of class, score and box, the number for each image or None, places among all boxes [kept, 1] or None).
    Source: paddle.vision.ops.matrix_nms.
    """
    out, index, rois_num = _C_ops.matrix_nms(
        bboxes,
        scores,
        score_threshold,
        nms_top_k,
        keep_top_k,
        post_threshold,
        use_gaussian,
        gaussian_sigma,
        background_label,
        normalized,
    )
    return out, rois_num if return_rois_num else None, index if return_index else None


def generate_proposals(
    scores: Tensor,
    bbox_deltas: Tensor,
    img_size: Tensor,
    anchors: Tensor,
    variances: Tensor,
    pre_nms_top_n: int = 6000,
    post_nms_top_n: int = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    pixel_offset: bool = False,
    return_rois_num: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The best boxes of a region proposal network (Ren et al., 2015).

    scores: [N, anchors, H, W], bbox_deltas: [N, 4 * anchors, H, W], img_size: [N, 2] (height, width), anchors and variances: [H, W, anchors, 4]. Of
    each image the pre_nms_top_n best anchors are moved by their deltas, cut at the image, dropped where smaller than min_size (at least
    1), and suppressed; at most post_nms_top_n stay. An image without any has one box of zeros.
    Returns (boxes [kept, 4], scores [kept, 1], the number for each image (int32) or None). Source: paddle.vision.ops.generate_proposals.
    """
    rois, probabilities, rois_num = _C_ops.generate_proposals(
        scores,
        bbox_deltas,
        img_size,
        anchors,
        variances,
        int(pre_nms_top_n),
        int(post_nms_top_n),
        nms_thresh,
        min_size,
        eta,
        pixel_offset,
    )
    return rois, probabilities, rois_num if return_rois_num else None


def distribute_fpn_proposals(
    fpn_rois: Tensor,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool = False,
    rois_num: Tensor | None = None,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """Boxes given to the levels of a feature pyramid by their size (Lin et al., 2017).

    fpn_rois: [boxes, 4]; a box of the size refer_scale goes to refer_level. rois_num: [N], how many boxes each image has; needed.
    Returns (the boxes of each level, where each box is in them put together [boxes, 1] (int32), the number for each image level by level).
    Raises ValueError for levels that do not fit or without rois_num. Source: paddle.vision.ops.distribute_fpn_proposals.
    """
    if min_level < 1 or max_level <= min_level:
        raise ValueError(
            f"distribute_fpn_proposals: expected 0 < min_level < max_level, received {min_level} and {max_level}"
        )
    if rois_num is None:
        raise ValueError("distribute_fpn_proposals: expected rois_num, received None")
    rois, restore, counts = _C_ops.distribute_fpn_proposals(
        fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset
    )
    sizes = [int(n) for n in counts.numpy().sum(axis=1)]
    return _C_ops.split(rois, sizes, 0), restore, _C_ops.unbind(counts, 0)


def _floats(value: Any) -> list[float]:
    if value is None:
        return []
    return [float(v) for v in value] if isinstance(value, (list, tuple)) else [float(value)]


def prior_box(
    input: Tensor,
    image: Tensor,
    min_sizes: Any,
    max_sizes: Any = None,
    aspect_ratios: Any = (1.0,),
    variance: Any = (0.1, 0.1, 0.2, 0.2),
    flip: bool = False,
    clip: bool = False,
    steps: Any = (0.0, 0.0),
    offset: float = 0.5,
    min_max_aspect_ratios_order: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Default boxes around every cell of a feature map (SSD, Liu et al., 2016), as parts of the image.

    input: [N, C, H, W] features, image: [N, C, height, width]. Each min_size gives a box for every aspect ratio (1 among them; with flip their
    inverses), and with its max_size a square of the mean size. steps: (width, height) of a cell in the image, 0: the image's size by the map's.
    clip: cut at the image. Returns boxes and variances [H, W, priors, 4]. Raises ValueError for sizes that do not fit.
    Source: paddle.vision.ops.prior_box.
    """
    steps = _floats(steps)
    if len(steps) != 2:
        raise ValueError(f"prior_box: expected two numbers (width, height) in steps, received {steps}")
    return _C_ops.prior_box(
        input,
        image,
        _floats(min_sizes),
        _floats(max_sizes),
        _floats(aspect_ratios),
        _floats(variance),
        flip,
        clip,
        *steps,
        offset,
        min_max_aspect_ratios_order,
    )


def box_coder(
    prior_box: Tensor,
    prior_box_var: Any,
    target_box: Tensor,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    axis: int = 0,
    name: str | None = None,
) -> Tensor:
    """Boxes as differences from prior boxes, or back.

    prior_box: [priors, 4]; prior_box_var: a tensor of its shape or 4 numbers. 'encode_center_size': target_box [targets, 4], the result
    [targets, priors, 4]; 'decode_center_size': target_box [targets, priors, 4], or with axis=1 [priors, targets, 4]. box_normalized=False: the last
    pixel belongs to a box. Raises ValueError for shapes that do not fit. Source: paddle.vision.ops.box_coder.
    """
    variance: list[float] = []
    if not isinstance(prior_box_var, Tensor):
        if not isinstance(prior_box_var, (list, tuple)):
            raise TypeError(
                f"box_coder: expected a Tensor or 4 numbers as prior_box_var, received {type(prior_box_var).__name__}"
            )
        variance, prior_box_var = _floats(prior_box_var), None
        if len(variance) != 4:
            raise ValueError(f"box_coder: expected 4 numbers in prior_box_var, received {variance}")
    return _C_ops.box_coder(prior_box, prior_box_var, target_box, code_type, box_normalized, axis, variance)
