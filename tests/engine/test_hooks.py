"""Hooks on leaves and intermediates: what they see, in which order, and when they are refused."""

import numpy as np
import pytest

import wherry as paddle


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
