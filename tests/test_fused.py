"""paddle.incubate.nn.functional: fused functions against NumPy formulas, their gradients, precision of halves, refusals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import gradcheck, gradgradcheck
from wherry.incubate.nn import functional as F

RNG = np.random.default_rng(7)
Array = np.ndarray


def array(*shape: int) -> Array:
    return RNG.standard_normal(shape)


def leaf(values: Array) -> paddle.Tensor:
    return paddle.to_tensor(values, dtype="float64", stop_gradient=False)


def leaves(*shapes: tuple[int, ...]) -> list[paddle.Tensor]:
    return [leaf(array(*s)) for s in shapes]


def close(actual: Any, expected: Array, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol, atol=1e-13)


def normalised(x: Array, epsilon: float) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)


def erf_gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_rms_norm_with_bias_and_residual() -> None:
    x, r, b, w, c = array(2, 3, 4), array(2, 3, 4), array(4), array(4), array(4)
    out, total = F.fused_rms_norm(leaf(x), leaf(w), leaf(c), 1e-3, 2, leaf(b), leaf(r))
    s = x + b + r
    close(total, s)
    close(out, s / np.sqrt((s**2).mean(-1, keepdims=True) + 1e-3) * w + c)
    plain, none = F.fused_rms_norm(leaf(x), leaf(array(12)), None, 1e-6)
    assert none is None and plain.shape == [2, 3, 4]


def test_layer_norm_with_bias_and_residual() -> None:
    x, r, b, w, c = array(2, 3, 4), array(2, 3, 4), array(4), array(4), array(4)
    out, total, mean, variance = F.fused_layer_norm(
        leaf(x), leaf(w), leaf(c), 1e-3, residual_alpha=0.5, begin_norm_axis=2, bias=leaf(b), residual=leaf(r)
    )
    s = x + b + 0.5 * r
    close(total, s)
    close(out, normalised(s, 1e-3) * w + c)
    close(mean, s.mean(-1).reshape(-1), 1e-6)
    close(variance, s.var(-1).reshape(-1), 1e-6)
    assert (mean.dtype, variance.dtype) == (paddle.float32, paddle.float32)
    only_sum = F.fused_layer_norm(leaf(x), None, None, 1e-3, 0.5, 2, leaf(b), leaf(r))
    close(only_sum[0], s)
    assert only_sum[1:] == (None, None, None)


@pytest.mark.parametrize(("round_type", "expected"), [(0, [-2, -2, 0, 0, 2, 4]), (1, [-3, -2, -1, 1, 3, 4])])
def test_quantisation_rounds_halves_as_asked_and_clips(round_type: int, expected: list[int]) -> None:
    x = paddle.to_tensor([-2.5, -1.5, -0.5, 0.5, 2.5, 7.0])
    zero, one = paddle.zeros([6]), paddle.ones([6])
    quant = {"quant_scale": 0.5, "quant_round_type": round_type, "quant_max_bound": 2.0, "quant_min_bound": -3.0}
    out = F.fused_layer_norm(x, None, None, 1e-5, begin_norm_axis=0, **quant)[0]
    assert out.dtype is paddle.int8
    clipped = [min(v, 2) for v in expected]
    assert out.tolist() == clipped
    acted = F.fused_bias_act(x, zero, None, zero, one, "relu", **quant)
    assert acted.tolist() == [max(v, 0) for v in clipped]


def test_products_with_a_bias() -> None:
    x, y, b = array(2, 3, 4), array(4, 5), array(5)
    close(F.fused_linear(leaf(x), leaf(y), leaf(b)), x @ y + b)
    close(F.fused_linear(leaf(x), leaf(y.T.copy()), leaf(b), transpose_weight=True), x @ y + b)
    close(F.fused_matmul_bias(leaf(x[0].T.copy()), leaf(y), leaf(b), True), x[0] @ y + b)
    close(F.fused_matmul_bias(leaf(x), leaf(x), None, False, True), x @ x.swapaxes(1, 2))
    # All axes of x but the first become rows.
    wide = array(4, 2, 3)
    close(F.fused_matmul_bias(leaf(wide), leaf(y), leaf(b), True), np.einsum("kij,kn->ijn", wide, y) + b)
    pre = x @ y + b
    close(F.fused_linear_activation(leaf(x), leaf(y), leaf(b)), pre)
    close(F.fused_linear_activation(leaf(x), leaf(y), leaf(b), activation="relu"), np.maximum(pre, 0))
    tanh_gelu = 0.5 * pre * (1 + np.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
    close(F.fused_linear_activation(leaf(x), leaf(y), leaf(b), activation="gelu"), tanh_gelu)


def test_swiglu() -> None:
    x, y = array(2, 6), array(2, 6)
    close(F.swiglu(leaf(x), leaf(y)), silu(x) * y)
    close(F.swiglu(leaf(x)), silu(x[:, :3]) * x[:, 3:])
    assert F.swiglu(paddle.zeros([0, 4])).shape == [0, 2]


@pytest.mark.parametrize("method", ["gelu", "relu", "geglu", "swiglu"])
def test_bias_and_activation(method: str) -> None:
    x, b = array(3, 6), array(6)
    s = x + b
    expected = {
        "gelu": lambda: erf_gelu(s),
        "relu": lambda: np.maximum(s, 0),
        "geglu": lambda: erf_gelu(s[:, :3]) * s[:, 3:],
        "swiglu": lambda: silu(s[:, :3]) * s[:, 3:],
    }[method]()
    close(F.fused_bias_act(leaf(x), leaf(b), act_method=method), expected)
    shift, smooth = array(expected.shape[1]), array(expected.shape[1])
    moved = F.fused_bias_act(leaf(x), leaf(b), None, leaf(shift), leaf(smooth), method)
    close(moved, (expected + shift) * smooth)


def test_an_integer_input_is_scaled_back_first() -> None:
    x = paddle.to_tensor([[1, -2], [3, 4]], dtype="int32")
    scales = paddle.to_tensor([0.5, 0.25])
    out = F.fused_bias_act(x, None, scales, act_method="relu", compute_dtype="fp16")
    assert out.dtype is paddle.float16
    assert out.tolist() == [[0.5, 0.0], [1.5, 1.0]]


def test_dropout_and_addition() -> None:
    x, y = leaf(array(50, 40)), leaf(array(50, 40))
    paddle.seed(3)
    kept = (F.fused_dropout_add(x, y, 0.25) - y) / x
    values = np.unique(np.round(kept.numpy(), 6))
    np.testing.assert_allclose(values, [0.0, 1 / 0.75], rtol=1e-6)
    assert abs(float((kept > 0.5).astype("float64").mean()) - 0.75) < 0.05
    close(F.fused_dropout_add(x, y, 0.25, training=False, mode="downscale_in_infer"), x.numpy() * 0.75 + y.numpy())
    close(F.fused_dropout_add(x, y, 0.25, training=False), x.numpy() + y.numpy())


def test_bias_dropout_residual_and_norm() -> None:
    x, r, b, w, c = array(2, 3, 4), array(2, 3, 4), array(4), array(4), array(4)
    out = F.fused_bias_dropout_residual_layer_norm(leaf(x), leaf(r), leaf(b), leaf(w), leaf(c), 0.0, 1e-3)
    close(out, normalised(r + x + b, 1e-3) * w + c)
    scaled = F.fused_bias_dropout_residual_layer_norm(
        leaf(x), leaf(r), dropout_rate=0.5, ln_epsilon=1e-3, training=False, mode="downscale_in_infer"
    )
    close(scaled, normalised(r + x * 0.5, 1e-3))


def rope(x: Array, sin: Array, cos: Array, adjacent: bool) -> Array:
    """By complex numbers: a pair (a, b) with one angle is (a + ib) e^(i angle)."""
    half = x.shape[-1] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if adjacent else (x[..., :half], x[..., half:])
    angle = (cos + 1j * sin)[..., 0::2] if adjacent else (cos + 1j * sin)[..., :half]
    turned = (a + 1j * b) * angle
    parts = (turned.real, turned.imag)
    return np.stack(parts, -1).reshape(x.shape) if adjacent else np.concatenate(parts, -1)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("adjacent", [False, True])
def test_rotary_embedding(adjacent: bool, time_major: bool) -> None:
    q, k = array(2, 3, 4, 6), array(2, 3, 1, 6)
    angles = np.repeat(array(5, 3), 2, 1) if adjacent else np.tile(array(5, 3), 2)
    ids = np.array([[4, 0, 2], [1, 1, 3]])
    tables = {"sin": leaf(np.sin(angles)), "cos": leaf(np.cos(angles))}

    def turned(x: Array) -> Array:
        return x.swapaxes(0, 1).copy() if time_major else x

    options = {"use_neox_rotary_style": adjacent, "time_major": time_major}
    at = angles[ids][:, :, None]
    outs = F.fused_rotary_position_embedding(
        leaf(turned(q)), leaf(turned(k)), **tables, position_ids=paddle.to_tensor(ids), **options
    )
    close(outs[0], turned(rope(q, np.sin(at), np.cos(at), adjacent)))
    close(outs[1], turned(rope(k, np.sin(at), np.cos(at), adjacent)))
    assert outs[2] is None
    in_order = angles[None, :3, None]
    four = {name: table.reshape([1, 5, 1, 6]) for name, table in tables.items()}
    out = F.fused_rotary_position_embedding(leaf(turned(q)), **four, **options)[0]
    close(out, turned(rope(q, np.sin(in_order), np.cos(in_order), adjacent)))


def test_rotary_embedding_by_its_own_angles() -> None:
    q = array(1, 50, 2, 8)
    angles = np.arange(50)[:, None] * 500.0 ** (-np.repeat(np.arange(0, 8, 2), 2) / 8)
    at = angles[None, :, None]
    out = F.fused_rotary_position_embedding(leaf(q), rotary_emb_base=500.0)[0]
    close(out, rope(q, np.sin(at), np.cos(at), True), 1e-10)


def attention(x: Array, w: Array, wb: Array, mask: Array | None, cache: Array | None) -> Array:
    """The attention of fused_multi_head_attention before its output map: [batch, length, heads * width]."""
    q, k, v = np.einsum("bse,khde->kbhsd", x, w) + wb[:, None, :, None, :]
    if cache is not None:
        k, v = np.concatenate([cache[0], k], 2), np.concatenate([cache[1], v], 2)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(w.shape[2])
    out = softmax(scores if mask is None else scores + mask) @ v
    return out.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)


@pytest.mark.parametrize("pre", [False, True])
def test_multi_head_attention(pre: bool) -> None:
    x, w, wb, lw, lb = array(2, 3, 6), array(3, 2, 3, 6), array(3, 2, 3), array(6, 6), array(6)
    scale, shift, mask = array(6), array(6), array(2, 1, 3, 5)
    cache = array(2, 2, 2, 2, 3)
    tensors = [leaf(a) for a in (x, w, lw, scale, shift, wb, lb)]
    norms = {("pre_ln_scale" if pre else "ln_scale"): tensors[3], ("pre_ln_bias" if pre else "ln_bias"): tensors[4]}
    common = {"qkv_bias": tensors[5], "linear_bias": tensors[6], "training": False, "pre_layer_norm": pre, **norms}
    entered = normalised(x, 1e-5) * scale + shift if pre else x

    def finished(a: Array) -> Array:
        out = x + a @ lw + lb
        return out if pre else normalised(out, 1e-5) * scale + shift

    out = F.fused_multi_head_attention(*tensors[:3], **common)
    close(out, finished(attention(entered, w, wb, None, None)))
    out, grown = F.fused_multi_head_attention(*tensors[:3], **common, cache_kv=leaf(cache), attn_mask=leaf(mask))
    close(out, finished(attention(entered, w, wb, mask, cache)))
    assert grown.shape == [2, 2, 2, 5, 3]
    np.testing.assert_array_equal(grown[:, :, :, :2].numpy(), cache)
    # The other layout of the weights.
    flat = {**common, "qkv_bias": tensors[5].reshape([18])}
    flat_weight = tensors[1].reshape([18, 6]).t()
    again = F.fused_multi_head_attention(
        tensors[0], flat_weight, tensors[2], **flat, num_heads=2, transpose_qkv_wb=True
    )
    close(again, finished(attention(entered, w, wb, None, None)))


def test_masks_of_bool_and_integers_hide_where_they_are_zero() -> None:
    x, w, lw = leaf(array(1, 3, 4)), leaf(array(3, 1, 4, 4)), leaf(array(4, 4))
    keep = paddle.to_tensor(np.tri(3, dtype=bool)[None, None])
    options = {"training": False, "add_residual": False}
    added = F.fused_multi_head_attention(x, w, lw, attn_mask=(keep.astype("float64") - 1) * 1e9, **options)
    for mask in (keep, keep.astype("int64")):
        close(F.fused_multi_head_attention(x, w, lw, attn_mask=mask, **options), added.numpy())


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feedforward(activation: str, pre: bool) -> None:
    x, w1, w2, b1, b2, scale, shift = array(2, 3, 4), array(4, 5), array(5, 4), array(5), array(4), array(4), array(4)
    which = "ln1" if pre else "ln2"
    norms = {f"{which}_scale": leaf(scale), f"{which}_bias": leaf(shift)}
    out = F.fused_feedforward(
        leaf(x),
        leaf(w1),
        leaf(w2),
        leaf(b1),
        leaf(b2),
        activation=activation,
        pre_layer_norm=pre,
        training=False,
        **norms,
    )
    entered = normalised(x, 1e-5) * scale + shift if pre else x
    hidden = entered @ w1 + b1
    hidden = np.maximum(hidden, 0) if activation == "relu" else erf_gelu(hidden)
    total = x + hidden @ w2 + b2
    close(out, total if pre else normalised(total, 1e-5) * scale + shift)


def test_one_step_of_generation() -> None:
    batch, heads, groups, width, places = 2, 4, 2, 6, 5
    x, b, cache = array(batch, (heads + 2 * groups) * width), array(8, 6), array(2, batch, groups, places, width)
    mask, steps = array(batch, 1, 1, 4), np.array([3, 1])
    tensors = leaf(x), paddle.to_tensor(cache), leaf(b)
    out, same = F.masked_multihead_attention(
        tensors[0], tensors[1], tensors[2], leaf(mask), sequence_lengths=paddle.to_tensor(steps, dtype="int32")
    )
    assert same is tensors[1]
    q, k, v = np.split((x + b.reshape(-1)).reshape(batch, -1, width), [heads, heads + groups], 1)
    expected = cache.copy()
    for i, t in enumerate(steps):
        expected[0, i, :, t], expected[1, i, :, t] = k[i], v[i]
        keys, values = (np.repeat(a[i, :, : t + 1], heads // groups, 0) for a in expected)
        scores = np.einsum("hd,htd->ht", q[i], keys) / math.sqrt(width) + mask[i, 0, :, : t + 1]
        close(out[i], np.einsum("ht,htd->hd", softmax(scores), values).reshape(-1))
    np.testing.assert_array_equal(same.numpy(), expected)
    # Without lengths the step is the mask's last place.
    F.masked_multihead_attention(tensors[0], tensors[1], tensors[2], leaf(mask))
    np.testing.assert_array_equal(tensors[1][0, 1, :, 3].numpy(), k[1])


@pytest.mark.parametrize("halves", [False, True])
def test_a_step_that_is_turned_and_quantised(halves: bool) -> None:
    width = 4
    x, angle = array(1, 3 * width), array(2)
    table = np.tile(angle, 2) if halves else np.repeat(angle, 2)
    q, k, v = x.reshape(3, 1, 1, 1, width)
    turned = paddle.to_tensor(np.stack([np.cos(table), np.sin(table)]).reshape(2, 1, 1, 1, width))
    cache = paddle.zeros([2, 1, 1, 2, width], dtype="float64")
    first = {"rotary_tensor": turned, "rotary_emb_dims": 1, "use_neox_rotary_style": halves}
    out, _ = F.masked_multihead_attention(leaf(x), cache, src_mask=paddle.zeros([1, 1, 1, 1], "float64"), **first)
    close(out, v.reshape(1, width))
    close(cache[0, 0, 0, :1], rope(k, np.sin(table), np.cos(table), not halves).reshape(1, width))
    out, _ = F.masked_multihead_attention(
        leaf(x),
        cache,
        src_mask=paddle.zeros([1, 1, 1, 1], "float64"),
        out_scale=0.1,
        quant_max_bound=20.0,
        quant_min_bound=-20.0,
    )
    assert out.dtype is paddle.int8
    assert out[0].tolist() == [int(math.copysign(math.floor(abs(a) * 2.0 + 0.5), a)) for a in v.reshape(-1)]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_several_lengths(causal: bool) -> None:
    q, k, v, mask = array(2, 4, 3, 5), array(2, 2, 6, 5), array(2, 2, 6, 5), array(2, 1, 3, 6)
    rows, keys, before = [3, 2], [4, 2], 2
    out = F.variable_length_memory_efficient_attention(
        leaf(q), leaf(k), leaf(v), paddle.to_tensor(rows), paddle.to_tensor([[4], [2]]), leaf(mask), 0.3, causal, before
    )
    for i in range(2):
        n, m = rows[i], keys[i] + before
        kk, vv = (np.repeat(a[i, :, :m], 2, 0) for a in (k, v))
        scores = q[i, :, :n] @ kk.swapaxes(1, 2) * 0.3 + mask[i, :, :n, :m]
        if causal:
            scores = np.where(np.arange(m) > np.arange(n)[:, None] + before, -np.inf, scores)
        close(out[i, :, :n], softmax(scores) @ vv)
        assert not out[i, :, n:].numpy().any()


def test_the_largest_lengths() -> None:
    encoder, decoder = paddle.to_tensor([1, 5, 9], dtype="int32"), paddle.to_tensor([0, 2, 3], dtype="int32")
    first, second = F.blha_get_max_len(encoder, decoder, paddle.ones([2]))
    assert (first.tolist(), second.tolist(), first.dtype) == ([5], [2], paddle.int32)


def small_attention(x: Any, w: Any, lw: Any) -> Any:
    return F.fused_multi_head_attention(x, w, lw, dropout_rate=0.0, attn_dropout_rate=0.0)


def one_step(x: Any, b: Any) -> Any:
    cache = paddle.ones([2, 2, 1, 3, 2], dtype="float64")
    return F.masked_multihead_attention(x, cache, b, sequence_lengths=paddle.to_tensor([0, 2]))[0]


def lengths(q: Any, k: Any, v: Any) -> Any:
    n = paddle.to_tensor([1, 2])
    return F.variable_length_memory_efficient_attention(q, k, v, n, n, causal=True)


DIFFERENTIATED: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "rms_norm": (lambda x, w, c, b, r: F.fused_rms_norm(x, w, c, 1e-2, 1, b, r), [(2, 3), (3,), (3,), (3,), (2, 3)]),
    "layer_norm": (
        lambda x, w, c, b, r: F.fused_layer_norm(x, w, c, 1e-2, 0.5, 1, b, r)[:2],
        [(2, 3), (3,), (3,), (3,), (2, 3)],
    ),
    "matmul_bias": (lambda x, y, b: F.fused_matmul_bias(x, y, b, True), [(2, 3, 2), (2, 3), (3,)]),
    "linear_gelu": (lambda x, y, b: F.fused_linear_activation(x, y, b, activation="gelu"), [(2, 3), (3, 2), (2,)]),
    "swiglu": (F.swiglu, [(2, 3), (2, 3)]),
    "geglu": (lambda x, b: F.fused_bias_act(x, b, act_method="geglu"), [(2, 4), (4,)]),
    "residual_norm": (
        lambda x, r, b: F.fused_bias_dropout_residual_layer_norm(x, r, b, dropout_rate=0.0),
        [(2, 3), (2, 3), (3,)],
    ),
    "rotary": (lambda q: F.fused_rotary_position_embedding(q)[0], [(1, 2, 1, 4)]),
    "attention": (small_attention, [(1, 2, 4), (3, 2, 2, 4), (4, 4)]),
    "feedforward": (
        lambda x, a, b: F.fused_feedforward(x, a, b, training=False, activation="gelu"),
        [(2, 3), (3, 2), (2, 3)],
    ),
    "one_step": (one_step, [(2, 6), (6,)]),
    "lengths": (lengths, [(2, 1, 2, 2), (2, 1, 2, 2), (2, 1, 2, 2)]),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_to_second_order(name: str) -> None:
    function, shapes = DIFFERENTIATED[name]
    inputs = leaves(*shapes)
    assert gradcheck(function, inputs, edges=False)
    assert gradgradcheck(function, inputs, edges=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype: str) -> None:
    x = paddle.to_tensor(array(4, 6) * 3, dtype=dtype)
    w = paddle.to_tensor(array(6), dtype=dtype)
    wide, weight = x.astype("float32"), w.astype("float32")
    pairs = [
        (F.swiglu(x), F.swiglu(wide)),
        (F.fused_bias_act(x, w), F.fused_bias_act(wide, weight)),
        (F.fused_rms_norm(x, w, None, 1e-5)[0], F.fused_rms_norm(wide, weight, None, 1e-5)[0]),
        (F.fused_layer_norm(x, weight, None, 1e-5)[0], F.fused_layer_norm(wide, weight, None, 1e-5)[0]),
        (
            F.fused_rotary_position_embedding(x.reshape([1, 4, 1, 6]))[0],
            F.fused_rotary_position_embedding(wide.reshape([1, 4, 1, 6]))[0],
        ),
    ]
    for half, full in pairs:
        assert half.dtype == dtype
        np.testing.assert_array_equal(half.astype("float32").numpy(), full.astype(dtype).astype("float32").numpy())


X = paddle.ones([2, 4])
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "axis": (lambda: F.fused_rms_norm(X, X[0], None, 1e-5, 2), ValueError, r"begin_norm_axis in \[-2, 2\)"),
    "weight": (lambda: F.fused_rms_norm(X, X, None, 1e-5), ValueError, "norm_weight of 4 elements"),
    "integers": (lambda: F.swiglu(X.astype("int32")), TypeError, r"received int32; cast it with .astype\('float32'\)"),
    "residual": (
        lambda: F.fused_layer_norm(X, None, None, 1e-5, residual=X[0]), ValueError, r"residual of x's shape \[2, 4\]",
    ),
    "rounding": (
        lambda: F.fused_layer_norm(X, None, None, 1e-5, quant_scale=1.0, quant_round_type=2), ValueError, "quant_round_type",
    ),
    "matrix": (lambda: F.fused_linear(X, X, X), ValueError, "a matrix y and a vector bias"),
    "bias": (lambda: F.fused_linear(X, X.t(), X[0]), ValueError, "a bias of 2 elements, received 4"),
    "no bias": (lambda: F.fused_linear_activation(X, X.t(), None), ValueError, "expected a bias, received None"),
    "activation": (
        lambda: F.fused_linear_activation(X, X.t(), X[:, 0], activation="tanh"), ValueError, "received 'tanh'",
    ),
    "odd": (lambda: F.swiglu(paddle.ones([2, 3])), ValueError, "even length of the last axis"),
    "shapes": (lambda: F.swiglu(X, X[0]), ValueError, "x and y of one shape"),
    "method": (lambda: F.fused_bias_act(X, act_method="tanh"), ValueError, "expected act_method of"),
    "shift": (lambda: F.fused_bias_act(X, shift=X[0]), ValueError, "shift and smooth together"),
    "scales": (lambda: F.fused_bias_act(X, dequant_scales=X[0]), ValueError, "float32 with dequant_scales"),
    "int32": (
        lambda: F.fused_bias_act(X.astype("int32"), dequant_scales=X[0]), ValueError, "compute_dtype 'fp16', 'bf16' or 'fp32'",
    ),
    "mode": (
        lambda: F.fused_bias_dropout_residual_layer_norm(X, X, mode="up"), ValueError, "expected mode 'upscale_in_train'",
    ),
    "rate": (lambda: F.fused_dropout_add(X, X, 1.5), ValueError, r"expected p in \[0, 1\], received 1.5"),
    "width": (
        lambda: F.fused_rotary_position_embedding(paddle.ones([1, 1, 1, 3])), ValueError, "an even width",
    ),
    "positions": (
        lambda: F.fused_rotary_position_embedding(paddle.ones([1, 1, 1, 2]), position_ids=paddle.zeros([1, 1], "int64")),
        ValueError, "sin and cos with position_ids",
    ),
    "style": (
        lambda: F.fused_rotary_position_embedding(paddle.ones([1, 1, 1, 2]), use_neox_rotary_style=False),
        ValueError, "sin and cos with use_neox_rotary_style=False",
    ),
    "position": (
        lambda: F.fused_rotary_position_embedding(
            paddle.ones([1, 1, 1, 4]), sin=X, cos=X, position_ids=paddle.full([1, 1], 2, "int64")
        ),
        IndexError, "2",
    ),
    "ring": (
        lambda: F.fused_feedforward(X, X.t(), X, ring_id=0), NotImplementedError, "the argument 'ring_id' is not supported",
    ),
    "activation of the feedforward": (
        lambda: F.fused_feedforward(X, X.t(), X, activation="silu"), ValueError, "received 'silu'",
    ),
    "rank": (lambda: F.fused_multi_head_attention(X, X, X), ValueError, r"x of shape \[batch, length, embed\]"),
    "heads": (
        lambda: F.fused_multi_head_attention(paddle.ones([1, 1, 4]), X, X, transpose_qkv_wb=True),
        ValueError, "num_heads that divides 4, received -1",
    ),
    "beams": (
        lambda: F.masked_multihead_attention(X, X, beam_cache_offset=X), NotImplementedError, "'beam_cache_offset'",
    ),
    "no step": (
        lambda: F.masked_multihead_attention(paddle.ones([1, 6]), paddle.ones([2, 1, 1, 3, 2])),
        ValueError, "received neither",
    ),
    "full cache": (
        lambda: F.masked_multihead_attention(
            paddle.ones([1, 6]), paddle.ones([2, 1, 1, 3, 2]), src_mask=paddle.zeros([1, 1, 1, 4])
        ),
        ValueError, r"steps in \[0, 3\), the places of cache_kv, received \[3\]",
    ),
    "lengths": (
        lambda: F.variable_length_memory_efficient_attention(
            *[paddle.ones([1, 1, 2, 2])] * 3, paddle.to_tensor([3]), paddle.to_tensor([2])
        ),
        ValueError, r"seq_lens in \[0, 2\], received \[3\]",
    ),
    "batch": (lambda: F.blha_get_max_len(X[0], X[0], paddle.ones([5])), ValueError, "a batch between 1 and 4"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()
