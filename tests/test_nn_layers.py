"""Layers compute what real Paddle's compute: outputs, gradients, running statistics, names of the state, repr."""

import json
import pathlib

import numpy as np
import pytest

import wherry as paddle
from tests.reference import make_layer_reference as reference

STORED = np.load(pathlib.Path(__file__).resolve().parent / "reference" / "layers.npz")
REPRS = json.loads(str(STORED["reprs"]))


@pytest.mark.parametrize("number", range(len(reference.CASES)), ids=lambda n: f"{n}-{reference.CASES[n][0]}")
def test_layer_is_real_paddles(number):
    found, shown = reference.run(paddle, number)
    prefix = f"{number}/"
    expected = {name.removeprefix(prefix): STORED[name] for name in STORED.files if name.startswith(prefix)}
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        np.testing.assert_allclose(found[name], array, rtol=2e-4, atol=3e-5, err_msg=name)
    assert shown == REPRS[number]


def test_the_mean_of_no_elements_is_nan() -> None:
    x = paddle.zeros([1, 2, 0])
    x.stop_gradient = False
    out = paddle.nn.functional.adaptive_avg_pool1d(x, 1)
    assert np.isnan(out.numpy()).all() and out.shape == [1, 2, 1]
    out.sum().backward()
    assert x.grad.shape == [1, 2, 0]
    assert np.isnan(paddle.nn.functional.adaptive_avg_pool3d(paddle.zeros([2, 3, 0, 7, 7]), [2, 3, 5]).numpy()).all()
    assert paddle.nn.functional.adaptive_avg_pool2d(paddle.zeros([0, 3, 4, 4]), [2, 2]).shape == [0, 3, 2, 2]
