"""Rows of object detection: references box by box."""

from typing import Any

import numpy as np

from tests.op_table.row import Case, Row


def overlap(a: Any, b: Any, offset: float = 0.0, touching: bool = True) -> float:
    """Intersection over union; touching: boxes that share an edge count as boxes that meet (0 / 0 is NaN for two points)."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if touching and (width < 0 or height < 0):
        return 0.0
    common = max(width + offset, 0) * max(height + offset, 0)
    areas = [(c[2] - c[0] + offset) * (c[3] - c[1] + offset) for c in (a, b)]
    return common / (areas[0] + areas[1] - common)


def nms(x: np.ndarray, threshold: float) -> np.ndarray:
    kept: list[int] = []
    for i in range(len(x)):
        if not any(overlap(x[k], x[i], touching=False) > threshold for k in kept):
            kept.append(i)
    return np.array(kept, np.int64)


def matrix_nms(
    bboxes: np.ndarray,
    scores: np.ndarray,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    post_threshold: float,
    use_gaussian: bool,
    gaussian_sigma: float,
    background_label: int,
    normalized: bool,
) -> Any:
    rows, places, counts = [], [], []
    for image in range(len(scores)):
        found = []
        for label in range(scores.shape[1]):
            if label == background_label:
                continue
            best = sorted(range(scores.shape[2]), key=lambda i: -scores[image, label, i])
            best = [i for i in best if scores[image, label, i] > score_threshold]
            best = best[:nms_top_k] if nms_top_k > -1 else best
            shares = [[overlap(bboxes[image, i], bboxes[image, j], float(not normalized)) for j in best] for i in best]
            most = [max(shares[i][:i], default=0.0) for i in range(len(best))]
            for i, place in enumerate(best):
                decays = [
                    np.exp((most[j] ** 2 - shares[i][j] ** 2) * gaussian_sigma)
                    if use_gaussian
                    else (1 - shares[i][j]) / (1 - most[j])
                    for j in range(i)
                ]
                lowered = min([1.0, *decays]) * scores[image, label, place]
                if lowered > post_threshold:
                    found.append((label, lowered, place))
        found.sort(key=lambda f: -f[1])
        found = found[:keep_top_k] if keep_top_k > -1 else found
        rows += [[label, score, *bboxes[image, place]] for label, score, place in found]
        places += [[place + image * scores.shape[2]] for _, _, place in found]
        counts.append(len(found))
    return (
        np.array(rows, bboxes.dtype).reshape(-1, 6),
        np.array(places, np.int32).reshape(-1, 1),
        np.array(counts, np.int32),
    )


def generate_proposals(
    scores: np.ndarray,
    bbox_deltas: np.ndarray,
    im_shape: np.ndarray,
    anchors: np.ndarray,
    variances: np.ndarray,
    pre_nms_top_n: int,
    post_nms_top_n: int,
    nms_thresh: float,
    min_size: float,
    eta: float,
    pixel_offset: bool,
) -> Any:
    images, count, height, width = scores.shape
    offset = float(pixel_offset)
    boxes_out, scores_out, counts = [], [], []
    for image in range(images):
        candidates = []
        for i, j, a in np.ndindex(height, width, count):
            left, top, right, bottom = anchors[i, j, a]
            w, h = right - left + offset, bottom - top + offset
            dx, dy, dw, dh = variances[i, j, a] * bbox_deltas[image, 4 * a : 4 * a + 4, i, j]
            x, y = left + w / 2 + dx * w, top + h / 2 + dy * h
            w, h = w * np.exp(min(dw, np.log(1000 / 16))), h * np.exp(min(dh, np.log(1000 / 16)))
            box = np.array([x - w / 2, y - h / 2, x + w / 2 - offset, y + h / 2 - offset])
            limit = np.array([im_shape[image, 1], im_shape[image, 0]] * 2) - offset
            candidates.append((scores[image, a, i, j], np.clip(box, 0, limit)))
        candidates.sort(key=lambda c: -c[0])
        candidates = candidates[:pre_nms_top_n] if pre_nms_top_n > 0 else candidates
        kept: list[Any] = []
        threshold = nms_thresh
        for score, box in candidates:
            w, h = box[2] - box[0] + offset, box[3] - box[1] + offset
            inside = box[0] + w / 2 <= im_shape[image, 1] and box[1] + h / 2 <= im_shape[image, 0]
            if min(w, h) < max(min_size, 1.0) or (pixel_offset and not inside):
                continue
            if nms_thresh > 0 and any(overlap(box, k, offset) > threshold for _, k in kept):
                continue
            kept.append((score, box))
            if eta < 1 and threshold > 0.5:
                threshold *= eta
        kept = kept[:post_nms_top_n] if post_nms_top_n > 0 and nms_thresh > 0 else kept
        kept = kept or [(0.0, np.zeros(4))]
        boxes_out += [k[1] for k in kept]
        scores_out += [[k[0]] for k in kept]
        counts.append(len(kept))
    return np.array(boxes_out), np.array(scores_out), np.array(counts, np.int32)


def distribute(
    fpn_rois: np.ndarray,
    rois_num: np.ndarray,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool,
) -> Any:
    offset = float(pixel_offset)
    images = [i for i, n in enumerate(rois_num) for _ in range(n)]
    levels: dict[int, list[int]] = {level: [] for level in range(min_level, max_level + 1)}
    counts = np.zeros((len(levels), len(rois_num)), np.int32)
    for number, box in enumerate(fpn_rois):
        w, h = box[2] - box[0], box[3] - box[1]
        area = 0.0 if w < 0 or h < 0 else (w + offset) * (h + offset)
        level = int(np.clip(np.floor(np.log2(np.sqrt(area) / refer_scale + 1e-6) + refer_level), min_level, max_level))
        levels[level].append(number)
        counts[level - min_level, images[number]] += 1
    order = [number for level in levels.values() for number in level]
    restore = np.array([[order.index(number)] for number in range(len(order))], np.int32)
    return fpn_rois[order], restore, counts


def box_coder(
    prior_box: np.ndarray,
    prior_box_var: Any,
    target_box: np.ndarray,
    code_type: str,
    box_normalized: bool,
    axis: int,
    variance: Any,
) -> np.ndarray:
    one = 0.0 if box_normalized else 1.0
    encode = code_type == "encode_center_size"
    shape = (len(target_box), len(prior_box)) if encode else target_box.shape[:2]
    out = np.empty((*shape, 4), prior_box.dtype)
    for i, j in np.ndindex(*shape):
        number = j if encode or axis == 0 else i
        left, top, right, bottom = prior_box[number]
        w, h = right - left + one, bottom - top + one
        x, y = left + w / 2, top + h / 2
        factor = prior_box_var[number] if prior_box_var is not None else np.array(variance or [1.0] * 4)
        if encode:
            a, b, c, d = target_box[i]
            code = [((a + c) / 2 - x) / w, ((b + d) / 2 - y) / h]
            out[i, j] = (code + [np.log(abs((c - a + one) / w)), np.log(abs((d - b + one) / h))]) / factor
        else:
            dx, dy, dw, dh = target_box[i, j] * factor
            x, y, w, h = x + dx * w, y + dy * h, w * np.exp(dw), h * np.exp(dh)
            out[i, j] = [x - w / 2, y - h / 2, x + w / 2 - one, y + h / 2 - one]
    return out


def prior_box(
    input: np.ndarray,
    image: np.ndarray,
    min_sizes: Any,
    max_sizes: Any,
    aspect_ratios: Any,
    variances: Any,
    flip: bool,
    clip: bool,
    step_w: float,
    step_h: float,
    offset: float,
    min_max_aspect_ratios_order: bool,
) -> Any:
    ratios = [1.0]
    for r in aspect_ratios:
        if r not in ratios:
            ratios += [r, 1 / r] if flip else [r]
    height, width = input.shape[2:]
    tall, wide = image.shape[2:]
    if not (step_w and step_h):
        step_w, step_h = wide / width, tall / height
    cells = []
    for i, j in np.ndindex(height, width):
        boxes = []
        for k, size in enumerate(min_sizes):
            own = [(size * r**0.5, size / r**0.5) for r in ratios]
            if max_sizes:
                own.insert(1 if min_max_aspect_ratios_order else len(own), ((size * max_sizes[k]) ** 0.5,) * 2)
            x, y = (j + offset) * step_w, (i + offset) * step_h
            boxes += [[(x - w / 2) / wide, (y - h / 2) / tall, (x + w / 2) / wide, (y + h / 2) / tall] for w, h in own]
        cells.append(boxes)
    out = np.array(cells).reshape(height, width, -1, 4)
    out = np.clip(out, 0, 1) if clip else out
    return out, np.broadcast_to(np.array(variances), out.shape)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def yolo_box(
    x: np.ndarray,
    img_size: np.ndarray,
    anchors: Any,
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool,
    scale_x_y: float,
    iou_aware: bool,
    iou_aware_factor: float,
) -> Any:
    count = len(anchors) // 2
    images, _, height, width = x.shape
    boxes = np.zeros((images, count, height, width, 4), x.dtype)
    scores = np.zeros((images, count, height, width, class_num), x.dtype)
    for n, a, i, j in np.ndindex(images, count, height, width):
        first = a * (5 + class_num) + (count if iou_aware else 0)
        entry = x[n, first : first + 5 + class_num, i, j]
        confidence = sigmoid(entry[4])
        if iou_aware:
            confidence = confidence ** (1 - iou_aware_factor) * sigmoid(x[n, a, i, j]) ** iou_aware_factor
        if confidence < conf_thresh:
            continue
        tall, wide = img_size[n]
        shift = -0.5 * (scale_x_y - 1)
        cx = (j + sigmoid(entry[0]) * scale_x_y + shift) * wide / width
        cy = (i + sigmoid(entry[1]) * scale_x_y + shift) * tall / height
        w = np.exp(entry[2]) * anchors[2 * a] * wide / (downsample_ratio * width)
        h = np.exp(entry[3]) * anchors[2 * a + 1] * tall / (downsample_ratio * height)
        box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]
        if clip_bbox:
            box = [max(box[0], 0), max(box[1], 0), min(box[2], wide - 1), min(box[3], tall - 1)]
        boxes[n, a, i, j] = box
        scores[n, a, i, j] = confidence * sigmoid(entry[5:])
    return boxes.reshape(images, -1, 4), scores.reshape(images, -1, class_num)


def _corners(box: Any) -> list[float]:
    return [box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2]


def yolo_targets(
    x: np.ndarray,
    gt_box: np.ndarray,
    gt_label: np.ndarray,
    gt_score: Any,
    anchors: Any,
    anchor_mask: Any,
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    use_label_smooth: bool,
    scale_x_y: float,
) -> Any:
    images, _, height, width = x.shape
    heads = x.reshape(images, len(anchor_mask), 5 + class_num, height, width)
    places = np.arange(x.size).reshape(heads.shape)
    tall, wide = downsample_ratio * height, downsample_ratio * width
    objectness = np.zeros((images, len(anchor_mask), height, width))
    shape = (*gt_box.shape[:2], 4 + class_num)
    index, target, weight = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    smooth = min(1 / class_num, 1 / 40) if use_label_smooth else 0.0
    for n, a, i, j in np.ndindex(*objectness.shape):
        entry, shift = heads[n, a, :, i, j], -0.5 * (scale_x_y - 1)
        anchor = anchor_mask[a]
        predicted = [
            (j + sigmoid(entry[0]) * scale_x_y + shift) / width,
            (i + sigmoid(entry[1]) * scale_x_y + shift) / height,
            np.exp(entry[2]) * anchors[2 * anchor] / wide,
            np.exp(entry[3]) * anchors[2 * anchor + 1] / tall,
        ]
        true = [box for box in gt_box[n] if min(box[2:]) >= 1e-6]
        if max([overlap(_corners(predicted), _corners(box)) for box in true], default=0) > ignore_thresh:
            objectness[n, a, i, j] = -1
    for n, b in np.ndindex(*gt_box.shape[:2]):
        cx, cy, w, h = gt_box[n, b]
        if min(w, h) < 1e-6:
            continue
        shares = [
            overlap([0, 0, w, h], [0, 0, anchors[k] / wide, anchors[k + 1] / tall]) for k in range(0, len(anchors), 2)
        ]
        anchor = int(np.argmax(shares))
        if anchor not in anchor_mask:
            continue
        a, i, j = list(anchor_mask).index(anchor), int(cy * height), int(cx * width)
        score = 1.0 if gt_score is None else gt_score[n, b]
        objectness[n, a, i, j] = score
        index[n, b] = np.delete(places[n, a, :, i, j], 4)
        sizes = [np.log(w * wide / anchors[2 * anchor]), np.log(h * tall / anchors[2 * anchor + 1])]
        labels = [1 - smooth if c == gt_label[n, b] else smooth for c in range(class_num)]
        target[n, b] = [cx * width - j, cy * height - i, *sizes, *labels]
        weight[n, b] = [(2 - w * h) * score] * 4 + [score] * class_num
    return objectness, index, target, weight


_RANDOM = np.random.default_rng(11)
_CORNERS = _RANDOM.uniform(0, 20, (2, 12, 2))
_MANY = np.concatenate((_CORNERS, _CORNERS + _RANDOM.uniform(3, 15, (2, 12, 2))), -1)
_SCORES = _RANDOM.uniform(0, 1, (2, 3, 12))
_MATRIX = {"score_threshold": 0.2, "nms_top_k": 8, "keep_top_k": 10, "post_threshold": 0.1, "gaussian_sigma": 2.0}
_NONE = {**_MATRIX, "score_threshold": 2.0, "use_gaussian": False, "background_label": 0, "normalized": True}
_EDGES = _RANDOM.uniform(0, 20, (3, 4, 2, 2))
_ANCHORS = np.concatenate((_EDGES, _EDGES + _RANDOM.uniform(5, 20, (3, 4, 2, 2))), -1)
_RPN = (
    _RANDOM.uniform(0, 1, (2, 2, 3, 4)),
    _RANDOM.normal(size=(2, 8, 3, 4)),
    np.array([[30.0, 40.0], [25.0, 20.0]]),
    _ANCHORS,
    np.full((3, 4, 2, 4), 0.5),
)
_KEEP = {
    "pre_nms_top_n": 20,
    "post_nms_top_n": 6,
    "nms_thresh": 0.5,
    "min_size": 2.0,
    "eta": 1.0,
    "pixel_offset": False,
}
_ROIS = np.concatenate((_RANDOM.uniform(0, 50, (7, 2)), _RANDOM.uniform(50, 600, (7, 2))), -1)
_PRIORS = np.array([[1.0, 2, 5, 7], [2, 3, 8, 9]])
_TARGETS = np.array([[1.0, 1, 4, 4.5], [0, 2, 3, 9], [5, 5, 6, 7]])
_CODES = _RANDOM.normal(size=(3, 2, 4))
_PRIOR = {
    "variances": (0.1, 0.1, 0.2, 0.2),
    "offset": 0.5,
    "step_w": 0.0,
    "step_h": 0.0,
    "min_max_aspect_ratios_order": False,
    "flip": False,
    "clip": False,
    "min_sizes": (4.0, 8.0),
    "max_sizes": (),
    "aspect_ratios": (1.0,),
}
_HEAD = {
    "anchors": (10, 13, 16, 30),
    "class_num": 2,
    "conf_thresh": 0.5,
    "downsample_ratio": 8,
    "clip_bbox": True,
    "scale_x_y": 1.0,
    "iou_aware": False,
    "iou_aware_factor": 0.4,
}
_LOSS = {
    "anchors": (5, 6, 10, 14, 20, 16),
    "anchor_mask": (1, 2),
    "class_num": 3,
    "ignore_thresh": 0.3,
    "downsample_ratio": 8,
    "use_label_smooth": True,
    "scale_x_y": 1.0,
}
_TRUE = np.concatenate((_RANDOM.uniform(0.05, 0.95, (2, 5, 2)), _RANDOM.uniform(0.1, 0.8, (2, 5, 2))), -1)
_TRUE[0, 2, 2] = 0
_LABELS = _RANDOM.integers(0, 3, (2, 5)).astype(np.int32)
_HEADS = _RANDOM.normal(size=(2, 16, 4, 5))

ROWS = (
    Row(
        "nms",
        (
            Case((_MANY[0],), {"threshold": 0.1}),
            Case((_MANY[1],), {"threshold": 0.3}),
            Case((_MANY[0, :0],), {"threshold": 0.3}),
        ),
        nms,
        order=0,
    ),
    Row(
        "matrix_nms",
        tuple(
            Case((_MANY, _SCORES), {**_MATRIX, "use_gaussian": g, "background_label": b, "normalized": n})
            for g, b, n in ((False, 0, True), (True, -1, False), (False, -1, True))
        )
        + (Case((_MANY, _SCORES), _NONE),),
        matrix_nms,
        order=0,
    ),
    Row(
        "generate_proposals",
        tuple(
            Case(_RPN, {**_KEEP, **changes})
            for changes in (
                {},
                {"pixel_offset": True},
                {"eta": 0.8, "nms_thresh": 0.9, "pre_nms_top_n": 0},
                {"nms_thresh": 0.0},
                {"min_size": 500.0},
            )
        ),
        generate_proposals,
        order=0,
    ),
    Row(
        "distribute_fpn_proposals",
        tuple(
            Case(
                (_ROIS, np.array([3, 4], np.int32)),
                {"min_level": 2, "max_level": 5, "refer_level": 4, "refer_scale": 224, "pixel_offset": p},
            )
            for p in (False, True)
        ),
        distribute,
        order=0,
    ),
    Row(
        "box_coder",
        tuple(
            Case(
                (_PRIORS, var, target),
                {
                    "code_type": code,
                    "box_normalized": norm,
                    "axis": axis,
                    "variance": () if var is not None else factors,
                },
            )
            for norm in (True, False)
            for var, factors in ((_PRIORS * 0.1, ()), (None, (0.1, 0.1, 0.2, 0.2)), (None, ()))
            for code, axis, target in (
                ("encode_center_size", 0, _TARGETS),
                ("decode_center_size", 0, _CODES),
                ("decode_center_size", 1, _CODES.transpose(1, 0, 2)),
            )
        ),
        box_coder,
        order=0,
    ),
    Row(
        "prior_box",
        tuple(
            Case(((1, 2, 3, 4), (1, 3, 30, 40)), {**_PRIOR, **changes})
            for changes in (
                {},
                {"flip": True, "clip": True, "aspect_ratios": (2.0, 3.0)},
                {"max_sizes": (9.0, 12.0), "aspect_ratios": (1.0, 2.0), "step_w": 2.0, "step_h": 3.0},
                {"max_sizes": (9.0, 12.0), "aspect_ratios": (2.0,), "min_max_aspect_ratios_order": True},
            )
        ),
        prior_box,
        order=0,
    ),
    Row(
        "yolo_box",
        tuple(
            Case(((2, channels, 3, 4), np.array([[30, 40], [20, 25]], np.int32)), {**_HEAD, **changes})
            for channels, changes in (
                (14, {}),
                (14, {"clip_bbox": False, "scale_x_y": 1.2}),
                (16, {"iou_aware": True}),
            )
        ),
        yolo_box,
        order=0,
    ),
    Row(
        "yolo_targets",
        (
            Case((_HEADS, _TRUE, _LABELS, None), _LOSS),
            Case((_HEADS, _TRUE, _LABELS, _TRUE[..., 0]), {**_LOSS, "use_label_smooth": False, "scale_x_y": 1.1}),
        ),
        yolo_targets,
        order=0,
    ),
)
