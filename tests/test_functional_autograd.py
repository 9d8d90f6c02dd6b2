"""jacobian, hessian, vjp and jvp: values that real Paddle 3.3.1 gives, and derivatives of any order."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import hessian, jacobian
from wherry.incubate import autograd as functional


def leaf(values: Any, dtype: str = "float64") -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


def test_jacobian_of_tuples_row_by_row() -> None:
    x, y = leaf([1.0, 2.0, 3.0]), leaf([0.5, 1.5])
    z = (x**2)[:2] * y
    by_x, by_y = jacobian(z, (x, y))
    assert by_x.shape == [2, 3] and by_y.shape == [2, 2]
    assert by_x[1].tolist() == [0.0, 6.0, 0.0]
    assert list(by_x._known) == [1], "only the row that was asked for is computed"
    assert by_x[:].tolist() == [[1.0, 0.0, 0.0], [0.0, 6.0, 0.0]]
    assert by_y[:].tolist() == [[1.0, 0.0], [0.0, 4.0]]
    assert by_x[1, 1].item() == 6.0 and by_x[0:2, 1].tolist() == [0.0, 6.0] and by_x[-1, -2].item() == 6.0
    assert (by_x @ by_x.t()).tolist() == [[1.0, 0.0], [0.0, 36.0]]
    assert (2.0 * by_y + by_y).tolist() == [[3.0, 0.0], [0.0, 12.0]]


def test_jacobian_of_a_batch() -> None:
    b = leaf(np.arange(6.0).reshape(2, 3))
    y = paddle.stack([b.sum(-1) ** 2, (b**2).sum(-1)], 1)
    found = jacobian(y, b, batch_axis=0)
    expected = np.stack([np.repeat([[6.0], [24.0]], 3, 1), 2 * b.numpy()], 1)
    assert found.shape == [2, 2, 3]
    np.testing.assert_array_equal(found[:].numpy(), expected)
    assert found[:, 0, :].tolist() == [[6.0] * 3, [24.0] * 3] and found[0, 1, 2].item() == 4.0


def test_jacobian_without_axes() -> None:
    w = leaf(2.0)
    assert (jacobian(w**3, w) + 0.0).item() == 12.0
    assert jacobian(paddle.stack([w, w * w]), w)[:].tolist() == [1.0, 4.0]
    with pytest.raises(IndexError, match="expected no index"):
        jacobian(w**3, w)[0]


def test_hessian_of_one_and_of_several_inputs() -> None:
    x, y = leaf([1.0, 2.0, 3.0]), leaf([0.5, 1.5])
    assert hessian((x**3).sum(), x)[:].tolist() == np.diag([6.0, 12.0, 18.0]).tolist()
    blocks = hessian((x**3).sum() + (y * x[:2]).sum(), (x, y))
    assert blocks[0][1][:].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert blocks[1][0][:].tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert blocks[1][1][:].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert isinstance(blocks[1][1], paddle.autograd.Hessian)
    b = leaf(np.arange(6.0).reshape(2, 3))
    batch = hessian((b**3).sum(-1), b, batch_axis=0)
    np.testing.assert_array_equal(batch[:].numpy(), np.stack([np.diag(6 * row) for row in b.numpy()]))


def test_third_and_fourth_order() -> None:
    x = leaf([1.0, 2.0])
    third = jacobian(hessian((x**4).sum(), x)[:].sum(0), x)
    assert third[:].tolist() == [[24.0, 0.0], [0.0, 48.0]]
    fourth = paddle.grad(third[:].sum(), x)[0]
    assert fourth.tolist() == [24.0, 24.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: jacobian(3, x),
            TypeError,
            "jacobian: expected a Tensor or a tuple of Tensors for 'ys', received int",
        ),
        (lambda x: jacobian(x, x.reshape([1, 2])), ValueError, "jacobian: expected 'xs' of 0 or 1 dimensions"),
        (lambda x: jacobian(x, x, batch_axis=1), ValueError, "jacobian: expected batch_axis None or 0, received 1"),
        (lambda x: hessian(x, x), ValueError, r"hessian: expected one element in 'ys', received shape \[2\]"),
        (lambda x: jacobian(x * x, x)[2], IndexError, "the row 2 is out of range"),
        (lambda x: jacobian(x * x, x)[0, 0, 0], IndexError, "expected at most 2 indices"),
        (lambda x: functional.vjp(3, x), TypeError, "vjp: expected a function for 'func', received int"),
        (lambda x: functional.jvp(paddle.exp, x, x[:1]), RuntimeError, r"expected shape \[2\] in 'v' at position 0"),
        (lambda x: functional.vjp(paddle.exp, x, [x, x]), RuntimeError, "expected 1 tensors in 'v'"),
        (lambda x: functional.Hessian(paddle.exp, x)[:], RuntimeError, "expected a function of one element"),
        (lambda x: functional.enable_prim(), NotImplementedError, "enable_prim"),
        (lambda x: functional.forward_grad(x, x), NotImplementedError, "use paddle.incubate.autograd.jvp"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(leaf([1.0, 2.0]))


def test_vjp_and_jvp_of_a_matrix_function() -> None:
    x = paddle.ones([2, 2])
    v = paddle.to_tensor([[1.0, 0.0], [0.0, 0.0]])

    def square(a: paddle.Tensor) -> paddle.Tensor:
        return paddle.matmul(a, a)

    output, product = functional.vjp(square, x)
    assert output.tolist() == [[2.0, 2.0], [2.0, 2.0]] and product.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert functional.vjp(square, x, v)[1].tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert functional.jvp(square, x)[1].tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert functional.jvp(square, x, v)[1].tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert x.stop_gradient and x.grad is None


def test_products_keep_the_structure_and_can_be_differentiated() -> None:
    x = leaf([1.0, 2.0])

    def both(a: paddle.Tensor, b: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
        return a * a * b, a + 1.0

    _, (by_a, by_b) = functional.vjp(both, [x, x])
    assert by_a.tolist() == [3.0, 9.0] and by_b.tolist() == [1.0, 4.0]
    _, (first, second) = functional.jvp(both, (x, x))
    assert first.tolist() == [3.0, 12.0] and second.tolist() == [1.0, 1.0]
    # By x itself, through the copies that the products were taken of: d(2ab + 1 + a^2)/dx = 6x at a = b = x, and d(a^2 + 2ab)/dx = 6x.
    assert paddle.grad(by_a.sum() + by_b.sum(), x)[0].tolist() == [6.0, 12.0]


def test_an_output_that_does_not_depend_on_an_input() -> None:
    x = leaf([1.0, 2.0])
    _, products = functional.vjp(lambda a, b: a * 2.0, (x, x))
    assert [p.tolist() for p in products] == [[2.0, 2.0], [0.0, 0.0]]
    _, product = functional.jvp(lambda a: paddle.ones([3]), x)
    assert product.tolist() == [0.0, 0.0, 0.0]
    assert jacobian(paddle.ones([3], "float64"), x)[:].tolist() == [[0.0, 0.0]] * 3


def test_function_jacobian_and_hessian() -> None:
    m = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    found = functional.Jacobian(paddle.matmul, [m, m])
    assert found.shape == (4, 8)
    assert found[0, :].tolist() == [1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    assert found[:, 0].tolist() == [1.0, 2.0, 0.0, 0.0]
    second = functional.Hessian(lambda a: (a * a * a).sum(), m)
    assert second.shape == (4, 4) and second[:, :].tolist() == np.diag([6.0, 12.0, 18.0, 24.0]).tolist()
    batched = functional.Hessian(lambda a: (a**3).sum(-1, keepdim=True), m, is_batched=True)
    assert batched[:].tolist() == [np.diag([6.0, 12.0]).tolist(), np.diag([18.0, 24.0]).tolist()]


def test_complex_vjp() -> None:
    z = leaf([1 + 2j, 3 - 1j], "complex128")
    _, product = functional.vjp(lambda a: a * a, z)
    assert product.tolist() == [2 - 4j, 6 + 2j]
