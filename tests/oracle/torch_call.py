"""How an operation of the table is called in torch, and what of it is compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

try:
    import torch
except ImportError:  # The table is read without torch too: the page of docs/ lists what it has.
    torch = None  # type: ignore[assignment]


class NotInTorch(Exception):
    """A case that torch has no call for."""


@dataclass(frozen=True)
class TorchCall:
    """One operation.

    call: takes the tensors in the entry's order, and every attribute of the entry by name; returns the outputs in the entry's order
    (None: not compared). Where it is a string, the path below torch of a function of the tensors alone. differs: conventions that are
    not the same, in words. without: what is not compared because of them: "gradients", "special values", "special gradients".
    """

    call: Callable[..., Any] | str
    differs: str = ""
    without: tuple[str, ...] = ()

    def __call__(self, *tensors: Any, **attrs: Any) -> Any:
        if isinstance(self.call, str):
            found: Any = torch
            for name in self.call.split("."):
                found = getattr(found, name)
            return found(*tensors)
        return self.call(*tensors, **attrs)


def vjp(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function of one tensor as a function of the tensor and of the output's gradient."""

    def call(x: Any, out_grad: Any, **attrs: Any) -> Any:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(function(leaf, **attrs), leaf, out_grad)[0]

    return call


def transpose_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The transpose of a linear function as a function of the output's gradient and of the input's shape."""

    def call(out_grad: Any, shape: Any) -> Any:
        zeros = torch.zeros(tuple(shape), dtype=out_grad.dtype, requires_grad=True)
        return torch.autograd.grad(function(zeros), zeros, out_grad, create_graph=out_grad.requires_grad)[0]

    return call


def torch_dtype(name: Any) -> Any:
    return getattr(torch, getattr(name, "name", str(name)))


def dims(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes of a reduction: all where none are named."""
    return tuple(axis) if axis and x.ndim else tuple(range(x.ndim))
