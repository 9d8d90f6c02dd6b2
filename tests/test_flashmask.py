"""flashmask_attention against softmax(q k^T) v with the mask written out."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd.gradcheck import gradcheck, gradgradcheck
from wherry.nn.functional import flashmask_attention

ROWS = 5


def leaf(*shape: int) -> paddle.Tensor:
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return paddle.to_tensor(values, stop_gradient=False)


def attention(q: Any, k: Any, v: Any, visible: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """visible: broadcasts to [batch, heads, rows, columns]. Returns outputs and the logarithms of the sums."""
    q, k, v = (x.numpy().transpose(0, 2, 1, 3) for x in (q, k, v))
    times = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, times, axis=1), np.repeat(v, times, axis=1)
    weights = np.where(visible, np.exp(scale * q @ k.swapaxes(2, 3)), 0)
    total = weights.sum(axis=-1, keepdims=True)
    out = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0) @ v
    with np.errstate(divide="ignore"):
        return out.transpose(0, 2, 1, 3), np.log(total[..., 0])


def visible_rows(indices: np.ndarray, causal: bool) -> np.ndarray:
    """Element by element."""
    batch, heads, columns, numbers = indices.shape
    out = np.ones((batch, heads, ROWS, columns), bool)
    for b, h, i, j in np.ndindex(*out.shape):
        n = indices[b, h, j]
        if causal:
            hidden = j > i or (i >= n[0] and (numbers == 1 or i < n[1]))
        elif numbers == 2:
            hidden = i >= n[0] or i < n[1]
        else:
            hidden = n[0] <= i < n[1] or n[2] <= i < n[3]
        out[b, h, i, j] = not hidden
    return out


@pytest.mark.parametrize(("causal", "numbers"), [(True, 1), (True, 2), (False, 2), (False, 4)])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_rows_hidden_for_each_column(causal: bool, numbers: int, heads: int) -> None:
    q, k, v = leaf(2, ROWS, 4, 3), leaf(2, ROWS, 2, 3), leaf(2, ROWS, 2, 3)
    rng = np.random.default_rng(numbers)
    indices = np.sort(rng.integers(0, ROWS + 1, (2, heads, ROWS, numbers)), axis=-1).astype("int32")
    visible = visible_rows(indices, causal)
    if heads == 2:
        visible = np.repeat(visible, 2, axis=1)
    expected, sums = attention(q, k, v, visible, 3**-0.5)
    out, lse = flashmask_attention(q, k, v, paddle.to_tensor(indices), causal=causal, return_softmax_lse=True)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(lse.numpy(), sums, rtol=1e-5)


def test_a_window() -> None:
    q, k, v = leaf(1, ROWS, 2, 3), leaf(1, ROWS, 2, 3), leaf(1, ROWS, 2, 3)
    distance = np.arange(ROWS)[:, None] - np.arange(ROWS)
    for causal, window, visible in (
        (True, 1, (distance >= 0) & (distance <= 1)),
        (False, (2, 1), (distance <= 2) & (distance >= -1)),
    ):
        out = flashmask_attention(q, k, v, causal=causal, window_size=window, softmax_scale=0.3)
        np.testing.assert_allclose(out.numpy(), attention(q, k, v, visible, 0.3)[0], rtol=1e-10)


def test_without_a_mask_it_is_plain_attention() -> None:
    q, k, v = leaf(1, ROWS, 2, 3), leaf(1, ROWS, 2, 3), leaf(1, ROWS, 2, 3)
    expected = attention(q, k, v, np.tri(ROWS, dtype=bool), 3**-0.5)[0]
    np.testing.assert_allclose(flashmask_attention(q, k, v, causal=True).numpy(), expected, rtol=1e-10)
    dropped = flashmask_attention(q, k, v, causal=True, dropout=1.0)
    assert not dropped.numpy().any()
    kept = flashmask_attention(q, k, v, causal=True, dropout=1.0, training=False)
    np.testing.assert_allclose(kept.numpy(), expected, rtol=1e-10)


def test_derivatives_where_a_row_sees_nothing() -> None:
    q, k, v = leaf(1, 2, 1, 2), leaf(1, 2, 1, 2), leaf(1, 2, 1, 2)
    indices = paddle.to_tensor(np.array([1, 1], "int32").reshape(1, 1, 2, 1))

    def function(q: Any, k: Any, v: Any) -> Any:
        return flashmask_attention(q, k, v, indices, causal=True)

    assert not function(q, k, v)[:, 1].numpy().any()
    assert gradcheck(function, [q, k, v], edges=False)
    assert gradgradcheck(function, [q, k, v], edges=False)


def test_refusals() -> None:
    q = leaf(1, 2, 1, 2)
    ok = paddle.zeros([1, 1, 2, 1], dtype="int32")
    calls: list[tuple[dict[str, Any], type, str]] = [
        ({"return_seed_offset": True}, NotImplementedError, "the argument 'return_seed_offset' is not supported"),
        ({"fixed_seed_offset": ok}, NotImplementedError, "the argument 'fixed_seed_offset' is not supported"),
        ({"rng_name": "x"}, NotImplementedError, "the argument 'rng_name' is not supported"),
        ({"block_mask": ok}, NotImplementedError, "the argument 'block_mask' is not supported"),
        ({"window_size": 1, "startend_row_indices": ok}, ValueError, "expected window_size or startend_row_indices"),
        ({"startend_row_indices": ok.astype("int64")}, TypeError, "of int32, received int64"),
        ({"startend_row_indices": ok[:, :, :1]}, ValueError, "expected startend_row_indices"),
        ({"startend_row_indices": ok}, ValueError, "expected 2 or 4 numbers for each column with causal=False"),
    ]
    for settings, error, text in calls:
        with pytest.raises(error, match=text):
            flashmask_attention(q, q, q, **settings)
    with pytest.raises(ValueError, match="with heads that key's divide"):
        flashmask_attention(q, leaf(1, 2, 2, 2), leaf(1, 2, 2, 2))
