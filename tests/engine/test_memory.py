"""Ownership: ordinary graphs are freed by reference counts, knots tied by user code by the collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

import wherry as paddle
from wherry.autograd import PyLayer


class Marker:
    """Lives as long as what holds it."""


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def marked(tensor: paddle.Tensor) -> "weakref.ref[Marker]":
    """Hang a marker on a tensor's node by a hook."""
    marker = Marker()
    tensor.register_hook(lambda g, kept=marker: None)
    return weakref.ref(marker)


def leaf() -> paddle.Tensor:
    x = paddle.ones([2, 2])
    x.stop_gradient = False
    return x


def test_a_step_frees_its_graph() -> None:
    x = leaf()
    y = paddle.tanh(x) * x
    seen = marked(y)
    (y * y).sum().backward()
    assert seen() is not None
    del y
    assert seen() is None


def test_an_abandoned_graph_is_freed() -> None:
    y = paddle.exp(leaf())
    seen = marked(y)
    z = paddle.concat([y, y]) * 2.0
    del y, z
    assert seen() is None


def test_views_and_in_place_free_too() -> None:
    y = leaf() * 2.0
    seen = marked(y)
    view = y[0]
    view.scale_(2.0)
    total = y.sum()
    del view, y
    total.backward()
    del total
    assert seen() is None


def test_a_layer_in_training_leaves_nothing() -> None:
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU(), paddle.nn.Linear(3, 1))
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    seen = []
    for _ in range(3):
        hidden = net(paddle.ones([4, 2]))
        seen.append(marked(hidden))
        loss = hidden.sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        del hidden, loss
    assert [m() for m in seen] == [None] * 3


class Keeps(PyLayer):
    @staticmethod
    def forward(ctx, x):
        out = x * 2.0
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensor()
        return g * 2.0


def test_a_pylayer_that_saves_its_output_is_freed() -> None:
    y = Keeps.apply(leaf())
    seen = marked(y)
    y.sum().backward()
    del y
    assert seen() is None


def test_a_hook_that_captures_the_loss_is_collected() -> None:
    marker = Marker()
    seen = weakref.ref(marker)
    y = leaf() * 2.0
    loss = (y * y).sum()
    y.register_hook(lambda g, loss=loss, marker=marker: None)
    del y, loss, marker
    assert seen() is not None, "a knot needs the collector"
    gc.collect()
    assert seen() is None


def test_an_exception_in_backward_leaves_no_marks() -> None:
    y = leaf() * 2.0

    def fail(g: paddle.Tensor) -> None:
        raise ValueError("stop")

    handle = y.register_hook(fail)
    loss = (y * 3.0).sum()
    with pytest.raises(ValueError, match="stop"):
        loss.backward(retain_graph=True)
    handle.remove()
    loss.backward()
