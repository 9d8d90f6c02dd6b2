"""Eight threads with graphs of their own and a parameter they share; backward inside backward a thousand levels deep."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.engine.test_threads import in_threads, leaf
from wherry.autograd import PyLayer


@pytest.fixture
def eager_switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_eight_threads_with_graphs_of_their_own(eager_switching: None) -> None:
    def work(number: int) -> None:
        x = leaf(np.full((3, 3), 0.1 * (number + 1)))
        for _ in range(5):
            y = x
            for _ in range(20):
                y = paddle.tanh(y @ x) + x
            (g,) = paddle.grad(y.sum(), x)
        expected.setdefault(number, g.numpy())
        np.testing.assert_array_equal(g.numpy(), expected[number])

    expected: dict[int, np.ndarray] = {}
    for number in range(8):
        work(number)
    in_threads(work, 8)


def test_no_gradient_of_a_shared_parameter_is_lost(eager_switching: None) -> None:
    # Large enough for NumPy to let other threads run while it adds.
    shared = leaf(np.ones(5000))

    def work(number: int) -> None:
        for _ in range(30):
            (shared * float(number + 1)).sum().backward()

    in_threads(work, 8)
    assert set(shared.grad.tolist()) == {30.0 * sum(range(1, 9))}


def test_hooks_layers_modes_and_amp_are_each_thread_s_own(eager_switching: None) -> None:
    class Twice(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert ctx.saved_tensor()[0].shape == g.shape
            return g * 2.0

    def work(number: int) -> None:
        x = paddle.full([number + 1], 1.0)
        x.stop_gradient = False
        for _ in range(8):
            with paddle.no_grad():
                assert (x * 2.0).stop_gradient
            assert not (x * 2.0).stop_gradient
            if number % 2:
                with paddle.amp.auto_cast(dtype="bfloat16"):
                    assert paddle.matmul(x, x).dtype.name == "bfloat16"
            else:
                assert paddle.matmul(x, x).dtype.name == "float32"
            y = Twice.apply(x)
            seen: list[int] = []
            handle = y.register_hook(lambda g, seen=seen: seen.append(g.size))
            y.sum().backward()
            handle.remove()
            assert seen == [number + 1]
        assert x.grad.tolist() == [16.0] * (number + 1)

    in_threads(work, 8)


def test_one_graph_run_in_two_threads_gives_its_gradient_to_one() -> None:
    for _ in range(20):
        x = leaf([1.0, 2.0])
        y = x
        for _ in range(50):
            y = y * 1.5 - y * 0.5
        total = y.sum()
        outcomes: list[str] = []

        def work(number: int, total: Any = total, outcomes: list[str] = outcomes) -> None:
            try:
                total.backward()
                outcomes.append("ran")
            except RuntimeError as error:
                assert "retain_graph" in str(error)
                outcomes.append("refused")

        in_threads(work, 2)
        assert outcomes.count("ran") >= 1


@pytest.fixture
def deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(30_000)
    yield
    sys.setrecursionlimit(before)


def nested(depth: int, seen: list[int]) -> float:
    """The gradient of a square, taken inside a hook that takes one, `depth` levels deep."""
    x = leaf([float(depth)])
    y = x * x

    def hook(g: Any) -> None:
        seen.append(depth)
        if depth:
            # A hook of a plain pass runs unrecorded.
            with paddle.enable_grad():
                nested(depth - 1, seen)

    y.register_hook(hook)
    y.backward()
    return float(x.grad.item())


def test_backward_inside_backward_a_thousand_levels_deep(deep: None) -> None:
    seen: list[int] = []
    assert nested(1000, seen) == 2000.0
    assert seen == list(range(1000, -1, -1))


def test_too_deep_for_python_is_python_s_own_error_and_breaks_nothing() -> None:
    seen: list[int] = []
    with pytest.raises(RecursionError):
        nested(100_000, seen)
    assert nested(3, []) == 6.0
    x = leaf([2.0])
    (x * x).backward()
    assert x.grad.item() == 4.0
