"""scaled_dot_product_attention: the fused operation, the composed way of masks and dropout, and that no weights are kept."""

import numpy as np
import pytest

import wherry as paddle
from tests.op_table.attention import flash_attn
from wherry.nn.functional import scaled_dot_product_attention as attention


def leaf(rng: np.random.Generator, *shape: int) -> paddle.Tensor:
    return paddle.to_tensor(rng.standard_normal(shape), dtype="float64", stop_gradient=False)


def inputs(rows: int, keys: int, heads: int, groups: int, width: int = 2) -> list[paddle.Tensor]:
    rng = np.random.default_rng(rows * keys)
    return [leaf(rng, 2, rows, heads, width), leaf(rng, 2, keys, groups, width), leaf(rng, 2, keys, groups, width)]


# The second and third are cut into parts: by batch and group, and by rows.
SHAPES = [(5, 5, 4, 2), (220, 210, 4, 4), (400, 380, 2, 1)]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_mask_gives_what_the_fused_operation_gives(shape: tuple[int, int, int, int], causal: bool) -> None:
    q, k, v = inputs(*shape)
    rows, keys = shape[:2]
    mask = paddle.to_tensor(np.tri(rows, keys, dtype=bool) if causal else np.ones((rows, keys), bool))
    fused, composed = attention(q, k, v, is_causal=causal), attention(q, k, v, mask)
    np.testing.assert_allclose(
        fused.numpy(), flash_attn(q.numpy(), k.numpy(), v.numpy(), causal), rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(fused.numpy(), composed.numpy(), rtol=1e-10, atol=1e-13)
    seed = paddle.to_tensor(np.cos(np.arange(fused.size, dtype="float64")).reshape(fused.shape))
    for a, b in zip(paddle.grad(fused, [q, k, v], seed), paddle.grad(composed, [q, k, v], seed)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_recorded_gradients_equal_the_fused_ones_with_shared_keys() -> None:
    q, k, v = inputs(3, 4, 4, 2)
    out = attention(q, k, v)
    plain = paddle.grad(out.sum(), [q, k, v], retain_graph=True)
    recorded = paddle.grad(out.sum(), [q, k, v], create_graph=True)
    for a, b in zip(plain, recorded):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)
        assert not b.stop_gradient


def test_only_the_inputs_are_saved() -> None:
    q, k, v = inputs(3, 3, 2, 2)
    out = attention(q, k, v, is_causal=True)
    assert [w.dense is t.impl for w, t in zip(out.grad_fn.saved(), (q, k, v), strict=True)] == [True] * 3


def test_a_row_without_neighbours_and_lengths_of_zero() -> None:
    q, k, v = inputs(1, 1, 1, 1)
    assert attention(q, k, v, is_causal=True).tolist() == v.tolist()
    none = paddle.zeros([2, 0, 1, 2], dtype="float64")
    assert attention(q, none, none).tolist() == [[[[0.0, 0.0]]]] * 2
    assert attention(none, k, v).shape == [2, 0, 1, 2]
    assert paddle.grad(attention(q, none, none), q)[0].tolist() == [[[[0.0, 0.0]]]] * 2


def test_dropout_acts_in_training_alone() -> None:
    q, k, v = inputs(3, 3, 2, 2)
    assert attention(q, k, v, None, 0.5, training=False).tolist() == attention(q, k, v).tolist()
    assert attention(q, k, v, None, 1.0).tolist() == np.zeros((2, 3, 2, 2)).tolist()


def test_dtypes() -> None:
    q, k, v = (t.detach().astype("float32") for t in inputs(3, 3, 2, 2))
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert attention(q, k, v).dtype.name == "bfloat16"
    assert attention(q, k, v).dtype.name == "float32"
    half = attention(q.astype("float16"), k.astype("float16"), v.astype("float16"))
    assert half.dtype.name == "float16"
    np.testing.assert_allclose(half.astype("float32").numpy(), attention(q, k, v).numpy(), atol=2e-3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3, 4), (2, 3, 2, 4), (2, 3, 2, 4)), r"expected \[batch, length, heads, width\]"),
        (((2, 3, 2, 4), (1, 3, 2, 4), (1, 3, 2, 4)), "of one batch"),
        (((2, 3, 2, 4), (2, 3, 2, 5), (2, 3, 2, 4)), "a key of the query's width"),
        (((2, 3, 2, 4), (2, 3, 2, 4), (2, 4, 2, 4)), "of one length and number of heads"),
        (((2, 3, 3, 4), (2, 3, 2, 4), (2, 3, 2, 4)), "the key's 2 divide"),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention(*(paddle.zeros(list(s)) for s in shapes))


def test_a_mask_and_is_causal_are_refused() -> None:
    q, k, v = inputs(3, 3, 2, 2)
    with pytest.raises(ValueError, match="expected attn_mask or is_causal=True, received both"):
        attention(q, k, v, paddle.ones([3, 3]), is_causal=True)
