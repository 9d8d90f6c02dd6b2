"""The node of a PyLayer call: it hands gradients to the user's backward and checks what comes back."""

from typing import Any

from wherry.autograd.compute import zeros_of
from wherry.autograd.history import REGISTRY, grad_node_of, new_tensor
from wherry.autograd.structures import GradNodeBase, TensorBase, TensorWrapper
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.core.state import observers, set_grad_enabled_flag


def in_slots(values: list[Any], sizes: list[int]) -> list[Any]:
    """A flat list as one value for each slot, a list where the slot holds several."""
    found: list[Any] = []
    start = 0
    for size in sizes:
        found.append(values[start] if size == -1 else values[start : start + size])
        start += 1 if size == -1 else size
    return found


class PyLayerNode(GradNodeBase):
    """The node of a PyLayer call."""

    def __init__(self, layer: Any, context: Any, sizes: list[int]) -> None:
        super().__init__()
        # Per argument and result with tensors: how many, or -1 for a plain one.
        self.sizes = sizes
        self.out_sizes: list[int] = []
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

    def slots_in(self) -> list[int]:
        return [1 if size == -1 else size for size in self.sizes]

    def slots_out(self) -> list[int]:
        return [1 if size == -1 else size for size in self.out_sizes]

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
            returned = self.layer.backward(self.context, *in_slots(arguments, self.out_sizes))
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
        if len(values) != len(self.sizes):
            values = self.spread(values, name)
        flat: list[Any] = []
        for i, (value, size) in enumerate(zip(values, self.sizes)):
            if size == -1:
                flat.append(value)
                continue
            if value is None:
                value = [None] * size
            if not isinstance(value, (list, tuple)) or len(value) != size:
                found = f"{len(value)} of them" if isinstance(value, (list, tuple)) else type(value).__name__
                raise self.refused(
                    ValueError(
                        f"{name}: expected a list of {size} gradients at position {i}, as the input's, received {found}"
                    )
                )
            flat += value
        results: list[Any] = []
        for i, value in enumerate(flat):
            if value is not None and not isinstance(value, TensorBase):
                text = f"{name}: expected Tensors or None, received {type(value).__name__} at position {i}"
                raise self.refused(TypeError(text))
            results.append(None if value is None else self.fitted(name, i, value, create_graph))
        return results

    def spread(self, values: list[Any], name: str) -> list[Any]:
        """Gradients for only those arguments that need one, put in their places."""
        needs: list[bool] = []
        start = 0
        for size in self.slots_in():
            needs.append(any(n is not None for n in self.nodes[start : start + size]))
            start += size
        if len(values) != sum(needs):
            raise self.refused(
                ValueError(
                    f"{name}: expected {len(needs)} gradients, one for each tensor that forward took, received {len(values)}"
                )
            )
        following = iter(values)
        return [next(following) if need else None for need in needs]

    def refused(self, error: Exception) -> Exception:
        """The exception with the place of backward's definition and of the call, for programs that read it."""
        refusal: Any = error
        code = getattr(self.layer.backward, "__code__", None)
        refusal.wherry_kind = "custom-backward"
        refusal.wherry_places = [("returned by this backward", code, 0), ("applied here", self.code, self.lasti)]
        if code is not None:
            error.add_note(f"{self.op_name()}.backward is defined at {where.describe(code, 0)}")
        return error

    def fitted(self, name: str, i: int, value: TensorBase, create_graph: bool) -> Any:
        """One gradient, checked against the input it belongs to."""
        meta = self.metas[i]
        found = value.impl.meta
        if found.shape != meta.shape:
            raise self.refused(
                ValueError(
                    f"{name}: expected a gradient of shape {list(meta.shape)} at position {i}, as the input's, received {list(found.shape)}"
                )
            )
        changed: Any = value
        if found.dtype is not meta.dtype and meta.dtype.is_differentiable:
            ops = REGISTRY.recorded_ops
            if found.dtype.is_complex and not meta.dtype.is_complex:
                changed = ops.real(changed)
            changed = ops.cast(changed, meta.dtype)
        return changed if create_graph else changed.impl


class OnceDifferentiableNode(GradNodeBase):
    """Stands behind a gradient whose computation was not recorded; refuses to be differentiated."""

    def __init__(self, name: str, sources: list[TensorBase], metas: list[Meta]) -> None:
        super().__init__()
        self.layer_name = name
        self.nodes = [grad_node_of(t) for t in sources]
        self.positions = [t._position for t in sources]
        self.metas = [t.impl.meta for t in sources]
        self.out_metas = metas

    def op_name(self) -> str:
        return self.layer_name

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

    def compute(self, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
        raise RuntimeError(
            f"{self.layer_name} is marked once_differentiable: its gradient has no derivative. Take once_differentiable away and write it with "
            "differentiable operations"
        )
