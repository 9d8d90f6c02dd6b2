"""The node of a PyLayer call: it hands gradients to the user's backward and checks what comes back."""

from typing import Any

from wherry.autograd.boundary import as_tensor, lent, own
from wherry.autograd.compute import zeros_of
from wherry.autograd.history import REGISTRY
from wherry.autograd.structures import GradNodeBase, TensorBase, TensorWrapper
from wherry.core import where
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

    def __init__(self, layer: Any, context: Any, sizes: list[int], has_backward: bool) -> None:
        super().__init__()
        self.has_backward = has_backward
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
        return self.context._saved_wrappers()  # type: ignore[no-any-return]

    def release(self) -> None:
        self.released = True
        self.context._release()

    def compute(self, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
        """Hand the gradients (of which the list is emptied) to the user's backward, and check what it returns."""
        if not self.has_backward:
            raise NotImplementedError(
                f"{self.op_name()} has no static method backward(ctx, *grads), which its gradient needs"
            )
        context = self.context
        arguments: Any = []
        for j in range(len(grads)):
            grad = grads[j]
            grads[j] = None
            if grad is not None:
                arguments.append(lent(grad, create_graph))
            elif context.materialize_grads:
                arguments.append(as_tensor(zeros_of(self.out_metas[j], create_graph)))
            else:
                arguments.append(None)
        slots = in_slots(arguments, self.out_sizes)
        # The context knows its node only now: node and context would keep each other alive otherwise. It is a stack, as backward may run
        # inside itself and in several threads.
        context._running.append(self)
        before = set_grad_enabled_flag(create_graph)
        try:
            returned: Any = self.layer.backward(context, *slots)
        except TypeError as error:
            self.note_call(error, len(slots))
            raise
        finally:
            set_grad_enabled_flag(before)
            context._running.pop()
        for observer in observers():
            observer.custom_backward(self, arguments, returned)
        # From here on nothing but `values` may hold what backward returned: what nobody else holds is taken over without a copy.
        arguments = None
        slots = []
        values = self.values_of(returned)
        returned = None
        results: list[Any] = []
        for i in range(len(values)):
            value = values[i]
            values[i] = None
            gradient: Any = None
            if value is not None:
                gradient = self.fitted(i, value, create_graph)
                value = None
                gradient = own(gradient, create_graph)
            results.append(gradient)
        return results

    def note_call(self, error: TypeError, count: int) -> None:
        """Where backward could not be called, say with what it is called."""
        code = where.definition(self.layer.backward)[1]
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is code:
                return
            trace = trace.tb_next
        text = f"{self.op_name()}.backward is called with the context and {count} gradients, one for each tensor (or list of them) of forward's results"
        if code is not None:
            text += f"; it is defined at {where.describe(code, 0)}"
        error.add_note(text)

    def values_of(self, returned: Any) -> list[Any]:
        """What backward returned, as one Tensor or None for each tensor input; raises where count, type or shape do not fit."""
        name = f"{self.op_name()}.backward"
        if returned is not None and not isinstance(returned, (TensorBase, tuple, list)):
            text = f"{name}: expected a Tensor, None, or a tuple of them, received {type(returned).__name__}"
            raise self.refused(TypeError(text))
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
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
                text = f"{name}: expected a list of {size} gradients at position {i}, as the input's, received {found}"
                raise self.refused(ValueError(text))
            flat += value
        for i, value in enumerate(flat):
            if value is None:
                continue
            if not isinstance(value, TensorBase):
                text = f"{name}: expected Tensors or None, received {type(value).__name__} at position {i}"
                raise self.refused(TypeError(text))
            expected = list(self.metas[i].shape)
            found_shape = list(value.impl.meta.shape)
            if found_shape != expected:
                text = f"{name}: expected a gradient of shape {expected} at position {i}, as the input's, received {found_shape}"
                raise self.refused(ValueError(text))
        return flat

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
                    f"{name}: expected {len(needs)} gradients, one for each tensor (or list of them) that forward took, "
                    f"received {len(values)}"
                )
            )
        placed: list[Any] = []
        count = 0
        for need in needs:
            placed.append(values[count] if need else None)
            count += need
        return placed

    def refused(self, error: Exception) -> Exception:
        """The exception with the place of backward's definition and of the call, for programs that read it."""
        refusal: Any = error
        code = where.definition(self.layer.backward)[1]
        refusal.wherry_kind = "custom-backward"
        refusal.wherry_places = [("returned by this backward", code, 0), ("applied here", self.code, self.lasti)]
        if code is not None:
            error.args = (f"{error}\n  {self.op_name()}.backward is defined at {where.describe(code, 0)}",)
        return error

    def fitted(self, i: int, value: Any, create_graph: bool) -> Any:
        """One gradient in the dtype of the input it belongs to; a real input keeps the real part."""
        meta = self.metas[i]
        found = value.impl.meta
        if found.dtype is not meta.dtype and meta.dtype.is_differentiable:
            ops = REGISTRY.recorded_ops
            if found.dtype.is_complex and not meta.dtype.is_complex:
                value = ops.real(value)
            value = ops.cast(value, meta.dtype)
        return value if create_graph else value.impl


class OnceDifferentiableNode(GradNodeBase):
    """Stands behind a gradient whose computation was not recorded; refuses to be differentiated."""

    def __init__(self, name: str, sources: list[tuple[GradNodeBase, int, Meta]], metas: list[Meta]) -> None:
        super().__init__()
        self.layer_name = name
        self.sources = sources
        self.out_metas = metas

    def op_name(self) -> str:
        return self.layer_name

    def num_inputs(self) -> int:
        return len(self.sources)

    def edge_node(self, i: int) -> GradNodeBase | None:
        return self.sources[i][0]

    def edge_position(self, i: int) -> int:
        return self.sources[i][1]

    def input_meta(self, i: int) -> Meta | None:
        return self.sources[i][2]

    def num_outputs(self) -> int:
        return len(self.out_metas)

    def output_meta(self, j: int) -> Meta:
        return self.out_metas[j]

    def compute(self, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
        raise RuntimeError(
            f"{self.layer_name} is marked once_differentiable: its gradient has no derivative. Take once_differentiable away and write it with "
            "differentiable operations"
        )
