"""Layer 3 of operations that write into an input, and of writers in general.

    AMP -> promotion -> refusals -> layer 4 into the memory of x -> version -> GradNode -> base of a view

Every refusal comes before the write.
"""

from typing import Any

import numpy as np

from wherry.autograd.ad_func import add_input, dense_of, needs_node, observed, pack, prepared, wanted_by
from wherry.autograd.history import attach_view, is_leaf, new_tensor, rebase_history, requires_grad
from wherry.autograd.structures import GeneralGradNode, TensorBase, TensorWrapper
from wherry.autograd.type_promotion import cast_to, category
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor, overlaps_itself
from wherry.core.errors import PermissionDeniedError, explained
from wherry.core.meta import Meta
from wherry.core.state import STATE, is_grad_enabled, observers, saved_tensors_hooks
from wherry.dispatch.bind import bind
from wherry.dispatch.library import metas_of, plain_attributes, raw, shares_memory, write_into
from wherry.dispatch.op_def import OpDef


def refuse_write(name: str, tensor: TensorBase, recorded: bool) -> None:
    """Raise where writing to the tensor now would be wrong; `recorded`: whether the write is part of the graph."""
    if recorded and requires_grad(tensor) and is_leaf(tensor):
        raise PermissionDeniedError(
            f"{name}: expected a tensor that is not a leaf, received a leaf Tensor {tensor.impl.meta} with stop_gradient=False: "
            "its gradient is taken at the value it has, so it can't use an inplace strategy.\n"
            "Put the change inside `with paddle.no_grad():`, or change a copy (x = x.clone())."
        )
    view = tensor._view
    if recorded and view is not None and requires_grad(view.base) and is_leaf(view.base):
        raise PermissionDeniedError(
            f"{name}: expected a tensor that is no view of a leaf, received a view of a leaf Tensor {view.base.impl.meta} with "
            "stop_gradient=False, which shares its memory.\n"
            "Put the change inside `with paddle.no_grad():`, or make the view of a copy (x.clone())."
        )
    if overlaps_itself(tensor.impl.array):
        raise PermissionDeniedError(
            f"{name}: expected a tensor whose elements lie at different places, received {tensor.impl.meta} of which several "
            "elements share memory (made by expand or broadcast_to): each write would change all of them.\n"
            "Write to a copy: x = x.clone()."
        )
    if not tensor.impl.array.flags.writeable:
        raise PermissionDeniedError(
            f"{name}: expected memory that may be written, received {tensor.impl.meta} over a read-only array. Use x.clone()."
        )


def note_write(tensor: TensorBase, name: str) -> None:
    """Count a write to the tensor's memory, with the user's line."""
    frame = where.user_frame()
    tensor.impl.ensure_storage().bump(name, frame.f_code, frame.f_lasti)
    if STATE.observers != 0:
        for observer in observers():
            observer.written(tensor, name)


def ad_func_inplace(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """Run an operation that writes its result into an input; returns that tensor (or those)."""
    try:
        if not op.bound:
            bind(op)
        if STATE.observers != 0:
            return observed(run_writer if op.name.endswith("_") else run_twin, op, inputs, attrs, True)
        if op.name.endswith("_"):
            return run_writer(op, inputs, attrs)
        return run_twin(op, inputs, attrs)
    except Exception as error:
        raise explained(error, op, inputs, op.name if op.name.endswith("_") else op.name + "_")


def run_writer(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """An entry such as adam_: the kernel itself changes the arrays of the in-place inputs."""
    targets = [inputs[pair[0]] for pair in op.inplace]
    recorded = is_grad_enabled()
    for target in targets:
        for tensor in target if isinstance(target, list) else [target]:
            if isinstance(tensor, TensorBase):
                refuse_write(op.name, tensor, recorded)
    raw(op, tuple([dense_of(v) for v in inputs]), attrs)
    for target in targets:
        for tensor in target if isinstance(target, list) else [target]:
            if isinstance(tensor, TensorBase):
                note_write(tensor, op.name)
    return targets[0] if len(targets) == 1 else tuple(targets)


def run_twin(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """The in-place twin of an ordinary operation."""
    position = op.inplace[0][0]
    target = inputs[position]
    if not isinstance(target, TensorBase):
        raise TypeError(f"expected a Tensor to write to for {op.inputs[position]!r}, received {type(target).__name__}")
    name = op.name + "_"
    inputs = meeting(op, inputs, position)
    recorded = is_grad_enabled() and op.has_grad
    needs = [recorded and op.rules[i] is not None and needs_node(v) for i, v in enumerate(inputs)]
    refuse_write(name, target, is_grad_enabled() and (True in needs or requires_grad(target)))
    attrs = plain_attributes(op, attrs)
    values = [dense_of(v) for v in inputs]
    meta = inferred(op, values, attrs)
    impl = target.impl
    if op.view and op.view[0][0] == position:
        return run_view_twin(op, target, inputs, attrs, True in needs, name)
    if op.name == "cast":
        return run_cast_twin(op, target, inputs, attrs, True in needs, name)
    if meta.shape != impl.meta.shape:
        raise ValueError(
            f"expected a result of shape {list(impl.meta.shape)} to write into x, received {list(meta.shape)}; "
            f"use {op.name} (without the underscore)"
        )
    if meta.dtype is not impl.meta.dtype and category(meta.dtype) > category(impl.meta.dtype):
        raise TypeError(
            f"expected a result of dtype {impl.meta.dtype.name} to write into x, received {meta.dtype.name}; "
            f"use {op.name} (without the underscore)"
        )
    node: GeneralGradNode | None = None
    if True in needs:
        node = node_before_write(op, inputs, attrs, needs, position)
    write_into(op, values, attrs, impl, meta)
    note_write(target, name)
    if node is not None:
        tie_after_write(op, node, target)
    return target


def meeting(op: OpDef, inputs: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    """The inputs after AMP and promotion; whatever meets the written tensor meets it in its dtype where that loses no category."""
    target = inputs[position]
    if op.promote:
        dtype = target.impl.meta.dtype
        changed: list[Any] = []
        for i, value in enumerate(inputs):
            if i == position or not isinstance(value, TensorBase) or op.inputs[i] == "condition":
                changed.append(value)
                continue
            other = value.impl.meta.dtype
            if category(other) > category(dtype):
                raise TypeError(
                    f"expected an operand that fits the dtype {dtype.name} of the tensor written to, received {other.name}; "
                    f"use {op.name} (without the underscore), or cast the operand first"
                )
            changed.append(cast_to(value, dtype))
        return tuple(changed)
    return prepared(op, inputs)


def inferred(op: OpDef, values: list[Any], attrs: tuple[Any, ...]) -> Meta:
    """InferMeta of the first output, before anything is written."""
    arguments: list[Any] = [metas_of(v) for v in values] + list(attrs)
    if op.infer_order:
        arguments = [arguments[i] for i in op.infer_order]
    metas = op.infer(*arguments)
    return metas if isinstance(metas, Meta) else metas[op.inplace[0][1]]


def node_before_write(
    op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...], needs: list[bool], position: int
) -> GeneralGradNode:
    """The node, with a copy of the written tensor's old value where a rule needs it."""
    node = GeneralGradNode(op, attrs)
    wants_inputs, wants_outputs = wanted_by(op, needs)
    target = inputs[position]
    for i, value in enumerate(inputs):
        add_input(node, op, i, value, wants_inputs[i], op.rules[i] is not None)
        saved = node.saved_inputs[i]
        if isinstance(saved, TensorWrapper) and saved.dense is not None and aliases(saved.dense, target.impl):
            keep_copy(node, i)
    hooks = saved_tensors_hooks()
    if hooks is not None:
        for wrapper in node.saved():
            pack(wrapper, hooks)
    frame = where.user_frame()
    node.code = frame.f_code
    node.lasti = frame.f_lasti
    node.saved_outputs = [wanted for wanted in wants_outputs]
    return node


def aliases(saved: DenseTensor, written: DenseTensor) -> bool:
    """Whether a write to one changes the other, or counts as its change (an array without elements has no memory to share)."""
    if saved is written or (saved.storage is not None and saved.storage is written.storage):
        return True
    return bool(np.may_share_memory(saved.array, written.array))


def keep_copy(node: GeneralGradNode, i: int) -> None:
    """Replace a saved input by a copy of its present value."""
    saved = node.saved_inputs[i]
    copy = DenseTensor(np.array(saved.dense.array), saved.meta)
    node.saved_inputs[i] = TensorWrapper(copy, saved.meta, saved.grad_node, saved.position, False, saved.name)


def tie_after_write(op: OpDef, node: GeneralGradNode, target: TensorBase) -> None:
    """Make the written tensor the node's output, and its base's history follow where it is a view."""
    wanted = node.saved_outputs[op.inplace[0][1]]
    node.saved_outputs = []
    node.out_metas = [target.impl.meta]
    node.out_sizes = [-1]
    for i in range(len(op.outputs)):
        if i == op.inplace[0][1] and wanted:
            node.saved_outputs.append(TensorWrapper(target.impl, target.impl.meta, None, 0, True, op.outputs[i]))
        else:
            node.saved_outputs.append(None)
    target._grad_node = node
    target._position = 0
    target._stop_gradient = False
    view = target._view
    if view is not None:
        rebase_history(target, view)


def run_view_twin(
    op: OpDef, target: TensorBase, inputs: tuple[Any, ...], attrs: tuple[Any, ...], needs: bool, name: str
) -> TensorBase:
    """reshape_ and its like: the tensor gets another view of its own memory."""
    impl = target.impl
    out = raw(op, tuple([dense_of(v) for v in inputs]), attrs)
    if out.storage is not impl.storage or not same_order(out.array, impl.array):
        # Strides did not allow a view, or other views could not be reached from the new shape: it moves to memory of its own.
        out = DenseTensor(np.array(out.array), out.meta)
    if needs:
        node = node_before_write(op, inputs, attrs, [needs], 0)
        target.impl = out
        note_write(target, name)
        tie_view_twin(op, node, target, attrs)
    else:
        source = alias_of(target, impl)
        target.impl = out
        note_write(target, name)
        if out.storage is impl.storage and is_grad_enabled():
            target._view = None
            attach_view(target, source, op, attrs, 0)
    return target


def same_order(array: Any, before: Any) -> bool:
    """Whether a reshape of `array` gives `before` back, element by element in the same memory."""
    if array.size != before.size:
        return False
    back = array.reshape(before.shape)
    return bool(back.strides == before.strides) and shares_memory(back, before)


def alias_of(target: TensorBase, impl: DenseTensor) -> TensorBase:
    """Another Tensor with the history and view that `target` has."""
    source = new_tensor(impl)
    source._grad_node = target._grad_node
    source._position = target._position
    source._stop_gradient = target._stop_gradient
    source._view = target._view
    return source


def tie_view_twin(op: OpDef, node: GeneralGradNode, target: TensorBase, attrs: tuple[Any, ...]) -> None:
    """A shape-changing twin: the node's output is the reshaped tensor; a view of a base stays one, by a longer way."""
    node.out_metas = [target.impl.meta]
    node.out_sizes = [-1]
    node.saved_outputs = [None] * len(op.outputs)
    view = target._view
    if view is not None:
        source = alias_of(target, target.impl)
        target._view = None
        attach_view(target, source, op, attrs, 0)
    target._grad_node = node
    target._position = 0
    target._stop_gradient = False


def run_cast_twin(
    op: OpDef, target: TensorBase, inputs: tuple[Any, ...], attrs: tuple[Any, ...], needs: bool, name: str
) -> TensorBase:
    """cast_: the tensor moves to memory of the new dtype."""
    out = raw(op, tuple([dense_of(v) for v in inputs]), attrs)
    if needs:
        node = node_before_write(op, inputs, attrs, [needs], 0)
        target.impl = DenseTensor(out.array, out.meta)
        node.out_metas = [out.meta]
        node.out_sizes = [-1]
        node.saved_outputs = [None]
        target._view = None
        target._grad_node = node
        target._position = 0
        target._stop_gradient = not out.meta.dtype.is_differentiable
    else:
        target.impl = DenseTensor(out.array, out.meta)
        target._view = None
    return target


def write_value(target: TensorBase, array: Any, name: str) -> None:
    """Overwrite a tensor's memory with an array that broadcasts to it; not recorded. Raises ValueError for a shape that does not."""
    try:
        value = np.broadcast_to(array, target.impl.meta.shape)
    except ValueError:
        raise ValueError(
            f"{name}: expected a value that broadcasts to the shape {list(target.impl.meta.shape)}, received shape {list(array.shape)}"
        ) from None
    refuse_write(name, target, False)
    target.impl.array[...] = value
    note_write(target, name)
