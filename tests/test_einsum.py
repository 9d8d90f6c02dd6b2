"""einsum and the products written by hand, against NumPy."""

import numpy as np
import pytest

import wherry as paddle

RNG = np.random.default_rng(2)

# Equation and shapes.
EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba", [(2, 3)]),
    ("Ba", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("iji,jk->k", [(2, 3, 2), (3, 4)]),
    (" i , j -> i j ", [(2,), (3,)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...i->i...", [(2, 3)]),
    ("i...", [(2, 3)]),
    ("...,...", [(2, 3), (3,)]),
    ("ij...,jk...->ik...", [(2, 3, 4), (3, 2, 4)]),
    ("i...j,k...->k...j", [(2, 5, 3), (4, 1)]),
    ("ij,kj->ikj", [(2, 1), (3, 4)]),
    (",", [(), ()]),
    ("->", [()]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("abc,cd,de,eb->a", [(2, 3, 4), (4, 5), (5, 6), (6, 3)]),
    ("i,i,i,i->i", [(3,), (3,), (3,), (3,)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("...->...", [(2, 3)]),
]


@pytest.mark.parametrize("case", range(len(EQUATIONS)))
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "int64"])
def test_values_are_numpys(case: int, dtype: str) -> None:
    equation, shapes = EQUATIONS[case]
    arrays = [(RNG.standard_normal(s) * 3).astype(dtype) for s in shapes]
    ours = paddle.einsum(equation, *[paddle.to_tensor(a) for a in arrays]).numpy()
    expected = np.einsum(equation, *arrays)
    assert ours.dtype == expected.dtype
    np.testing.assert_allclose(ours, expected, rtol=1e-4 if dtype == "float32" else 1e-9, atol=1e-4)


@pytest.mark.parametrize("case", range(len(EQUATIONS)))
def test_gradients_are_those_of_products(case: int) -> None:
    """The derivative along a direction, by linearity in each operand, against the gradient."""
    equation, shapes = EQUATIONS[case]
    arrays = [RNG.standard_normal(s) + 1j * RNG.standard_normal(s) for s in shapes]
    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    out = paddle.einsum(equation, *tensors)
    cotangent = RNG.standard_normal(out.shape) + 1j * RNG.standard_normal(out.shape)
    grads = paddle.grad(out, tensors, grad_outputs=paddle.to_tensor(cotangent))
    for i, (array, grad) in enumerate(zip(arrays, grads, strict=True)):
        assert grad.shape == list(array.shape)
        direction = RNG.standard_normal(array.shape) + 1j * RNG.standard_normal(array.shape)
        moved = np.einsum(equation, *[direction if j == i else a for j, a in enumerate(arrays)])
        np.testing.assert_allclose(
            np.sum(np.conj(grad.numpy()) * direction).real, np.sum(np.conj(cotangent) * moved).real, atol=1e-9
        )


def test_half_precision_accumulates_in_single() -> None:
    x = paddle.full([1, 4096], 0.1, "float16")
    total = paddle.einsum("ij,kj->ik", x, x)
    assert total.dtype == paddle.float16
    assert abs(total.item() - 4096 * float(np.float16(0.1)) ** 2) < 0.05


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij->i", [(2,)]),
        ("i->i", [(2, 2)]),
        ("ij,jk->ik", [(2, 3), (4, 2)]),
        ("ij,jk->ik", [(2, 3)]),
        ("a1", [(2, 3)]),
        ("i->ij", [(2,)]),
        ("i,j->ii", [(2,), (2,)]),
        ("i......", [(2,)]),
        ("ii->i", [(2, 3)]),
    ],
)
def test_equations_that_do_not_fit(equation: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        paddle.einsum(equation, *[paddle.ones(list(s)) for s in shapes])


def test_operands_of_two_dtypes() -> None:
    with pytest.raises(TypeError, match="one dtype"):
        paddle.einsum("i,i", paddle.ones([2]), paddle.ones([2], "float64"))


@pytest.mark.parametrize(
    ("x", "y", "axes"),
    [
        ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3), (4, 5), 0),
        ((2, 3, 4), (4, 3), [[1, 2], [1, 0]]),
        ((2, 3, 4), (2, 3, 5), [0, 1]),
        ((2, 3, 4), (2, 4, 3), [[0], [0]]),
    ],
)
def test_tensordot(x: tuple[int, ...], y: tuple[int, ...], axes: object) -> None:
    a, b = RNG.standard_normal(x), RNG.standard_normal(y)
    ours = paddle.tensordot(paddle.to_tensor(a), paddle.to_tensor(b), axes).numpy()
    given = [axes, axes] if isinstance(axes, list) and isinstance(axes[0], int) else axes
    np.testing.assert_allclose(ours, np.tensordot(a, b, given))


def test_inner_outer_and_vecdot() -> None:
    a, b = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((5, 4))
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    np.testing.assert_allclose(paddle.inner(x, y).numpy(), np.inner(a, b))
    np.testing.assert_allclose(paddle.outer(x, y).numpy(), np.outer(a, b))
    np.testing.assert_allclose(paddle.mm(x[0], y.transpose([1, 0])).numpy(), a[0] @ b.T)
    assert paddle.inner(paddle.to_tensor(2.0), paddle.to_tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    z = a + 1j * a[::-1]
    np.testing.assert_allclose(
        paddle.vecdot(paddle.to_tensor(z), paddle.to_tensor(z)).numpy(), np.sum(z.conj() * z, -1)
    )
    with pytest.raises(ValueError, match="last sizes"):
        paddle.inner(x, x[..., :3])


def test_matmul_refuses() -> None:
    for x, y in (((2, 3), (2, 3)), ((), (3,)), ((2, 2, 3), (3, 3, 2))):
        with pytest.raises(ValueError, match="expected"):
            paddle.matmul(paddle.ones(list(x)), paddle.ones(list(y)))
