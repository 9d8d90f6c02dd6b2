"""What is timed, written once against the few functions in which the peers differ (`bench/peers.py`).

A case is a function that takes a Peer and returns (callable, operations): the callable does the work once, and its time is divided by
the number of operations.
"""

from collections.abc import Callable
from typing import Any

Made = tuple[Callable[[], Any], int]


def add_without_grad(peer: Any) -> Made:
    x, y = peer.tensor((4, 4)), peer.tensor((4, 4))
    return (lambda: x + y), 1


def add_with_grad(peer: Any) -> Made:
    x, y = peer.tensor((4, 4), grad=True), peer.tensor((4, 4), grad=True)
    return (lambda: x + y), 1


def matmul_4x4_with_grad(peer: Any) -> Made:
    x, y = peer.tensor((4, 4), grad=True), peer.tensor((4, 4), grad=True)
    return (lambda: x @ y), 1


def _chain(peer: Any, length: int) -> Made:
    x, y = peer.tensor((4, 4), grad=True), peer.tensor((4, 4))
    seed = peer.tensor((4, 4))

    def run() -> None:
        z = x
        for _ in range(length):
            z = z * y
        peer.backward(z, seed)

    return run, length


def chain_100(peer: Any) -> Made:
    return _chain(peer, 100)


def chain_10000(peer: Any) -> Made:
    return _chain(peer, 10_000)


def chain_400000(peer: Any) -> Made:
    return _chain(peer, 400_000)


def fan_out_1000(peer: Any) -> Made:
    x, y = peer.tensor((4, 4), grad=True), peer.tensor((4, 4))

    def run() -> None:
        total = x * y
        for _ in range(1000):
            total = total + x * y
        peer.backward(total, y)

    return run, 2000


def _unary(peer: Any, name: str, size: int) -> Made:
    x = peer.tensor((size // 1024, 1024))
    function = getattr(peer, name)
    return (lambda: function(x)), 1


def exp_64k(peer: Any) -> Made:
    return _unary(peer, "exp", 64 * 1024)


def exp_1m(peer: Any) -> Made:
    return _unary(peer, "exp", 1024 * 1024)


def gelu_64k(peer: Any) -> Made:
    return _unary(peer, "gelu", 64 * 1024)


def gelu_1m(peer: Any) -> Made:
    return _unary(peer, "gelu", 1024 * 1024)


def softmax_64k(peer: Any) -> Made:
    return _unary(peer, "softmax", 64 * 1024)


def softmax_1m(peer: Any) -> Made:
    return _unary(peer, "softmax", 1024 * 1024)


def layer_norm_64k(peer: Any) -> Made:
    return _unary(peer, "layer_norm", 64 * 1024)


def layer_norm_1m(peer: Any) -> Made:
    return _unary(peer, "layer_norm", 1024 * 1024)


def matmul_512(peer: Any) -> Made:
    x, y = peer.tensor((512, 512)), peer.tensor((512, 512))
    return (lambda: x @ y), 1


def conv2d_8x16x32x32(peer: Any) -> Made:
    x, w = peer.tensor((8, 16, 32, 32)), peer.tensor((32, 16, 3, 3))
    return (lambda: peer.conv2d(x, w)), 1


def conv2d_forward_backward(peer: Any) -> Made:
    x, w = peer.tensor((8, 16, 32, 32), grad=True), peer.tensor((32, 16, 3, 3), grad=True)
    return (lambda: peer.backward(peer.conv2d(x, w).sum())), 1


def mlp_step(peer: Any) -> Made:
    return peer.mlp_step(batch=32), 1


def lenet_step(peer: Any) -> Made:
    return peer.lenet_step(batch=32), 1


def gpt_step(peer: Any) -> Made:
    return peer.gpt_step(batch=4, length=64), 1


# Name in the table, function, and the bar: at most this much of torch's time (None: none set).
CASES: dict[str, tuple[str, Callable[[Any], Made], float | None]] = {
    "add": ("add 4x4, no gradient", add_without_grad, None),
    "add_grad": ("add 4x4, recorded", add_with_grad, 0.8),
    "matmul_grad": ("matmul 4x4, recorded", matmul_4x4_with_grad, None),
    "chain_100": ("chain of 100 operations, forward and backward, per operation", chain_100, 0.5),
    "chain_10000": ("chain of 10,000, per operation", chain_10000, None),
    "chain_400000": ("chain of 400,000, per operation", chain_400000, 0.5),
    "fan_out": ("1000-way fan-out, forward and backward, per operation", fan_out_1000, None),
    "exp_64k": ("exp, 64k elements", exp_64k, None),
    "exp_1m": ("exp, 1M elements", exp_1m, None),
    "gelu_64k": ("gelu, 64k", gelu_64k, None),
    "gelu_1m": ("gelu, 1M", gelu_1m, None),
    "softmax_64k": ("softmax, 64k", softmax_64k, None),
    "softmax_1m": ("softmax, 1M", softmax_1m, None),
    "layer_norm_64k": ("layer_norm, 64k", layer_norm_64k, None),
    "layer_norm_1m": ("layer_norm, 1M", layer_norm_1m, None),
    "matmul_512": ("matmul 512x512", matmul_512, None),
    "conv2d": ("conv2d 8x16x32x32, 32 filters 3x3", conv2d_8x16x32x32, None),
    "conv2d_backward": ("the same, forward and backward", conv2d_forward_backward, None),
    "mlp": ("MLP training step, batch 32", mlp_step, 0.8),
    "lenet": ("LeNet training step, batch 32", lenet_step, None),
    "gpt": ("GPT (2 layers, width 64) training step, 4x64 tokens", gpt_step, None),
}
