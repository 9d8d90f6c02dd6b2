"""The one seam through which the engine tells what it does; wherry.inspect and gradcheck are built on it.

An Observer is entered for a thread (`with observing(observer):`). While no thread has one the engine asks a single counter, so the
seam costs nothing; while one is there, calls take the general way through layer 3 and layer 4 and every phase is told.
Every method has a default that does nothing. A method must not call operations, other than under `unobserved()`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wherry.core import state


class Observer:
    """Told of every call, node and write of the threads it was entered in. Tensors that it is handed are the program's own."""

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        """Layer 3 was entered: Tensors, lists of Tensors and None as parsed, attributes in canonical form."""

    def call_prepared(self, op: Any, inputs: tuple[Any, ...]) -> None:
        """AMP and type promotion are through; `inputs` are the tensors with their casts (which were calls of their own)."""

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        """The call returned; `outputs` are all of the entry's outputs, each a Tensor, a list of them or None."""

    def call_failed(self, op: Any, error: BaseException) -> None:
        """The call raised."""

    def kernel_selected(self, op: Any, dtype_code: int, kernel: Any) -> None:
        """Layer 4 has its KernelKey (from the dtype's code) and its Kernel."""

    def data_prepared(self, op: Any, before: list[Any], after: list[Any]) -> None:
        """PrepareData is through: the DenseTensors before and after it."""

    def meta_inferred(self, op: Any, metas: Any) -> None:
        """InferMeta returned."""

    def kernel_finished(self, op: Any, result: Any) -> None:
        """The kernel returned."""

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        """PyLayer.apply was entered: the class, its context, its tensor inputs and all its arguments."""

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        """PyLayer.apply is about to return these."""

    def custom_failed(self, layer: Any, context: Any, error: BaseException) -> None:
        """PyLayer.apply raised."""

    def custom_backward(self, node: Any, grads: list[Any], returned: Any) -> None:
        """A PyLayer's backward returned, before what it returned was checked."""

    def mode_changed(self, name: str, enabled: bool) -> None:
        """A no_grad, enable_grad or set_grad_enabled block was entered or left; `enabled` is how it stands now."""

    def stop_gradient_set(self, tensor: Any, value: bool) -> None:
        """The user set a tensor's stop_gradient."""

    def detached(self, source: Any, result: Any) -> None:
        """`result` shares the memory of `source` without its history (detach)."""

    def tensor_created(self, tensor: Any, data: Any) -> None:
        """`to_tensor` made a tensor from data; from another Tensor it copies without history."""

    def numpy_taken(self, tensor: Any) -> None:
        """`numpy()` handed out a tensor's values."""

    def written(self, tensor: Any, name: str) -> None:
        """A tensor's memory was written by `name`; its version has been raised."""

    def hook_registered(self, node: Any, hook: Any) -> None:
        """A hook was put on a node."""

    def layer_entered(self, layer: Any) -> None:
        """A Layer was called."""

    def layer_left(self, layer: Any) -> None:
        """Its call is over, by return or exception."""

    def optimizer_stepped(self, optimizer: Any) -> None:
        """An optimizer has updated its parameters."""

    def gradient_cleared(self, tensor: Any) -> None:
        """A tensor's `.grad` was dropped or set to zeros."""

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        """A pass begins; `engine` is its BackwardPass, after in-degrees were counted."""

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        """It ended."""

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        """All gradients of a node have arrived; before its hooks."""

    def node_finished(self, engine: Any, node: Any, results: list[Any]) -> None:
        """Its rules have returned the gradients of its inputs; before they are delivered."""

    def gradient_delivered(self, engine: Any, source: Any, index: int, target: Any, position: int, grad: Any) -> None:
        """A gradient (or None) went over an edge: from input `index` of `source` to output `position` of `target`."""

    def hook_called(self, engine: Any, node: Any, hook: Any, before: Any, after: Any) -> None:
        """A tensor hook returned; `after` is the gradient from then on."""

    def gradient_accumulated(self, engine: Any, node: Any, grad: Any) -> None:
        """A gradient is about to be added into a leaf's `.grad`."""


@contextmanager
def observing(observer: Observer) -> Iterator[Observer]:
    """Tell an observer of what this thread does inside the block; several may be told at once."""
    before = state.set_observers((*state.observers(), observer))
    try:
        yield observer
    finally:
        state.set_observers(before)


@contextmanager
def unobserved() -> Iterator[None]:
    """Nobody is told of what this thread does inside the block."""
    before = state.set_observers(())
    try:
        yield
    finally:
        state.set_observers(before)
