"""The same calls in real Paddle and in wherry: values, dtypes and gradients. Runs where Paddle is installed (`make oracle`)."""

from typing import Any

import numpy as np
import pytest

import wherry

paddle = pytest.importorskip("paddle")

RNG = np.random.default_rng(0)
A = RNG.uniform(0.3, 2.0, (3, 4)).astype("float32")
B = RNG.uniform(0.3, 2.0, (3, 4)).astype("float32")
C = RNG.uniform(-1.0, 1.0, (4, 5)).astype("float32")
IMAGE = RNG.uniform(-1.0, 1.0, (2, 3, 6, 5)).astype("float32")
FILTER = RNG.uniform(-1.0, 1.0, (4, 3, 3, 2)).astype("float32")
LABEL = np.array([1, 0, 3])

# name: (arrays that want a gradient, the call)
CALLS: dict[str, tuple[list[np.ndarray], Any]] = {
    "add": ([A, B], lambda p, x, y: x + y),
    "divide": ([A, B], lambda p, x, y: x / y),
    "pow": ([A, B], lambda p, x, y: x**y),
    "scalar": ([A], lambda p, x: 2.0 - x * 3 + x / 2),
    "matmul": ([A, C], lambda p, x, y: p.matmul(x, y)),
    "transposed": ([A, B], lambda p, x, y: p.matmul(x, y, transpose_y=True)),
    "einsum": ([A, C], lambda p, x, y: p.einsum("ij,jk->ki", x, y)),
    "maximum": ([A, B], lambda p, x, y: p.maximum(x, y)),
    "max": ([A], lambda p, x: p.max(x, axis=1)),
    "prod": ([A], lambda p, x: p.prod(x, axis=0, keepdim=True)),
    "logsumexp": ([A], lambda p, x: p.logsumexp(x, axis=-1)),
    "std": ([A], lambda p, x: p.std(x, axis=1)),
    "norm": ([A], lambda p, x: p.linalg.norm(x, p=3, axis=1)),
    "cumsum": ([A], lambda p, x: p.cumsum(x, axis=1)),
    "cumprod": ([A], lambda p, x: p.cumprod(x, dim=0)),
    "topk": ([A], lambda p, x: p.topk(x, 2)[0]),
    "index": ([A], lambda p, x: x[p.to_tensor([0, 2, 0]), 1:]),
    "gather": ([A], lambda p, x: p.gather(x, p.to_tensor([2, 2, 1]))),
    "concat": ([A, B], lambda p, x, y: p.concat([x, y * 2], axis=1).reshape([4, -1])),
    "split": ([A], lambda p, x: p.split(x, [1, -1], axis=1)[1]),
    "softmax": ([A], lambda p, x: p.nn.functional.softmax(x, axis=0)),
    "gelu": ([A - 1], lambda p, x: p.nn.functional.gelu(x)),
    "silu": ([A - 1], lambda p, x: p.nn.functional.silu(x)),
    "layer_norm": ([A], lambda p, x: p.nn.functional.layer_norm(x, [4])),
    "conv2d": ([IMAGE, FILTER], lambda p, x, w: p.nn.functional.conv2d(x, w, stride=2, padding=[1, 0])),
    "max_pool2d": ([IMAGE], lambda p, x: p.nn.functional.max_pool2d(x, 3, 2, 1)),
    "avg_pool2d": ([IMAGE], lambda p, x: p.nn.functional.avg_pool2d(x, 2, ceil_mode=True)),
    "adaptive": ([IMAGE], lambda p, x: p.nn.functional.adaptive_avg_pool2d(x, [4, 3])),
    "cross_entropy": ([A], lambda p, x: p.nn.functional.cross_entropy(x, p.to_tensor(LABEL))),
    "smoothing": ([A], lambda p, x: p.nn.functional.cross_entropy(x, p.to_tensor(LABEL), label_smoothing=0.1)),
    "bce": ([A], lambda p, x: p.nn.functional.binary_cross_entropy_with_logits(x, p.ones([3, 4]) * 0.3)),
    "fft": ([A], lambda p, x: p.abs(p.fft.rfft(x, axis=0))),
}


def run(module: Any, arrays: list[np.ndarray], call: Any) -> tuple[np.ndarray, str, list[np.ndarray]]:
    tensors = [module.to_tensor(a, stop_gradient=False) for a in arrays]
    out = call(module, *tensors)
    weight = np.linspace(0.5, 1.5, out.size).reshape(out.shape).astype("float32")
    (out * module.to_tensor(weight)).sum().backward()
    return out.numpy(), str(out.dtype), [t.grad.numpy() for t in tensors]


@pytest.mark.parametrize("name", CALLS)
def test_agrees_with_paddle(name: str) -> None:
    arrays, call = CALLS[name]
    expected, received = run(paddle, arrays, call), run(wherry, arrays, call)
    assert received[1] == expected[1]
    np.testing.assert_allclose(received[0], expected[0], 2e-5, 2e-6)
    for mine, theirs in zip(received[2], expected[2]):
        np.testing.assert_allclose(mine, theirs, 2e-4, 2e-5)
