"""User code that a pass runs into: exceptions pass as themselves, nothing stays half done, passes nest, objects die."""

import dataclasses
import gc
import sys
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import PyLayer


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


class Mine(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    number: int


class Guarded(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("nothing may be set")


class Unreadable(Exception):
    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


EXCEPTIONS = [
    (Mine, "mine"), (Frozen, 3), (Guarded, "guarded"), (KeyError, "key"), (StopIteration, 4), (StopAsyncIteration,), (GeneratorExit,),
    (KeyboardInterrupt,), (SystemExit, 3), (ExceptionGroup, "several", [Mine("one")]), (UnicodeDecodeError, "utf8", b"a", 0, 1, "odd"),
]  # fmt: skip


def line_after(function: Any, offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


class Fails(PyLayer):
    error: BaseException

    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        raise Fails.error


def by_hook(error: BaseException) -> None:
    def hook(g: paddle.Tensor) -> None:
        raise error

    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(hook)
    y.backward()


def by_node_hook(error: BaseException) -> None:
    def hook(inputs: object, outputs: object) -> None:
        raise error

    y = leaf([1.0]) * 2.0
    y.grad_fn.register_hook(hook)
    y.backward()


def by_pylayer(error: BaseException) -> None:
    Fails.error = error
    y = Fails.apply(leaf([1.0]))
    y.backward()


def by_unpack_hook(error: BaseException) -> None:
    def unpack(packed: object) -> None:
        raise error

    with paddle.autograd.saved_tensors_hooks(lambda t: t, unpack):
        y = paddle.exp(leaf([1.0]))
    y.backward()


@pytest.mark.parametrize(
    ("way", "name", "offset"),
    [(by_hook, "multiply", 5), (by_node_hook, "multiply", 4), (by_pylayer, "Fails", 2), (by_unpack_hook, "exp", 5)],
)
@pytest.mark.parametrize("made", EXCEPTIONS, ids=lambda made: made[0].__name__)
def test_the_users_exception_passes_as_itself_with_node_and_line_as_a_note(way, name, offset, made) -> None:
    error = made[0](*made[1:])
    before = repr(error)
    with pytest.raises(BaseException) as caught:
        way(error)
    assert caught.value is error and repr(error) == before
    expected = f"raised in the backward of {name}, which was recorded at {line_after(way, offset)}, in {way.__name__}"
    assert error.__notes__ == [expected]
    assert paddle.is_grad_enabled()


def test_an_exception_that_can_not_be_asked_for_anything_still_passes_as_itself() -> None:
    error = Unreadable("odd")
    with pytest.raises(Unreadable) as caught:
        by_hook(error)
    assert caught.value is error


def test_one_exception_object_raised_twice_gets_a_note_each_time() -> None:
    error = Mine("shared")
    for way in (by_hook, by_pylayer):
        with pytest.raises(Mine):
            way(error)
    assert [note.split(",")[0] for note in error.__notes__] == [
        "raised in the backward of multiply",
        "raised in the backward of Fails",
    ]


def test_a_pass_inside_a_pass_speaks_once_and_of_the_inner_node() -> None:
    def outer(g: paddle.Tensor) -> None:
        with paddle.enable_grad():
            by_pylayer(Mine("deep"))

    x = leaf([1.0])
    y = paddle.exp(x)
    y.register_hook(outer)
    with pytest.raises(Mine) as caught:
        y.backward()
    (note,) = caught.value.__notes__
    assert note.startswith("raised in the backward of Fails")


def test_a_leaf_is_named_by_name_and_meta() -> None:
    x = leaf([1.0])
    x.name = "weight_0"
    x.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError) as caught:
        (x * 1.0).backward()
    assert caught.value.__notes__ == ["raised at the gradient of the leaf tensor weight_0 float64[1]"]


def test_after_an_exception_the_graph_runs_again_and_every_gradient_is_whole() -> None:
    x, w = leaf([2.0]), leaf([5.0])
    left, right = x * w, x * 3.0
    total = left * right
    raised: list[str] = []

    def fail(g: paddle.Tensor) -> None:
        raise Mine

    for tensor in (total, left, right, x, w):
        for run in (lambda: total.backward(retain_graph=True), lambda: paddle.grad(total, [x, w], retain_graph=True)):
            handle = tensor.register_hook(fail)
            with pytest.raises(Mine):
                run()
            handle.remove()
            raised.append(tensor.name)
            for t in (x, w):
                t.clear_gradient(set_to_zero=False)
            total.backward(retain_graph=True)
            # d(3 w x^2)
            assert (x.grad.item(), w.grad.item()) == (60.0, 12.0)
            for t in (x, w):
                t.clear_gradient(set_to_zero=False)
    assert len(raised) == 10


def test_backward_of_the_same_graph_inside_a_hook() -> None:
    x = leaf([2.0])
    y = x * x
    z = y * 3.0
    runs: list[int] = []

    def hook(g: paddle.Tensor) -> None:
        if len(runs) < 3:
            runs.append(1)
            z.backward(retain_graph=True)

    y.register_hook(hook)
    z.backward(retain_graph=True)
    assert len(runs) == 3 and x.grad.item() == 4 * 12.0


def test_backward_inside_a_hook_that_frees_what_the_outer_pass_needs_is_refused() -> None:
    x = leaf([2.0])
    y = x * x
    z = y * 3.0
    runs: list[int] = []

    def hook(g: paddle.Tensor) -> None:
        if not runs:
            runs.append(1)
            y.backward()

    y.register_hook(hook)
    with pytest.raises(RuntimeError, match=r"multiply: backward needs this part of the graph a second time"):
        z.backward(retain_graph=True)
    assert x.grad.item() == 4.0, "of the inner pass, which was whole"
    (x * x).backward()
    assert x.grad.item() == 8.0


def test_grad_inside_a_hook_uses_another_graph_of_the_same_leaf() -> None:
    x = leaf([2.0])
    y, other = x * x, x * x * x
    y.register_hook(lambda g: g * paddle.grad(other, x)[0])
    y.backward()
    assert x.grad.item() == 4.0 * 12.0


def test_a_hook_may_delete_its_tensor_and_the_root() -> None:
    x = leaf([2.0])
    tensors = {"y": x * x}
    tensors["z"] = tensors["y"] * 3.0

    def hook(g: paddle.Tensor) -> None:
        tensors.clear()
        gc.collect()

    tensors["y"].register_hook(hook)
    tensors["z"].backward()
    assert not tensors and x.grad.item() == 12.0


class Finalized:
    """Runs operations and a backward of its own when it is freed, and then raises."""

    def __init__(self, log: list[float]) -> None:
        self.log = log

    def __del__(self) -> None:
        with paddle.enable_grad():
            x = leaf([3.0])
            (x * x).backward()
        self.log.append(x.grad.item())
        raise Mine("nobody hears this")


def test_finalizers_that_run_operations_in_the_middle_of_a_pass(monkeypatch) -> None:
    unheard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: unheard.append(what.exc_type))
    log: list[float] = []

    class Holds(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.held = Finalized(log)
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            del ctx.held
            return g * 2.0

    def hook(g: paddle.Tensor) -> None:
        knot = Finalized(log)
        knot.itself = knot
        del knot
        gc.collect()

    x = leaf([2.0])
    y = Holds.apply(x * x)
    y.register_hook(hook)
    (y * 3.0).backward()
    assert x.grad.item() == 24.0 and log == [6.0, 6.0] and unheard == [Mine, Mine]


def test_a_hook_that_switches_recording_does_so_for_itself() -> None:
    x = leaf([2.0])
    y = x * x
    y.register_hook(lambda g: (paddle.set_grad_enabled(True), None)[1])
    (y * 3.0).backward()
    assert x.grad.stop_gradient and x.grad.grad_fn is None
    with paddle.no_grad():
        paddle.grad(x * x, x, allow_unused=True)
        assert not paddle.is_grad_enabled()


def test_numpy_warns_again_after_an_exception_in_a_kernel() -> None:
    def hook(g: paddle.Tensor) -> None:
        paddle.reshape(g, [7])

    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(hook)
    with pytest.raises(ValueError, match="reshape"):
        y.backward()
    with pytest.warns(RuntimeWarning):
        np.log(np.zeros(1) - 1.0)
