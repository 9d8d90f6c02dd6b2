"""Threads: each has its own mode and its own pass; they may share leaves that they only read."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import wherry as paddle


def in_threads(work: Callable[[int], None], count: int = 6) -> None:
    """Run work(0), work(1), ... at once; re-raise the first failure."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def guarded(number: int) -> None:
        try:
            start.wait(30)
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_a_failing_thread_is_reported() -> None:
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda n: print(1 // 0) if n == 3 else None)


def test_a_new_thread_records_whatever_mode_it_was_started_in() -> None:
    seen: list[bool] = []
    with paddle.no_grad():
        thread = threading.Thread(target=lambda: seen.append(paddle.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not paddle.is_grad_enabled()
    assert seen == [True]


def test_passes_over_separate_graphs_run_beside_each_other() -> None:
    weights = leaf(np.linspace(-1.0, 1.0, 16).reshape(4, 4))

    def gradients(number: int) -> np.ndarray:
        x = leaf(np.full((2, 4), 0.1 * (number + 1)))
        for _ in range(20):
            out = paddle.tanh(paddle.matmul(x, weights)).sum()
            found = paddle.grad(out, [x, weights])
        return np.concatenate([g.numpy().ravel() for g in found])

    alone = [gradients(n) for n in range(6)]

    def work(number: int) -> None:
        np.testing.assert_array_equal(gradients(number), alone[number])

    in_threads(work)
    assert weights.grad is None


def test_a_hook_that_fails_in_one_thread_stops_only_that_pass() -> None:
    def work(number: int) -> None:
        x = leaf([1.0])
        y = x * 2.0

        def hook(g: paddle.Tensor) -> None:
            if number % 2:
                raise ValueError(f"thread {number}")

        y.register_hook(hook)
        for _ in range(20):
            if number % 2:
                with pytest.raises(ValueError, match=f"thread {number}"):
                    (y * 3.0).backward(retain_graph=True)
            else:
                (y * 3.0).backward(retain_graph=True)
        assert x.grad is None if number % 2 else x.grad.item() == 120.0

    in_threads(work)


def test_a_graph_built_in_one_thread_runs_and_is_freed_in_another() -> None:
    x = leaf([2.0])
    roots = [x * x * float(n) for n in range(6)]
    found: dict[int, float] = {}

    def work(number: int) -> None:
        found[number] = paddle.grad(roots[number], x)[0].item()
        with pytest.raises(RuntimeError, match="retain_graph"):
            paddle.grad(roots[number], x)

    in_threads(work)
    assert found == {n: 4.0 * n for n in range(6)}
