"""What one node does in backward: recover what was saved, call the rules, fit the results to the inputs."""

from typing import Any, Final

import numpy as np

from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.structures import (
    GeneralGradNode,
    GradNode,
    GradNodeBase,
    TensorBase,
    TensorWrapper,
    changed_in_place,
)
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.dispatch import op_def as od
from wherry.dispatch.bind import bind
from wherry.dispatch.op_def import Rule

_zeros: Final[Any] = np.zeros


def with_history(dense: DenseTensor, node: GradNodeBase | None, position: int) -> TensorBase:
    """A saved value as a Tensor that knows its history again (under create_graph)."""
    tensor = new_tensor(dense)
    if node is not None:
        tensor._grad_node = node
        tensor._position = position
        tensor._stop_gradient = False
    return tensor


def zeros_of(meta: Meta, create_graph: bool) -> Any:
    """A gradient of zeros."""
    dense = DenseTensor(_zeros(meta.shape, meta.dtype.numpy), meta)
    return new_tensor(dense) if create_graph else dense


def meta_of_value(value: Any) -> Meta:
    """The meta of a gradient in either form."""
    if isinstance(value, DenseTensor):
        return value.meta
    if isinstance(value, TensorBase):
        return value.impl.meta
    raise TypeError(f"expected a gradient, received {type(value).__name__}")


def fitted(value: Any, meta: Meta, node: GradNodeBase, create_graph: bool) -> Any:
    """A rule's result as the gradient of its input: same shape (checked), same dtype; a real input keeps the real part."""
    if value is None:
        return None
    found = meta_of_value(value)
    if found is meta:
        return value
    if found.shape != meta.shape:
        raise RuntimeError(
            f"{node.op_name()}: the derivative rule returned a gradient of shape {list(found.shape)} for an input of shape "
            f"{list(meta.shape)}\n  recorded at {node.forward_line()}"
        )
    if found.dtype is not meta.dtype:
        ops = REGISTRY.recorded_ops if create_graph else REGISTRY.raw_ops
        if found.dtype.is_complex and not meta.dtype.is_complex:
            value = ops.real(value)
        if meta_of_value(value).dtype is not meta.dtype:
            value = ops.cast(value, meta.dtype)
    return value


def flat_argument(node: GradNode, kind: int, position: int, grad: Any, create_graph: bool) -> Any:
    """What a rule's parameter asks for."""
    if kind == od.WANTS_OUT_GRAD:
        return grad
    if kind == od.WANTS_INPUT_META:
        return node.meta0 if position == 0 else node.meta1
    if kind == od.WANTS_INPUT:
        if position == 0:
            dense = node.saved0
            version = node.version0
        else:
            dense = node.saved1
            version = node.version1
        if dense is None:
            # Another thread may have freed it since the pass asked.
            node.require_saved()
            raise RuntimeError(f"{node.op_name()}: {node.op.inputs[position]} was not saved")
        storage = dense.storage
        if storage is not None and storage.inplace_version != version:
            raise changed_in_place(node, node.op.inputs[position], dense, version)
        if not create_graph:
            return dense
        if position == 0:
            return with_history(dense, node.next0, node.position0)
        return with_history(dense, node.next1, node.position1)
    if kind == od.WANTS_ATTR:
        return node.attrs[position]
    if kind == od.WANTS_OUTPUT:
        dense = node.saved_out
        if dense is None:
            node.require_saved()
            raise RuntimeError(f"{node.op_name()}: {node.op.outputs[0]} was not saved")
        storage = dense.storage
        if storage is not None and storage.inplace_version != node.version_out:
            raise changed_in_place(node, node.op.outputs[0], dense, node.version_out)
        return with_history(dense, node, 0) if create_graph else dense
    if kind == od.WANTS_OUTPUT_META:
        return node.out_meta
    return (node.next0 is not None, node.next1 is not None)


def flat_rule(node: GradNode, i: int, grad: Any, create_graph: bool) -> Any:
    """The gradient of input i of a flat node."""
    op = node.op
    if not op.bound:
        bind(op)
    rule = op.rules[i]
    meta = node.meta0 if i == 0 else node.meta1
    if rule is None or meta is None:
        return None
    ops = REGISTRY.recorded_ops if create_graph else REGISTRY.raw_ops
    kinds = rule.kinds
    positions = rule.positions
    count = rule.count
    if count == 2:
        first = flat_argument(node, kinds[0], positions[0], grad, create_graph)
        second = flat_argument(node, kinds[1], positions[1], grad, create_graph)
        value = rule.function(ops, first, second)
    elif count == 3:
        first = flat_argument(node, kinds[0], positions[0], grad, create_graph)
        second = flat_argument(node, kinds[1], positions[1], grad, create_graph)
        third = flat_argument(node, kinds[2], positions[2], grad, create_graph)
        value = rule.function(ops, first, second, third)
    else:
        arguments = [flat_argument(node, kinds[k], positions[k], grad, create_graph) for k in range(count)]
        value = rule.function(ops, *arguments)
    return fitted(value, meta, node, create_graph)


def compute_general(node: GeneralGradNode, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
    """The gradients of all inputs of a general node, flat; None where not needed."""
    op = node.op
    if not op.bound:
        bind(op)
    ops = REGISTRY.recorded_ops if create_graph else REGISTRY.raw_ops
    results: list[Any] = [None] * len(node.nodes)
    joint: Any = None
    for slot, size in enumerate(node.sizes):
        start = node.input_start(slot)
        count = 1 if size == -1 else 0 if size == -2 else size
        rule = op.rules[slot]
        if rule is None or not any(needed[start : start + count]):
            continue
        if op.joint_rule is not None:
            if joint is None:
                joint = call_rule(node, rule, ops, grads, create_graph, needed)
            value = joint[slot]
        else:
            value = call_rule(node, rule, ops, grads, create_graph, needed)
        if value is None:
            continue
        if size == -1:
            results[start] = fitted(value, node.metas[start], node, create_graph)
        else:
            for k, item in enumerate(value):
                if needed[start + k]:
                    results[start + k] = fitted(item, node.metas[start + k], node, create_graph)
    return results


def call_rule(
    node: GeneralGradNode, rule: Rule, ops: Any, grads: list[Any], create_graph: bool, needed: list[bool]
) -> Any:
    """Call a rule with what its parameters ask for."""
    arguments = [
        general_argument(node, kind, position, grads, create_graph, needed)
        for kind, position in zip(rule.kinds, rule.positions)
    ]
    return rule.function(ops, *arguments)


def general_argument(
    node: GeneralGradNode, kind: int, position: int, grads: list[Any], create_graph: bool, needed: list[bool]
) -> Any:
    """What a rule's parameter asks for."""
    if kind == od.WANTS_ATTR:
        return node.attrs[position]
    if kind == od.WANTS_INPUT or kind == od.WANTS_OUTPUT:
        saved = node.saved_inputs if kind == od.WANTS_INPUT else node.saved_outputs
        if not saved:
            # Another thread has freed it since the pass asked.
            node.require_saved()
        return recovered(saved[position], node, create_graph)
    if kind == od.WANTS_NEEDS_GRAD:
        return tuple([node_needs(node, slot, needed) for slot in range(len(node.sizes))])
    if kind == od.WANTS_INPUT_META:
        return in_slot(node.metas, node.sizes[position], node.input_start(position))
    start = node.output_start(position)
    if kind == od.WANTS_OUTPUT_META:
        return in_slot(node.out_metas, node.out_sizes[position], start)
    size = node.out_sizes[position]
    count = 1 if size == -1 else 0 if size == -2 else size
    for j in range(start, start + count):
        if grads[j] is None and node.out_metas[j].dtype.is_differentiable:
            grads[j] = zeros_of(node.out_metas[j], create_graph)
    return in_slot(grads, size, start)


def node_needs(node: GeneralGradNode, slot: int, needed: list[bool]) -> bool:
    """Whether any tensor of an input slot needs its gradient."""
    size = node.sizes[slot]
    start = node.input_start(slot)
    count = 1 if size == -1 else 0 if size == -2 else size
    return any(needed[start : start + count])


def in_slot(values: Any, size: int, start: int) -> Any:
    """The part of a flat list that belongs to a slot: one value, a list, or None."""
    if size == -2:
        return None
    return values[start] if size == -1 else values[start : start + size]


def recovered(saved: Any, node: GeneralGradNode, create_graph: bool) -> Any:
    """A saved tensor or list of them."""
    if saved is None:
        return None
    if isinstance(saved, TensorWrapper):
        dense = saved.recover(node)
        if not create_graph:
            return dense
        return with_history(dense, node if saved.is_output else saved.grad_node, saved.position)
    return [recovered(s, node, create_graph) for s in saved]
