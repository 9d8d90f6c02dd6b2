"""`AutogradMeta`: what autograd keeps about a tensor, in one place to look at."""

from typing import Any

from wherry.autograd.history import grad_node_of
from wherry.autograd.structures import AccumulationNode, TensorBase, slot_and_rank


class AutogradMeta:
    """A snapshot of a tensor's autograd fields. Source: paddle/fluid/eager/autograd_meta.h."""

    def __init__(self, tensor: TensorBase) -> None:
        node = grad_node_of(tensor)
        state = tensor._state
        self.grad: Any = None if state is None else state.grad
        self.grad_node = node
        self.out_slot_id, self.out_rank = (0, 0) if node is None else slot_and_rank(node.slots_out(), tensor._position)
        self.stop_gradient = node is None
        self.persistable = state is not None and state.persistable
        self.retain_grads = state is not None and state.retain_grads
        hooks = [] if node is None or node.hooks is None else node.hooks
        self.hooks = [h.function for h in hooks if h.position == tensor._position]
        self.is_leaf = node is None or isinstance(node, AccumulationNode)

    def __repr__(self) -> str:
        return (
            f"AutogradMeta(stop_gradient={self.stop_gradient}, grad_node={self.grad_node}, "
            f"out_slot_id={self.out_slot_id}, out_rank={self.out_rank}, retain_grads={self.retain_grads}, "
            f"persistable={self.persistable}, hooks={len(self.hooks)})"
        )
