"""Registering hooks on tensors and on the nodes of the graph."""

import warnings
from collections.abc import Callable
from typing import Any

from wherry.autograd import structures as st
from wherry.autograd.history import grad_node_of, state_of
from wherry.autograd.structures import AccumulationNode, GradNodeBase, TensorBase


class TensorHookRemoveHelper:
    """The handle of a hook. Source: paddle.Tensor.register_hook."""

    def __init__(self, node: GradNodeBase, identifier: int) -> None:
        self._node: GradNodeBase | None = node
        self._identifier = identifier

    def remove(self) -> bool:
        """Take the hook away and let go of it; False (with a warning) where it is gone already."""
        node, self._node = self._node, None
        if node is not None and node.remove_hook(self._identifier):
            return True
        warnings.warn(f"the backward hook (ID: {self._identifier}) was removed before", RuntimeWarning, stacklevel=2)
        return False


def register_hook(tensor: TensorBase, hook: Callable[[Any], Any]) -> TensorHookRemoveHelper:
    """Call `hook` with the tensor's gradient in every backward; a Tensor that it returns takes its place.

    hook: takes a Tensor of the tensor's shape and dtype, returns one or None; it may also write to the one it gets, keep it, remove itself
    and others, and run backward. On a tensor that is reached by several paths it is called once, on the sum. Raises RuntimeError for a
    tensor with stop_gradient=True, TypeError for something not callable. Backward raises TypeError or ValueError for what is no such
    Tensor; an exception of the hook's own passes through it. Source: paddle.Tensor.register_hook.
    """
    if not callable(hook):
        raise TypeError(f"register_hook: expected a callable, received {type(hook).__name__}")
    node = grad_node_of(tensor)
    if node is None:
        raise RuntimeError(
            "register_hook: expected a tensor with stop_gradient=False, received one with stop_gradient=True: no gradient reaches it"
        )
    return TensorHookRemoveHelper(node, node.add_hook(tensor._position, hook, st.TENSOR_HOOK))


def register_reduce_hook(tensor: TensorBase, hook: Callable[[], Any]) -> int:
    """Call `hook` (no arguments) each time a gradient has been added to the leaf's `.grad`; returns its identifier.

    Raises ValueError for a tensor that is not a leaf with stop_gradient=False, TypeError for something not callable.
    Source: paddle.Tensor._register_backward_hook.
    """
    if not callable(hook):
        raise TypeError(f"_register_backward_hook: expected a callable, received {type(hook).__name__}")
    node = grad_node_of(tensor)
    if not isinstance(node, AccumulationNode):
        found = "one with stop_gradient=True" if node is None else f"the result of {node.op_name()}"
        raise ValueError(f"_register_backward_hook: expected a leaf tensor with stop_gradient=False, received {found}")
    return node.add_hook(0, hook, st.REDUCE_HOOK)


def register_node_hook(node: GradNodeBase, hook: Callable[..., Any], kind: int) -> TensorHookRemoveHelper:
    """Call `hook` before or after a node's derivative rules; see GradNodeBase.register_prehook and register_hook."""
    name = "register_prehook" if kind == st.NODE_PRE_HOOK else "register_hook"
    if not callable(hook):
        raise TypeError(f"{name}: expected a callable, received {type(hook).__name__}")
    if isinstance(node, AccumulationNode):
        raise ValueError(
            f"{name}: expected the node of an operation, received that of {node.forward_line()}. "
            "Use the tensor's register_hook, or _register_backward_hook to be told when `.grad` is complete."
        )
    return TensorHookRemoveHelper(node, node.add_hook(-1, hook, kind))


def retain_grads(tensor: TensorBase) -> None:
    """Keep the gradient of an intermediate tensor in `.grad`. No effect on a leaf. Source: paddle.Tensor.retain_grads."""
    node = grad_node_of(tensor)
    if node is None or isinstance(node, AccumulationNode):
        return
    state = state_of(tensor)
    if not state.retain_grads:
        state.retain_grads = True
        node.add_hook(tensor._position, state, st.RETAIN_GRAD)
