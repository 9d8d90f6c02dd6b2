"""saved_tensors_hooks: what is packed, which pair applies, custom layers, errors; once_differentiable."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wherry as paddle
from wherry.autograd import PyLayer, saved_tensors_hooks
from wherry.autograd.py_layer import once_differentiable


def leaf(values: list[float]) -> paddle.Tensor:
    return paddle.to_tensor(values, stop_gradient=False)


class Square(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0 * ctx.saved_tensor()[0]


def test_the_innermost_pair_packs_and_each_unpacks_its_own() -> None:
    log: list[str] = []

    def pair(name: str) -> saved_tensors_hooks:
        def pack(t: Any) -> Any:
            log.append(f"{name} packs {t.tolist()}")
            return t.numpy()

        def unpack(a: Any) -> Any:
            log.append(f"{name} unpacks")
            return paddle.to_tensor(a)

        return saved_tensors_hooks(pack, unpack)

    x = leaf([3.0])
    with pair("outer"):
        y = paddle.exp(x * 0.0)
        with pair("inner"):
            z = Square.apply(y)
    z.backward(retain_graph=True)
    z.backward()
    assert log == [
        "outer packs 0.0", "outer packs [1.0]", "inner packs [1.0]",
        "inner unpacks", "outer unpacks", "outer unpacks", "inner unpacks", "outer unpacks", "outer unpacks",
    ]  # fmt: skip
    assert x.grad.tolist() == [0.0]


def test_a_pack_hook_that_raises_leaves_no_mode_behind() -> None:
    x = leaf([1.0])

    def fail(t: Any) -> Any:
        raise KeyError("full")

    with pytest.raises(KeyError, match="full"), saved_tensors_hooks(fail, lambda t: t):
        paddle.exp(x)
    paddle.exp(x).backward()
    assert x.grad.item() == pytest.approx(2.7182817)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda t: 3, TypeError, "exp_grad_node: expected a Tensor from the unpack hook .*, received int"),
        (
            lambda t: paddle.ones([2]),
            ValueError,
            r"expected float32\[1\] from the unpack hook .* as it was packed, received float32\[2\]",
        ),
        (lambda t: paddle.ones([1], "float64"), ValueError, r"received float64\[1\]"),
    ],
)
def test_what_an_unpack_hook_returns_is_checked(returned: Any, error: type[Exception], message: str) -> None:
    with saved_tensors_hooks(lambda t: t, returned):
        y = paddle.exp(leaf([1.0]))
    with pytest.raises(error, match=message):
        y.backward()


def test_second_derivatives_pass_through() -> None:
    x = leaf([2.0])
    with saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor):
        (g,) = paddle.grad(x * x * x, x, create_graph=True)
        (h,) = paddle.grad(g, x)
    assert h.item() == 12.0


def test_once_differentiable() -> None:
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return g * 3.0 * x * x

    x = leaf([2.0])
    Cube.apply(x).backward()
    assert x.grad.item() == 12.0
    (g,) = paddle.grad(Cube.apply(x), x, create_graph=True)
    assert g.item() == 12.0
    with pytest.raises(
        RuntimeError, match=r"Cube.backward is marked once_differentiable: its gradient has no derivative"
    ):
        g.backward()


def test_the_example_that_keeps_saved_tensors_on_disk(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "offload_to_disk.py"
    done = subprocess.run([sys.executable, "-m", "wherry", "run", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MB in" in done.stdout and "0 files left at the end" in done.stdout


def test_a_pack_hook_that_keeps_the_tensor_itself_hides_no_change() -> None:
    x = leaf([2.0])
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = paddle.exp(x)
    y.scale_(2.0)
    with pytest.raises(RuntimeError, match=r"exp: the tensor out \(float32\[1\]\) that backward needs was modified"):
        y.backward()
    with saved_tensors_hooks(lambda t: None, lambda nothing: kept):
        y = paddle.exp(x)
    kept = paddle.to_tensor([1.0])
    kept.scale_(5.0)
    y.backward()
    assert x.grad.item() == 5.0, "what stands for the tensor has versions of its own"


def test_an_unpack_hook_is_named_with_its_place() -> None:
    def undo(packed: Any) -> Any:
        return [packed]

    with saved_tensors_hooks(lambda t: t, undo):
        y = paddle.exp(leaf([1.0]))
    with pytest.raises(TypeError) as caught:
        y.backward()
    name = undo.__qualname__
    first, second, third = str(caught.value).split("\n")
    assert first == f"exp_grad_node: expected a Tensor from the unpack hook {name}, received list"
    assert second == f"  the hook is defined at {__file__}:{undo.__code__.co_firstlineno}, in {name}"
    assert third.startswith(f"  raised in the backward of exp, which was recorded at {__file__}:")
