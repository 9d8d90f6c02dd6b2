"""The digits network learns step by step as in real Paddle: the same losses from the same weights and batches."""

import json
import pathlib
import sys

import numpy as np
import pytest

import wherry
from tests.reference import make_digits_reference as reference
from wherry import cli

HERE = pathlib.Path(__file__).resolve().parent / "reference"


@pytest.fixture
def paddle_is_wherry():
    """`import paddle` means wherry, as under `wherry run`, and nothing of it is left behind."""
    before = set(sys.modules)
    finder = cli.PaddleFinder()
    sys.meta_path.insert(0, finder)
    yield
    sys.meta_path.remove(finder)
    for name in set(sys.modules) - before:
        if name == "paddle" or name.startswith("paddle."):
            del sys.modules[name]


def test_losses_follow_real_paddle(paddle_is_wherry):
    pytest.importorskip("sklearn")
    record = json.loads((HERE / "digits_losses.json").read_text())
    stored = np.load(HERE / "digits_start.npz")
    start = {name: stored[name] for name in stored.files if name != "order"}
    digits = reference.example()
    data, _ = digits.split()
    net = digits.Net()
    missing, unexpected = net.set_state_dict(start)
    assert (missing, unexpected) == ([], [])

    found = reference.losses(wherry, net, data, stored["order"].astype("int64"))

    expected = record["losses"]
    assert len(found) == len(expected) == 100
    assert expected[-1] < 0.2 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
