"""Layer 3, the autograd function of every operation.

    AMP -> type promotion -> require-grad? -> layer 4 -> outputs -> GradNode: saved tensors, out meta, history, in meta

`ad_func` is the whole way; `ad_func1` and `ad_func2` are the same for one and two plain tensors, and hand over to it whenever
anything special is on.
"""

from typing import Any

from wherry.autograd.amp import amp_cast
from wherry.autograd.history import attach_view, grad_node_of, new_tensor
from wherry.autograd.structures import GeneralGradNode, GradNode, GradNodeBase, TensorBase, TensorWrapper
from wherry.autograd.type_promotion import promote
from wherry.core.dense_tensor import DenseTensor
from wherry.core.errors import explained
from wherry.core.state import STATE, amp_state, is_grad_enabled, observers, saved_tensors_hooks
from wherry.core.where import user_frame
from wherry.dispatch import op_def as od
from wherry.dispatch.bind import bind
from wherry.dispatch.library import run, run1, run2
from wherry.dispatch.op_def import OpDef, Rule


def ad_func1(op: OpDef, x: TensorBase, attrs: tuple[Any, ...]) -> Any:
    """An operation of one tensor and one output."""
    if not op.bound:
        bind(op)
    if STATE.special != 0 or not op.fast:
        return ad_func(op, (x,), attrs)
    try:
        out = new_tensor(run1(op, x.impl, attrs))
    except Exception as error:
        raise explained(error, op, (x,))
    if op.has_grad and out.impl.meta.dtype.is_differentiable:
        node = grad_node_of(x)
        if node is not None and is_grad_enabled():
            if op.joint_rule is None:
                record1(op, x, node, out, attrs)
            else:
                record(op, (x,), attrs, (out,))
    if op.is_view and out.impl.storage is not None:
        attach_view(out, x, op, attrs, 0)
    return out


def record1(op: OpDef, x: TensorBase, next_node: GradNodeBase, out: TensorBase, attrs: tuple[Any, ...]) -> None:
    """The node of a call with one plain tensor that needs a gradient and one output."""
    rule = op.rules[0]
    if rule is None:
        return
    impl = x.impl
    node = GradNode(op, attrs, out.impl.meta)
    node.next0 = next_node
    node.position0 = x._position
    node.meta0 = impl.meta
    for kind in rule.kinds:
        if kind == od.WANTS_INPUT:
            node.saved0 = impl
            node.version0 = impl.inplace_version
        elif kind == od.WANTS_OUTPUT:
            node.saved_out = out.impl
            node.version_out = out.impl.inplace_version
    finish(node, out)


def finish(node: GradNodeBase, out: TensorBase) -> None:
    """Provenance, and the output's tie to its node."""
    frame = user_frame()
    node.code = frame.f_code
    node.lasti = frame.f_lasti
    out._grad_node = node
    out._position = 0
    out._stop_gradient = False


def ad_func2(op: OpDef, x: TensorBase, y: TensorBase, attrs: tuple[Any, ...]) -> Any:
    """An operation of two tensors and one output."""
    if not op.bound:
        bind(op)
    x_impl = x.impl
    y_impl = y.impl
    if STATE.special != 0 or not op.fast or (op.promote and x_impl.meta.dtype is not y_impl.meta.dtype):
        return ad_func(op, (x, y), attrs)
    try:
        out = new_tensor(run2(op, x_impl, y_impl, attrs))
    except Exception as error:
        raise explained(error, op, (x, y))
    if op.has_grad and out.impl.meta.dtype.is_differentiable:
        x_node = grad_node_of(x)
        y_node = grad_node_of(y)
        if (x_node is not None or y_node is not None) and is_grad_enabled():
            if op.joint_rule is None:
                record2(op, x_impl, y_impl, x_node, x._position, y_node, y._position, out, attrs)
            else:
                record(op, (x, y), attrs, (out,))
    if op.is_view and out.impl.storage is not None:
        attach_view(out, x, op, attrs, 0)
    return out


def ad_func_number(op: OpDef, x: TensorBase, number: DenseTensor, reflected: bool) -> Any:
    """x op number (number op x where reflected); the number is a 0-D array of x's dtype and needs no Tensor."""
    if not op.bound:
        bind(op)
    if STATE.special != 0 or not op.fast or op.joint_rule is not None:
        y = new_tensor(number)
        return ad_func(op, (y, x), ()) if reflected else ad_func(op, (x, y), ())
    impl = x.impl
    try:
        out = new_tensor(run2(op, number, impl, ()) if reflected else run2(op, impl, number, ()))
    except Exception as error:
        raise explained(error, op, (x, number))
    if op.has_grad and out.impl.meta.dtype.is_differentiable:
        node = grad_node_of(x)
        if node is not None and is_grad_enabled():
            if reflected:
                record2(op, number, impl, None, 0, node, x._position, out, ())
            else:
                record2(op, impl, number, node, x._position, None, 0, out, ())
    return out


def record2(
    op: OpDef,
    x: DenseTensor,
    y: DenseTensor,
    x_node: GradNodeBase | None,
    x_position: int,
    y_node: GradNodeBase | None,
    y_position: int,
    out: TensorBase,
    attrs: tuple[Any, ...],
) -> None:
    """The node of a call with two plain tensors, of which one or both need a gradient, and one output."""
    rules = op.rules
    node = GradNode(op, attrs, out.impl.meta)
    node.meta0 = x.meta
    node.meta1 = y.meta
    useful = False
    if x_node is not None:
        rule = rules[0]
        if rule is not None:
            useful = True
            node.next0 = x_node
            node.position0 = x_position
            save2(node, rule, x, y, out.impl)
    if y_node is not None:
        rule = rules[1]
        if rule is not None:
            useful = True
            node.next1 = y_node
            node.position1 = y_position
            save2(node, rule, x, y, out.impl)
    if useful:
        finish(node, out)


def save2(node: GradNode, rule: Rule, x: DenseTensor, y: DenseTensor, out: DenseTensor) -> None:
    """Keep what a rule's parameters name."""
    for i in range(rule.count):
        kind = rule.kinds[i]
        if kind == od.WANTS_INPUT:
            if rule.positions[i] == 0:
                node.saved0 = x
                node.version0 = x.inplace_version
            else:
                node.saved1 = y
                node.version1 = y.inplace_version
        elif kind == od.WANTS_OUTPUT:
            node.saved_out = out
            node.version_out = out.inplace_version


def dense_of(value: Any) -> Any:
    """The DenseTensor of a Tensor, a list for a list, None for None."""
    if isinstance(value, TensorBase):
        return value.impl
    return None if value is None else [v.impl for v in value]


def needs_node(value: Any) -> bool:
    """Whether a tensor, or any tensor of a list, needs a gradient."""
    if isinstance(value, TensorBase):
        return grad_node_of(value) is not None
    if value is None:
        return False
    return any(grad_node_of(v) is not None for v in value)


def prepared(op: OpDef, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The AMP and promotion phases: the inputs with the (recorded) casts they call for."""
    amp = amp_state()
    if amp is not None:
        inputs = amp_cast(op, inputs, amp)
    if op.promote:
        inputs = promote(op, inputs)
    return inputs


def ad_func(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> Any:
    """Any operation: inputs are Tensors, lists of Tensors or None, attributes are canonical."""
    if not op.bound:
        bind(op)
    outputs = (
        all_outputs(op, inputs, attrs) if STATE.observers == 0 else observed(all_outputs, op, inputs, attrs, False)
    )
    if len(outputs) == 1:
        return outputs[0]
    returned = [outputs[i] for i in op.returned]
    return returned[0] if len(returned) == 1 else tuple(returned)


def observed(function: Any, op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> Any:
    """function(op, inputs, attrs), and the thread's observers told of it."""
    watching = observers()
    for observer in watching:
        observer.call_started(op, inputs, attrs, inplace)
    try:
        outputs = function(op, inputs, attrs)
    except BaseException as error:
        for observer in watching:
            observer.call_failed(op, error)
        raise
    for observer in watching:
        observer.call_finished(op, outputs if isinstance(outputs, tuple) else (outputs,))
    return outputs


def all_outputs(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The phases of layer 3; returns every output of the entry, those included that the caller does not get."""
    try:
        # AMP, type promotion.
        inputs = prepared(op, inputs)
        if STATE.observers != 0:
            for observer in observers():
                observer.call_prepared(op, inputs)
        # Layer 4.
        result = run(op, [dense_of(v) for v in inputs], attrs)
    except Exception as error:
        raise explained(error, op, inputs)
    # Outputs.
    outputs = tuple([tensors_of(r) for r in result]) if isinstance(result, tuple) else (tensors_of(result),)
    # Require-grad decision, GradNode.
    if op.has_grad and is_grad_enabled():
        wanted = False
        for i, value in enumerate(inputs):
            if op.rules[i] is not None and needs_node(value):
                wanted = True
        if wanted and any(differentiable(o) for o in outputs):
            record(op, inputs, attrs, outputs)
    if op.view:
        tie_views(op, inputs, attrs, outputs)
    return outputs


def tensors_of(value: Any) -> Any:
    """Tensors for DenseTensors."""
    if isinstance(value, DenseTensor):
        return new_tensor(value)
    return None if value is None else [new_tensor(v) for v in value]


def differentiable(output: Any) -> bool:
    """Whether an output can carry a gradient."""
    if isinstance(output, TensorBase):
        return output.impl.meta.dtype.is_differentiable
    return output is not None and any(o.impl.meta.dtype.is_differentiable for o in output)


def record(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """The general node, which fits any call."""
    general = GeneralGradNode(op, attrs)
    needs = [op.rules[i] is not None and needs_node(v) for i, v in enumerate(inputs)]
    wants_inputs, wants_outputs = wanted_by(op, needs)
    for i, value in enumerate(inputs):
        add_input(general, op, i, value, wants_inputs[i], op.rules[i] is not None)
    add_outputs(general, op, outputs, wants_outputs)
    hooks = saved_tensors_hooks()
    if hooks is not None:
        for wrapper in general.saved():
            pack(wrapper, hooks)
    frame = user_frame()
    general.code = frame.f_code
    general.lasti = frame.f_lasti


def pack(wrapper: TensorWrapper, hooks: Any) -> None:
    """Hand a saved value to the pack hook and keep what it returns instead."""
    if wrapper.dense is None:
        return
    value = new_tensor(wrapper.dense)
    wrapper.storage = wrapper.dense.ensure_storage()
    wrapper.packed = hooks[0](value)
    wrapper.unpack_hook = hooks[1]
    wrapper.dense = None


def wanted_by(op: OpDef, needs: list[bool]) -> tuple[list[bool], list[bool]]:
    """Which inputs and outputs the rules of the inputs that need a gradient name."""
    inputs = [False] * len(op.inputs)
    outputs = [False] * len(op.outputs)
    for i, need in enumerate(needs):
        rule = op.rules[i]
        if not need or rule is None:
            continue
        for kind, position in zip(rule.kinds, rule.positions):
            if kind == od.WANTS_INPUT:
                inputs[position] = True
            elif kind == od.WANTS_OUTPUT:
                outputs[position] = True
    return inputs, outputs


def add_input(node: GeneralGradNode, op: OpDef, slot: int, value: Any, save: bool, has_rule: bool) -> None:
    """An input's edges, metas, and its wrapper where it is saved."""
    if value is None:
        node.sizes.append(-2)
        node.saved_inputs.append(None)
        return
    if isinstance(value, TensorBase):
        node.sizes.append(-1)
        tensors = [value]
    else:
        node.sizes.append(len(value))
        tensors = list(value)
    wrappers: list[TensorWrapper] = []
    for tensor in tensors:
        next_node = grad_node_of(tensor) if has_rule else None
        node.nodes.append(next_node)
        node.positions.append(tensor._position)
        node.metas.append(tensor.impl.meta)
        if save:
            edge = next_node if has_rule else grad_node_of(tensor)
            wrappers.append(
                TensorWrapper(tensor.impl, tensor.impl.meta, edge, tensor._position, False, op.inputs[slot])
            )
    if not save:
        node.saved_inputs.append(None)
    elif isinstance(value, TensorBase):
        node.saved_inputs.append(wrappers[0])
    else:
        node.saved_inputs.append(wrappers)


def add_outputs(node: GeneralGradNode, op: OpDef, outputs: tuple[Any, ...], wanted: list[bool]) -> None:
    """The outputs' metas and ties, and their wrappers where they are saved."""
    position = 0
    for slot, output in enumerate(outputs):
        if output is None:
            node.out_sizes.append(-2)
            node.saved_outputs.append(None)
            continue
        plain = isinstance(output, TensorBase)
        tensors: list[TensorBase] = [output] if isinstance(output, TensorBase) else list(output)
        node.out_sizes.append(-1 if plain else len(tensors))
        wrappers: list[TensorWrapper] = []
        for tensor in tensors:
            meta = tensor.impl.meta
            node.out_metas.append(meta)
            if meta.dtype.is_differentiable:
                tensor._grad_node = node
                tensor._position = position
                tensor._stop_gradient = False
            if wanted[slot]:
                wrappers.append(TensorWrapper(tensor.impl, meta, None, position, True, op.outputs[slot]))
            position += 1
        node.saved_outputs.append(None if not wanted[slot] else wrappers[0] if plain else wrappers)


def tie_views(op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Note for each view output which tensor it is a view of (a kernel that had to copy made none)."""
    for source_position, output_position in op.view:
        source = inputs[source_position]
        output = outputs[output_position]
        if source is None or output is None:
            continue
        if isinstance(output, TensorBase):
            if output.impl.storage is not None and output.impl.storage is source.impl.storage:
                attach_view(output, source, op, attrs, 0)
        else:
            for i, tensor in enumerate(output):
                if tensor.impl.storage is not None and tensor.impl.storage is source.impl.storage:
                    attach_view(tensor, source, op, attrs, i)
