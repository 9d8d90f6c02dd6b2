"""The autograd structures: tensors' native base, nodes, edges, saved tensors.

bwd_in is what arrives at a node in backward (gradients of the forward outputs), bwd_out what leaves it (gradients of the forward
inputs). The graph points from outputs to inputs only: a node never refers to its own output's Tensor, so ordinary graphs are
freed by reference counting. Nodes and Tensors are visible to the garbage collector, so that knots tied by user code
(a hook that captures its own tensor) are collected; everything else an operation keeps is not tracked (docs/architecture.md).
"""

import itertools
import threading
from typing import Any, Final

from mypy_extensions import mypyc_attr

from wherry.core import where
from wherry.core.dense_tensor import DenseTensor, Storage
from wherry.core.meta import Meta
from wherry.core.place import CPU_PLACE, Place
from wherry.core.state import observers
from wherry.dispatch.op_def import OpDef


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorBase:
    """The fields of a Tensor that the engine reads. `wherry.Tensor` is its subclass; nothing else should be."""

    impl: DenseTensor
    _grad_node: "GradNodeBase | None" = None
    # Which output of _grad_node this tensor is, counted over all slots and ranks.
    _position: int = 0
    _stop_gradient: bool = True
    _state: "GradState | None" = None
    _view: "ViewMeta | None" = None


class GradState:
    """What only some tensors have: the gradient and its settings. An AccumulationNode shares it with its leaf."""

    def __init__(self) -> None:
        self.grad: Any = None
        self.retain_grads = False
        self.persistable = False
        self.name: str | None = None
        # Stand-ins for what the tensor was before it got other memory, another shape or no history: its older views follow them.
        self.former: list[TensorBase] | None = None


class ViewMeta:
    """A view's base, the way from the base to it, and the version up to which its history is right.

    `generation` counts the stand-ins (GradState.former) that the base had when the view was made; a later one is the base.
    """

    def __init__(self, base: TensorBase, chain: tuple["ViewStep", ...], version: int, generation: int) -> None:
        self.base: Final = base
        self.chain: Final = chain
        self.version = version
        self.generation: Final = generation


@mypyc_attr(acyclic=True)
class ViewStep:
    """One view operation: what to call again to get from a tensor's array to the view's."""

    def __init__(self, op: OpDef, attrs: tuple[Any, ...], output: int, source: Meta, meta: Meta) -> None:
        self.op: Final = op
        self.attrs: Final = attrs
        # Which tensor of the outputs, for split and unbind.
        self.output: Final = output
        # Metas of the tensor that the step starts from, and of the view.
        self.source: Final = source
        self.meta: Final = meta


class TensorWrapper:
    """A tensor that a node saved for backward.

    Holds storage and meta, never the user's Tensor object, and for an output of the node itself not the node: the engine
    passes the node to `recover`. `no_need_buffer` says that only the meta was kept. `packed` is what a pack hook made of the value, for
    `unpack_hook` to undo. Source: paddle/fluid/eager/tensor_wrapper.h.
    """

    def __init__(
        self,
        dense: DenseTensor | None,
        meta: Meta,
        grad_node: "GradNodeBase | None",
        position: int,
        is_output: bool,
        name: str,
    ) -> None:
        self.dense = dense
        self.meta: Final = meta
        self.no_need_buffer: Final = dense is None
        self.inplace_version_snapshot = 0 if dense is None else dense.inplace_version
        self.grad_node: Final = grad_node
        self.position: Final = position
        self.is_output: Final = is_output
        self.name: Final = name
        self.packed: Any = None
        self.unpack_hook: Any = None
        # Of what was packed: a pack hook may keep the tensor itself, whose changes count then.
        self.storage: Storage | None = None

    def recover(self, owner: "GradNodeBase") -> DenseTensor:
        """The saved value; raises RuntimeError where it was changed in place since, naming both of the user's lines."""
        dense = self.dense
        if self.unpack_hook is not None:
            dense = unpacked(self, owner)
            if dense.storage is not self.storage:
                return dense
        if dense is None:
            raise RuntimeError(f"{owner.name()}: the value of {self.name} was not saved, only its meta {self.meta}")
        if dense.inplace_version != self.inplace_version_snapshot:
            raise changed_in_place(owner, self.name, dense, self.inplace_version_snapshot)
        return dense

    def __repr__(self) -> str:
        return f"TensorWrapper({self.name}: {self.meta}, version {self.inplace_version_snapshot})"


def unpacked(wrapper: TensorWrapper, owner: "GradNodeBase") -> DenseTensor:
    """What the unpack hook returns, checked."""
    value = wrapper.unpack_hook(wrapper.packed)
    if not isinstance(value, TensorBase):
        raise refused_unpack(wrapper, TypeError, f"{owner.name()}: expected a Tensor", "", type(value).__name__)
    if value.impl.meta != wrapper.meta:
        expected = f"{owner.name()}: expected {wrapper.meta}"
        raise refused_unpack(wrapper, ValueError, expected, " as it was packed", repr(value.impl.meta))
    return value.impl


def refused_unpack(wrapper: TensorWrapper, kind: Any, expected: str, how: str, received: str) -> Exception:
    """The error for what an unpack hook returned, with the place of its definition."""
    name, code = where.definition(wrapper.unpack_hook)
    text = f"{expected} from the unpack hook {name}{how}, received {received}"
    if code is not None:
        text += f"\n  the hook is defined at {where.describe(code, 0)}"
    error: Any = kind(text)
    error.wherry_kind = "hook"
    error.wherry_places = [("the unpack hook", code, 0)]
    return error  # type: ignore[no-any-return]


def changed_in_place(owner: "GradNodeBase", name: str, dense: DenseTensor, expected: int) -> RuntimeError:
    """The error for a saved tensor that was written since."""
    found = dense.inplace_version
    text = (
        f"{owner.op_name()}: the tensor {name} ({dense.meta}) that backward needs was modified by an inplace operation: "
        f"expected version {expected}, received version {found}.\n"
        f"  saved by {owner.op_name()} at {owner.forward_line()}\n"
    )
    storage = dense.storage
    if storage is not None:
        for write in storage.writes:
            if write.version == expected + 1:
                text += (
                    f"  changed by {write.op} at {where.describe(write.code, write.lasti)} (version {write.version})\n"
                )
        last = storage.writes[len(storage.writes) - 1]
        if last.version != expected + 1:
            text += f"  last changed by {last.op} at {where.describe(last.code, last.lasti)} (version {last.version})\n"
    text += "Use the out-of-place form of that operation, or change a .clone() of the tensor."
    error: Any = RuntimeError(text)
    # For programs that read it: the cause first, then what else has to do with it, each as (role, code object, instruction offset).
    error.wherry_kind = "inplace"
    error.wherry_places = [("saved for backward here", owner.code, owner.lasti)]
    if storage is not None:
        write = next((w for w in storage.writes if w.version == expected + 1), storage.writes[0])
        error.wherry_places.insert(0, (f"changed by {write.op}", write.code, write.lasti))
    return error  # type: ignore[no-any-return]


class Edge:
    """Where a gradient goes next: a node, and which of its slots and ranks. Source: paddle/fluid/eager/grad_node_info.h."""

    def __init__(self, grad_node: "GradNodeBase | None", in_slot_id: int, in_rank: int) -> None:
        self.grad_node: Final = grad_node
        self.in_slot_id: Final = in_slot_id
        self.in_rank: Final = in_rank

    def __repr__(self) -> str:
        target = "none" if self.grad_node is None else self.grad_node.name()
        return f"Edge({target}, slot {self.in_slot_id}, rank {self.in_rank})"


class GradSlotMeta:
    """One gradient of a slot: its meta, and for those that leave the node the edge. Source: grad_node_info.h."""

    def __init__(self, meta: Meta | None, stop_gradient: bool, edge: Edge | None) -> None:
        self.meta: Final = meta
        self.stop_gradient: Final = stop_gradient
        self.edge: Final = edge

    @property
    def place(self) -> Place:
        """Where the gradient lives."""
        return CPU_PLACE

    def __repr__(self) -> str:
        return f"GradSlotMeta({self.meta}, stop_gradient={self.stop_gradient}, {self.edge})"


class Hook:
    """A user's function on one output of a node. `position` -1 means the whole node (pre or post)."""

    def __init__(self, identifier: int, position: int, function: Any, kind: int) -> None:
        self.identifier: Final = identifier
        self.position: Final = position
        self.function: Final[Any] = function
        self.kind: Final = kind
        # A pass goes on with the list of hooks that it found; this tells it of those that were removed since.
        self.removed = False


# For the lists of hooks, which threads share; reentrant, because memory that is freed under it may run user code.
_turns: Final[Any] = threading.RLock()
_hook_numbers: Final = itertools.count(1)

TENSOR_HOOK: Final = 0
RETAIN_GRAD: Final = 1
NODE_PRE_HOOK: Final = 2
NODE_POST_HOOK: Final = 3
REDUCE_HOOK: Final = 4


class GradNodeBase:
    """A node of the backward graph; one for each recorded call. Source: paddle/fluid/eager/grad_node_info.h."""

    def __init__(self) -> None:
        self.code: Any = None
        self.lasti = 0
        self.hooks: list[Hook] | None = None
        self.released = False
        # Which backward pass is counting this node's edges now (0: none), and how many have yet to deliver.
        self.pass_mark = 0
        self.remaining = 0
        # A number by which observers know the node again; 0 until one asks.
        self.serial = 0

    def op_name(self) -> str:
        """The operation's name."""
        return "unknown"

    def name(self) -> str:
        """The node's name."""
        return self.op_name() + "_grad_node"

    def num_inputs(self) -> int:
        """How many gradients may leave: one for each tensor input of the forward call."""
        return 0

    def edge_node(self, i: int) -> "GradNodeBase | None":
        """The node that gradient i goes to, or None."""
        return None

    def edge_position(self, i: int) -> int:
        """Which output of that node it belongs to."""
        return 0

    def input_meta(self, i: int) -> Meta | None:
        """Meta of forward input i."""
        return None

    def num_outputs(self) -> int:
        """How many gradients may arrive."""
        return 1

    def output_meta(self, j: int) -> Meta:
        """Meta of forward output j."""
        raise NotImplementedError

    def compute(self, grads: list[Any], create_graph: bool, needed: list[bool]) -> list[Any]:
        """The gradients of the inputs from those of the outputs; only nodes that carry their own backward have it."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop what was saved for backward. Paddle's name: ClearTensorWrappers."""
        self.released = True

    def saved(self) -> list[TensorWrapper]:
        """What was saved for backward."""
        return []

    def slots_in(self) -> list[int]:
        """How many ranks each forward input slot has."""
        return [1] * self.num_inputs()

    def slots_out(self) -> list[int]:
        """How many ranks each forward output slot has."""
        return [1] * self.num_outputs()

    def forward_line(self) -> str:
        """The user's line of the forward call."""
        return where.describe(self.code, self.lasti)

    def add_hook(self, position: int, function: Any, kind: int) -> int:
        """Attach a hook; returns its identifier."""
        _turns.acquire()
        try:
            hook = Hook(next(_hook_numbers), position, function, kind)
            hooks = self.hooks
            # A new list each time: a pass that is under way goes on with the one it has.
            self.hooks = [hook] if hooks is None else hooks + [hook]
        finally:
            _turns.release()
        for observer in observers():
            observer.hook_registered(self, hook)
        return hook.identifier

    def remove_hook(self, identifier: int) -> bool:
        """Detach it; False where it is not there (any more)."""
        found = False
        _turns.acquire()
        try:
            hooks = self.hooks
            while hooks is not None:
                left: list[Hook] = []
                for hook in hooks:
                    if hook.identifier == identifier:
                        hook.removed = True
                        found = True
                    else:
                        left.append(hook)
                if self.hooks is hooks:
                    self.hooks = left if left else None
                    break
                # Memory that was freed meanwhile has run user code that changed the list.
                hooks = self.hooks
        finally:
            _turns.release()
        return found

    def register_hook(self, hook: Any) -> Any:
        """Call hook(grad_inputs, grad_outputs) in every backward, after the node's derivative rules; returns a handle with remove().

        grad_inputs: a tuple of the gradients of the forward inputs, grad_outputs: of those of the forward outputs (None where there is
        none). A tuple that the hook returns takes the place of grad_inputs; None leaves them. Raises TypeError for something not callable,
        ValueError for the node of a leaf. Source: paddle's _register_post_hook.
        """
        from wherry.autograd.hooks import register_node_hook

        return register_node_hook(self, hook, NODE_POST_HOOK)

    def register_prehook(self, hook: Any) -> Any:
        """Call hook(grad_outputs) in every backward, before the node's derivative rules; returns a handle with remove().

        A tuple that the hook returns takes the place of grad_outputs; None leaves them. Raises as register_hook.
        """
        from wherry.autograd.hooks import register_node_hook

        return register_node_hook(self, hook, NODE_PRE_HOOK)

    def _register_post_hook(self, hook: Any) -> Any:
        """register_hook by Paddle's name."""
        return self.register_hook(hook)

    def require_saved(self) -> None:
        """Raise RuntimeError where the saved tensors are gone."""
        if self.released:
            raise RuntimeError(
                f"{self.op_name()}: backward needs this part of the graph a second time, but its saved tensors were freed after the "
                f"first.\n  recorded at {self.forward_line()}\n"
                "Pass retain_graph=True to the first backward() or grad(), or run the forward computation again."
            )

    @property
    def bwd_in_meta(self) -> list[list[GradSlotMeta]]:
        """[slot][rank] of the gradients that arrive."""
        metas = [
            GradSlotMeta(self.output_meta(j), not self.output_meta(j).dtype.is_differentiable, None)
            for j in range(self.num_outputs())
        ]
        return grouped(metas, self.slots_out())

    @property
    def bwd_out_meta(self) -> list[list[GradSlotMeta]]:
        """[slot][rank] of the gradients that leave, with their edges."""
        metas: list[GradSlotMeta] = []
        for i in range(self.num_inputs()):
            node = self.edge_node(i)
            edge = None
            if node is not None:
                slot, rank = slot_and_rank(node.slots_out(), self.edge_position(i))
                edge = Edge(node, slot, rank)
            metas.append(GradSlotMeta(self.input_meta(i), node is None, edge))
        return grouped(metas, self.slots_in())

    @property
    def next_functions(self) -> list["GradNodeBase"]:
        """The nodes that gradients go to."""
        nodes = [self.edge_node(i) for i in range(self.num_inputs())]
        return [n for n in nodes if n is not None]

    def __repr__(self) -> str:
        return f"<{self.name()} at {self.forward_line()}>"


def grouped(metas: list[GradSlotMeta], sizes: list[int]) -> list[list[GradSlotMeta]]:
    """A flat list cut into slots."""
    result: list[list[GradSlotMeta]] = []
    start = 0
    for size in sizes:
        result.append(metas[start : start + size])
        start += size
    return result


def slot_and_rank(sizes: list[int], position: int) -> tuple[int, int]:
    """The slot and rank of a flat position."""
    for slot, size in enumerate(sizes):
        if position < size:
            return slot, position
        position -= size
    raise IndexError(f"no slot holds position {position}")


class AccumulationNode(GradNodeBase):
    """Adds what arrives into its leaf's `.grad`. It holds the leaf's GradState and meta, never the leaf."""

    def __init__(self, state: GradState, meta: Meta) -> None:
        super().__init__()
        self.state: Final = state
        self.meta: Final = meta
        # The node that the leaf has instead since it was given other data; it has the same hooks.
        self.successor: AccumulationNode | None = None

    def op_name(self) -> str:
        return "accumulation"

    def remove_hook(self, identifier: int) -> bool:
        found = super().remove_hook(identifier)
        successor = self.successor
        return (successor is not None and successor.remove_hook(identifier)) or found

    def output_meta(self, j: int) -> Meta:
        return self.meta

    def forward_line(self) -> str:
        return (
            f"a leaf tensor {self.meta}"
            if self.state.name is None
            else f"the leaf tensor {self.state.name} {self.meta}"
        )


class GradNode(GradNodeBase):
    """The node of an operation with one or two plain tensor inputs and one output: flat fields, no lists."""

    def __init__(self, op: OpDef, attrs: tuple[Any, ...], out_meta: Meta) -> None:
        super().__init__()
        self.op: Final = op
        self.attrs: Final = attrs
        self.out_meta: Final = out_meta
        self.next0: GradNodeBase | None = None
        self.next1: GradNodeBase | None = None
        self.position0 = 0
        self.position1 = 0
        self.meta0: Meta | None = None
        self.meta1: Meta | None = None
        self.saved0: DenseTensor | None = None
        self.saved1: DenseTensor | None = None
        self.saved_out: DenseTensor | None = None
        self.version0 = 0
        self.version1 = 0
        self.version_out = 0

    def op_name(self) -> str:
        return self.op.name

    def num_inputs(self) -> int:
        return 1 if self.meta1 is None else 2

    def edge_node(self, i: int) -> GradNodeBase | None:
        return self.next0 if i == 0 else self.next1

    def edge_position(self, i: int) -> int:
        return self.position0 if i == 0 else self.position1

    def input_meta(self, i: int) -> Meta | None:
        return self.meta0 if i == 0 else self.meta1

    def output_meta(self, j: int) -> Meta:
        return self.out_meta

    def release(self) -> None:
        self.released = True
        self.saved0 = None
        self.saved1 = None
        self.saved_out = None

    def saved(self) -> list[TensorWrapper]:
        found: list[TensorWrapper] = []
        if self.saved0 is not None:
            found.append(
                self._wrapper(self.saved0, self.next0, self.position0, self.version0, self.op.inputs[0], False)
            )
        if self.saved1 is not None:
            found.append(
                self._wrapper(self.saved1, self.next1, self.position1, self.version1, self.op.inputs[1], False)
            )
        if self.saved_out is not None:
            found.append(self._wrapper(self.saved_out, None, 0, self.version_out, self.op.outputs[0], True))
        return found

    def _wrapper(
        self, dense: DenseTensor, node: GradNodeBase | None, position: int, version: int, name: str, is_output: bool
    ) -> TensorWrapper:
        wrapper = TensorWrapper(dense, dense.meta, node, position, is_output, name)
        wrapper.inplace_version_snapshot = version
        return wrapper


class GeneralGradNode(GradNodeBase):
    """The node of any operation: lists of inputs, optional ones, several outputs, saved_tensors_hooks."""

    def __init__(self, op: OpDef, attrs: tuple[Any, ...]) -> None:
        super().__init__()
        self.op: Final = op
        self.attrs: Final = attrs
        # Flat over all tensor inputs: missing optional ones have no place here.
        self.nodes: list[GradNodeBase | None] = []
        self.positions: list[int] = []
        self.metas: list[Meta] = []
        # Per input slot: how many tensors, or -1 where a plain one, -2 where a missing optional one.
        self.sizes: list[int] = []
        self.out_metas: list[Meta] = []
        self.out_sizes: list[int] = []
        # Per input slot and output slot: a TensorWrapper, a list of them, or None.
        self.saved_inputs: list[Any] = []
        self.saved_outputs: list[Any] = []

    def op_name(self) -> str:
        return self.op.name

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
        return [1 if size == -1 else 0 if size == -2 else size for size in self.sizes]

    def slots_out(self) -> list[int]:
        return [1 if size == -1 else 0 if size == -2 else size for size in self.out_sizes]

    def release(self) -> None:
        self.released = True
        self.saved_inputs = []
        self.saved_outputs = []

    def saved(self) -> list[TensorWrapper]:
        found: list[TensorWrapper] = []
        for item in self.saved_inputs + self.saved_outputs:
            if isinstance(item, TensorWrapper):
                found.append(item)
            elif item is not None:
                found += [w for w in item if w is not None]
        return found

    def input_start(self, slot: int) -> int:
        """Flat position of the first tensor of an input slot."""
        start = 0
        for size in self.sizes[:slot]:
            start += 1 if size == -1 else 0 if size == -2 else size
        return start

    def output_start(self, slot: int) -> int:
        """Flat position of the first tensor of an output slot."""
        start = 0
        for size in self.out_sizes[:slot]:
            start += 1 if size == -1 else 0 if size == -2 else size
        return start
