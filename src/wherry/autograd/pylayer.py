"""PyLayer: an operation whose forward and backward the user writes in Python."""

import functools
from collections.abc import Iterator
from typing import Any

from wherry.autograd.ad_func import pack
from wherry.autograd.compute import with_history
from wherry.autograd.history import REGISTRY, attach_view, grad_node_of, new_tensor, rebase_history
from wherry.autograd.inplace import refuse_recording
from wherry.autograd.modes import no_grad_
from wherry.autograd.pylayer_node import OnceDifferentiableNode, PyLayerNode
from wherry.autograd.structures import GradNodeBase, TensorBase, TensorWrapper
from wherry.core import where
from wherry.core.meta import Meta
from wherry.core.state import is_grad_enabled, observers, saved_tensors_hooks
from wherry.dispatch.bind import bind


class PyLayerContext:
    """What a PyLayer's forward passes on to its backward. Source: paddle.autograd.PyLayerContext."""

    def __init__(self) -> None:
        # What save_for_backward was given; None before it was called. Lists in it are the user's own.
        self._saved: tuple[Any, ...] | None = None
        # The same with a TensorWrapper for each tensor, once forward is over and was recorded.
        self._wrappers: tuple[Any, ...] | None = None
        self._released = False
        # The node, as often as its backward is running now.
        self._running: list[Any] = []
        self._place: tuple[Any, Any, int] = (PyLayer, None, 0)
        self._non_differentiable: tuple[Any, ...] = ()
        self._not_inplace: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.grad_in_dtype_consistent = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward; whatever else is given comes back as it is. To be called in forward; the last call counts.

        Raises RuntimeError after forward.
        """
        if self._wrappers is not None or self._released:
            raise RuntimeError(
                f"{self._place[0].__qualname__}: save_for_backward belongs in forward, and was called after it; "
                "keep what backward finds out as an attribute of ctx"
            )
        self._saved = tensors

    def saved_tensor(self) -> Any:
        """The tensors that forward saved, as they were; None where it saved nothing.

        Raises RuntimeError where one was changed in place since, and after backward without retain_graph, which frees them.
        """
        wrappers = self._wrappers
        if self._released:
            layer, code, lasti = self._place
            raise RuntimeError(
                f"{layer.__qualname__}: what forward saved was freed after backward.\n  recorded at {where.describe(code, lasti)}\n"
                "Pass retain_graph=True to the first backward() or grad(), or run the forward computation again."
            )
        if wrappers is None or self._saved is None:
            return self._saved
        owner = self._running[-1] if self._running else self._owner()
        # No generator: it would turn a StopIteration of an unpack hook into something else.
        return tuple([self._recovered(w, owner) for w in wrappers])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The same as saved_tensor(), empty where nothing was saved."""
        saved = self.saved_tensor()
        return () if saved is None else tuple(saved)

    def _owner(self) -> PyLayerNode:
        """What stands for the node outside of backward: it names the layer and the user's line."""
        layer, code, lasti = self._place
        node = PyLayerNode(layer, self, [], True)
        node.code, node.lasti = code, lasti
        return node

    def _recovered(self, saved: Any, owner: PyLayerNode) -> Any:
        if isinstance(saved, (list, tuple)):
            return rebuilt(saved, [self._recovered(s, owner) for s in saved])
        if not isinstance(saved, TensorWrapper):
            return saved
        dense = saved.recover(owner)
        node = saved.grad_node
        if saved.is_output:
            node = self._running[-1] if self._running else None
        return with_history(dense, node, saved.position)

    def _release(self) -> None:
        self._released = True
        self._wrappers = self._saved = ()

    def _saved_wrappers(self) -> list[TensorWrapper]:
        return wrappers_in(self._wrappers)

    def mark_not_inplace(self, *tensors: Any) -> None:
        """Say that these inputs, returned by forward, count as not changed by it, whatever was written to them.

        Raises TypeError for something else than a tensor or None.
        """
        self._not_inplace = only_tensors(tensors, "mark_not_inplace")

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs carry no gradient. Raises TypeError for something else than a tensor or None."""
        self._non_differentiable = only_tensors(tensors, "mark_non_differentiable")

    def set_materialize_grads(self, value: bool) -> None:
        """True (the default): backward gets zeros for outputs that no gradient reached; False: None. Raises TypeError for anything else."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads: expected True or False, received {type(value).__name__}")
        self.materialize_grads = value

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Whether the gradients that backward gets have the dtypes of forward's outputs; here they have them either way.

        Raises TypeError for anything but True and False.
        """
        if not isinstance(flag, bool):
            raise TypeError(f"set_grad_in_dtype_consistent: expected True or False, received {type(flag).__name__}")
        self.grad_in_dtype_consistent = flag


def only_tensors(values: tuple[Any, ...], function: str) -> tuple[Any, ...]:
    """The values without None; raises TypeError for one that is no Tensor."""
    for i, value in enumerate(values):
        if value is not None and not isinstance(value, TensorBase):
            raise TypeError(f"{function}: expected Tensors or None, received {type(value).__name__} at position {i}")
    return tuple(v for v in values if v is not None)


class PyLayer:
    """Base class of user-defined operations: static methods `forward(ctx, *args, **kwargs)` and `backward(ctx, *grads)`.

    forward runs unrecorded; backward gets a gradient for each tensor that forward returned and returns one (or None) for each tensor that
    it took. `apply` calls it. Source: paddle.autograd.PyLayer.
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("PyLayer: a subclass needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("PyLayer: a subclass needs a static method backward(ctx, *grads)")

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
        returned = run_forward(cls, context, args, kwargs)
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if not tensor_slots(outputs):
            found = ", ".join(type(o).__name__ for o in outputs)
            raise ValueError(
                f"{cls.__qualname__}.forward: expected at least one Tensor, or a list of them, among its results, received {found or 'none'}"
            )
        if not (is_grad_enabled() and any(n is not None for n in nodes)):
            return returned
        sizes = [len(s) if isinstance(s, list) else -1 for s in slots]
        node = PyLayerNode(cls, context, sizes, cls.backward is not PyLayer.backward)
        for tensor, edge in zip(inputs, nodes):
            node.nodes.append(edge)
            node.positions.append(tensor._position)
            node.metas.append(tensor.impl.meta)
        frame = where.user_frame()
        node.code, node.lasti = frame.f_code, frame.f_lasti
        context._place = (cls, frame.f_code, frame.f_lasti)
        written = [
            t
            for t, version in zip(inputs, versions)
            if t.impl.inplace_version != version and not any(t is m for m in context._not_inplace)
        ]
        tied = tie_outputs(node, outputs, Forward(inputs, written, context))
        context._wrappers = wrapped(node, context, inputs, nodes)
        return rebuilt(returned, tied) if isinstance(returned, (tuple, list)) else tied[0]


def run_forward(layer: Any, context: PyLayerContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The user's forward, unrecorded."""
    if layer.forward is PyLayer.forward:
        raise NotImplementedError(f"{layer.__qualname__} has no static method forward(ctx, ...)")
    with no_grad_():
        try:
            return layer.forward(context, *args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:
                # It was not entered.
                code = where.definition(layer.forward)[1]
                at = "" if code is None else f"; it is defined at {where.describe(code, 0)}"
                error.add_note(
                    f"{layer.__qualname__}.forward is called with the context and the arguments of apply (a static method){at}"
                )
            raise


def tensor_slots(values: Any) -> list[Any]:
    """The Tensors among values, and for each list or tuple that has some a list of them; everything else is the user's own affair."""
    slots: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            slots.append(value)
        elif isinstance(value, (list, tuple)):
            tensors = [v for v in value if isinstance(v, TensorBase)]
            if tensors:
                slots.append(tensors)
    return slots


def rebuilt(like: Any, values: list[Any]) -> Any:
    """A list, tuple or named tuple of the same kind over other values."""
    kind = type(like)
    if kind is list or kind is tuple:
        return kind(values)
    make = getattr(kind, "_make", None)
    try:
        return kind(values) if make is None else make(values)
    except TypeError:
        return values if isinstance(like, list) else tuple(values)


class Forward:
    """What a call of forward had: its tensor inputs, which of them it changed in place, and its context."""

    def __init__(self, inputs: list[TensorBase], written: list[TensorBase], context: PyLayerContext) -> None:
        self.inputs = inputs
        self.written = written
        self.context = context


def tie_outputs(node: PyLayerNode, outputs: list[Any], forward: Forward) -> list[Any]:
    """Make the tensors that forward returned, those in its lists included, the node's outputs."""
    tied: list[Any] = []
    for output in outputs:
        if isinstance(output, TensorBase):
            node.out_sizes.append(-1)
            tied.append(tie_output(node, output, forward))
        elif tensor_slots([output]):
            node.out_sizes.append(sum(isinstance(o, TensorBase) for o in output))
            items = [tie_output(node, o, forward) if isinstance(o, TensorBase) else o for o in output]
            tied.append(rebuilt(output, items))
        else:
            tied.append(output)
    return tied


def tie_output(node: PyLayerNode, output: TensorBase, forward: Forward) -> TensorBase:
    """Make a tensor the node's next output: itself where forward made it or wrote to it, otherwise an alias of it."""
    differentiable = output.impl.meta.dtype.is_differentiable and not any(
        output is m for m in forward.context._non_differentiable
    )
    tensor = output
    if any(output is t for t in forward.written):
        if differentiable:
            refuse_recording(f"{node.op_name()}.forward (in-place)", output)
    elif any(output is t for t in forward.inputs):
        # An input that was returned unchanged.
        tensor = new_tensor(output.impl.alias(output.impl.array, output.impl.meta))
        whole = REGISTRY.ops["reshape"]
        bind(whole)
        attach_view(tensor, output, whole, (output.impl.meta.shape,), 0)
    elif is_foreign(output, node):
        tensor = new_tensor(output.impl.alias(output.impl.array, output.impl.meta))
    position = len(node.out_metas)
    node.out_metas.append(tensor.impl.meta)
    if differentiable:
        tensor._grad_node = node
        tensor._position = position
        tensor._stop_gradient = False
        if tensor is output and tensor._view is not None and any(output is t for t in forward.written):
            rebase_history(tensor, tensor._view)
    else:
        tensor._stop_gradient = True
    return tensor


def is_foreign(output: TensorBase, node: PyLayerNode) -> bool:
    """Whether a tensor that is no input was not made by this forward: it has a history, or is a parameter or buffer."""
    if output._grad_node is node:
        return False
    state = output._state
    return not output._stop_gradient or output._grad_node is not None or (state is not None and state.persistable)


def wrapped(node: PyLayerNode, context: PyLayerContext, inputs: list[TensorBase], nodes: list[Any]) -> tuple[Any, ...]:
    """What was saved with a TensorWrapper for each tensor, so that a saved output does not tie a knot."""
    if context._saved is None:
        return ()
    saved, context._saved = context._saved, ()
    return tuple([wrapped_value(v, f"saved_tensor()[{k}]", node, inputs, nodes) for k, v in enumerate(saved)])


def wrapped_value(value: Any, name: str, node: PyLayerNode, inputs: list[TensorBase], nodes: list[Any]) -> Any:
    """A TensorWrapper for a tensor, the same for those in a list; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [wrapped_value(v, f"{name}[{k}]", node, inputs, nodes) for k, v in enumerate(value)])
    if not isinstance(value, TensorBase):
        return value
    index = next((i for i, t in enumerate(inputs) if t is value), -1)
    is_output = value._grad_node is node
    edge = None if is_output else nodes[index] if index >= 0 else grad_node_of(value)
    wrapper = TensorWrapper(value.impl, value.impl.meta, edge, value._position, is_output, name)
    hooks = saved_tensors_hooks()
    if hooks is not None:
        pack(wrapper, hooks)
    return wrapper


def wrappers_in(values: Any) -> list[TensorWrapper]:
    """The TensorWrappers among what a context keeps, those in lists included."""
    found: list[TensorWrapper] = []
    for value in values or ():
        if isinstance(value, TensorWrapper):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += wrappers_in(value)
    return found


def once_differentiable(backward: Any) -> Any:
    """Mark a PyLayer's backward as not differentiable itself: it runs unrecorded, and a second derivative through it raises RuntimeError.

    backward: the function below @staticmethod. Source: paddle.autograd.py_layer.once_differentiable.
    """

    @functools.wraps(backward)
    def wrapper(ctx: PyLayerContext, *grads: Any) -> Any:
        recorded = is_grad_enabled()
        with no_grad_():
            returned = backward(ctx, *grads)
        sources = differentiable_sources(ctx, grads) if recorded else []
        if not sources:
            return returned
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        metas = [t.impl.meta for slot in tensor_slots(values) for t in (slot if isinstance(slot, list) else [slot])]
        node = OnceDifferentiableNode(backward.__qualname__, sources, metas)
        frame = where.user_frame()
        node.code, node.lasti = frame.f_code, frame.f_lasti
        return with_node(returned, node, iter(range(len(metas))))

    return wrapper


def with_node(value: Any, node: OnceDifferentiableNode, positions: Iterator[int]) -> Any:
    """Tensors over the same memory that are the next outputs of a node, in the same structure."""
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [with_node(v, node, positions) for v in value])
    return with_history(value.impl, node, next(positions)) if isinstance(value, TensorBase) else value


def differentiable_sources(context: PyLayerContext, grads: tuple[Any, ...]) -> list[tuple[GradNodeBase, int, Meta]]:
    """Where the derivative of what a backward returned would go: to its gradients and saved tensors that need one."""
    sources: list[tuple[GradNodeBase, int, Meta]] = []
    for slot in tensor_slots(grads):
        for tensor in slot if isinstance(slot, list) else [slot]:
            edge = grad_node_of(tensor)
            if edge is not None:
                sources.append((edge, tensor._position, tensor.impl.meta))
    for saved in wrappers_in(context._wrappers):
        edge = context._running[-1] if saved.is_output and context._running else saved.grad_node
        if edge is not None:
            sources.append((edge, saved.position, saved.meta))
    return sources
