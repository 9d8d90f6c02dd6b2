"""Losses and layers composed of other operations, against their formulas in NumPy: distances, likelihoods, margins, trees, clusters."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import wherry as paddle
from wherry import nn
from wherry.autograd.gradcheck import gradcheck, gradgradcheck
from wherry.nn import functional as F

RNG = np.random.default_rng(7)
X, Y, Z = (RNG.standard_normal((3, 4)) for _ in range(3))
LABEL = np.array([0, 3, 1])
POSITIVE = RNG.random((3, 4)) + 0.5
BITS = RNG.integers(0, 2, (3, 4)).astype(float)


def t(values: Any, dtype: str | None = None) -> paddle.Tensor:
    array = np.asarray(values)
    return paddle.to_tensor(array, dtype=dtype, stop_gradient=array.dtype.kind != "f")


def differences_to(p: float) -> np.ndarray:
    return np.linalg.norm(X - Y + 1e-6, p, axis=1)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


def arc_face(m1: float, m2: float, m3: float, scale: float) -> np.ndarray:
    cosines = np.tanh(X)
    rows = np.arange(3)
    scores = cosines.copy()
    scores[rows, LABEL] = np.cos(m1 * np.arccos(cosines[rows, LABEL]) + m2) - m3
    return -special.log_softmax(scale * scores, axis=1)[rows, LABEL]


def multi_margin(p: int, weight: np.ndarray) -> np.ndarray:
    out = np.zeros(3)
    for i, label in enumerate(LABEL):
        others = [max(0.0, 0.5 - X[i, label] + X[i, j]) ** p for j in range(4) if j != label]
        out[i] = weight[label] * sum(others) / 4
    return out


def poisson_full() -> np.ndarray:
    counts = POSITIVE * 2
    stirling = counts * np.log(counts) - counts + 0.5 * np.log(2 * np.pi * counts)
    return POSITIVE - counts * np.log(POSITIVE + 1e-8) + np.where(counts > 1, stirling, 0)


CASES: dict[str, tuple[Callable[..., Any], list[Any], np.ndarray]] = {
    "pairwise_distance": (F.pairwise_distance, [X, Y], differences_to(2)),
    "pairwise_distance_1": (lambda x, y: F.pairwise_distance(x, y, 1), [X, Y], differences_to(1)),
    "pairwise_distance_inf": (lambda x, y: F.pairwise_distance(x, y, math.inf), [X, Y], differences_to(np.inf)),
    "pairwise_distance_row": (F.pairwise_distance, [X, Y[0]], np.linalg.norm(X - Y[0] + 1e-6, axis=1)),
    "poisson": (lambda x, y: F.poisson_nll_loss(x, y, reduction="none"), [X, POSITIVE], np.exp(X) - POSITIVE * X),
    "poisson_full": (
        lambda x, y: F.poisson_nll_loss(x, y, False, True, reduction="none"),
        [POSITIVE, POSITIVE * 2],
        poisson_full(),
    ),
    "gaussian": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction="none"),
        [X, Y, POSITIVE],
        -stats.norm.logpdf(Y, X, np.sqrt(POSITIVE)),
    ),
    "gaussian_rows": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction="sum"),
        [X, Y, POSITIVE[:, 0]],
        -stats.norm.logpdf(Y, X, np.sqrt(POSITIVE[:, :1])).sum(),
    ),
    "arc_face": (
        lambda x: F.margin_cross_entropy(F.tanh(x), t(LABEL), 1.0, 0.5, 0.0, 8.0, reduction="none"),
        [X],
        arc_face(1.0, 0.5, 0.0, 8.0)[:, None],
    ),
    "cos_face": (
        lambda x: F.margin_cross_entropy(F.tanh(x), t(LABEL[:, None]), 1.0, 0.0, 0.3, 8.0),
        [X],
        arc_face(1.0, 0.0, 0.3, 8.0).mean(),
    ),
    "sphere_face": (
        lambda x: F.margin_cross_entropy(F.tanh(x), t(LABEL), 1.2, 0.1, 0.1, 4.0, reduction="sum"),
        [X],
        arc_face(1.2, 0.1, 0.1, 4.0).sum(),
    ),
    "multi_margin": (
        lambda x: F.multi_margin_loss(x, t(LABEL), 1, 0.5, reduction="none"),
        [X],
        multi_margin(1, np.ones(4)),
    ),
    "multi_margin_weights": (
        lambda x, w: F.multi_margin_loss(x, t(LABEL, "int32"), 2, 0.5, w),
        [X, POSITIVE[0]],
        multi_margin(2, POSITIVE[0]).mean(),
    ),
    "multi_label": (
        lambda x, y, w: F.multi_label_soft_margin_loss(x, y, w, "none"),
        [X, BITS, POSITIVE[0]],
        (POSITIVE[0] * (softplus(X) - BITS * X)).mean(axis=1),
    ),
    "triplet": (
        lambda a, p, n: F.triplet_margin_with_distance_loss(a, p, n, reduction="none", swap=True),
        [X, Y, Z],
        np.maximum(
            differences_to(2)
            - np.minimum(np.linalg.norm(X - Z + 1e-6, axis=1), np.linalg.norm(Y - Z + 1e-6, axis=1))
            + 1,
            0,
        ),
    ),
    "dice": (
        lambda x: F.dice_loss(x, t(LABEL[:, None])),
        [POSITIVE],
        (1 - 2 * POSITIVE[np.arange(3), LABEL] / (POSITIVE.sum(axis=1) + 1 + 1e-5)).mean(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    function, arrays, expected = CASES[name]
    inputs = [t(a) for a in arrays]
    out = function(*inputs)
    assert list(out.shape) == list(np.shape(expected))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-9)
    assert gradcheck(function, inputs, edges=False)
    assert gradgradcheck(function, inputs, edges=False)


def test_npair_loss() -> None:
    labels = np.array([1.0, 2.0, 1.0])
    same = (labels[:, None] == labels) * 1.0
    share = same / same.sum(axis=1, keepdims=True)
    entropy = -(share * special.log_softmax(X @ Y.T, axis=1)).sum(axis=1, keepdims=True)
    length = (X**2).sum(axis=1).mean() + (Y**2).sum(axis=1).mean()
    expected = 0.25 * 0.1 * length + (share * entropy).sum(axis=0).mean()
    inputs = [t(X), t(Y)]
    for kind in ("float64", "int64"):
        marks = paddle.to_tensor(labels, dtype=kind)
        np.testing.assert_allclose(F.npair_loss(*inputs, marks, 0.1).item(), expected, rtol=1e-12)
    assert gradcheck(lambda a, p: F.npair_loss(a, p, marks, 0.1), inputs)


def test_a_variance_has_a_gradient_above_epsilon_alone() -> None:
    variance = t(np.array([0.0, 0.5]))
    F.gaussian_nll_loss(t(np.zeros(2)), t(np.ones(2)), variance, epsilon=0.1, reduction="sum").backward()
    assert variance.grad.tolist() == [0.0, 0.5 / 0.5 - 0.5 / 0.25]


def test_margin_cross_entropy_gives_the_probabilities() -> None:
    loss, softmax = F.margin_cross_entropy(t(np.tanh(X)), t(LABEL), return_softmax=True, reduction=None)
    np.testing.assert_allclose(-np.log(softmax.numpy()[np.arange(3), LABEL]), loss.numpy()[:, 0], rtol=1e-9)
    half = F.margin_cross_entropy(paddle.to_tensor(np.tanh(X), dtype="float16"), t(LABEL))
    assert half.dtype == paddle.float16


def path_loss(scores: np.ndarray, label: int, classes: int) -> float:
    """Of one row: from the leaf up. Place n has the children 2n and 2n + 1, and place 1 is the root, node 0."""
    place, total, steps = label + classes, 0.0, 0
    while place > 1:
        turn, place = place & 1, place >> 1
        total += softplus(scores[place - 1]) - turn * scores[place - 1]
        steps += 1
    return total + (int(classes - 1).bit_length() - steps) * math.log(2)


@pytest.mark.parametrize("classes", [2, 5, 7, 8])
def test_the_complete_tree_of_classes(classes: int) -> None:
    x, w, b = (RNG.standard_normal(s) for s in ((classes, 3), (classes - 1, 3), (classes - 1, 1)))
    labels = np.arange(classes)
    scores = x @ w.T + b[:, 0]
    inputs = [t(x), t(w), t(b)]
    out = F.hsigmoid_loss(inputs[0], t(labels), classes, *inputs[1:])
    np.testing.assert_allclose(out.numpy()[:, 0], [path_loss(s, k, classes) for s, k in zip(scores, labels)])
    assert gradgradcheck(lambda x, w, b: F.hsigmoid_loss(x, t(labels[:, None]), classes, w, b), inputs, edges=False)
    # The probabilities of all classes add up to 1.
    row = [path_loss(scores[0], k, classes) for k in labels]
    short = [int(classes - 1).bit_length() - (int(k) + classes).bit_length() + 1 for k in labels]
    np.testing.assert_allclose(np.exp(-np.array(row)) @ 2.0 ** np.array(short), 1.0)


def test_a_tree_of_ones_own() -> None:
    x, w = RNG.standard_normal((2, 3)), RNG.standard_normal((4, 3))
    table, code = np.array([[0, 2, -1], [3, 1, 0]]), np.array([[1, 0, -1], [0, 1, 1]])
    scores = x @ w.T
    expected = [
        softplus(scores[0, 0]) - scores[0, 0] + softplus(scores[0, 2]) + math.log(2),
        softplus(scores[1, [3, 1, 0]]).sum() - scores[1, 1] - scores[1, 0],
    ]
    out = F.hsigmoid_loss(t(x), t([0, 0]), 5, t(w), None, t(table), t(code))
    np.testing.assert_allclose(out.numpy()[:, 0], expected)
    large = F.hsigmoid_loss(t(x * 0 + 100.0), t([0]).tile([2]), 2, t(np.full((1, 3), 1.0)))
    np.testing.assert_allclose(large.numpy()[:, 0], [300.0, 300.0])


def tails() -> list[list[paddle.Tensor]]:
    rng = np.random.default_rng(1)
    return [[t(rng.standard_normal((4, 3))), t(rng.standard_normal((3, n)))] for n in (3, 2)]


def test_clusters_of_classes() -> None:
    rng = np.random.default_rng(2)
    x, head, bias = t(rng.standard_normal((7, 4))), t(rng.standard_normal((4, 4))), t(rng.standard_normal(4))
    labels = np.arange(7)
    weights = tails()
    logs = special.log_softmax(x.numpy() @ head.numpy() + bias.numpy(), axis=1)
    full = [logs[:, :2]]
    for i, (a, b) in enumerate(weights):
        inside = special.log_softmax(x.numpy() @ a.numpy() @ b.numpy(), axis=1)
        full.append(logs[:, 2 + i : 3 + i] + inside)
    every = np.concatenate(full, axis=1)
    out, loss = F.adaptive_log_softmax_with_loss(x, t(labels), head, weights, [2, 5, 7], bias)
    np.testing.assert_allclose(out.numpy(), every[labels, labels])
    np.testing.assert_allclose(loss.item(), -every[labels, labels].mean())
    one, _ = F.adaptive_log_softmax_with_loss(x[0], t(6), head, weights, [2, 5, 7], bias)
    assert one.shape == []
    np.testing.assert_allclose(one.item(), every[0, 6])

    def function(x: Any, head: Any, a: Any) -> Any:
        return F.adaptive_log_softmax_with_loss(x, t(labels), head, [[a, weights[0][1]], weights[1]], [2, 5, 7])[1]

    assert gradcheck(function, [x, head, weights[0][0]], edges=False)


def test_sampled_classes() -> None:
    paddle.seed(3)
    label = t([3, 5, 3, 9])
    places, classes = F.class_center_sample(label, 20, 6)
    assert places.tolist() == [0, 1, 0, 2]
    assert classes.tolist()[:3] == [3, 5, 9]
    assert len(set(classes.tolist())) == 6
    assert all(0 <= c < 20 for c in classes.tolist())
    places, classes = F.class_center_sample(t([3, 5, 3, 9], "int32"), 20, 2)
    assert (places.tolist(), classes.tolist()) == ([0, 1, 0, 2], [3, 5, 9])
    assert (places.dtype, classes.dtype) == (paddle.int32, paddle.int32)
    assert sorted(F.class_center_sample(label, 20, 20, group=False)[1].tolist()) == list(range(20))


def test_feature_alpha_dropout_drops_whole_channels() -> None:
    paddle.seed(5)
    x = paddle.ones([64, 32, 5], dtype="float64")
    out = F.feature_alpha_dropout(x, 0.4).numpy()
    low = -1.6732632423543772 * 1.0507009873554805
    a = (0.6 * (1 + 0.4 * low**2)) ** -0.5
    assert sorted(np.unique(out.round(9))) == sorted(np.round([a * (1 - low * 0.4), a * (low - low * 0.4)], 9))
    assert (out == out[:, :, :1]).all()
    assert abs((out[..., 0] > 0).mean() - 0.6) < 0.05
    assert F.feature_alpha_dropout(x, 0.4, training=False) is x
    assert not F.feature_alpha_dropout(x, 1.0).numpy().any()
    layer = nn.FeatureAlphaDropout(0.4)
    assert repr(layer) == "FeatureAlphaDropout(p=0.4)"
    assert layer.eval()(x) is x


def refusals() -> dict[str, tuple[Callable[[], Any], type, str]]:
    x = t(X)
    return {
        "poisson epsilon": (lambda: F.poisson_nll_loss(x, x, epsilon=0), ValueError, "expected a positive epsilon"),
        "poisson shape": (lambda: F.poisson_nll_loss(x, x[:1]), ValueError, "expected two tensors of one shape"),
        "poisson dtype": (lambda: F.poisson_nll_loss(t(LABEL), t(LABEL)), TypeError, "expected a floating input"),
        "variance shape": (lambda: F.gaussian_nll_loss(x, x, x[0]), ValueError, "expected a variance of input's shape"),
        "variance sign": (lambda: F.gaussian_nll_loss(x, x, x), ValueError, "expected variances of at least 0"),
        "half": (lambda: F.gaussian_nll_loss(x.astype("float16"), x, x), TypeError, "input of float32 or float64"),
        "classes": (lambda: F.multi_margin_loss(x, t([0, 1, 4])), ValueError, "received 4"),
        "weight": (lambda: F.multi_margin_loss(x, t(LABEL), weight=x[0, :3]), ValueError, "a weight of shape [4]"),
        "batch": (lambda: F.multi_margin_loss(x, t([0, 1])), ValueError, "expected input [batch, classes]"),
        "shapes": (lambda: F.multi_label_soft_margin_loss(x, x[0]), ValueError, "expected two tensors of one shape"),
        "margin": (
            lambda: F.triplet_margin_with_distance_loss(x, x, x, margin=-1.0),
            ValueError,
            "expected a margin of at least 0, received -1.0",
        ),
        "distance": (
            lambda: F.triplet_margin_with_distance_loss(x, x, t(Y), lambda a, b: (a - b).sum(-1) - 9),
            ValueError,
            "expected distances of at least 0",
        ),
        "dice label": (lambda: F.dice_loss(x, t([[0], [1], [4]])), ValueError, "expected labels in [0, 4)"),
        "dice shape": (lambda: F.dice_loss(x, t([[0, 1]] * 3)), ValueError, "labels of its shape with 1 at the end"),
        "npair": (lambda: F.npair_loss(x[:0], x, t(LABEL)), ValueError, "expected elements in anchor"),
        "tree label": (lambda: F.hsigmoid_loss(x, t([0, 1, 5]), 5, x[0:3].tile([2, 1])), ValueError, "received 5"),
        "tree nodes": (lambda: F.hsigmoid_loss(x, t(LABEL), 9, x), ValueError, "weights of 8 nodes for 9 classes"),
        "tree code": (
            lambda: F.hsigmoid_loss(x, t(LABEL), 4, x, path_table=t([[0]] * 3)),
            ValueError,
            "expected path_table and path_code, or neither",
        ),
        "tree table": (
            lambda: F.hsigmoid_loss(x, t(LABEL), 4, x, None, t([[7]] * 3), t([[0]] * 3)),
            ValueError,
            "expected nodes below 3 in path_table, received 7",
        ),
        "cluster label": (
            lambda: F.adaptive_log_softmax_with_loss(x, t([0, 1, 7]), x[:, :4].t(), tails(), [1, 5, 7]),
            ValueError,
            "expected labels in [0, 7), received 7",
        ),
        "samples": (lambda: F.class_center_sample(t(LABEL), 3, 4), ValueError, "expected num_samples of at most 3"),
        "sample label": (lambda: F.class_center_sample(t(LABEL), 3, 2), ValueError, "labels in [0, 3), received 3"),
        "group": (
            lambda: F.class_center_sample(t(LABEL), 5, 4, 1),
            ValueError,
            "expected group None, False or a Group",
        ),
        "alpha": (lambda: F.feature_alpha_dropout(x[0]), ValueError, "expected x of two dimensions or more"),
        "alpha p": (lambda: F.feature_alpha_dropout(x, 1.5), ValueError, "expected p in [0, 1], received 1.5"),
        "reduction": (lambda: nn.GaussianNLLLoss(reduction="all"), ValueError, "GaussianNLLLoss: expected reduction"),
        "cutoffs": (
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]),
            ValueError,
            "expected rising cutoffs in [1, 4]",
        ),
        "custom tree": (
            lambda: nn.HSigmoidLoss(4, 3, is_custom=True)(paddle.ones([3, 4]), t(LABEL)),
            ValueError,
            "expected path_table and path_code with is_custom=True",
        ),
    }


@pytest.mark.parametrize("name", refusals())
def test_refusals(name: str) -> None:
    call, error, text = refusals()[name]
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_the_layers_call_the_functions() -> None:
    x, y, z, v = t(X), t(Y), t(Z), t(POSITIVE)
    pairs: list[tuple[Any, Any]] = [
        (nn.PairwiseDistance(1.0, 0.1, True)(x, y), F.pairwise_distance(x, y, 1.0, 0.1, True)),
        (nn.PoissonNLLLoss(False, True, 0.1, "sum")(v, v), F.poisson_nll_loss(v, v, False, True, 0.1, "sum")),
        (nn.GaussianNLLLoss(True, 0.1, "sum")(x, y, v), F.gaussian_nll_loss(x, y, v, True, 0.1, "sum")),
        (nn.MultiMarginLoss(2, 0.5, v[0])(x, t(LABEL)), F.multi_margin_loss(x, t(LABEL), 2, 0.5, v[0])),
        (nn.MultiLabelSoftMarginLoss(v[0])(x, t(BITS)), F.multi_label_soft_margin_loss(x, t(BITS), v[0])),
        (
            nn.CosineEmbeddingLoss(0.1, "sum")(x, y, t([1, -1, 1])),
            F.cosine_embedding_loss(x, y, t([1, -1, 1]), 0.1, "sum"),
        ),
        (
            nn.TripletMarginLoss(0.5, 1.0, 0.1, True)(x, y, z),
            F.triplet_margin_loss(x, y, z, 0.5, 1.0, 0.1, True),
        ),
        (
            nn.TripletMarginWithDistanceLoss(None, 0.5, True)(x, y, z),
            F.triplet_margin_with_distance_loss(x, y, z, None, 0.5, True),
        ),
    ]
    for got, expected in pairs:
        assert got.tolist() == expected.tolist()
    assert repr(nn.PairwiseDistance(1, 0.1, True, "d")) == "PairwiseDistance(p=1, epsilon=0.1, keepdim=True, name=d)"


def test_layers_of_many_classes() -> None:
    tree = nn.HSigmoidLoss(4, 6)
    assert {k: list(p.shape) for k, p in tree.named_parameters()} == {"weight": [5, 4], "bias": [5, 1]}
    x = t(X, "float32")
    assert tree(x, t(LABEL)).tolist() == F.hsigmoid_loss(x, t(LABEL), 6, tree.weight, tree.bias).tolist()
    clusters = nn.AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], div_value=2.0, head_bias=True)
    shapes = {k: list(p.shape) for k, p in clusters.named_parameters()}
    assert shapes == {
        "head_weight": [4, 4],
        "head_bias": [4],
        "tail_weight_0_0": [4, 2],
        "tail_weight_0_1": [2, 3],
        "tail_weight_1_0": [4, 1],
        "tail_weight_1_1": [1, 4],
    }
    logs = clusters.log_prob(x)
    np.testing.assert_allclose(np.exp(logs.numpy()).sum(axis=1), 1.0, rtol=1e-6)
    out, loss = clusters(x, t([0, 3, 8]))
    np.testing.assert_allclose(out.numpy(), logs.numpy()[[0, 1, 2], [0, 3, 8]], rtol=1e-5)
    assert clusters.predict(x).tolist() == logs.numpy().argmax(axis=1).tolist()
    loss.backward()
    assert all(p.grad is not None for p in clusters.parameters())
