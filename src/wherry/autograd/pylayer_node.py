"""The node of a PyLayer call: it hands gradients to the user's backward and checks what comes back."""

from typing import Any

from wherry.autograd.compute import zeros_of
from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.structures import GradNodeBase, TensorBase, TensorWrapper
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.core.state import observers, set_grad_enabled_flag


class PyLayerNode(GradNodeBase):
    """The node of a PyLayer call."""

    def __init__(self, layer: Any, context: Any) -> None:
        super().__init__()
        self.layer = layer
        self.context = context
        self.nodes: list[GradNodeBase | None] = []
        self.positions: list[int] = []
        self.metas: list[Meta] = []
        self.out_metas: list[Meta] = []

    def op_name(self) -> str:
        return str(self.layer.__qualname__)

    def num_inputs(self) -> int:
        return len(self.nodes)

    def edge_node(self, i: int) -> GradNodeBase | None:
        return self.nodes[i]

    def edge_position(self, i: int) -> int:
        return self.positions[i]

    def input_meta(self, i: int) -> Meta | None:
        return self.metas[i]

    def num_outputs(self) -> int:
        return len(self.out_metas)

    def output_meta(self, j: int) -> Meta:
        return self.out_metas[j]

    def saved(self) -> list[TensorWrapper]:
        return [w for w in self.context._wrappers or () if w is not None]

    def release(self) -> None:
        self.released = True
        self.context._wrappers = ()
        self.context._saved = ()

    def compute(self, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
        arguments = []
        for grad, meta in zip(grads, self.out_metas):
            if grad is None and self.context.materialize_grads:
                grad = zeros_of(meta, create_graph)
            arguments.append(new_tensor(grad) if isinstance(grad, DenseTensor) else grad)
        # The context knows its node only now: node and context would keep each other alive otherwise.
        self.context._node = self
        before = set_grad_enabled_flag(create_graph)
        try:
            returned = self.layer.backward(self.context, *arguments)
        finally:
            set_grad_enabled_flag(before)
            self.context._node = None
        for observer in observers():
            observer.custom_backward(self, arguments, returned)
        return self.checked(returned, create_graph)

    def checked(self, returned: Any, create_graph: bool) -> list[Any]:
        """What backward returned, as one gradient for each tensor input; raises where it does not fit."""
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        name = f"{self.op_name()}.backward"
        for i, value in enumerate(values):
            if value is not None and not isinstance(value, TensorBase):
                raise TypeError(f"{name}: expected Tensors or None, received {type(value).__name__} at position {i}")
        wanted = [i for i, node in enumerate(self.nodes) if node is not None]
        if len(values) != len(self.nodes):
            if len(values) == len(wanted):
                full: list[Any] = [None] * len(self.nodes)
                for i, value in zip(wanted, values):
                    full[i] = value
                values = full
            else:
                raise ValueError(
                    f"{name}: expected {len(self.nodes)} gradients, one for each tensor that forward took, received {len(values)}"
                )
        results: list[Any] = []
        for i, value in enumerate(values):
            results.append(None if value is None else self.fitted(name, i, value, create_graph))
        return results

    def fitted(self, name: str, i: int, value: TensorBase, create_graph: bool) -> Any:
        """One gradient, checked against the input it belongs to."""
        meta = self.metas[i]
        found = value.impl.meta
        if found.shape != meta.shape:
            raise ValueError(
                f"{name}: expected a gradient of shape {list(meta.shape)} at position {i}, as the input's, received {list(found.shape)}"
            )
        changed: Any = value
        if found.dtype is not meta.dtype and meta.dtype.is_differentiable:
            ops = REGISTRY.recorded_ops
            if found.dtype.is_complex and not meta.dtype.is_complex:
                changed = ops.real(changed)
            changed = ops.cast(changed, meta.dtype)
        return changed if create_graph else changed.impl
