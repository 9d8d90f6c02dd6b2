"""In-place operations, views and versions, and the messages about them."""

import re
from pathlib import Path

import numpy as np
import pytest

import wherry as paddle


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_in_place_on_a_view_reaches_the_base_and_its_gradient() -> None:
    x = leaf(np.ones((3, 2)))
    y = x * 1.0
    v = y[0]
    v.multiply_(paddle.to_tensor(3.0, dtype="float64"))
    np.testing.assert_array_equal(y.numpy(), [[3, 3], [1, 1], [1, 1]])
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[3, 3], [1, 1], [1, 1]])


def test_a_view_of_a_view_and_a_sibling() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    sibling = y.reshape([6])
    row = y[1]
    cell = row[1:]
    cell.scale_(10.0)
    np.testing.assert_array_equal(sibling.numpy(), [0, 1, 2, 3, 40, 50])
    (sibling * sibling).sum().backward()
    factor = np.array([[1, 1, 1], [1, 10, 10]])
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy() * factor**2)


def test_in_place_on_a_base_with_a_live_view() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[1:]
    y.scale_(4.0)
    (view * view).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 64.0, 96.0])


def test_a_buffer_that_needed_no_gradient_gets_a_history() -> None:
    x = leaf([1.0, 2.0])
    buffer = paddle.zeros([2, 2], dtype="float64")
    buffer[0] = x * 3.0
    assert not buffer.stop_gradient
    (buffer * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 6.0])


def test_second_derivative_through_an_in_place_view() -> None:
    x = leaf([2.0, 3.0])
    y = x * x
    y[:1].multiply_(x[:1])
    first = paddle.grad(y.sum(), x, create_graph=True)[0]
    np.testing.assert_allclose(first.numpy(), [12.0, 6.0])
    np.testing.assert_allclose(paddle.grad(first.sum(), x)[0].numpy(), [12.0, 2.0])


def test_the_version_error_names_both_lines() -> None:
    x = leaf([1.0, 2.0])
    y = paddle.exp(x)
    z = y * y
    y.scale_(2.0)
    with pytest.raises(RuntimeError) as error:
        z.sum().backward()
    text = str(error.value)
    assert "inplace" in text and "expected version 0, received version 1" in text
    lines = [int(n) for n in re.findall(r"test_inplace\.py:(\d+)", text)]
    source = Path(__file__).read_text().splitlines()
    assert any("z = y * y" in source[n - 1] for n in lines), text
    assert any("y.scale_(2.0)" in source[n - 1] for n in lines), text


def test_what_backward_does_not_need_may_change() -> None:
    x = leaf([1.0, 2.0])
    y = x + 1.0
    z = y * 3.0
    y.scale_(5.0)
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])


def test_detached_tensors_share_memory_and_version() -> None:
    x = leaf([1.0])
    y = paddle.nn.functional.sigmoid(x)
    y.detach().scale_(0.0)
    assert y.item() == 0.0
    with pytest.raises(RuntimeError, match="inplace"):
        y.backward()


def test_leaves_and_views_of_leaves_refuse_with_the_fix() -> None:
    x = leaf([1.0, 2.0])
    for target in (x, x[:1]):
        with pytest.raises(RuntimeError, match=r"leaf.*(?s:.)*no_grad"):
            target.scale_(2.0)
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])
    with paddle.no_grad():
        x.scale_(2.0)
    np.testing.assert_array_equal(x.numpy(), [2.0, 4.0])


def test_expanded_tensors_refuse() -> None:
    wide = paddle.ones([1, 1]).expand([2, 3])
    with pytest.raises(RuntimeError, match="share memory"):
        wide.add_(paddle.ones([2, 3]))


def test_a_refusal_leaves_the_tensor_alone() -> None:
    x = paddle.to_tensor([1, 2])
    with pytest.raises(TypeError, match="int64"):
        x.add_(paddle.to_tensor([0.5, 0.5]))
    y = paddle.ones([2])
    with pytest.raises(ValueError, match=r"\[2\].*\[2, 2\]"):
        y.add_(paddle.ones([2, 2]))
    assert x.numpy().tolist() == [1, 2]
    assert x.inplace_version == 0 and y.inplace_version == 0


def test_messages_name_operation_inputs_and_the_users_line() -> None:
    with pytest.raises(ValueError) as error:
        paddle.matmul(paddle.ones([2, 3]), paddle.ones([4, 5]))
    text = str(error.value)
    assert text.startswith("matmul") and "float32[2, 3]" in text and "float32[4, 5]" in text
    assert "test_inplace.py" in text
    with pytest.raises(TypeError, match=r"add.*Tensor.*'y'.*str"):
        paddle.add(paddle.ones([1]), "text")


def test_a_node_knows_the_users_line_through_layers() -> None:
    x = leaf(np.ones((1, 2))).astype("float32")
    out = paddle.nn.Linear(2, 2)(x)
    assert "test_inplace.py" in out.grad_fn.forward_line()
    metas = out.grad_fn.bwd_out_meta
    assert metas[0][0].meta.shape == (1, 2)
    assert metas[0][0].edge.grad_node is not None


@pytest.mark.parametrize("other", [[1.0], (1.0,)])
def test_lists_are_no_operands(other) -> None:
    t = paddle.ones([1])
    for call in (lambda: t + other, lambda: other + t, lambda: t * other if isinstance(other, tuple) else t / other):
        with pytest.raises(TypeError):
            call()


def test_an_in_place_refusal_is_headed_by_the_in_place_name() -> None:
    with pytest.raises(TypeError, match="^add_: expected an operand that fits the dtype int32"):
        paddle.to_tensor([1], dtype="int32").add_(paddle.to_tensor([1.5]))
