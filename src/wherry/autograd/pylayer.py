"""PyLayer: an operation whose forward and backward the user writes in Python."""

import functools
from typing import Any

from wherry.autograd.ad_func import pack
from wherry.autograd.compute import with_history
from wherry.autograd.history import grad_node_of, new_tensor
from wherry.autograd.modes import no_grad_
from wherry.autograd.pylayer_node import OnceDifferentiableNode, PyLayerNode
from wherry.autograd.structures import TensorBase, TensorWrapper
from wherry.core import where
from wherry.core.state import is_grad_enabled, observers, saved_tensors_hooks


class PyLayerContext:
    """What a PyLayer's forward passes on to its backward. Source: paddle.autograd.PyLayerContext."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._wrappers: tuple[Any, ...] | None = None
        self._node: Any = None
        self._non_differentiable: tuple[Any, ...] = ()
        self._not_inplace: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward. Raises TypeError for anything else."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward: expected Tensors or None, received {type(tensor).__name__} at position {i}"
                )
        self._saved = tensors

    def saved_tensor(self) -> tuple[Any, ...]:
        """The tensors that forward saved, as they were; raises RuntimeError where one was changed in place since."""
        if self._wrappers is None:
            return self._saved
        if self._node is not None:
            self._node.require_saved()
        return tuple(self._recover(w) for w in self._wrappers)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The same as saved_tensor()."""
        return self.saved_tensor()

    def _recover(self, wrapper: Any) -> Any:
        if wrapper is None:
            return None
        node = self._node
        dense = wrapper.recover(node)
        return with_history(dense, node if wrapper.is_output else wrapper.grad_node, wrapper.position)

    def mark_not_inplace(self, *tensors: Any) -> None:
        """Say that these inputs, returned by forward, count as not changed by it, whatever was written to them."""
        self._not_inplace = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs carry no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """True (the default): backward gets zeros for outputs that no gradient reached; False: None."""
        self.materialize_grads = bool(value)


class PyLayer:
    """Base class of user-defined operations: static methods `forward(ctx, *args, **kwargs)` and `backward(ctx, *grads)`.

    forward runs unrecorded; backward gets a gradient for each tensor that forward returned and returns one (or None) for each tensor that
    it took. `apply` calls it. Source: paddle.autograd.PyLayer.
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method backward(ctx, ...)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record backward; returns what forward returned."""
        context = PyLayerContext()
        slots = tensor_slots((*args, *kwargs.values()))
        inputs = [t for slot in slots for t in (slot if isinstance(slot, list) else [slot])]
        watching = observers()
        if not watching:
            return cls._run(context, slots, inputs, args, kwargs)
        for observer in watching:
            observer.custom_started(cls, context, inputs, args, kwargs)
        try:
            returned = cls._run(context, slots, inputs, args, kwargs)
        except BaseException as error:
            for observer in watching:
                observer.custom_failed(cls, context, error)
            raise
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        for observer in watching:
            observer.custom_finished(cls, context, inputs, outputs)
        return returned

    @classmethod
    def _run(
        cls, context: PyLayerContext, slots: list[Any], inputs: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        nodes = [grad_node_of(t) for t in inputs]
        context.needs_input_grad = tuple(n is not None for n in nodes)
        versions = [t.impl.inplace_version for t in inputs]
        with no_grad_():
            returned = cls.forward(context, *args, **kwargs)
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if not tensor_slots(outputs):
            raise ValueError(
                f"{cls.__qualname__}.forward: expected at least one Tensor among its results, received {outputs!r}"
            )
        if not (is_grad_enabled() and any(n is not None for n in nodes)):
            return returned
        node = PyLayerNode(cls, context, [len(s) if isinstance(s, list) else -1 for s in slots])
        for tensor, edge in zip(inputs, nodes):
            node.nodes.append(edge)
            node.positions.append(tensor._position)
            node.metas.append(tensor.impl.meta)
        frame = where.user_frame()
        node.code, node.lasti = frame.f_code, frame.f_lasti
        kept = [
            t
            for t, version in zip(inputs, versions)
            if t.impl.inplace_version == version or any(t is m for m in context._not_inplace)
        ]
        outputs = tie_outputs(node, outputs, kept, context)
        context._wrappers = wrap_saved(node, context, inputs, nodes, outputs)
        context._saved = ()
        if isinstance(returned, (tuple, list)):
            return type(returned)(outputs)
        return outputs[0]


def tensor_slots(values: Any) -> list[Any]:
    """The Tensors among values, and the lists and tuples of nothing but Tensors (as lists); everything else is the user's own affair."""
    slots: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            slots.append(value)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, TensorBase) for v in value):
            slots.append(list(value))
    return slots


def tie_outputs(node: PyLayerNode, outputs: list[Any], kept: list[TensorBase], context: PyLayerContext) -> list[Any]:
    """Make the tensors that forward returned, those in its lists included, the node's outputs."""
    tied: list[Any] = []
    for output in outputs:
        if isinstance(output, TensorBase):
            node.out_sizes.append(-1)
            tied.append(tie_output(node, output, kept, context))
        elif tensor_slots([output]):
            node.out_sizes.append(len(output))
            tied.append(type(output)([tie_output(node, o, kept, context) for o in output]))
        else:
            tied.append(output)
    return tied


def tie_output(node: PyLayerNode, output: TensorBase, kept: list[TensorBase], context: PyLayerContext) -> TensorBase:
    """Make a tensor the node's next output; an input that was returned unchanged becomes an alias of itself."""
    tensor = output
    if any(output is k for k in kept):
        tensor = new_tensor(output.impl.alias(output.impl.array, output.impl.meta))
    position = len(node.out_metas)
    node.out_metas.append(tensor.impl.meta)
    hidden = any(output is m for m in context._non_differentiable)
    if tensor.impl.meta.dtype.is_differentiable and not hidden:
        tensor._grad_node = node
        tensor._position = position
        tensor._stop_gradient = False
    else:
        tensor._stop_gradient = True
    return tensor


def wrap_saved(
    node: PyLayerNode, context: PyLayerContext, inputs: list[TensorBase], nodes: list[Any], outputs: list[Any]
) -> tuple[Any, ...]:
    """The saved tensors without their Tensor objects, so that a saved output does not tie a knot."""
    wrappers: list[Any] = []
    for k, tensor in enumerate(context._saved):
        if tensor is None:
            wrappers.append(None)
            continue
        name = f"saved tensor {k}"
        index = next((i for i, t in enumerate(inputs) if t is tensor), -1)
        is_output = tensor._grad_node is node
        edge = None if is_output else nodes[index] if index >= 0 else grad_node_of(tensor)
        wrappers.append(TensorWrapper(tensor.impl, tensor.impl.meta, edge, tensor._position, is_output, name))
    hooks = saved_tensors_hooks()
    for wrapper in wrappers if hooks is not None else ():
        if wrapper is not None:
            pack(wrapper, hooks)
    return tuple(wrappers)


def once_differentiable(backward: Any) -> Any:
    """Mark a PyLayer's backward as not differentiable itself: it runs unrecorded, and a second derivative through it raises RuntimeError.

    backward: the function below @staticmethod. Source: paddle.autograd.py_layer.once_differentiable.
    """

    @functools.wraps(backward)
    def wrapper(ctx: PyLayerContext, *grads: Any) -> Any:
        recorded = is_grad_enabled()
        with no_grad_():
            returned = backward(ctx, *grads)
        sources = [g for g in grads if isinstance(g, TensorBase) and grad_node_of(g) is not None]
        sources += [t for t in ctx.saved_tensor() if isinstance(t, TensorBase) and grad_node_of(t) is not None]
        if not recorded or not sources:
            return returned
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        tensors = [v for v in values if isinstance(v, TensorBase)]
        node = OnceDifferentiableNode(backward.__qualname__, sources, [t.impl.meta for t in tensors])
        frame = where.user_frame()
        node.code, node.lasti = frame.f_code, frame.f_lasti
        for position, tensor in enumerate(tensors):
            tensor._grad_node, tensor._position, tensor._stop_gradient = node, position, False
        return returned

    return wrapper
