"""The backward engine: order, several roots, pruning, orders of derivative, freed graphs, threads."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import wherry as paddle
from wherry.core.errors import explained
from wherry.core.state import STATE


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


def test_third_derivative_of_a_power_and_the_end_of_the_chain() -> None:
    x = leaf([2.0, -1.0])
    first = paddle.grad((x**3).sum(), x, create_graph=True)[0]
    second = paddle.grad(first.sum(), x, create_graph=True)[0]
    third = paddle.grad(second.sum(), x, create_graph=True)[0]
    assert (first.tolist(), second.tolist(), third.tolist()) == ([12.0, 3.0], [12.0, -6.0], [6.0, 6.0])
    with pytest.raises(ValueError, match="position 0 .* is not used by the outputs"):
        paddle.grad(third.sum(), x)
    assert x.grad is None


def product() -> tuple[paddle.Tensor, ...]:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    return x, w, y, y.sum()


def test_grad_of_several_outputs_with_given_and_missing_gradients() -> None:
    x, w, y, z = product()
    seed = paddle.to_tensor(np.array([5.0, 6.0]))
    for grad_outputs, gx, gw in (
        (None, [6.0, 8.0], [2.0, 4.0]),
        ([], [6.0, 8.0], [2.0, 4.0]),
        ([None, None], [6.0, 8.0], [2.0, 4.0]),
        ([seed, None], [18.0, 28.0], [6.0, 14.0]),
        ((None, paddle.to_tensor(np.array(3.0))), [12.0, 16.0], [4.0, 8.0]),
    ):
        got = paddle.grad([y, z], (x, w), grad_outputs, retain_graph=True)
        assert [g.tolist() for g in got] == [gx, gw]
    assert paddle.grad(y, x, seed)[0].tolist() == [15.0, 24.0]


def test_grad_of_repeated_inputs_and_outputs() -> None:
    x, w, y, z = product()
    got = paddle.grad([z, z], [x, w, x, y, z], retain_graph=True)
    assert [g.tolist() for g in got] == [[6.0, 8.0], [2.0, 4.0], [6.0, 8.0], [2.0, 2.0], 2.0]
    got[0].scale_(100.0)
    assert got[2].tolist() == [6.0, 8.0]
    assert paddle.grad([x], [x])[0].tolist() == [1.0, 1.0]


def test_results_under_create_graph_are_nobody_elses_memory_either() -> None:
    x, y = leaf([1.0]), leaf([1.0])
    seed = paddle.to_tensor(np.array([3.0]))
    gx, gy = paddle.grad(x + y, [x, y], seed, create_graph=True)
    with paddle.no_grad():
        gx.scale_(10.0)
    assert (gx.item(), gy.item(), seed.item()) == (30.0, 3.0, 3.0)
    paddle.autograd.backward([x + y], [seed], create_graph=True)
    x.clear_gradient()
    assert (x.grad.item(), y.grad.item(), seed.item()) == (0.0, 3.0, 3.0)
    a = x * 1.0
    b = a + y
    a.retain_grads()
    b.retain_grads()
    paddle.autograd.backward([b], create_graph=True)
    with paddle.no_grad():
        a.grad.scale_(10.0)
    assert (a.grad.item(), b.grad.item(), x.grad.item()) == (10.0, 1.0, 1.0)


def test_gradients_flow_to_the_gradients_that_were_given() -> None:
    x, v = leaf([2.0, 3.0]), leaf([1.0, 1.0])
    (g,) = paddle.grad(x * x, x, v, create_graph=True)
    assert paddle.grad(g, v, paddle.to_tensor(np.array([5.0, 7.0])))[0].tolist() == [20.0, 42.0]


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ({}, 1),
        ({"create_graph": True}, 3),
        ({"create_graph": True, "retain_graph": False}, 1),
        ({"create_graph": False, "retain_graph": True}, 3),
        ({"retain_graph": None, "create_graph": np.bool_(True)}, 3),
    ],
)
def test_the_graph_is_kept_where_asked_and_by_default_under_create_graph(options, runs) -> None:
    x = leaf([2.0])
    y = x * x * x
    for _ in range(runs):
        assert paddle.grad(y, x, **options)[0].item() == 12.0
    if runs == 1:
        with pytest.raises(RuntimeError, match="retain_graph=True"):
            paddle.grad(y, x, **options)


def test_kinds_of_no_grad_vars() -> None:
    x, w, y, z = product()
    total = z + x.sum()
    for blocked in (y, [y], (y,), {y}, [y, w]):
        assert paddle.grad(total, x, no_grad_vars=blocked, retain_graph=True)[0].tolist() == [1.0, 1.0]
    for blocked in (None, [], set(), w):
        assert paddle.grad(total, x, no_grad_vars=blocked, retain_graph=True)[0].tolist() == [4.0, 5.0]
    assert paddle.grad(z, x, no_grad_vars=x, allow_unused=True, retain_graph=True) == [None]
    assert paddle.grad(z, x, no_grad_vars=z)[0].tolist() == [3.0, 4.0], "an output starts with its gradient"


def test_outputs_and_inputs_without_gradients() -> None:
    x, w, y, z = product()
    still = paddle.ones([2], "float64")
    assert paddle.grad([still, z], x, retain_graph=True)[0].tolist() == [3.0, 4.0]
    assert paddle.grad(still, x, allow_unused=True) == [None]
    assert paddle.grad(z, [still, x], allow_unused=True, retain_graph=True)[0] is None
    with pytest.raises(ValueError, match=r"position 1 \(float64\[2\], stop_gradient=True\) is not used"):
        paddle.grad(z, [x, still])


def test_roots_with_given_and_missing_gradients() -> None:
    for given, expected in (
        (None, [6.0, 8.0]),
        ([], [6.0, 8.0]),
        ([None, paddle.to_tensor(np.array(2.0))], [9.0, 12.0]),
        ([paddle.to_tensor(np.array([1.0, 5.0])), None], [6.0, 24.0]),
    ):
        x, _, y, z = product()
        paddle.autograd.backward([y, z], given)
        assert x.grad.tolist() == expected
    x, _, y, z = product()
    paddle.autograd.backward(y, paddle.to_tensor(np.array([1.0, 5.0])), retain_graph=None)
    x.backward()
    assert x.grad.tolist() == [4.0, 21.0]
    for nothing in (paddle.ones([1]), paddle.to_tensor([1])):
        nothing.backward()
        assert nothing.grad is None


ones = paddle.ones([2], "float64")
WRONG = [
    ("grad", {"outputs": None}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'outputs', received NoneType"),
    ("grad", {"outputs": []}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'outputs', received an empty list"),
    ("grad", {"inputs": ()}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'inputs', received an empty tuple"),
    ("grad", {"inputs": {ones}}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'inputs', received set"),
    ("grad", {"inputs": np.ones(2)}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'inputs', received ndarray"),
    ("grad", {"inputs": [ones, 1.0]}, TypeError, "expected Tensors in 'inputs', received float at position 1"),
    ("grad", {"grad_outputs": np.ones(2)}, TypeError, "expected a Tensor or a list of Tensors and None for 'grad_outputs', received ndarray"),
    ("grad", {"grad_outputs": [1.0]}, TypeError, "expected a Tensor or None in 'grad_outputs', received float at position 0"),
    ("grad", {"grad_outputs": [ones, ones]}, ValueError, "expected 1 gradients in 'grad_outputs', one for each output, received 2"),
    ("grad", {"grad_outputs": ones[:1]}, ValueError, "expected a gradient of shape [2] in 'grad_outputs' at position 0, received shape [1]"),
    ("grad", {"grad_outputs": ones.astype("float32")}, ValueError, "expected a gradient of dtype float64 in 'grad_outputs' at position 0, received float32"),
    ("grad", {"no_grad_vars": 3}, TypeError, "expected a Tensor, or a list or set of Tensors, or None for 'no_grad_vars', received int"),
    ("grad", {"no_grad_vars": [3]}, TypeError, "expected Tensors in 'no_grad_vars', received int at position 0"),
    ("grad", {"create_graph": 1}, TypeError, "expected True or False for 'create_graph', received int"),
    ("grad", {"retain_graph": "no"}, TypeError, "expected True or False for 'retain_graph', received str"),
    ("grad", {"allow_unused": None}, TypeError, "expected True or False for 'allow_unused', received NoneType"),
    ("grad", {"only_inputs": 0}, TypeError, "expected True or False for 'only_inputs', received int"),
    ("grad", {"only_inputs": False}, NotImplementedError, "the argument 'only_inputs' has no other value than True, received False"),
    ("grad", {"dump_backward_graph_path": "x"}, NotImplementedError, "the argument 'dump_backward_graph_path' is not supported"),
    ("backward", {"tensors": None}, TypeError, "expected a Tensor or a non-empty list of Tensors for 'tensors', received NoneType"),
    ("backward", {"tensors": [3]}, TypeError, "expected Tensors in 'tensors', received int at position 0"),
    ("backward", {"grad_tensors": 3}, TypeError, "expected a Tensor or a list of Tensors and None for 'grad_tensors', received int"),
    ("backward", {"grad_tensors": [None, None]}, ValueError, "expected 1 gradients in 'grad_tensors', one for each output, received 2"),
    ("backward", {"grad_tensors": [ones.sum()]}, ValueError, "expected a gradient of shape [2] in 'grad_tensors' at position 0, received shape []"),
    ("backward", {"retain_graph": 1}, TypeError, "expected True or False for 'retain_graph', received int"),
    ("backward", {"create_graph": "yes"}, TypeError, "expected True or False for 'create_graph', received str"),
    ("backward", {"dump_backward_graph_path": "x"}, NotImplementedError, "the argument 'dump_backward_graph_path' is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "change", "error", "text"), WRONG, ids=[f"{w[0]} {w[3]}" for w in WRONG])
def test_wrong_arguments_are_named_and_nothing_runs(function, change, error, text) -> None:
    x, _, y, _ = product()
    given = {"outputs": y, "inputs": x} if function == "grad" else {"tensors": y}
    with pytest.raises(error) as caught:
        (paddle.grad if function == "grad" else paddle.autograd.backward)(**{**given, **change})
    assert str(caught.value) == f"{function}: {text}"
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_an_explained_error_says_that_the_kernel_has_ended() -> None:
    STATE.in_kernel = True
    explained(ValueError("odd"), type("Op", (), {"name": "op", "inputs": ()}), ())
    assert not STATE.in_kernel
