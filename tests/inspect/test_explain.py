"""explain: each card says what happened in the five layers."""

import json
import re
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer
from wherry.inspect import explain


def leaf(values: Any, dtype: str = "float32") -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


def test_promotion_recording_and_kernel() -> None:
    found = explain(paddle.add, leaf([[1.0, 2.0, 3.0]] * 2), paddle.ones([3], "float64"))
    assert found.result.dtype.name == "float64"
    text = str(found)
    for part in (
        "1 API        add (",
        "2 arguments  x: float32[2, 3], y: float64[3]",
        "AMP: off",
        "promotion: x: float32 -> float64",
        "x: yes: a leaf",
        "y: no: stop_gradient=True",
        "saved nothing",
        "KernelKey (CPU, ANY, float64) = 0xb001",
        "(the key itself): taken",
        "PrepareData: nothing to do",
        "InferMeta: float64[2, 3]",
        "5 kernel     ufunc add",
    ):
        assert part in text, part
    assert re.search(r"time +\d", text) and f"{__file__}" in text
    assert [c.op for c in found.calls] == ["cast", "add"], "the cast is a call of its own, below the add"
    assert text.count("KernelKey") == 1


def test_what_is_saved_and_why() -> None:
    with explain() as call:
        y = paddle.nn.functional.softmax(leaf([[1.0, 2.0]]), -1) * leaf([3.0, 4.0])
        y.sum().backward()
    text = str(call)
    assert "saved out: float32[1, 2], 8 B: the gradient of x needs it" in text
    assert "saved x: float32[1, 2], 8 B: the gradient of y needs it" in text
    softmax = next(c for c in call.calls if c.op == "softmax")
    assert softmax.node and softmax.kernel.split(":")[0].endswith("softmax.py")
    assert "received 0: min 3, max 4" in text and "returned 1 (y, for float32[2]): min" in text


def test_amp_and_its_list() -> None:
    x, y = leaf([[1.0]]), leaf([[2.0]])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        text = str(explain(paddle.matmul, x, y))
    assert (
        "AMP: O1 bfloat16: white" in text
        and "promotion: by AMP: x: float32 -> bfloat16, y: float32 -> bfloat16" in text
    )


def test_why_nothing_is_recorded() -> None:
    x = leaf([1.0])
    with paddle.no_grad():
        assert "not recorded: recording is off (no_grad)" in str(explain(paddle.exp, x))
    assert "not recorded: no input needs a gradient" in str(explain(paddle.exp, paddle.ones([1])))
    assert "not recorded: the operation has no derivative" in str(explain(paddle.argmax, x))
    assert "x: no: dtype int64 has no gradient" in str(explain(paddle.add, paddle.arange(2), paddle.arange(2)))


def test_a_call_that_raises_has_a_card_too() -> None:
    with explain() as call, pytest.raises(ValueError, match="add"):
        paddle.add(paddle.ones([2]), paddle.ones([3]))
    text = str(call)
    assert (
        "raised       ValueError: add: expected shapes that broadcast together" in text
        and "InferMeta: not reached" in text
    )


class Twice(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0


def test_a_custom_layer_shows_what_it_exchanged() -> None:
    with explain() as call:
        Twice.apply(leaf([1.0, 3.0]), 2.0).sum().backward()
    card = next(part for part in str(call).split("\n\n") if part.startswith("Twice"))
    assert "4-5 forward" in card and "argument 0=" in card
    assert "saved saved_tensor()[0]: float32[2], 8 B" in card
    assert "received 0: min 1, max 1" in card and "returned 0 (0, for float32[2]): min 2, max 2" in card


def test_as_data_and_wrong_arguments() -> None:
    data = json.loads(explain(paddle.exp, leaf([1.0])).to_json())
    (call,) = data["calls"]["items"]
    assert call["op"] == "exp" and call["kernel_key"] == "(CPU, ANY, float32)" and call["line"]["file"] == __file__
    with pytest.raises(TypeError, match="explain: expected a function to call, received int"):
        explain(3)


def test_modules_are_named() -> None:
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2))
    found = explain(net, paddle.ones([1, 2]))
    assert found.calls[0].modules[-1] == net[0].full_name()
