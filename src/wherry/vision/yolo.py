"""The head of YOLOv3: its boxes and its loss. Source: paddle.vision.ops."""

from collections.abc import Sequence

from wherry import _C_ops
from wherry.nn.functional.loss import binary_cross_entropy_with_logits
from wherry.tensor.tensor import Tensor


def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[Tensor, Tensor]:
    """Boxes in pixels and scores from the output of a YOLO head.

    x: [N, anchors * (5 + class_num), H, W], for each anchor (x, y, width, height, objectness, classes); with iou_aware there are `anchors` channels
    of predicted overlaps before them. img_size: [N, 2] integers (height, width). anchors: pairs (width, height) in pixels of an input
    downsample_ratio times x's size. Returns boxes [N, anchors * H * W, 4] and scores [N, anchors * H * W, class_num], zeros where the confidence
    is below conf_thresh. Raises ValueError for shapes that do not fit. Source: paddle.vision.ops.yolo_box.
    """
    return _C_ops.yolo_box(
        x,
        img_size,
        anchors,
        class_num,
        conf_thresh,
        downsample_ratio,
        clip_bbox,
        scale_x_y,
        iou_aware,
        iou_aware_factor,
    )


def yolo_loss(
    x: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: Tensor | None = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> Tensor:
    """The loss of a YOLOv3 head for each image (Redmon and Farhadi, 2018): location, objectness and classes, added up.

    x: [N, anchors of anchor_mask * (5 + class_num), H, W]; gt_box: [N, boxes, 4] (centre x, centre y, width, height) as parts of the image, a box
    without extent being none; gt_label: [N, boxes] integers; gt_score: [N, boxes], how much each counts. anchors: pairs (width, height) of
    all heads, anchor_mask: which of them this head has. Where a predicted box overlaps a true one by more than ignore_thresh without being
    its own, objectness does not count. Derivatives by x, of every order. Raises ValueError for shapes that do not fit.
    Source: paddle.vision.ops.yolo_loss.
    """
    objectness, index, target, weight = _C_ops.yolo_targets(
        x,
        gt_box,
        gt_label,
        gt_score,
        anchors,
        anchor_mask,
        class_num,
        ignore_thresh,
        downsample_ratio,
        use_label_smooth,
        scale_x_y,
    )
    read = _C_ops.take(x, index)

    def part(tensor: Tensor, start: int, stop: int) -> Tensor:
        return _C_ops.slice(tensor, [2], [start], [stop])

    entries = 4 + class_num
    sizes = _C_ops.abs(_C_ops.subtract(part(read, 2, 4), part(target, 2, 4)))
    losses = [_C_ops.multiply(sizes, part(weight, 2, 4))]
    for start, stop in ((0, 2), (4, entries)):
        entropy = binary_cross_entropy_with_logits(part(read, start, stop), part(target, start, stop), reduction="none")
        losses.append(_C_ops.multiply(entropy, part(weight, start, stop)))
    heads = _C_ops.reshape(x, (x.shape[0], len(anchor_mask), class_num + 5, *x.shape[2:]))
    logits = _C_ops.squeeze(_C_ops.slice(heads, [2], [4], [5]), (2,))
    own = _C_ops.greater_than(objectness, 1e-5)
    found = _C_ops.cast(own, x.dtype)
    others = _C_ops.cast(_C_ops.greater_than(objectness, -0.5), x.dtype)
    entropy = binary_cross_entropy_with_logits(logits, found, reduction="none")
    losses.append(_C_ops.multiply(entropy, _C_ops.where(own, objectness, others)))
    total = _C_ops.sum(losses[0], (1, 2), None, False)
    for loss in losses[1:]:
        total = _C_ops.add(total, _C_ops.sum(loss, tuple(range(1, loss.ndim)), None, False))
    return total
