"""The backward engine: order, several roots, pruning, orders of derivative, freed graphs, threads."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import wherry as paddle


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_roots_that_depend_on_each_other_add_up_in_any_order() -> None:
    for order in itertools.permutations(range(3)):
        x = leaf([2.0, 3.0])
        a = x * x
        b = a * x
        c = b + a
        roots = [a, b, c]
        paddle.autograd.backward([roots[i] for i in order])
        # a + b + (b + a) = 2 x^2 + 2 x^3
        np.testing.assert_allclose(x.grad.numpy(), 4 * x.numpy() + 6 * x.numpy() ** 2)


def test_a_root_given_twice_counts_twice() -> None:
    x = leaf([2.0])
    y = x * 3.0
    paddle.autograd.backward([y, y], [leaf([1.0]).detach(), leaf([10.0]).detach()])
    assert x.grad.item() == 33.0


def test_third_derivative() -> None:
    x = leaf([2.0, -1.0])
    first = paddle.grad(x**4, x, create_graph=True)[0]
    second = paddle.grad(first, x, create_graph=True)[0]
    third = paddle.grad(second, x)[0]
    np.testing.assert_allclose(third.numpy(), 24 * x.numpy())
    assert x.grad is None


def test_third_derivative_of_a_small_network() -> None:
    rng = np.random.default_rng(0)
    w, v = leaf(rng.normal(size=(2, 3))), leaf(rng.normal(size=(3, 1)))
    x = leaf(rng.normal(size=(4, 2)))

    def second(point: paddle.Tensor) -> paddle.Tensor:
        out = paddle.matmul(paddle.tanh(paddle.matmul(point, w)), v).sum()
        g = paddle.grad(out, point, create_graph=True)[0]
        return paddle.grad((g * g).sum(), point, create_graph=True)[0].sum()

    third = paddle.grad(second(x), x)[0].numpy()
    step = 1e-5
    for place in np.ndindex(*x.shape):
        up, down = x.numpy(), x.numpy()
        up[place] += step
        down[place] -= step
        numeric = (second(leaf(up)).item() - second(leaf(down)).item()) / (2 * step)
        assert abs(third[place] - numeric) < 1e-5


def test_grad_of_intermediates_and_of_outputs() -> None:
    x = leaf([3.0])
    y = x * x
    z = y * 2.0
    gy, gz, gx = paddle.grad(z, [y, z, x])
    assert (gy.item(), gz.item(), gx.item()) == (2.0, 1.0, 12.0)


def test_grad_runs_only_what_lies_between() -> None:
    x, other = leaf([1.0]), leaf([1.0])
    seen: list[str] = []
    middle = x * 2.0
    aside = other * 3.0
    aside.register_hook(lambda g: seen.append("aside"))
    middle.register_hook(lambda g: seen.append("middle"))
    paddle.grad(middle + aside, x)
    assert seen == ["middle"]
    assert other.grad is None


def test_an_unused_input_is_named_by_position() -> None:
    x, stranger = leaf([1.0]), leaf([1.0])
    y = x * 2.0
    with pytest.raises(ValueError, match=r"position 1 .*allow_unused"):
        paddle.grad(y, [x, stranger], retain_graph=True)
    assert paddle.grad(y, [x, stranger], allow_unused=True)[1] is None


def test_no_grad_vars_block_a_path() -> None:
    x = leaf([3.0])
    y = x * x
    assert paddle.grad(y + x, x, no_grad_vars=[y])[0].item() == 1.0


def test_a_freed_graph_says_what_to_do() -> None:
    x = leaf([3.0])
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True") as error:
        y.backward()
    assert "test_backward.py" in str(error.value)
    z = x * x
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 18.0


def test_gradients_are_nobody_elses_memory() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = paddle.to_tensor(np.array([7.0, 7.0]))
    (x + y).backward(seed)
    with paddle.no_grad():
        x.grad.scale_(100.0)
    np.testing.assert_array_equal(y.grad.numpy(), [7.0, 7.0])
    np.testing.assert_array_equal(seed.numpy(), [7.0, 7.0])


def test_a_hook_is_called_once_on_the_sum() -> None:
    x = leaf([2.0])
    y = x * 3.0
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 5.0 + y * 7.0).backward()
    assert seen == [12.0]


def test_hooks_run_in_order_replace_and_can_be_removed() -> None:
    x = leaf([1.0])
    first = x.register_hook(lambda g: g * 2.0)
    x.register_hook(lambda g: g + 1.0)
    (x * 1.0).backward()
    assert x.grad.item() == 3.0
    assert first.remove()
    x.clear_gradient(False)
    (x * 1.0).backward()
    assert x.grad.item() == 2.0


def test_what_a_hook_returns_is_checked() -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: paddle.ones([3], "float64"))
    with pytest.raises(ValueError, match=r"hook .*float64\[2\].*float64\[3\]"):
        (x * 1.0).backward()
    assert x.grad is None


def test_a_hooks_own_exception_comes_through_with_a_note() -> None:
    class Mine(Exception):
        pass

    def fail(g: paddle.Tensor) -> None:
        raise Mine("mine")

    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(fail)
    with pytest.raises(Mine) as error:
        (y * 3.0).backward()
    assert any("test_backward.py" in note for note in error.value.__notes__)


def test_backward_inside_a_hook() -> None:
    x, inner = leaf([2.0]), leaf([5.0])
    y = x * x

    def hook(g: paddle.Tensor) -> None:
        with paddle.enable_grad():
            again = inner * inner
        again.backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 4.0
    assert inner.grad.item() == 10.0


def test_retained_gradients() -> None:
    x = leaf([2.0])
    y = x * 3.0
    y.retain_grads()
    (y * y).backward()
    assert y.grad.item() == 12.0


def test_modes_as_context_decorator_and_generator() -> None:
    x = leaf([1.0])

    @paddle.no_grad()
    def plain() -> paddle.Tensor:
        return x * 2.0

    @paddle.no_grad()
    def stream() -> object:
        yield x * 2.0
        yield x * 3.0

    assert plain().stop_gradient
    steps = stream()
    assert next(steps).stop_gradient
    assert not (x * 2.0).stop_gradient, "a suspended generator must not switch recording off for its caller"
    with paddle.no_grad():
        assert (x * 2.0).stop_gradient
        with paddle.enable_grad():
            assert not (x * 2.0).stop_gradient
    with paddle.set_grad_enabled(False):
        assert (x * 2.0).stop_gradient
    assert not (x * 2.0).stop_gradient


def test_grad_mode_and_graphs_are_each_threads_own() -> None:
    shared = leaf([2.0])
    failures: list[object] = []

    def work(number: int) -> None:
        try:
            for _ in range(50):
                if number % 2:
                    with paddle.no_grad():
                        assert (shared * 2.0).stop_gradient
                else:
                    mine = leaf([float(number)])
                    g = paddle.grad((mine * mine * shared).sum(), mine)[0]
                    assert g.item() == 4.0 * number
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


CHAIN = """
import wherry as paddle
x = paddle.ones([1]); x.stop_gradient = False
for run_backward in (True, False):
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    if run_backward:
        y.backward()
        assert x.grad.item() == 1.0
    del y
print("freed")
"""


def test_a_million_nodes_run_and_are_freed_in_the_default_stack() -> None:
    done = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.strip() == "freed", done.stderr[-500:]
