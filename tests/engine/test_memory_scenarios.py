"""After each scenario nodes, tensors and NumPy's memory are what they were: by reference counts, or where user code ties a knot by the collector."""

import gc
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import nn
from wherry.autograd import PyLayer, saved_tensors_hooks
from wherry.autograd.structures import GradNodeBase, TensorBase
from wherry.distributed.fleet.utils import recompute


def alive() -> tuple[int, int, int]:
    """(nodes, tensors, bytes of NumPy arrays) now."""
    things = gc.get_objects()
    nodes = sum(isinstance(t, GradNodeBase) for t in things)
    tensors = sum(issubclass(type(t), TensorBase) for t in things)
    snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    return nodes, tensors, sum(trace.size for trace in snapshot.traces)


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def leaf(*shape: int) -> paddle.Tensor:
    x = paddle.full(list(shape), 0.5)
    x.stop_gradient = False
    return x


class Square(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        out = x * x
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, _ = ctx.saved_tensor()
        return g * 2.0 * x


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2D(1, 2, 3)
        self.norm = nn.BatchNorm2D(2)
        self.out = nn.Linear(8, 3)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = nn.functional.relu(self.norm(self.conv(x)))
        return self.out(nn.functional.dropout(x.flatten(1), 0.5))


class Model:
    """What lives on from run to run of a scenario."""

    def __init__(self) -> None:
        self.x = leaf(4, 4)
        self.net = Net()
        self.optimizer = paddle.optimizer.Adam(parameters=self.net.parameters())
        self.images = paddle.ones([2, 1, 4, 4])
        self.labels = paddle.to_tensor([0, 2])
        self.cell = nn.Linear(7, 4)
        self.state: Any = None


def training_step(m: Model) -> None:
    loss = nn.functional.cross_entropy(m.net(m.images), m.labels)
    loss.backward()
    m.optimizer.step()
    m.optimizer.clear_grad()


def abandoned(m: Model) -> None:
    y = paddle.exp(m.x)
    z = paddle.concat([y, y * 2.0]).sum()
    assert not z.stop_gradient


def double_backward(m: Model) -> None:
    y = (m.x**3).sum()
    (g,) = paddle.grad(y, m.x, create_graph=True)
    (h,) = paddle.grad((g * g).sum(), m.x, create_graph=True)
    h.sum().backward()
    m.x.clear_gradient(False)


def retained(m: Model) -> None:
    y = (paddle.tanh(m.x) * m.x).sum()
    y.backward(retain_graph=True)
    y.backward()
    m.x.clear_gradient(False)


def several_roots(m: Model) -> None:
    a = m.x * 2.0
    b = (a * a).sum()
    paddle.autograd.backward([b, a.sum()])
    m.x.clear_gradient(False)


def views_and_in_place(m: Model) -> None:
    y = m.x * 2.0
    v = y[1:3]
    w = v.transpose([1, 0])
    w.scale_(2.0)
    y[0] = v[1]
    y.add_(y)
    y.reshape([2, 8]).sum().backward()
    m.x.clear_gradient(False)


def custom(m: Model) -> None:
    Square.apply(Square.apply(m.x)).sum().backward()
    m.x.clear_gradient(False)


def custom_abandoned(m: Model) -> None:
    Square.apply(m.x)


def packed(m: Model) -> None:
    with saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor):
        y = (m.x * m.x).exp().sum()
    y.backward()
    m.x.clear_gradient(False)


def recomputed(m: Model) -> None:
    for reentrant in (True, False):
        recompute(lambda t: paddle.tanh(t * t), m.x, use_reentrant=reentrant).sum().backward()
    m.x.clear_gradient(False)


def hooks_removed(m: Model) -> None:
    y = m.x * 2.0
    handles = [y.register_hook(lambda g: g * 2.0), m.x.register_hook(lambda g: None)]
    y.sum().backward()
    for handle in handles:
        handle.remove()
    m.x.clear_gradient(False)


def hook_removes_itself(m: Model) -> None:
    y = m.x * 2.0
    box: list[Any] = []

    def once(g: Any) -> None:
        box.pop().remove()

    box.append(y.register_hook(once))
    y.sum().backward()
    m.x.clear_gradient(False)


def recurrent(m: Model) -> None:
    h = paddle.zeros([2, 4]) if m.state is None else m.state
    outputs = []
    for _ in range(5):
        h = paddle.tanh(m.cell(paddle.concat([paddle.ones([2, 3]), h], 1)))
        outputs.append(h)
    m.state = h.detach()
    paddle.stack(outputs).sum().backward()
    for p in m.cell.parameters():
        p.clear_gradient(False)


def mixed_precision(m: Model) -> None:
    with paddle.amp.auto_cast(dtype="bfloat16"):
        y = paddle.matmul(m.x, m.x)
    y.astype("float32").sum().backward()
    m.x.clear_gradient(False)


def state_dicts(m: Model) -> None:
    m.net.set_state_dict({k: v.clone() for k, v in m.net.state_dict().items()})
    m.optimizer.set_state_dict(m.optimizer.state_dict())


def no_grad_generator(m: Model) -> None:
    @paddle.no_grad()
    def batches() -> Iterator[Any]:
        for _ in range(3):
            yield m.x * 2.0

    generator = batches()
    next(generator)
    generator.close()
    assert sum(float(b.sum()) for b in batches()) == 48.0


def long_chain(m: Model) -> None:
    y = m.x
    for _ in range(2000):
        y = y * 0.5 + y
    y.sum().backward()
    m.x.clear_gradient(False)


def in_a_thread(m: Model) -> None:
    def work() -> None:
        x = leaf(3)
        (x * x).sum().backward()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def data_loader(m: Model) -> None:
    data = paddle.io.TensorDataset([paddle.ones([6, 2]), paddle.arange(6)])
    for images, _ in paddle.io.DataLoader(data, batch_size=2, shuffle=True):
        (images * m.x[0, :2]).sum().backward()
    m.x.clear_gradient(False)


def jacobians(m: Model) -> None:
    x = m.x.flatten()[:3]
    paddle.autograd.hessian((x**3).sum(), x)[:]


ORDINARY: list[Callable[[Model], None]] = [
    training_step, abandoned, double_backward, retained, several_roots, views_and_in_place, custom, custom_abandoned, packed, recomputed,
    hooks_removed, hook_removes_itself, recurrent, mixed_precision, state_dicts, no_grad_generator, long_chain, in_a_thread, data_loader, jacobians,
]  # fmt: skip


@pytest.mark.parametrize("scenario", ORDINARY, ids=lambda f: f.__name__)
def test_reference_counts_alone_free_everything(scenario: Callable[[Model], None]) -> None:
    model = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            scenario(model)
        before = alive()
        for _ in range(3):
            scenario(model)
    assert alive() == before


def hook_holds_its_own_tensor(m: Model) -> None:
    y = m.x * 2.0
    y.register_hook(lambda g, y=y: g)
    y.sum().backward()
    m.x.clear_gradient(False)


def hook_holds_the_loss(m: Model) -> None:
    y = m.x * 2.0
    loss = (y * y).sum()
    y.register_hook(lambda g, loss=loss: None)


def context_holds_its_output(m: Model) -> None:
    class Keeps(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.out = x * 2.0
            return ctx.out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    Keeps.apply(m.x)


def exception_in_backward(m: Model) -> None:
    def fail(g: Any) -> None:
        raise ValueError("stop")

    y = paddle.exp(m.x)
    y.register_hook(fail)
    try:
        (y * y).sum().backward()
    except ValueError as error:
        kept = error
        del kept


def exception_kept_with_its_frames(m: Model) -> None:
    errors = []
    y = paddle.exp(m.x)
    try:
        paddle.add(y, paddle.ones([3]))
    except ValueError as error:
        errors.append(error)


def tensor_refers_to_itself(m: Model) -> None:
    y = m.x * 2.0
    y.again = y


KNOTS: list[Callable[[Model], None]] = [
    hook_holds_its_own_tensor, hook_holds_the_loss, context_holds_its_output, exception_in_backward, exception_kept_with_its_frames,
    tensor_refers_to_itself,
]  # fmt: skip


@pytest.mark.parametrize("scenario", KNOTS, ids=lambda f: f.__name__)
def test_the_collector_frees_knots_of_user_code(scenario: Callable[[Model], None]) -> None:
    model = Model()
    scenario(model)
    gc.collect()
    before = alive()
    for _ in range(3):
        scenario(model)
    gc.collect()
    assert alive() == before


def test_ten_thousand_steps_do_not_grow() -> None:
    tracemalloc.stop()
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    x = paddle.ones([4, 2])

    def steps(count: int) -> None:
        for _ in range(count):
            net(x).square().mean().backward()
            optimizer.step()
            optimizer.clear_grad()

    steps(100)
    tracemalloc.start()
    steps(10)
    before, counts = tracemalloc.get_traced_memory()[0], alive()
    tracemalloc.stop()
    steps(9_980)
    tracemalloc.start()
    steps(10)
    assert alive()[:2] == counts[:2]
    assert abs(tracemalloc.get_traced_memory()[0] - before) < 4096
