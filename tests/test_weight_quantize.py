"""paddle.nn.quant: the numbers, their order in memory, and products with them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import gradcheck
from wherry.nn import quant
from wherry.nn.quant.rounding import round_away_from_zero

Array = np.ndarray


def weight(rows: int, columns: int) -> Array:
    return np.random.default_rng(rows).standard_normal((rows, columns)).astype("float16")


def numbers_of(x: Array, bound: int, group: int) -> tuple[Array, Array]:
    """The rounded numbers as float64 and the float16 scale of every element, without a layout."""
    rows = x.shape[0]
    size = rows if group < 0 else group
    blocks = [x[i : i + size].astype("float32") for i in range(0, rows, size)]
    scales = [(np.abs(b).max(0) / np.float32(bound)).astype("float16") for b in blocks]
    ratios = [b / s.astype("float32") for b, s in zip(blocks, scales)]
    rounded = [np.clip(np.copysign(np.floor(np.abs(r) + 0.5), r), -bound, bound) for r in ratios]
    return np.concatenate(rounded), np.concatenate([np.tile(s, (len(b), 1)) for s, b in zip(scales, blocks)])


def stored_bytes(numbers: Array, bits: int, arch: int) -> Array:
    """The bytes, one element after the other as the layout's definition has it."""
    rows, columns = numbers.shape
    per_register = 32 // bits
    order = (0, 2, 1, 3) if bits == 8 else (0, 2, 4, 6, 1, 3, 5, 7)
    if arch == 70:
        sequence = [int(n) for n in numbers.reshape(-1)]
    else:
        group = 128 // bits
        sequence = [0] * numbers.size
        together = 16 // bits
        for c in range(columns):
            for r in range(rows):
                t = r % group
                source = r - t + 8 * ((t % per_register) // 2) + t % 2 + 2 * (t // per_register)
                tile, place = divmod(r, 64)
                at = (c // together) * rows * together + tile * 64 * together + (c % together) * 64 + place
                sequence[at] = int(numbers[source, c])
    unsigned = [n + (128 if bits == 8 else 8) for n in sequence]
    registers = [[unsigned[i + j] for j in order] for i in range(0, len(unsigned), per_register)]
    flat = [n for register in registers for n in register]
    if bits == 4:
        flat = [low | high << 4 for low, high in zip(flat[0::2], flat[1::2])]
    return np.array(flat, np.uint8).view(np.int8).reshape(columns * bits // 8, rows)


@pytest.mark.parametrize("group", [-1, 64])
@pytest.mark.parametrize("arch", [70, 80, 90])
@pytest.mark.parametrize("bits", [8, 4])
def test_numbers_and_their_order(bits: int, arch: int, group: int) -> None:
    x = weight(128, 16)
    out, scale = quant.weight_quantize(paddle.to_tensor(x), f"weight_only_int{bits}", arch, group)
    numbers, scales = numbers_of(x, 127 if bits == 8 else 7, group)
    np.testing.assert_array_equal(out.numpy(), stored_bytes(numbers, bits, arch))
    assert (scale.dtype, scale.shape) == (paddle.float16, [16] if group < 0 else [2, 16])
    np.testing.assert_array_equal(scale.numpy(), scales[0] if group < 0 else scales[[0, 64]])


@pytest.mark.parametrize("algo", ["weight_only_int8", "weight_only_int4", "llm.int8"])
@pytest.mark.parametrize("group", [-1, 64, 128])
def test_there_and_back(algo: str, group: int) -> None:
    x = weight(192, 32)
    out, scale = quant.weight_quantize(paddle.to_tensor(x), algo, group_size=group)
    back = quant.weight_dequantize(out, scale, algo, group_size=group)
    assert (back.dtype, back.shape) == (scale.dtype, [192, 32])
    step = np.abs(x.astype("float32")).max() / (7 if algo.endswith("4") else 127)
    assert np.abs(back.numpy().astype("float32") - x).max() < 0.51 * step


@pytest.mark.parametrize("arch", [70, 80])
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_a_product_with_stored_weights(kind: str, arch: int) -> None:
    x = weight(64, 16)
    numbers, scales = numbers_of(x, 127 if kind == "int8" else 7, -1)
    stored, scale = quant.weight_quantize(paddle.to_tensor(x), f"weight_only_{kind}", arch)
    data = np.random.default_rng(1).standard_normal((2, 3, 64))
    bias = np.arange(16.0)
    out = quant.weight_only_linear(
        paddle.to_tensor(data, dtype="float64"), stored, paddle.to_tensor(bias, dtype="float64"), scale, kind, arch
    )
    exact = (numbers.astype("float32") * scales.astype("float32")).astype("float64")
    np.testing.assert_allclose(out.numpy(), data @ exact + bias, rtol=1e-12, atol=1e-12)
    half = quant.weight_only_linear(paddle.to_tensor(data, dtype="float16"), stored, None, scale, kind, arch)
    assert half.dtype is paddle.float16


def test_gradients_reach_the_input_of_a_product() -> None:
    stored, scale = quant.weight_quantize(paddle.to_tensor(weight(64, 16)))
    x = paddle.to_tensor(np.random.default_rng(2).standard_normal((2, 64)), stop_gradient=False, dtype="float64")
    assert gradcheck(lambda t: quant.weight_only_linear(t, stored, None, scale), [x], edges=False)


def test_products_in_int8_keep_large_columns_apart() -> None:
    x = weight(64, 16)
    stored, scale = quant.weight_quantize(paddle.to_tensor(x), "llm.int8")
    numbers = stored.numpy().T.astype("float64")
    data = np.random.default_rng(3).standard_normal((3, 64)).astype("float32")
    data[1, 5] = 40.0
    data[2] = 0.0
    others = data.astype("float64").copy()
    others[:, 5] = 0.0
    span = np.abs(others).max(1, keepdims=True)
    span[2] = 1.0
    rounded = np.copysign(np.floor(np.abs(others / span * 127) + 0.5), others)
    expected = (rounded @ numbers * span / 127 + data[:, 5:6] * numbers[5]) * scale.numpy().astype("float64")
    bias = paddle.arange(16, dtype="float32")
    out = quant.llm_int8_linear(paddle.to_tensor(data), stored, bias, scale)
    np.testing.assert_allclose(out.numpy(), expected + np.arange(16), rtol=1e-4, atol=1e-4)


def test_columns_of_zeros_and_nothing() -> None:
    zeros = paddle.zeros([64, 16], "float16")
    for algo in ("weight_only_int8", "weight_only_int4", "llm.int8"):
        out, scale = quant.weight_quantize(zeros, algo)
        assert not quant.weight_dequantize(out, scale, algo).numpy().any()
    out, scale = quant.weight_quantize(paddle.zeros([128, 0], "float16"))
    assert (out.shape, scale.shape) == ([0, 128], [0])


def test_scales_of_channels() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float16")
    assert quant.apply_per_channel_scale(x, paddle.to_tensor([2.0, 0.5])).tolist() == [[2.0, 1.0], [6.0, 2.0]]


def test_rounding_away_from_zero_does_not_carry() -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    x = paddle.to_tensor(np.array([below, -below, 0.5, -2.5, 8388609.0], np.float32))
    assert round_away_from_zero(x).tolist() == [0.0, 0.0, 1.0, -3.0, 8388609.0]


HALF = paddle.ones([64, 16], "float16")
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "dtype": (lambda: quant.weight_quantize(HALF.astype("float32")), TypeError, "float16 or bfloat16, received float32"),
    "algo": (lambda: quant.weight_quantize(HALF, "int8"), ValueError, "expected algo of"),
    "w4a8": (lambda: quant.weight_quantize(HALF, "w4a8"), NotImplementedError, "'w4a8' is not supported"),
    "arch": (lambda: quant.weight_quantize(HALF, arch=60), ValueError, r"expected arch of \(70, 75, 80, 86, 89, 90\)"),
    "group": (lambda: quant.weight_quantize(HALF, group_size=32), ValueError, "group_size -1, 64 or 128, received 32"),
    "rows": (lambda: quant.weight_quantize(HALF[:32]), ValueError, r"rows divisible by 64 .*, received \[32, 16\]"),
    "columns": (lambda: quant.weight_quantize(HALF[:, :8], arch=70), ValueError, "columns divisible by 16"),
    "rank": (lambda: quant.weight_quantize(HALF[0]), ValueError, "x of two dimensions"),
    "weight": (lambda: quant.weight_dequantize(HALF, HALF[0]), TypeError, "an int8 weight"),
    "scale": (
        lambda: quant.weight_dequantize(paddle.zeros([16, 64], "int8"), HALF), ValueError, r"a scale of shape \[16\]",
    ),
    "no scale": (lambda: quant.weight_only_linear(HALF, HALF), ValueError, "expected weight_scale, received None"),
    "sizes": (lambda: quant.weight_only_linear(HALF, HALF[:, :3], None, HALF), ValueError, r"x \[..., rows\]"),
    "kind": (
        lambda: quant.weight_only_linear(HALF, HALF, None, HALF, "int2"), ValueError, "weight_dtype 'int8' or 'int4'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()
