"""Names that belong to Paddle's static graphs: reported off, refused when switched on."""

from typing import Any


def prim_enabled() -> bool:
    """False: operations are not taken apart into primitive ones. Source: paddle.incubate.autograd.prim_enabled."""
    return False


def disable_prim() -> None:
    """No effect: primitive operations are never on. Source: paddle.incubate.autograd.disable_prim."""


def enable_prim() -> None:
    """Raises NotImplementedError: primitive operations belong to static graphs. Source: paddle.incubate.autograd.enable_prim."""
    raise NotImplementedError("enable_prim: primitive operations belong to static graphs, which are not supported")


def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> Any:
    """Raises NotImplementedError: a static-graph function. Source: paddle.incubate.autograd.forward_grad."""
    raise NotImplementedError(
        "forward_grad: static graphs are not supported; use paddle.incubate.autograd.jvp(func, xs, v)"
    )


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """Raises NotImplementedError: a static-graph function. Source: paddle.incubate.autograd.grad."""
    raise NotImplementedError("paddle.incubate.autograd.grad: static graphs are not supported; use paddle.grad")
