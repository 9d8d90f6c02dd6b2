"""paddle.vision.ops: known values, gradients, layers, refusals. The kernels behind have rows in tests/op_table."""

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import gradcheck, gradgradcheck
from wherry.nn import functional as F
from wherry.vision import ops

BOXES = paddle.to_tensor(
    [[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 10], [21, 20, 31, 30]], dtype="float64"
)
SCORES = paddle.to_tensor([0.1, 0.5, 0.3, 0.7, 0.4], dtype="float64")
KINDS = paddle.to_tensor([0, 1, 0, 1, 1])


def normal(*shape: int, seed: int = 0, grad: bool = True) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=not grad)


def num(*values: int) -> paddle.Tensor:
    return paddle.to_tensor(values, dtype="int32")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 2]),
        ({"iou_threshold": 0.9}, [0, 1, 2, 4]),
        ({"scores": SCORES}, [3, 4]),
        ({"scores": SCORES, "top_k": 1}, [3]),
        # Boxes of different kinds let one another be.
        ({"scores": SCORES, "category_idxs": KINDS, "categories": [0, 1]}, [3, 4, 2, 0]),
        ({"scores": SCORES, "category_idxs": KINDS, "categories": [0, 1], "top_k": 3}, [3, 4, 2]),
        ({"scores": SCORES, "category_idxs": KINDS, "categories": [0]}, [2, 0]),
        ({"scores": SCORES, "category_idxs": KINDS, "categories": []}, []),
    ],
)
def test_nms(options, expected) -> None:
    kept = ops.nms(BOXES, **options)
    assert kept.dtype == paddle.int64
    assert kept.tolist() == expected


def test_matrix_nms_returns_what_is_asked_for() -> None:
    boxes, scores = BOXES.unsqueeze(0), paddle.stack([SCORES * 0, SCORES]).unsqueeze(0)
    out, rois_num, index = ops.matrix_nms(boxes, scores, 0.2, 0.0, 4, 3, return_index=True)
    # The best box as it is; the second, which shares 81 / 119 with it, falls behind.
    assert index.tolist() == [[3], [4], [1]]
    np.testing.assert_allclose(out[:, 1].numpy(), [0.7, 0.4, 0.5 * (1 - 81 / 119)], rtol=1e-14)
    assert out[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert rois_num.tolist() == [3]
    assert ops.matrix_nms(boxes, scores, 0.2, 0.0, 4, 3, return_rois_num=False)[1:] == (None, None)


def test_proposals_go_to_the_levels_of_their_size() -> None:
    rois = paddle.to_tensor([[0.0, 0, 224, 224], [0, 0, 30, 30], [0, 0, 900, 900], [0, 0, 120, 120]])
    levels, restore, counts = ops.distribute_fpn_proposals(rois, 2, 5, 4, 224, rois_num=num(1, 3))
    assert [level.tolist() for level in levels] == [
        [[0, 0, 30, 30]],
        [[0, 0, 120, 120]],
        [[0, 0, 224, 224]],
        [[0, 0, 900, 900]],
    ]
    assert restore.tolist() == [[2], [0], [3], [1]]
    assert paddle.concat(levels)[restore.squeeze(1)].tolist() == rois.tolist()
    assert [count.tolist() for count in counts] == [[0, 1], [0, 1], [1, 0], [0, 1]]


def test_generate_proposals() -> None:
    anchors = paddle.to_tensor([[[[0.0, 0, 10, 10], [0, 0, 20, 20]]]])
    arguments = (
        paddle.to_tensor([[[[0.9]], [[0.8]]]]),
        paddle.zeros([1, 8, 1, 1]),
        paddle.to_tensor([[15.0, 12.0]]),
        anchors,
        paddle.ones([1, 1, 2, 4]),
    )
    rois, scores, rois_num = ops.generate_proposals(*arguments, nms_thresh=0.6, return_rois_num=True)
    assert rois.tolist() == [[0, 0, 10, 10], [0, 0, 12, 15]]
    np.testing.assert_array_equal(scores.numpy(), np.array([[0.9], [0.8]], np.float32))
    assert rois_num.tolist() == [2]
    assert ops.generate_proposals(*arguments)[2] is None


def test_boxes_coded_and_back() -> None:
    priors, targets = BOXES[:2] + 0.5, BOXES[2:4]
    code = ops.box_coder(priors, [0.1, 0.1, 0.2, 0.2], targets)
    assert code.shape == [2, 2, 4]
    back = ops.box_coder(priors, [0.1, 0.1, 0.2, 0.2], code, "decode_center_size")
    np.testing.assert_allclose(back.numpy(), np.repeat(targets.numpy()[:, None], 2, 1), rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError, match="expected a Tensor or 4 numbers as prior_box_var, received NoneType"):
        ops.box_coder(priors, None, targets)


def test_prior_boxes_of_numbers_and_lists() -> None:
    features, image = paddle.zeros([1, 2, 1, 2]), paddle.zeros([1, 3, 10, 20])
    boxes, variances = ops.prior_box(features, image, 4.0, aspect_ratios=4.0)
    np.testing.assert_allclose(boxes[0, 0].numpy(), [[0.15, 0.3, 0.35, 0.7], [0.05, 0.4, 0.45, 0.6]], rtol=1e-6)
    np.testing.assert_allclose(variances[0, 1, 1].numpy(), [0.1, 0.1, 0.2, 0.2], rtol=1e-6)
    with pytest.raises(ValueError, match=r"prior_box: expected two numbers \(width, height\) in steps"):
        ops.prior_box(features, image, 4.0, steps=[1.0])


X = normal(2, 4, 5, 6)
REGIONS = paddle.to_tensor([[0.5, 0.5, 4.2, 3.9], [1.0, 1.0, 5.0, 4.0], [2.0, 0.3, 3.1, 4.4]], dtype="float64")


def test_pooling_over_regions_of_an_even_slope() -> None:
    # The mean of samples of a linear function is its value at the centre of the bin.
    slope = paddle.to_tensor(np.add.outer(10.0 * np.arange(8), np.arange(9.0)).reshape(1, 1, 8, 9))
    box = paddle.to_tensor([[1.0, 2.0, 7.0, 6.0]], dtype="float64")
    out = ops.roi_align(slope, box, num(1), 2, aligned=False)
    np.testing.assert_allclose(out[0, 0].numpy(), [[32.5, 35.5], [52.5, 55.5]], rtol=1e-14)
    aligned = ops.roi_align(slope, box, num(1), 2)
    np.testing.assert_allclose(aligned[0, 0].numpy(), [[27.0, 30.0], [47.0, 50.0]], rtol=1e-14)
    assert ops.roi_pool(slope, box, num(1), (1, 2))[0, 0].tolist() == [[64.0, 67.0]]
    nothing = paddle.to_tensor([[3.0, 3.0, 3.0, 3.0]], dtype="float64")
    assert ops.roi_align(slope, nothing, num(1), 1).item() == 0.0
    assert ops.roi_align(slope, box[:0], num(0), 2).shape == [0, 1, 2, 2]


@pytest.mark.parametrize("function", [ops.roi_align, ops.roi_pool, ops.psroi_pool])
def test_pooling_over_regions_has_derivatives(function) -> None:
    assert gradgradcheck(lambda t: function(t, REGIONS, num(1, 2), 2) ** 2, normal(2, 4, 3, 4))


def test_layers_of_regions() -> None:
    arguments = (X, REGIONS, num(2, 1))
    assert ops.RoIAlign(2, 0.5)(*arguments).tolist() == ops.roi_align(*arguments, 2, 0.5).tolist()
    assert ops.RoIPool(2, 0.5)(*arguments).tolist() == ops.roi_pool(*arguments, 2, 0.5).tolist()
    assert ops.PSRoIPool(2, 0.5)(*arguments).tolist() == ops.psroi_pool(*arguments, 2, 0.5).tolist()
    assert repr(ops.RoIPool(2, 0.5)) == "RoIPool(output_size=2, spatial_scale=0.5)"


def test_many_regions_are_worked_on_in_parts() -> None:
    count = 600
    boxes = np.tile([0.0, 0.0, 60.0, 60.0], (count, 1))
    boxes[:, 0] = np.arange(count) % 7
    x = normal(1, 2, 64, 64, grad=False)
    out = ops.roi_align(x, paddle.to_tensor(boxes), num(count), 7)
    few = ops.roi_align(x, paddle.to_tensor(boxes[:7]), num(7), 7)
    np.testing.assert_array_equal(out[595:].numpy(), few[:5].numpy())


def test_deformable_convolution_without_offset_is_convolution() -> None:
    weight, bias = normal(6, 2, 3, 2, seed=1), normal(6, seed=2)
    settings = {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "groups": 2}
    expected = F.conv2d(X, weight, bias, **settings)
    offset = paddle.zeros([2, 2 * 2 * 6, *expected.shape[2:]], dtype="float64")
    out = ops.deform_conv2d(X, offset, weight, bias, deformable_groups=2, **settings)
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-12)
    mask = paddle.full([2, 2 * 6, *expected.shape[2:]], 0.5, dtype="float64")
    half = ops.deform_conv2d(X, offset, weight, None, deformable_groups=2, mask=mask, **settings)
    np.testing.assert_allclose(half.numpy(), (expected.numpy() - bias.numpy()[:, None, None]) / 2, rtol=1e-12)


def test_deformable_convolution_reads_where_the_offset_points() -> None:
    x = paddle.arange(16, dtype="float64").reshape([1, 1, 4, 4])
    offset = paddle.zeros([1, 2, 4, 4], dtype="float64")
    offset[0, 0] = 0.5
    offset[0, 1] = 1.0
    out = ops.deform_conv2d(x, offset, paddle.ones([1, 1, 1, 1], dtype="float64"))
    # Half a cell down and one to the right; outside there are zeros.
    assert out[0, 0].tolist() == [[3, 4, 5, 0], [7, 8, 9, 0], [11, 12, 13, 0], [6.5, 7, 7.5, 0]]


def test_deformable_convolution_has_derivatives() -> None:
    x, weight, bias = normal(1, 2, 3, 3), normal(2, 1, 2, 2, seed=1), normal(2, seed=2)
    offset, mask = normal(1, 16, 2, 2, seed=3), normal(1, 8, 2, 2, seed=4)
    arguments = [x, offset, weight, bias, mask]

    def convolve(x, offset, weight, bias, mask):
        return ops.deform_conv2d(x, offset, weight, bias, deformable_groups=2, groups=2, mask=mask)

    assert gradcheck(convolve, arguments)
    small = [x[:, :1].detach(), offset[:, :8].detach(), weight[:1].detach()]
    for tensor in small:
        tensor.stop_gradient = False
    assert gradgradcheck(lambda x, offset, weight: ops.deform_conv2d(x, offset, weight), small)


def test_the_layer_of_deformable_convolution() -> None:
    layer = ops.DeformConv2D(4, 6, 3, padding=1, groups=2)
    assert layer.weight.shape == [6, 2, 3, 3]
    assert layer.bias.tolist() == [0.0] * 6
    x, offset = X.astype("float32"), paddle.zeros([2, 18, 5, 6])
    expected = F.conv2d(x, layer.weight, layer.bias, padding=1, groups=2)
    np.testing.assert_allclose(layer(x, offset).numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    assert ops.DeformConv2D(4, 6, 3, bias_attr=False).bias is None
    with pytest.raises(ValueError, match="expected groups that divide 3 channels, received 2"):
        ops.DeformConv2D(3, 6, 3, groups=2)


ANCHORS = [5, 6, 10, 14, 20, 16]
TRUE = np.array(
    [[[0.3, 0.4, 0.3, 0.4], [0.7, 0.8, 0.6, 0.5], [0.3, 0.4, 0.0, 0.0]], [[0.55, 0.1, 0.3, 0.5], *[[0.0] * 4] * 2]]
)


def loss_of_one(x: np.ndarray, boxes: np.ndarray, labels: np.ndarray, scores: np.ndarray, classes: int) -> float:
    """The loss of an image as the paper states it, number by number; a box's anchor is the one most like it."""
    height, width = x.shape[-2:]
    heads = x.reshape(2, 5 + classes, height, width)

    def entropy(logit: float, label: float) -> float:
        p = 1 / (1 + np.exp(-logit))
        return -(label * np.log(p) + (1 - label) * np.log(1 - p))

    total, own = 0.0, {}
    for (cx, cy, w, h), label, score in zip(boxes, labels, scores):
        if not w * h:
            continue
        pairs = np.array(ANCHORS).reshape(-1, 2) / np.array([width * 8, height * 8])
        common = np.minimum(pairs, [w, h]).prod(1)
        anchor = int(np.argmax(common / (pairs.prod(1) + w * h - common)))
        if anchor == 0:
            continue
        i, j = int(cy * height), int(cx * width)
        entry, scale = heads[anchor - 1, :, i, j], (2 - w * h) * score
        total += scale * (entropy(entry[0], cx * width - j) + entropy(entry[1], cy * height - i))
        total += scale * (abs(entry[2] - np.log(w / pairs[anchor, 0])) + abs(entry[3] - np.log(h / pairs[anchor, 1])))
        total += score * sum(entropy(entry[5 + c], 0.975 if c == label else 0.025) for c in range(classes))
        own[anchor - 1, i, j] = score
    for place in np.ndindex(2, height, width):
        logit = heads[(place[0], 4, *place[1:])]
        total += entropy(logit, 1.0) * own[place] if place in own else entropy(logit, 0.0)
    return total


@pytest.mark.parametrize("scored", [True, False])
def test_yolo_loss(scored) -> None:
    x, labels = normal(2, 14, 3, 4), np.array([[1, 0, 0], [1, 0, 0]], np.int32)
    scores = np.array([[0.5, 0.9, 1.0], [0.7, 1.0, 1.0]]) if scored else np.ones((2, 3))
    score = paddle.to_tensor(scores) if scored else None
    # No predicted box overlaps a true one by all of it, so none is left out.
    out = ops.yolo_loss(x, paddle.to_tensor(TRUE), paddle.to_tensor(labels), ANCHORS, [1, 2], 2, 0.999, 8, score)
    expected = [loss_of_one(x.numpy()[n], TRUE[n], labels[n], scores[n], 2) for n in (0, 1)]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_yolo_loss_has_derivatives() -> None:
    boxes, labels = paddle.to_tensor(TRUE[:, :2]), paddle.zeros([2, 2], dtype="int32")

    def loss(x):
        return ops.yolo_loss(x, boxes, labels, ANCHORS, [1, 2], 1, 0.3, 8, use_label_smooth=False)

    x = normal(2, 12, 2, 2)
    assert gradcheck(loss, x)
    assert gradgradcheck(loss, x)


def test_two_true_boxes_in_one_place_both_count() -> None:
    boxes = paddle.to_tensor(np.repeat(TRUE[1:, :1], 2, axis=1))
    arguments = (ANCHORS, [1, 2], 1, 0.999, 8)
    x = normal(1, 12, 2, 2)
    twice = ops.yolo_loss(x, boxes, paddle.zeros([1, 2], dtype="int32"), *arguments)
    (grad,) = paddle.grad(twice, x)
    once = ops.yolo_loss(x, boxes[:, :1], paddle.zeros([1, 1], dtype="int32"), *arguments)
    (single,) = paddle.grad(once, x)
    entries = grad.numpy().reshape(2, 6, 4), single.numpy().reshape(2, 6, 4)
    np.testing.assert_allclose(entries[0][:, [0, 1, 2, 3, 5]], 2 * entries[1][:, [0, 1, 2, 3, 5]], rtol=1e-12)
    np.testing.assert_allclose(entries[0][:, 4], entries[1][:, 4], rtol=1e-12)


def test_yolo_boxes() -> None:
    x = paddle.zeros([1, 6, 1, 2])
    boxes, scores = ops.yolo_box(x, paddle.to_tensor([[20, 40]], dtype="int32"), [10, 8], 1, 0.5, 10, clip_bbox=False)
    assert boxes.tolist() == [[[0, 2, 20, 18], [20, 2, 40, 18]]]
    assert scores.tolist() == [[[0.25], [0.25]]]
    boxes, scores = ops.yolo_box(x, paddle.to_tensor([[20, 40]], dtype="int32"), [10, 8], 1, 0.6, 10)
    assert (boxes.abs().sum().item(), scores.sum().item()) == (0.0, 0.0)


def test_read_file(tmp_path) -> None:
    (tmp_path / "bytes").write_bytes(bytes([0, 7, 255]))
    found = ops.read_file(str(tmp_path / "bytes"))
    assert found.dtype == paddle.uint8
    assert found.tolist() == [0, 7, 255]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ops.nms(BOXES, top_k=1), ValueError, "nms: expected scores with category_idxs or top_k, received None"),
        (lambda: ops.nms(BOXES, scores=SCORES, category_idxs=KINDS), ValueError,
         "nms: expected categories with category_idxs, received None"),
        (lambda: ops.nms(BOXES, scores=SCORES, top_k=6), ValueError,
         "nms: expected a top_k of at most 5, the number of boxes, received 6"),
        (lambda: ops.distribute_fpn_proposals(BOXES, 2, 5, 4, 224), ValueError,
         "distribute_fpn_proposals: expected rois_num, received None"),
        (lambda: ops.distribute_fpn_proposals(BOXES, 3, 3, 4, 224, rois_num=num(5)), ValueError,
         "distribute_fpn_proposals: expected 0 < min_level < max_level, received 3 and 3"),
        (lambda: ops.roi_align(X, REGIONS, num(2, 1), 2.0), TypeError,
         "roi_align: expected an int or two as output_size, received float"),
        (lambda: ops.psroi_pool(X[0], REGIONS, num(3), 2), ValueError,
         "psroi_pool: expected x of 4 dimensions, received shape [4, 5, 6]"),
        (lambda: ops.deform_conv2d(X, X, normal(2, 4, 2, 2)), ValueError,
         "deform_conv2d: expected offset of shape [2, 8, 4, 5], received [2, 4, 5, 6]"),
        (lambda: ops.deform_conv2d(X, X, normal(2, 3, 2, 2)), ValueError,
         "deform_conv2d: expected weight [filters, channels / groups, kh, kw] with filters that groups=1 divides, received weight [2, 3, 2, 2] "
         "for x [2, 4, 5, 6]"),
    ],
)  # fmt: skip
def test_refusals(call, error, text) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ops.roi_align(X, REGIONS, num(1, 1), 2), ValueError, r"add up to the 3 boxes, received \[1, 1\]"),
        (lambda: ops.roi_align(X, REGIONS * float("nan"), num(1, 2), 2), ValueError, "expected finite boxes"),
        (lambda: ops.roi_align(X, REGIONS.astype("float32"), num(1, 2), 2), TypeError, "expected boxes of x's dtype float64"),
        (lambda: ops.roi_pool(X, REGIONS, num(3), 2), ValueError, "an integer for each of 2 images"),
        (lambda: ops.psroi_pool(X, REGIONS, num(1, 2), 3), ValueError, r"channels of x that 3 \* 3 bins share evenly"),
        (lambda: ops.nms(BOXES[0]), ValueError, r"expected boxes of shape \[boxes, 4\], received \[4\]"),
        (lambda: ops.distribute_fpn_proposals(BOXES, 2, 5, 4, 224, rois_num=num(4)), ValueError, "add up to the 5 boxes"),
        (lambda: ops.yolo_box(X, num(1), [1, 2], 1, 0.5, 8), ValueError, r"expected x of shape \[images, 6, height, width\]"),
        (lambda: ops.prior_box(X, X, 4.0, [3.0]), ValueError, "expected max_sizes above min_sizes"),
        (lambda: ops.box_coder(BOXES, BOXES, BOXES, "decode"), ValueError, "expected code_type 'encode_center_size'"),
        (lambda: ops.box_coder(BOXES, BOXES, BOXES, "decode_center_size"), ValueError, "expected target_box of shape"),
        (lambda: ops.matrix_nms(BOXES, SCORES, 0.1, 0.1, 2, 2), ValueError, r"expected bboxes of shape \[images, boxes, 4\]"),
    ],
)  # fmt: skip
def test_operations_refuse_what_does_not_fit(call, error, text) -> None:
    with pytest.raises(error, match=text):
        call()
