"""Segments, messages along edges and neighbours: known values, gradients, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import geometric, incubate
from wherry.autograd import gradcheck, gradgradcheck

ROWS = np.random.default_rng(4).standard_normal((5, 3))
IDS = paddle.to_tensor([0, 0, 2, 2, 2])
SOURCE, TARGET = paddle.to_tensor([0, 1, 2, 0, 4]), paddle.to_tensor([1, 2, 1, 0, 1])
REDUCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}
# The neighbours of node i are ROW[POINTERS[i]:POINTERS[i + 1]].
ROW = np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
POINTERS = np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])


def put_together(messages: np.ndarray, target: np.ndarray, count: int, operation: str) -> np.ndarray:
    out = np.zeros((count, *messages.shape[1:]))
    for node in range(count):
        if (target == node).any():
            out[node] = REDUCTIONS[operation](messages[target == node], axis=0)
    return out


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_segments(operation: str) -> None:
    x = paddle.to_tensor(ROWS, stop_gradient=False)
    function = getattr(geometric, f"segment_{operation}")
    np.testing.assert_allclose(function(x, IDS).numpy(), put_together(ROWS, IDS.numpy(), 3, operation), rtol=1e-14)
    assert gradcheck(lambda x: function(x, IDS), (x,), edges=False)
    assert gradgradcheck(lambda x: function(x, IDS), (x,), edges=False)
    assert function(paddle.zeros([0, 2]), paddle.zeros([0], dtype="int64")).shape == [0, 2]
    assert function(paddle.to_tensor([-3, -4]), paddle.to_tensor([0, 0])).dtype is paddle.int64
    assert getattr(incubate, f"segment_{operation}") is function


def test_equal_maxima_share_the_gradient() -> None:
    x = paddle.to_tensor([3.0, 3.0, 1.0], stop_gradient=False)
    geometric.segment_max(x, paddle.to_tensor([0, 0, 0])).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.5, 0.5, 0.0])


def test_a_mean_of_integers_is_rounded_towards_zero() -> None:
    out = geometric.segment_mean(paddle.to_tensor([-3, -4, 3, 4]), paddle.to_tensor([0, 0, 1, 1]))
    np.testing.assert_array_equal(out.numpy(), [-3, 3])


@pytest.mark.parametrize("operation", REDUCTIONS)
@pytest.mark.parametrize("out_size", [None, 0, 7])
def test_messages_of_nodes(operation: str, out_size: int | None) -> None:
    x = paddle.to_tensor(ROWS, stop_gradient=False)
    expected = put_together(ROWS[SOURCE.numpy()], TARGET.numpy(), out_size or 5, operation)
    found = geometric.send_u_recv(x, SOURCE, TARGET, operation, out_size)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    assert gradgradcheck(lambda x: geometric.send_u_recv(x, SOURCE, TARGET, operation, out_size), (x,), edges=False)
    np.testing.assert_array_equal(
        incubate.graph_send_recv(x, SOURCE, TARGET, operation, out_size).numpy(), found.numpy()
    )


@pytest.mark.parametrize(
    "message, function", [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)]
)
def test_messages_of_nodes_and_edges(message: str, function: Callable[..., np.ndarray]) -> None:
    x = paddle.to_tensor(ROWS, stop_gradient=False)
    y = paddle.to_tensor(ROWS[::-1] + 4.0, stop_gradient=False)
    source, target = SOURCE.numpy(), TARGET.numpy()
    along = function(ROWS[source], y.numpy())
    for reduction in REDUCTIONS:
        found = geometric.send_ue_recv(x, y, SOURCE, TARGET, message, reduction)
        np.testing.assert_allclose(found.numpy(), put_together(along, target, 5, reduction), rtol=1e-11)
    column = geometric.send_ue_recv(x, y[:, 0], SOURCE, TARGET, message)
    expected = put_together(function(ROWS[source], y.numpy()[:, :1]), target, 5, "sum")
    np.testing.assert_allclose(column.numpy(), expected, rtol=1e-11)
    found = geometric.send_uv(x, y, SOURCE, TARGET, message)
    np.testing.assert_allclose(found.numpy(), function(ROWS[source], y.numpy()[target]), rtol=1e-11)
    for checked in (
        lambda x, y: geometric.send_ue_recv(x, y, SOURCE, TARGET, message, "max"),
        lambda x, y: geometric.send_uv(x, y, SOURCE, TARGET, message),
    ):
        assert gradcheck(checked, (x, y), edges=False)
        assert gradgradcheck(checked, (x, y), edges=False)


def test_vectors_become_columns() -> None:
    x, y = paddle.to_tensor([4.0, 6.0]), paddle.to_tensor([2.0, 3.0])
    edges = paddle.to_tensor([0, 1])
    np.testing.assert_array_equal(geometric.send_uv(x, y, edges, edges).numpy(), [[6.0], [9.0]])
    assert geometric.send_u_recv(x, edges, edges).shape == [2]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_all_neighbors(dtype: str) -> None:
    row, pointers, nodes = (paddle.to_tensor(a, dtype=dtype) for a in (ROW, POINTERS, np.array([0, 8, 1, 2])))
    neighbors, count = geometric.sample_neighbors(row, pointers, nodes)
    np.testing.assert_array_equal(neighbors.numpy(), [3, 7, 9, 7, 0, 9, 1])
    np.testing.assert_array_equal(count.numpy(), [2, 2, 2, 1])
    assert (neighbors.dtype.name, count.dtype) == (dtype, paddle.int32)


def test_samples_are_different_neighbors_of_their_nodes() -> None:
    degree = 40
    pointers = paddle.to_tensor([0, degree, 2 * degree])
    row = paddle.arange(2 * degree)
    nodes = paddle.to_tensor([1, 0, 1])
    paddle.seed(7)
    neighbors, count, eids = geometric.sample_neighbors(row, pointers, nodes, 9, eids=row + 100, return_eids=True)
    np.testing.assert_array_equal(count.numpy(), [9, 9, 9])
    np.testing.assert_array_equal(eids.numpy(), neighbors.numpy() + 100)
    for node, sample in zip((1, 0, 1), neighbors.numpy().reshape(3, 9)):
        assert len(set(sample)) == 9
        assert set(sample) <= set(range(node * degree, (node + 1) * degree))
    again, _ = incubate.graph_sample_neighbors(row, pointers, nodes, sample_size=9)
    assert again.numpy().tolist() != neighbors.numpy().tolist()


def test_weights_are_odds() -> None:
    weight = paddle.to_tensor([0.0, 1.0, 0.0, 3.0])
    nodes = paddle.zeros([4000], dtype="int64")
    paddle.seed(1)
    neighbors, _ = geometric.weighted_sample_neighbors(paddle.arange(4), paddle.to_tensor([0, 4]), weight, nodes, 1)
    counts = np.bincount(neighbors.numpy(), minlength=4)
    assert counts[0] == counts[2] == 0
    # Four standard deviations of a binomial draw.
    assert abs(counts[3] - 3000) < 4 * np.sqrt(4000 * 0.75 * 0.25)


def test_reindex() -> None:
    x, neighbors = paddle.to_tensor([0, 1, 2]), paddle.to_tensor([8, 9, 0, 4, 7, 6, 7])
    count = paddle.to_tensor([2, 3, 2], dtype="int32")
    source, target, nodes = geometric.reindex_graph(x, neighbors, count)
    np.testing.assert_array_equal(source.numpy(), [3, 4, 0, 5, 6, 7, 6])
    np.testing.assert_array_equal(target.numpy(), [0, 0, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(nodes.numpy(), [0, 1, 2, 8, 9, 4, 7, 6])
    np.testing.assert_array_equal(incubate.graph_reindex(x, neighbors, count)[2].numpy(), nodes.numpy())


def test_reindex_of_two_kinds_of_edges() -> None:
    x = paddle.to_tensor([0, 1, 2])
    neighbors = [paddle.to_tensor([8, 9, 0, 4, 7, 6, 7]), paddle.to_tensor([0, 2, 3, 5, 1])]
    count = [paddle.to_tensor([2, 3, 2], dtype="int32"), paddle.to_tensor([1, 3, 1], dtype="int32")]
    source, target, nodes = geometric.reindex_heter_graph(x, neighbors, count)
    np.testing.assert_array_equal(source.numpy(), [3, 4, 0, 5, 6, 7, 6, 0, 2, 8, 9, 1])
    np.testing.assert_array_equal(target.numpy(), [0, 0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 2])
    np.testing.assert_array_equal(nodes.numpy(), [0, 1, 2, 8, 9, 4, 7, 6, 3, 5])


def test_fused_softmax() -> None:
    x = paddle.to_tensor(ROWS[:3], stop_gradient=False)
    mask = paddle.to_tensor([[0.0, -1.0, 2.0]], dtype="float64")
    shifted = np.exp(ROWS[:3] + mask.numpy())
    found = incubate.softmax_mask_fuse(x, mask)
    np.testing.assert_allclose(found.numpy(), shifted / shifted.sum(-1, keepdims=True), rtol=1e-14)
    lower = np.tril(np.exp(ROWS[:3]))
    found = incubate.softmax_mask_fuse_upper_triangle(x)
    np.testing.assert_allclose(found.numpy(), lower / lower.sum(-1, keepdims=True), rtol=1e-14)
    assert gradgradcheck(incubate.softmax_mask_fuse_upper_triangle, (x,), edges=False)
    np.testing.assert_allclose(incubate.identity_loss(x, "mean").item(), ROWS[:3].mean(), rtol=1e-14)
    np.testing.assert_allclose(incubate.identity_loss(x, 0).item(), ROWS[:3].sum(), rtol=1e-14)


X = paddle.to_tensor(ROWS)
TWO = paddle.to_tensor([0, 1])
GRAPH = (paddle.to_tensor(ROW), paddle.to_tensor(POINTERS))
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "unsorted ids": (lambda: geometric.segment_sum(X[:2], paddle.to_tensor([1, 0])), ValueError, "never fall"),
    "negative ids": (lambda: geometric.segment_max(X[:2], paddle.to_tensor([-1, 0])), ValueError, "at least 0"),
    "too few ids": (lambda: geometric.segment_mean(X, TWO), ValueError, "each of the 5 rows, received 2"),
    "floating ids": (lambda: geometric.segment_min(X, X[:, 0]), TypeError, "int32 or int64 for segment_ids"),
    "reduction": (lambda: geometric.send_u_recv(X, TWO, TWO, "x"), ValueError, "received 'x'"),
    "source outside": (
        lambda: geometric.send_u_recv(X, TWO + 4, TWO),
        IndexError,
        r"src_index in \[0, 5\), received 4 to 5",
    ),
    "target outside": (lambda: geometric.send_u_recv(X, TWO, TWO, out_size=1), IndexError, r"dst_index in \[0, 1\)"),
    "lengths": (lambda: geometric.send_u_recv(X, TWO, TWO[:1]), ValueError, "one length, received 2 and 1"),
    "message": (lambda: geometric.send_uv(X, X, TWO, TWO, "x"), ValueError, "received 'x'"),
    "edges": (lambda: geometric.send_ue_recv(X, X, TWO, TWO), ValueError, "each of the 2 edges"),
    "dtypes": (lambda: geometric.send_uv(X, X.astype("float32"), TWO, TWO), ValueError, "one dtype"),
    "integers divided": (lambda: geometric.send_uv(TWO, TWO, TWO, TWO, "div"), TypeError, "floating tensors for 'div'"),
    "node outside": (lambda: geometric.sample_neighbors(*GRAPH, paddle.to_tensor([10])), IndexError, r"\[0, 10\)"),
    "no eids": (lambda: geometric.sample_neighbors(*GRAPH, TWO, return_eids=True), ValueError, "eids to return"),
    "falling pointers": (
        lambda: geometric.sample_neighbors(TWO, paddle.to_tensor([0, 2, 1]), TWO),
        ValueError,
        "to rise",
    ),
    "counts": (lambda: geometric.reindex_graph(TWO, TWO, TWO), ValueError, "add up to the 2 neighbors, received 1"),
    "a node twice": (lambda: geometric.reindex_graph(TWO * 0, TWO, TWO * 2), ValueError, "received one twice"),
    "loss": (lambda: incubate.identity_loss(X, "x"), TypeError, "received 'x'"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, error, message = REFUSALS[name]
    with pytest.raises(error, match=message):
        call()
