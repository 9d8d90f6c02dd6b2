"""Hooks on leaves and intermediates: what they see, in which order, and when they are refused."""

import functools
import sys
import tracemalloc

import numpy as np
import pytest

import wherry as paddle
from tests.engine.test_threads import in_threads


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_a_leafs_hook_sees_each_pass_and_not_the_sum_so_far() -> None:
    x = leaf([2.0])
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3.0 + x * 4.0).backward()
    (x * 5.0).backward()
    assert seen == [7.0, 5.0]
    assert x.grad.item() == 12.0


def test_a_replaced_gradient_flows_on_and_is_the_one_retained() -> None:
    x = leaf([2.0])
    y = x * 3.0
    y.retain_grads()
    y.register_hook(lambda g: g * 10.0)
    (y * 1.0).backward()
    assert x.grad.item() == 30.0
    assert y.grad.item() == 10.0


def test_a_hook_on_one_output_leaves_the_others_alone() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    a, b = paddle.split(x, 2)
    a.register_hook(lambda g: g * 0.0)
    (a * 2.0 + b * 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0, 3.0, 3.0])


def test_grad_applies_the_hooks_of_what_is_asked_for() -> None:
    x = leaf([2.0])
    y = x * 3.0
    y.register_hook(lambda g: g + 1.0)
    assert [g.item() for g in paddle.grad(y * 5.0, [y, x])] == [6.0, 18.0]


def test_a_hook_is_part_of_the_graph_under_create_graph() -> None:
    x = leaf([3.0])
    y = x * x
    y.register_hook(lambda g: g * y.detach() * x)
    first = paddle.grad(y * 1.0, x, create_graph=True)[0]
    # 2x * (9 x), the 9 cut off by detach
    assert first.item() == 54.0 * 3.0
    assert paddle.grad(first, x)[0].item() == pytest.approx(4 * 9.0 * 3.0)


def test_a_hook_may_not_change_the_gradient_of_a_sibling_in_place() -> None:
    x, y = leaf([1.0]), leaf([1.0])

    def overwrite(g: paddle.Tensor) -> None:
        with paddle.no_grad():
            g.scale_(100.0)

    x.register_hook(overwrite)
    (x + y).backward()
    assert y.grad.item() == 1.0


def test_a_handle_removes_its_own_hook_once() -> None:
    x = leaf([1.0])
    seen: list[str] = []
    first = x.register_hook(lambda g: seen.append("first"))
    second = x.register_hook(lambda g: seen.append("second"))
    assert first.remove()
    with pytest.warns(RuntimeWarning, match="removed before"):
        assert not first.remove()
    (x * 1.0).backward()
    assert seen == ["second"]
    assert second.remove()
    (x * 1.0).backward()
    assert seen == ["second"]


def test_a_hook_may_remove_itself() -> None:
    x = leaf([1.0])
    seen: list[float] = []

    def once(g: paddle.Tensor) -> None:
        seen.append(g.item())
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda g: seen.append(-g.item()))
    (x * 2.0).backward()
    (x * 3.0).backward()
    assert seen == [2.0, -2.0, -3.0]


def test_a_tensor_without_gradient_refuses_a_hook() -> None:
    with pytest.raises(RuntimeError, match="stop_gradient"):
        paddle.ones([1]).register_hook(lambda g: g)


def test_what_is_no_function_or_no_tensor_is_refused() -> None:
    x = leaf([1.0])
    with pytest.raises(TypeError):
        x.register_hook(3)
    x.register_hook(lambda g: 3.0)
    with pytest.raises(TypeError, match=r"hook.*float"):
        (x * 1.0).backward()


def test_what_hooks_leave_stays_with_the_one_tensor_they_are_on() -> None:
    # x + y hands one array to both; each hook may write to what it gets.
    for first in (True, False):
        x, y = leaf([1.0]), leaf([1.0])
        (x if first else y).register_hook(scaled_in_place)
        (x + y).backward()
        assert (x.grad.item(), y.grad.item()) == ((100.0, 1.0) if first else (1.0, 100.0))


def scaled_in_place(g: paddle.Tensor) -> None:
    g.scale_(100.0)


def test_a_hook_on_the_root_may_write_and_the_users_seed_stays() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    seed = paddle.to_tensor(np.array([7.0, 8.0]))
    y.register_hook(scaled_in_place)
    y.backward(seed)
    assert seed.tolist() == [7.0, 8.0] and x.grad.tolist() == [700.0, 800.0]
    z = (x * 3.0).sum()
    z.register_hook(scaled_in_place)
    z.backward()
    assert x.grad.tolist() == [1000.0, 1100.0]


def test_writing_to_the_gradient_in_place_under_create_graph_leaves_siblings_alone() -> None:
    x, y = leaf([2.0]), leaf([3.0])
    a, b = x * 1.0, y * 1.0
    handle = a.register_hook(scaled_in_place)
    gx, gy = paddle.grad((a + b) * (a + b), [x, y], create_graph=True)
    handle.remove()
    assert (gx.item(), gy.item()) == (1000.0, 10.0)
    # d(200 (x + y))/dx and d(2 (x + y))/dx
    assert [paddle.grad(g, x, retain_graph=True)[0].item() for g in (gx, gy)] == [200.0, 2.0]


def test_a_gradient_that_a_hook_kept_does_not_change_afterwards() -> None:
    x = leaf([1.0])
    kept: list[paddle.Tensor] = []
    x.register_hook(kept.append)
    (x * 2.0 + x * 3.0).backward()
    (x * 1.0).backward()
    assert [g.item() for g in kept] == [5.0, 1.0] and x.grad.item() == 6.0
    with paddle.no_grad():
        kept[1].scale_(100.0)
    assert x.grad.item() == 6.0


def test_what_a_hook_returned_may_be_used_again() -> None:
    buffer = paddle.to_tensor(np.array([0.0]))
    x, y = leaf([1.0]), leaf([1.0])
    a, b = x * 1.0, y * 1.0

    def hook(g: paddle.Tensor) -> paddle.Tensor:
        buffer.set_value(g.numpy() * 2.0)
        return buffer

    a.register_hook(hook)
    b.register_hook(hook)
    (a + b * 10.0).backward()
    assert (x.grad.item(), y.grad.item()) == (2.0, 20.0)
    with paddle.no_grad():
        buffer.scale_(100.0)
    assert (x.grad.item(), y.grad.item()) == (2.0, 20.0)


def test_a_gradient_that_nobody_else_sees_is_lent_without_a_copy() -> None:
    x = paddle.to_tensor(np.zeros(1 << 16), stop_gradient=False)
    factor = paddle.to_tensor(np.ones(1 << 16))
    y = x * factor
    z = y * factor
    in_hook: list[int] = []
    kept: list[paddle.Tensor] = []
    y.register_hook(lambda g: in_hook.append(tracemalloc.get_traced_memory()[0]))
    # The second sees what the first has kept: a copy, for the pass needs the gradient itself.
    y.register_hook(kept.append)
    y.register_hook(lambda g: in_hook.append(tracemalloc.get_traced_memory()[0]))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        z.backward(factor)
    finally:
        tracemalloc.stop()
    arrays = [(size - before) / factor.numpy().nbytes for size in in_hook]
    assert 0.9 < arrays[0] < 1.1, "the gradient itself"
    assert 1.9 < arrays[1] < 2.1, "and the copy that was kept"


ODD_RESULTS = [
    (lambda g: g.numpy(), TypeError, "expected a Tensor or None as its result, received ndarray"),
    (lambda g: [g], TypeError, "expected a Tensor or None as its result, received list"),
    (lambda g: "text", TypeError, "expected a Tensor or None as its result, received str"),
    (lambda g: True, TypeError, "expected a Tensor or None as its result, received bool"),
    (lambda g: (g for _ in ()), TypeError, "expected a Tensor or None as its result, received generator"),
    (lambda g: g.sum(), ValueError, "expected a gradient of float64[2] as its result, received float64[]"),
    (lambda g: g[:1], ValueError, "expected a gradient of float64[2] as its result, received float64[1]"),
    (lambda g: g.astype("float32"), ValueError, "expected a gradient of float64[2] as its result, received float32[2]"),
    (lambda g: g.astype("int64"), ValueError, "expected a gradient of float64[2] as its result, received int64[2]"),
    (lambda g: g + 0j, ValueError, "expected a gradient of float64[2] as its result, received complex128[2]"),
    (lambda g: g.reshape_([2, 1]), ValueError, "expected a gradient of float64[2] as its result, received float64[2, 1]"),
]  # fmt: skip


@pytest.mark.parametrize("where", ["leaf", "intermediate", "root"])
@pytest.mark.parametrize(("hook", "error", "text"), ODD_RESULTS, ids=lambda v: "" if callable(v) else None)
def test_an_odd_result_is_refused_by_name_and_line_before_anything_is_stored(where, hook, error, text) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    z = y * 3.0
    handle = {"leaf": x, "intermediate": y, "root": z}[where].register_hook(hook)
    with pytest.raises(error) as caught:
        z.backward(retain_graph=True)
    lines = str(caught.value).split("\n")
    assert lines[0] == f"the hook <lambda>: {text}"
    assert lines[1] == f"  the hook is defined at {__file__}:{hook.__code__.co_firstlineno}, in <lambda>"
    if where == "leaf":
        assert lines[2:] == ["  raised at the gradient of a leaf tensor float64[2]"]
    else:
        assert lines[2].startswith(f"  raised in the backward of multiply, which was recorded at {__file__}:")
    assert x.grad is None and paddle.is_grad_enabled()
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [6.0, 6.0]


class Callable:
    def __call__(self, g: paddle.Tensor) -> int:
        return 1

    def method(self, g: paddle.Tensor) -> int:
        return 1


def taking_two(a: int, g: paddle.Tensor) -> int:
    return a


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@pytest.mark.parametrize(
    ("hook", "name", "code"),
    [
        (Callable(), "Callable", Callable.__call__.__code__),
        (Callable().method, "Callable.method", Callable.method.__code__),
        (functools.partial(taking_two, 1), "taking_two", taking_two.__code__),
        (decorated(functools.partial(taking_two, 1)), "taking_two", taking_two.__code__),
        (int, "int", None),
    ],
    ids=["object", "method", "partial", "decorated", "class"],
)
def test_every_kind_of_callable_is_named(hook, name, code) -> None:
    x = leaf([1.0])
    x.register_hook(hook)
    with pytest.raises(TypeError) as caught:
        (x * 1.0).backward()
    text = str(caught.value)
    assert text.startswith(f"the hook {name}: expected a Tensor or None as its result, received int")
    if code is None:
        assert "is defined at" not in text
    else:
        assert f"\n  the hook is defined at {__file__}:{code.co_firstlineno}, in {code.co_qualname}\n" in text


def test_a_hook_that_another_removes_in_the_pass_is_not_called() -> None:
    x = leaf([1.0])
    y = x * 2.0
    seen: list[str] = []
    y.register_hook(lambda g: (seen.append("first"), later.remove())[0])
    later = y.register_hook(lambda g: seen.append("later"))
    on_leaf = x.register_hook(lambda g: seen.append("leaf"))
    y.register_hook(lambda g: (on_leaf.remove(), None)[1])
    y.backward()
    assert seen == ["first"] and x.grad.item() == 2.0


def test_hooks_that_are_registered_in_the_pass() -> None:
    x = leaf([1.0])
    y = x * 2.0
    seen: list[str] = []

    def first(g: paddle.Tensor) -> None:
        seen.append("first")
        y.register_hook(lambda g: seen.append("same tensor"))
        x.register_hook(lambda g: seen.append("further on"))

    handle = y.register_hook(first)
    y.backward(retain_graph=True)
    assert seen == ["first", "further on"], "those on the same tensor wait for the next pass"
    handle.remove()
    y.backward()
    assert seen == ["first", "further on", "same tensor", "further on"]


def test_a_hook_stays_removable_when_its_leaf_gets_another_dtype() -> None:
    layer = paddle.nn.Linear(1, 1)
    seen: list[str] = []
    handle = layer.weight.register_hook(lambda g: seen.append(g.dtype.name))
    layer(paddle.ones([1, 1])).backward()
    layer.to(dtype="float64")
    layer(paddle.ones([1, 1], "float64")).backward()
    assert handle.remove()
    assert layer.weight.grad_fn.hooks is None
    layer(paddle.ones([1, 1], "float64")).backward()
    assert seen == ["float32", "float64"]


def test_hooks_by_number() -> None:
    x = leaf([1.0])
    number = x._register_grad_hook(lambda g: g * 2.0)
    assert x._remove_grad_hook(number) and not x._remove_grad_hook(number)
    (x * 1.0).backward()
    assert x.grad.item() == 1.0


def test_threads_that_register_and_remove_lose_no_hook() -> None:
    x = leaf([2.0])
    y = x * x
    count = [0]

    def work(number: int) -> None:
        if number == 0:
            for _ in range(50):
                y.register_hook(lambda g: count.__setitem__(0, count[0] + 1))
                (y * 1.0).backward(retain_graph=True)
        else:
            for _ in range(300):
                y.register_hook(lambda g: None).remove()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(before)
    assert len(y.grad_fn.hooks) == 50 and count == [50 * 51 // 2]


def test_reduce_hooks_see_the_sum_of_all_passes_and_keep_the_mode() -> None:
    x = leaf([1.0])
    seen: list[float] = []

    def reduce() -> None:
        seen.append(x.grad.item())
        paddle.set_grad_enabled(True)

    number = x._register_backward_hook(reduce)
    (x * 2.0 + x * 3.0).backward()
    with paddle.no_grad():
        y = x * 1.0
    assert y.stop_gradient
    (x * 2.0).backward()
    assert seen == [5.0, 7.0]
    assert paddle.grad(x * 2.0, x)[0].item() == 2.0 and seen == [5.0, 7.0], "grad changes no .grad"
    assert x._remove_grad_hook(number)
    (x * 1.0).backward()
    assert seen == [5.0, 7.0]


@pytest.mark.parametrize(
    ("tensor", "hook", "error", "text"),
    [
        (lambda: leaf([1.0]), 3, TypeError, "_register_backward_hook: expected a callable, received int"),
        (
            lambda: leaf([1.0]) * 2.0,
            print,
            ValueError,
            "_register_backward_hook: expected a leaf tensor with stop_gradient=False, received the result of multiply",
        ),
        (
            lambda: leaf([1.0]).detach(),
            print,
            ValueError,
            "_register_backward_hook: expected a leaf tensor with stop_gradient=False, received one with stop_gradient=True",
        ),
    ],
)
def test_where_reduce_hooks_cannot_be(tensor, hook, error, text) -> None:
    with pytest.raises(error) as caught:
        tensor()._register_backward_hook(hook)
    assert str(caught.value) == text
