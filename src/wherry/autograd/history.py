"""How a tensor is tied to the graph: its node, its leaf's AccumulationNode, and a view's history kept in step with its base."""

from typing import Any, Final, cast

from wherry.autograd.structures import (
    AccumulationNode,
    GradNode,
    GradNodeBase,
    GradState,
    TensorBase,
    ViewMeta,
    ViewStep,
)
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor
from wherry.core.state import is_grad_enabled
from wherry.dispatch.op_def import OpDef


class Registry:
    """Objects of higher layers that the engine creates or calls: set once, at import."""

    def __init__(self) -> None:
        self.tensor_class: Any = TensorBase
        self.new: Any = TensorBase.__new__
        self.recorded_ops: Any = None
        self.raw_ops: Any = None
        self.view_replay: OpDef | None = None
        self.view_scatter: OpDef | None = None
        self.ops: dict[str, OpDef] = {}


REGISTRY: Final = Registry()


def set_tensor_class(tensor_class: Any) -> None:
    """Name the class that results of operations have."""
    REGISTRY.tensor_class = tensor_class
    REGISTRY.new = tensor_class.__new__


def new_tensor(impl: DenseTensor) -> TensorBase:
    """A Tensor over a DenseTensor, without history."""
    tensor = cast(TensorBase, REGISTRY.new(REGISTRY.tensor_class))
    tensor.impl = impl
    return tensor


def state_of(tensor: TensorBase) -> GradState:
    """The tensor's GradState, made if there is none."""
    state = tensor._state
    if state is None:
        state = GradState()
        tensor._state = state
    return state


def sync_view(tensor: TensorBase, view: ViewMeta) -> None:
    """Rebuild a view's history from its base where the memory they share was written since."""
    version = tensor.impl.inplace_version
    if view.version == version:
        return
    view.version = version
    base = view.base
    node = grad_node_of(base)
    if node is None or REGISTRY.view_replay is None or base.impl.storage is not tensor.impl.storage:
        return
    replay = GradNode(REGISTRY.view_replay, (view.chain,), tensor.impl.meta)
    replay.next0 = node
    replay.position0 = base._position
    replay.meta0 = base.impl.meta
    frame = where.user_frame()
    replay.code = frame.f_code
    replay.lasti = frame.f_lasti
    tensor._grad_node = replay
    tensor._position = 0
    tensor._stop_gradient = False


def grad_node_of(tensor: TensorBase) -> GradNodeBase | None:
    """The node that the tensor's gradient goes to: None for one that needs none, a leaf's AccumulationNode for a leaf."""
    view = tensor._view
    if view is not None:
        sync_view(tensor, view)
    if tensor._stop_gradient:
        return None
    node = tensor._grad_node
    if node is None:
        node = AccumulationNode(state_of(tensor), tensor.impl.meta)
        tensor._grad_node = node
    elif isinstance(node, AccumulationNode) and node.meta is not tensor.impl.meta:
        node = accumulation_for_new_data(tensor, node)
    return node


def accumulation_for_new_data(tensor: TensorBase, node: AccumulationNode) -> AccumulationNode:
    """A leaf was given other data (another dtype, say): an AccumulationNode that fits it, with the hooks of the old one."""
    if node.meta == tensor.impl.meta:
        return node
    fresh = AccumulationNode(node.state, tensor.impl.meta)
    fresh.hooks = node.hooks
    fresh.next_hook_id = node.next_hook_id
    tensor._grad_node = fresh
    return fresh


def requires_grad(tensor: TensorBase) -> bool:
    """Whether operations on the tensor are recorded (where recording is on)."""
    view = tensor._view
    if view is not None:
        sync_view(tensor, view)
    return not tensor._stop_gradient


def is_leaf(tensor: TensorBase) -> bool:
    """True where no recorded operation made the tensor."""
    view = tensor._view
    if view is not None:
        sync_view(tensor, view)
    node = tensor._grad_node
    return node is None or isinstance(node, AccumulationNode) or tensor._stop_gradient


def attach_view(out: TensorBase, source: TensorBase, op: OpDef, attrs: tuple[Any, ...], output: int) -> None:
    """Note that `out` is a view of `source` (or of source's own base)."""
    if not is_grad_enabled():
        return
    step = ViewStep(op, attrs, output, source.impl.meta.shape, out.impl.meta.shape)
    version = out.impl.inplace_version
    view = source._view
    if view is not None:
        out._view = ViewMeta(view.base, view.chain + (step,), version)
    else:
        out._view = ViewMeta(source, (step,), version)


def rebase_history(view_tensor: TensorBase, view: ViewMeta) -> None:
    """After an in-place change of a view: the base's value is now 'the old base with the view's region replaced'."""
    base = view.base
    scatter = REGISTRY.view_scatter
    if scatter is None or base.impl.storage is not view_tensor.impl.storage:
        # The base has moved to other memory since.
        return
    node = GradNode(scatter, (view.chain,), base.impl.meta)
    node.next0 = grad_node_of(base)
    node.position0 = base._position
    node.meta0 = base.impl.meta
    node.next1 = view_tensor._grad_node
    node.position1 = view_tensor._position
    node.meta1 = view_tensor.impl.meta
    frame = where.user_frame()
    node.code = frame.f_code
    node.lasti = frame.f_lasti
    base._grad_node = node
    base._position = 0
    base._stop_gradient = False
    view.version = view_tensor.impl.inplace_version
