"""The observer seam: every call, node and write of a thread is told, in order, and nothing of other threads."""

import threading
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer
from wherry.core import state
from wherry.core.observer import Observer, observing, unobserved


class Log(Observer):
    """Notes what it is told, in a short form."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        self.lines.append(f"{op.name}{'_' if inplace and op.name[-1] != '_' else ''} starts")

    def call_prepared(self, op: Any, inputs: tuple[Any, ...]) -> None:
        self.lines.append(f"{op.name} has {[t.dtype.name for t in inputs]}")

    def kernel_selected(self, op: Any, dtype_code: int, kernel: Any) -> None:
        self.lines.append(f"{op.name} kernel for {kernel.key}")

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        self.lines.append(f"{op.name} ends with {[list(o.shape) for o in outputs]}")

    def call_failed(self, op: Any, error: BaseException) -> None:
        self.lines.append(f"{op.name} raises {type(error).__name__}")

    def written(self, tensor: Any, name: str) -> None:
        self.lines.append(f"{name} writes version {tensor.inplace_version}")

    def mode_changed(self, name: str, enabled: bool) -> None:
        self.lines.append(f"{name}: {enabled}")

    def stop_gradient_set(self, tensor: Any, value: bool) -> None:
        self.lines.append(f"stop_gradient = {value}")

    def detached(self, source: Any, result: Any) -> None:
        self.lines.append("detach")

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: Any, kwargs: Any) -> None:
        self.lines.append(f"{layer.__name__} starts")

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        self.lines.append(f"{layer.__name__} ends")

    def custom_failed(self, layer: Any, context: Any, error: BaseException) -> None:
        self.lines.append(f"{layer.__name__} raises {error}")

    def custom_backward(self, node: Any, grads: list[Any], returned: Any) -> None:
        self.lines.append(f"{node.op_name()}.backward")

    def hook_registered(self, node: Any, hook: Any) -> None:
        self.lines.append(f"hook on {node.op_name()}")

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        self.lines.append(f"backward of {[r.op_name() for r in roots]}")

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        self.lines.append("backward ends" if error is None else f"backward raises {error}")

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        self.lines.append(f"node {node.op_name()}")

    def gradient_delivered(self, engine: Any, source: Any, index: int, target: Any, position: int, grad: Any) -> None:
        self.lines.append(f"{source.op_name()}[{index}] -> {target.op_name()}")

    def hook_called(self, engine: Any, node: Any, hook: Any, before: Any, after: Any) -> None:
        self.lines.append(f"hook {'keeps' if before is after else 'changes'}")

    def gradient_accumulated(self, engine: Any, node: Any, grad: Any) -> None:
        self.lines.append(f"accumulate {np.asarray(grad.array).tolist()}")


@pytest.fixture
def log() -> Log:
    return Log()


def leaf(values: list[float], dtype: str = "float32") -> paddle.Tensor:
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=False)


def test_a_call_and_its_backward(log: Log) -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0], "float64")
    with observing(log):
        loss = x * y
        loss.backward()
    assert log.lines == [
        "multiply starts",
        "cast starts",
        "cast has ['float32']",
        "cast kernel for (CPU, ANY, float32)",
        "cast ends with [[2]]",
        "multiply has ['float64', 'float64']",
        "multiply kernel for (CPU, ANY, float64)",
        "multiply ends with [[2]]",
        "backward of ['multiply']",
        "node multiply",
        "multiply kernel for (CPU, ANY, float64)",
        "multiply kernel for (CPU, ANY, float64)",
        "multiply[0] -> cast",
        "multiply[1] -> accumulation",
        "node accumulation",
        "accumulate [1.0, 2.0]",
        "node cast",
        "cast kernel for (CPU, ANY, float64)",
        "cast[0] -> accumulation",
        "node accumulation",
        "accumulate [3.0, 4.0]",
        "backward ends",
    ]
    assert state.STATE.observers == 0 and state.STATE.special == 0


def test_writes_modes_hooks_and_detach(log: Log) -> None:
    x = leaf([1.0])
    with observing(log):
        y = x * 2.0
        y.register_hook(lambda g: g * 2.0)
        with paddle.no_grad():
            y.detach().add_(x)
        x.stop_gradient = True
        with pytest.raises(ValueError):
            paddle.reshape(x, [3])
    log.lines = [line for line in log.lines if " has " not in line and "kernel" not in line]
    assert log.lines == [
        "multiply starts",
        "multiply ends with [[1]]",
        "hook on multiply",
        "no_grad: False",
        "detach",
        "add_ starts",
        "add_ writes version 1",
        "add ends with [[1]]",
        "no_grad: True",
        "stop_gradient = True",
        "reshape starts",
        "reshape raises ValueError",
    ]


class Twice(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, fail: bool = False) -> Any:
        if fail:
            raise KeyError("no")
        return x + x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g + g


def test_custom_layers(log: Log) -> None:
    with observing(log):
        Twice.apply(leaf([1.0])).backward()
        with pytest.raises(KeyError):
            Twice.apply(leaf([1.0]), fail=True)
    log.lines = [line for line in log.lines if not line.startswith(("add", "node", "accumulate"))]
    assert log.lines == [
        "Twice starts",
        "no_grad: False",
        "no_grad: True",
        "Twice ends",
        "backward of ['Twice']",
        "Twice.backward",
        "Twice[0] -> accumulation",
        "backward ends",
        "Twice starts",
        "no_grad: False",
        "no_grad: True",
        "Twice raises 'no'",
    ]


def test_only_this_thread_and_not_under_unobserved(log: Log) -> None:
    x = leaf([1.0])

    def elsewhere() -> None:
        (x + 1.0).backward()

    with observing(log), observing(Observer()):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with unobserved():
            x * 2.0
    assert log.lines == []
    assert x.grad.tolist() == [1.0]


def test_observed_and_not_give_the_same() -> None:
    def step() -> list[Any]:
        paddle.seed(3)
        net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.LayerNorm(4), paddle.nn.Linear(4, 2))
        x = paddle.to_tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))
        loss = paddle.nn.functional.softmax(net(x)).square().mean()
        loss.backward()
        return [p.grad.tolist() for p in net.parameters()]

    plain = step()
    with observing(Observer()):
        assert step() == plain
