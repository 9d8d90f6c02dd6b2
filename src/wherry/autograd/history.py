"""How a tensor is tied to the graph: its node, its leaf's AccumulationNode, and a view's history kept in step with its base."""

import sys
from typing import Any, Final, cast

import numpy as np

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
from wherry.core.dtype import float32
from wherry.core.meta import Meta
from wherry.core.state import is_grad_enabled
from wherry.dispatch.op_def import OpDef

_getrefcount: Final[Any] = sys.getrefcount

# What stands in `_view` of a view that was made while nothing was recorded: there is no way from its base to it in the graph.
NO_GRAD_VIEW: Final = ViewMeta(TensorBase(), (), 0, 0)


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
        fresh = GradState()
        # No call between the question and the answer: another thread that has made one keeps it.
        state = tensor._state
        if state is None:
            state = fresh
            tensor._state = fresh
    return state


def base_of(view: ViewMeta) -> TensorBase:
    """The tensor whose history a view follows: its base, or the stand-in for what the base was when the view was made."""
    base = view.base
    state = base._state
    if state is not None:
        former = state.former
        if former is not None and view.generation < len(former):
            return former[view.generation]
    return base


def sync_view(tensor: TensorBase, view: ViewMeta) -> None:
    """Rebuild a view's history from its base where the memory they share was written since."""
    version = tensor.impl.inplace_version
    if view.version == version or view is NO_GRAD_VIEW:
        return
    view.version = version
    if tensor._stop_gradient and tensor._grad_node is not None:
        # The user has cut it off.
        return
    base = base_of(view)
    if base.impl.storage is not tensor.impl.storage:
        # Other code has given the base other data.
        return
    node = grad_node_of(base)
    if node is None or REGISTRY.view_replay is None:
        own = tensor._grad_node
        if base._grad_node is None and own is not None and not isinstance(own, AccumulationNode):
            # The base was detached in place: what it holds now is no function of anything.
            forget_history(tensor)
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
        fresh = AccumulationNode(state_of(tensor), tensor.impl.meta)
        # As in state_of.
        node = tensor._grad_node
        if node is None:
            node = fresh
            tensor._grad_node = fresh
    elif isinstance(node, AccumulationNode) and node.meta is not tensor.impl.meta:
        node = accumulation_for_new_data(tensor, node)
    return node


def accumulation_for_new_data(tensor: TensorBase, node: AccumulationNode) -> AccumulationNode:
    """A leaf was given other data (another dtype, say): an AccumulationNode that fits it, with the hooks of the old one."""
    if node.meta == tensor.impl.meta:
        return node
    fresh = AccumulationNode(node.state, tensor.impl.meta)
    fresh.hooks = node.hooks
    node.successor = fresh
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
    if not op.has_grad:
        # Nothing flows through the operation (a view in another dtype): the view has a history of its own, as a detached tensor.
        return
    view = source._view
    if view is NO_GRAD_VIEW or not is_grad_enabled():
        out._view = NO_GRAD_VIEW
        return
    step = ViewStep(op, attrs, output, source.impl.meta, out.impl.meta)
    version = out.impl.inplace_version
    if view is not None:
        out._view = ViewMeta(view.base, view.chain + (step,), version, view.generation)
    else:
        out._view = ViewMeta(source, (step,), version, generation_of(source))


def generation_of(tensor: TensorBase) -> int:
    """How many stand-ins a tensor has."""
    state = tensor._state
    if state is None or state.former is None:
        return 0
    return len(state.former)


def extend_view(tensor: TensorBase, stand_in: TensorBase | None, op: OpDef, attrs: tuple[Any, ...]) -> None:
    """Note that a tensor has become another view of its own memory, by the stand-in for what it was (None: it had no views)."""
    view = tensor._view
    if view is NO_GRAD_VIEW:
        return
    version = tensor.impl.inplace_version
    if view is not None:
        step = ViewStep(op, attrs, 0, view.chain[len(view.chain) - 1].meta, tensor.impl.meta)
        tensor._view = ViewMeta(view.base, view.chain + (step,), version, view.generation)
    elif stand_in is not None:
        step = ViewStep(op, attrs, 0, stand_in.impl.meta, tensor.impl.meta)
        tensor._view = ViewMeta(stand_in, (step,), version, 0)


def detach_in_place(tensor: TensorBase) -> None:
    """Forget a tensor's history. Its views follow it from the next change of their memory on; a view leaves its base."""
    view = tensor._view
    if view is not None:
        base = base_of(view)
        state = tensor._state
        if state is not None and state.former is not None and state.former[len(state.former) - 1] is base:
            # Older views of the tensor follow its stand-in.
            forget_history(base)
        else:
            tensor._view = None
    forget_history(tensor)


def forget_history(tensor: TensorBase) -> None:
    """Make a tensor one that no recorded operation made and that needs no gradient."""
    tensor._grad_node = None
    tensor._position = 0
    tensor._stop_gradient = True


def stand_in_for(tensor: TensorBase) -> TensorBase:
    """Another Tensor over the same data, with the same history."""
    grad_node_of(tensor)
    stand_in = new_tensor(tensor.impl)
    stand_in._grad_node = tensor._grad_node
    stand_in._position = tensor._position
    stand_in._stop_gradient = tensor._stop_gradient
    stand_in._view = tensor._view
    return stand_in


def leave_views(tensor: TensorBase, stand_in: TensorBase) -> None:
    """Before a tensor gets other memory, another shape or no history: its views go on with the stand-in, which keeps what it was.

    A tensor that is a view has none: theirs is its base.
    """
    if tensor._view is not None:
        return
    state = state_of(tensor)
    former = state.former
    state.former = [stand_in] if former is None else former + [stand_in]


def become(tensor: TensorBase, other: TensorBase, stand_in: TensorBase | None) -> None:
    """Give a tensor memory and history of another one; its views go on with the stand-in, or with one made now where they exist."""
    if stand_in is None and is_shared(tensor.impl):
        stand_in = stand_in_for(tensor)
    if stand_in is not None:
        leave_views(tensor, stand_in)
    tensor.impl = other.impl
    tensor._grad_node = other._grad_node
    tensor._position = other._position
    tensor._stop_gradient = other._stop_gradient
    view = other._view
    if view is not None and view.base is tensor:
        # Of itself: of what it was.
        view = ViewMeta(base_of(view), view.chain, view.version, 0)
    tensor._view = view


def is_shared(impl: DenseTensor) -> bool:
    """Whether another DenseTensor may be over the same memory."""
    storage = impl.storage
    return storage is not None and int(_getrefcount(storage)) > UNSHARED.references


class Unshared:
    """How many references to a storage that only one DenseTensor has are counted; measured at import, as it differs when compiled."""

    def __init__(self) -> None:
        self.references = 1 << 30


UNSHARED: Final = Unshared()


def measure_unshared() -> None:
    """Find the count: the highest at which nobody shares."""
    impl = DenseTensor(np.zeros(()), Meta((), float32))
    impl.ensure_storage()
    UNSHARED.references = 0
    while is_shared(impl):
        UNSHARED.references += 1


measure_unshared()


def rebase_history(view_tensor: TensorBase, view: ViewMeta) -> None:
    """After an in-place change of a view: the base's value is now 'the old base with the view's region replaced'."""
    scatter = REGISTRY.view_scatter
    if scatter is None or view is NO_GRAD_VIEW:
        return
    base = base_of(view)
    if base.impl.storage is not view_tensor.impl.storage:
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
