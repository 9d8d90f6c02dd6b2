"""recompute: the same numbers as without it, less memory between forward and backward, the same dropout."""

import random
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import nn
from wherry.distributed.fleet.utils import recompute
from wherry.incubate.distributed.fleet import recompute_sequential
from wherry.inspect import memory


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.5), nn.Linear(32, 8))
        self.calls = 0

    def forward(self, x: paddle.Tensor, scale: Any = 1.0) -> paddle.Tensor:
        self.calls += 1
        return self.inner(x) * scale


def gradients(run: Any) -> tuple[list[Any], Block]:
    paddle.seed(7)
    block = Block()
    x = paddle.to_tensor(np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8), stop_gradient=False)
    paddle.seed(11)
    loss = run(block, x).square().mean()
    after = paddle.rand([2]).tolist()
    loss.backward()
    return [loss.item(), x.grad.tolist(), after, *[p.grad.tolist() for p in block.parameters()]], block


@pytest.mark.parametrize("reentrant", [True, False])
def test_the_same_loss_gradients_and_dropout(reentrant: bool) -> None:
    plain, once = gradients(lambda block, x: block(x))
    again, twice = gradients(lambda block, x: recompute(block, x, use_reentrant=reentrant))
    assert again == plain
    assert (once.calls, twice.calls) == (1, 2)


@pytest.mark.parametrize("reentrant", [True, False])
def test_other_dropout_where_the_state_is_not_kept(reentrant: bool) -> None:
    plain, _ = gradients(lambda block, x: block(x))
    again, _ = gradients(lambda block, x: recompute(block, x, preserve_rng_state=False, use_reentrant=reentrant))
    assert again[0] == plain[0] and again[1] != plain[1]


@pytest.mark.parametrize("reentrant", [True, False])
def test_nested_arguments_and_results(reentrant: bool) -> None:
    def function(pair: Any, table: Any, factor: float, *, last: Any) -> Any:
        a, b = pair
        return {"sum": a + b * factor, "rest": [table["c"] * last, 3]}

    def tensors() -> list[Any]:
        return [paddle.full([2], float(i + 1)) for i in range(4)]

    def run(call: Any) -> list[Any]:
        a, b, c, d = tensors()
        for t in (a, c, d):
            t.stop_gradient = False
        result = call((a, b), {"c": c}, 2.0, last=d)
        assert result["rest"][1] == 3
        (result["sum"] * result["rest"][0]).sum().backward()
        return [None if t.grad is None else t.grad.tolist() for t in (a, b, c, d)]

    expected = run(function)
    assert expected[1] is None and None not in (expected[0], *expected[2:])
    assert run(lambda *a, **k: recompute(function, *a, use_reentrant=reentrant, **k)) == expected


@pytest.mark.parametrize("reentrant", [True, False])
def test_little_is_kept_between_forward_and_backward(reentrant: bool) -> None:
    layer = nn.Sequential(*[nn.Linear(64, 64) for _ in range(8)])
    x = paddle.ones([256, 64])
    x.stop_gradient = False
    before = memory().total
    plain = layer(x)
    kept = memory().total - before
    del plain
    spared = recompute(layer, x, use_reentrant=reentrant)
    assert memory().total - before <= kept / 6
    spared.sum().backward()
    assert x.grad.shape == [256, 64]


def test_amp_is_on_again() -> None:
    weight = paddle.ones([4, 4])
    seen: list[str] = []

    def function(x: paddle.Tensor) -> paddle.Tensor:
        y = paddle.matmul(x, weight)
        seen.append(y.dtype.name)
        return y

    x = paddle.ones([2, 4])
    x.stop_gradient = False
    for reentrant in (True, False):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            y = recompute(function, x, use_reentrant=reentrant)
        y.astype("float32").sum().backward()
    assert seen == ["bfloat16"] * 4


def test_python_and_numpy_randomness_is_kept_too() -> None:
    drawn: list[tuple[float, float]] = []

    def function(x: paddle.Tensor) -> paddle.Tensor:
        drawn.append((random.random(), float(np.random.rand())))
        return x * drawn[-1][0]

    x = paddle.ones([2])
    x.stop_gradient = False
    y = recompute(function, x)
    following = random.random()
    y.sum().backward()
    assert drawn[0] == drawn[1] and random.random() != following


def test_no_input_needs_a_gradient() -> None:
    linear = nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="none of the inputs needs a gradient"):
        assert recompute(linear, paddle.ones([1, 2])).stop_gradient
    recompute(linear, paddle.ones([1, 2]), use_reentrant=False).sum().backward()
    assert linear.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_backward_twice() -> None:
    x = paddle.to_tensor([2.0], stop_gradient=False)
    for reentrant in (True, False):
        y = recompute(lambda t: paddle.exp(t * t), x, use_reentrant=reentrant)
        first = paddle.grad(y, x, retain_graph=True)[0].item() if not reentrant else None
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.item() == pytest.approx(2 * 4.0 * np.exp(4.0), rel=1e-6)
        assert first is None or first == pytest.approx(4.0 * np.exp(4.0), rel=1e-6)
        x.clear_grad()


def test_a_function_that_does_something_else_the_second_time() -> None:
    counter = iter(range(10))

    def function(x: paddle.Tensor) -> paddle.Tensor:
        return paddle.exp(x) if next(counter) % 2 else paddle.tanh(paddle.tanh(x))

    x = paddle.to_tensor([2.0], stop_gradient=False)
    y = recompute(function, x, use_reentrant=False)
    with pytest.raises(
        RuntimeError, match=r"expected 2 tensors to be saved when .*function ran again, as in forward, received 1"
    ):
        y.backward()


def test_sequential_in_segments() -> None:
    paddle.seed(3)
    layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)])
    x = paddle.ones([2, 4])
    x.stop_gradient = False
    expected = layers(x)
    expected.sum().backward()
    gradient = x.grad.tolist()
    for segments in (1, 2, 5):
        x.clear_grad()
        found = recompute_sequential({"segments": segments}, layers, x)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        found.sum().backward()
        assert x.grad.tolist() == gradient
    with pytest.raises(ValueError, match="expected 1 to 5 segments, received 6"):
        recompute_sequential({"segments": 6}, layers, x)


def test_what_is_refused() -> None:
    x = paddle.to_tensor([2.0], stop_gradient=False)
    with pytest.raises(TypeError, match="expected a function or Layer, received int"):
        recompute(3, x)
    with pytest.raises(NotImplementedError, match="offload_indices"):
        recompute(paddle.exp, x, offload_indices=[0])
    with pytest.raises(ValueError, match="expected a function that returns Tensors, received int"):
        recompute(lambda t: 3, x)
