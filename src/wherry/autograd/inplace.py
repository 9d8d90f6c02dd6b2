"""Layer 3 of operations that write into an input, and of writers in general.

    AMP -> promotion -> refusals -> layer 4 into the memory of x -> version -> GradNode -> base of a view

Every refusal comes before the write.
"""

from typing import Any

import numpy as np

from wherry.autograd.ad_func import add_input, dense_of, needs_node, observed, pack, prepared, wanted_by
from wherry.autograd.history import (
    NO_GRAD_VIEW,
    REGISTRY,
    base_of,
    extend_view,
    is_leaf,
    is_shared,
    leave_views,
    rebase_history,
    requires_grad,
    stand_in_for,
)
from wherry.autograd.structures import GeneralGradNode, TensorBase, TensorWrapper
from wherry.autograd.type_promotion import cast_to, category
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor, overlaps_itself
from wherry.core.errors import PermissionDeniedError, explained
from wherry.core.meta import Meta
from wherry.core.state import STATE, is_grad_enabled, observers, saved_tensors_hooks
from wherry.dispatch.bind import bind
from wherry.dispatch.library import metas_of, plain_attributes, raw, write_into
from wherry.dispatch.op_def import OpDef


def refuse_write(name: str, tensor: TensorBase, recorded: bool) -> None:
    """Raise where writing to the tensor now would be wrong; `recorded`: whether the write is part of the graph."""
    if recorded:
        refuse_recording(name, tensor)
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


def refuse_recording(name: str, tensor: TensorBase) -> None:
    """Raise where the graph has no place for an in-place change of the tensor."""
    if requires_grad(tensor) and is_leaf(tensor):
        raise PermissionDeniedError(
            f"{name}: expected a tensor that is not a leaf, received a leaf Tensor {tensor.impl.meta} with stop_gradient=False: "
            "its gradient is taken at the value it has, so it can't use an inplace strategy.\n"
            "Put the change inside `with paddle.no_grad():`, or change a copy (x = x.clone())."
        )
    view = tensor._view
    if view is None:
        return
    if view is NO_GRAD_VIEW:
        raise PermissionDeniedError(
            f"{name}: expected a tensor whose base is known, received a view {tensor.impl.meta} that was made inside no_grad: the "
            "change would reach its base, whose gradient could not follow it.\n"
            "Make the view outside of no_grad, change it inside of no_grad, or change a copy (x = x.clone())."
        )
    base = base_of(view)
    if requires_grad(base) and is_leaf(base):
        raise PermissionDeniedError(
            f"{name}: expected a tensor that is no view of a leaf, received a view of a leaf Tensor {base.impl.meta} with "
            "stop_gradient=False, which shares its memory.\n"
            "Put the change inside `with paddle.no_grad():`, or make the view of a copy (x.clone())."
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
        raise explained(error, op, inputs, written_as(op))


def written_as(op: OpDef) -> str:
    """What the user calls the writing form of an operation."""
    if op.name.startswith("setitem_"):
        return "setitem"
    return op.name if op.name.endswith("_") else op.name + "_"


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
    name = written_as(op)
    inputs = meeting(op, inputs, position)
    recorded = is_grad_enabled()
    if op.is_view or op.name == "cast":
        if recorded and requires_grad(target):
            refuse_recording(name, target)
        return run_view_twin(op, target, inputs, plain_attributes(op, attrs), name)
    needs = [recorded and op.has_grad and op.rules[i] is not None and needs_node(v) for i, v in enumerate(inputs)]
    refuse_write(name, target, recorded and (True in needs or requires_grad(target)))
    attrs = plain_attributes(op, attrs)
    values = [dense_of(v) for v in inputs]
    meta = inferred(op, values, attrs)
    impl = target.impl
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
    elif recorded and requires_grad(target):
        # Nothing flows through the operation (a comparison, say), so the gradient of the old value is zero, as that of fill is.
        fill = REGISTRY.ops["fill"]
        bind(fill)
        node = node_before_write(fill, (target,), (0.0,), [True], 0)
    write_into(op, values, attrs, impl, meta)
    note_write(target, name)
    if node is not None:
        tie_after_write(node, target)
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


def tie_after_write(node: GeneralGradNode, target: TensorBase) -> None:
    """Make the written tensor the node's output, and its base's history follow where it is a view."""
    op = node.op
    output = op.inplace[0][1]
    wanted = node.saved_outputs
    tie_output(node, target)
    if wanted[output]:
        node.saved_outputs[output] = TensorWrapper(target.impl, target.impl.meta, None, 0, True, op.outputs[output])
    view = target._view
    if view is not None:
        rebase_history(target, view)


def tie_output(node: GeneralGradNode, target: TensorBase) -> None:
    """Make a tensor the one output of a node, of which nothing is saved."""
    node.out_metas = [target.impl.meta]
    node.out_sizes = [-1]
    node.saved_outputs = [None] * len(node.op.outputs)
    target._grad_node = node
    target._position = 0
    target._stop_gradient = False


def run_view_twin(
    op: OpDef, target: TensorBase, inputs: tuple[Any, ...], attrs: tuple[Any, ...], name: str
) -> TensorBase:
    """reshape_, cast_ and their like: the tensor gets another view of its own memory, or memory of its own where that cannot be.

    Values do not change, so the history goes on inside no_grad too. Tensors that share the memory keep what they have.
    """
    impl = target.impl
    shared = target._view is None and is_shared(impl)
    out = raw(op, tuple([dense_of(v) for v in inputs]), attrs)
    same_memory = out.storage is not None and out.storage is impl.storage
    if out.meta.dtype is impl.meta.dtype and op.name == "cast":
        note_write(target, name)
        return target
    node: GeneralGradNode | None = None
    if requires_grad(target) and not is_leaf(target):
        node = node_before_write(op, inputs, attrs, [True], 0)
    stand_in: TensorBase | None = None
    if shared:
        stand_in = stand_in_for(target)
        leave_views(target, stand_in)
    if same_memory:
        target.impl = out
    else:
        target.impl = in_own_memory(out, impl)
        target._view = None
    note_write(target, name)
    if same_memory and not (requires_grad(target) and is_leaf(target)):
        extend_view(target, stand_in, op, attrs)
    if node is not None:
        if out.meta.dtype.is_differentiable:
            tie_output(node, target)
        else:
            target._grad_node = None
            target._stop_gradient = True
    return target


def in_own_memory(out: DenseTensor, before: DenseTensor) -> DenseTensor:
    """A tensor's new value over memory that nobody else has; the count of its writes goes on."""
    fresh = DenseTensor(out.array if out.storage is None else np.array(out.array), out.meta)
    if before.inplace_version != 0:
        fresh.ensure_storage().inplace_version = before.inplace_version
    return fresh


def share_data(target: TensorBase, source: TensorBase) -> None:
    """Give a tensor the memory of another one; history, gradient and stop_gradient stay. Views of it keep the old memory."""
    impl = source.impl
    if impl.meta != target.impl.meta and requires_grad(target) and not is_leaf(target):
        raise ValueError(
            f"data: expected {target.impl.meta}, which the tensor's history is of, received {impl.meta}; detach it first"
        )
    if is_shared(target.impl):
        leave_views(target, stand_in_for(target))
    target._view = None
    target.impl = impl.alias(impl.array, impl.meta)


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
