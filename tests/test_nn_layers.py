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
