"""The backward engine: in-degrees by search from the roots, a ready queue, hooks, accumulation. Nothing here recurses.

A pass keeps its own GradTensorHolders. In-degrees are counted on the nodes, which a pass marks as its own; what another pass has marked
(backward inside a hook), and leaves, which threads share, are counted in a table of the pass. So passes nest and run in several threads.
"""

import itertools
import sys
import threading
from typing import Any, Final

import numpy as np
from mypy_extensions import mypyc_attr

from wherry.autograd import structures as st
from wherry.autograd.compute import compute_general, flat_rule, meta_of_value
from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.structures import AccumulationNode, GeneralGradNode, GradNode, GradNodeBase, TensorBase
from wherry.core import dtype as dt
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.core.state import STATE, observers, set_grad_enabled_flag
from wherry.core.where import describe

_add: Final[Any] = np.add
_array: Final[Any] = np.array
_getrefcount: Final[Any] = sys.getrefcount
# Reentrant, because memory that is freed under it may run user code.
_turns: Final[Any] = threading.RLock()
_pass_numbers: Final = itertools.count(1)


@mypyc_attr(acyclic=True, free_list_len=1)
class GradTensorHolder:
    """What has arrived at a node. Source: paddle/fluid/eager/grad_tensor_holder.h."""

    def __init__(self, slots: int) -> None:
        # The gradient of a node with one output; nodes with more use `buffer`.
        self.single: Any = None
        # Whether `single` was made here by an addition, so that nobody else sees it and it may be added to in place.
        self.owned = False
        self.buffer: list[Any] | None = [None] * slots if slots != 1 else None

    def add(self, position: int, grad: Any, create_graph: bool) -> None:
        """Add a gradient to what is there."""
        buffer = self.buffer
        if buffer is not None:
            before = buffer[position]
            buffer[position] = grad if before is None else added(before, grad, create_graph)
            return
        before = self.single
        if before is None:
            self.single = grad
        elif self.owned and isinstance(before, DenseTensor) and isinstance(grad, DenseTensor) and before.meta.ndim > 0:
            _add(before.array, grad.array, before.array)
        else:
            self.single = added(before, grad, create_graph)
            self.owned = not create_graph


def added(x: Any, y: Any, create_graph: bool) -> Any:
    """The sum of two gradients, in new memory."""
    if create_graph:
        return REGISTRY.recorded_ops.add(x, y)
    return REGISTRY.raw_ops.add(x, y)


class BackwardPass:
    """One run of backward or grad."""

    def __init__(self, create_graph: bool, retain_graph: bool) -> None:
        self.create_graph: Final = create_graph
        self.retain_graph: Final = retain_graph
        self.mark: Final = next(_pass_numbers)
        self.table: dict[GradNodeBase, GradTensorHolder] = {}
        self.claimed: list[GradNodeBase] = []
        self.counts: dict[GradNodeBase, int] = {}
        self.ready: list[GradNodeBase] = []
        self.accumulations: list[GradNodeBase] = []
        # For grad(): where results are taken, and the nodes that lie on the way there.
        self.captures: dict[GradNodeBase, list[tuple[int, int]]] | None = None
        self.needed: set[GradNodeBase] | None = None
        self.blocked: set[tuple[GradNodeBase, int]] = set()
        self.results: list[Any] = []
        # Who is told (core/observer.py); None, the usual case, is the quickest to ask.
        self.watching: Any = observers() or None

    def seed(self, node: GradNodeBase, position: int, grad: Any) -> None:
        """Put a root's gradient into its node's holder."""
        holder = self.table.get(node)
        if holder is None:
            holder = GradTensorHolder(node.num_outputs())
            self.table[node] = holder
        holder.add(position, grad, self.create_graph)

    def count_edges(self) -> None:
        """In-degrees of everything reachable from the roots."""
        roots = list(self.table)
        pending: list[GradNodeBase] = []
        for node in roots:
            self.claim(node, 0, pending)
        while pending:
            node = pending.pop()
            if isinstance(node, GradNode):
                following = node.next0
                if following is not None:
                    self.count_edge(following, pending)
                following = node.next1
                if following is not None:
                    self.count_edge(following, pending)
            else:
                for i in range(node.num_inputs()):
                    following = node.edge_node(i)
                    if following is not None:
                        self.count_edge(following, pending)
        for node in roots:
            if (node.remaining if node.pass_mark == self.mark else self.counts[node]) == 0:
                self.make_ready(node)

    def claim(self, node: GradNodeBase, count: int, pending: list[GradNodeBase]) -> None:
        """Begin to count a node's edges."""
        pending.append(node)
        if node.pass_mark == 0 and not isinstance(node, AccumulationNode):
            node.pass_mark = self.mark
            node.remaining = count
            self.claimed.append(node)
        else:
            self.counts[node] = count

    def count_edge(self, node: GradNodeBase, pending: list[GradNodeBase]) -> None:
        """Count one more edge into a node."""
        needed = self.needed
        if needed is not None and node not in needed:
            return
        if node.pass_mark == self.mark:
            node.remaining += 1
            return
        before = self.counts.get(node)
        if before is None:
            self.claim(node, 1, pending)
        else:
            self.counts[node] = before + 1

    def abandon(self) -> None:
        """Take the marks off again after an exception."""
        for node in self.claimed:
            if node.pass_mark == self.mark:
                node.pass_mark = 0

    def make_ready(self, node: GradNodeBase) -> None:
        """Queue a node; accumulation nodes go in front, so that gradients that are complete free their buffers at once."""
        if isinstance(node, AccumulationNode):
            self.accumulations.append(node)
        else:
            self.ready.append(node)

    def run(self) -> None:
        """Process the queue until it is empty."""
        head = 0
        ready = self.ready
        while True:
            while self.accumulations:
                self.accumulate(self.accumulations.pop())
            if head == len(ready):
                break
            node = ready[head]
            head += 1
            if head == 4096:
                del ready[:head]
                head = 0
            self.process(node)

    def process(self, node: GradNodeBase) -> None:
        """One node: hooks, captures, rules, delivery, release."""
        if node.pass_mark == self.mark:
            node.pass_mark = 0
        holder = self.taken(node)
        if self.watching is not None:
            self.tell_started(node, holder)
        if node.hooks is not None:
            self.run_hooks(node, holder)
        if self.captures is not None:
            self.capture(node, holder)
        if isinstance(node, GradNode):
            if node.released:
                node.require_saved()
            self.process_flat(node, holder.single)
        else:
            node.require_saved()
            self.process_general(node, holder)
        if not self.retain_graph:
            node.release()

    def taken(self, node: GradNodeBase) -> GradTensorHolder:
        """A node's holder, out of the table; an empty one where nothing arrived."""
        holder = self.table.get(node)
        if holder is None:
            return GradTensorHolder(node.num_outputs())
        del self.table[node]
        return holder

    def process_flat(self, node: GradNode, grad: Any) -> None:
        """A node of one or two plain inputs."""
        first = node.next0
        second = node.next1
        create_graph = self.create_graph
        value0: Any = None
        value1: Any = None
        wants0 = first is not None and self.wants(first)
        wants1 = second is not None and self.wants(second)
        if grad is not None:
            try:
                if wants0:
                    value0 = flat_rule(node, 0, grad, create_graph)
                if wants1:
                    value1 = flat_rule(node, 1, grad, create_graph)
            except Exception as error:
                raise noted(error, node)
            if node.hooks is not None:
                self.run_post_hooks(node, [value0, value1][: node.num_inputs()], [grad])
        if self.watching is not None:
            self.tell_finished(node, [value0, value1][: node.num_inputs()], [wants0, wants1])
        if first is not None and wants0:
            self.deliver(first, node.position0, value0)
        if second is not None and wants1:
            self.deliver(second, node.position1, value1)

    def process_general(self, node: GradNodeBase, holder: GradTensorHolder) -> None:
        """A node of any other kind."""
        buffer = holder.buffer
        grads = [holder.single] if buffer is None else buffer
        count = node.num_inputs()
        needed: list[bool] = []
        for i in range(count):
            following = node.edge_node(i)
            needed.append(following is not None and self.wants(following))
        arrived = False
        for g in grads:
            if g is not None:
                arrived = True
        results: list[Any] = [None] * count
        if arrived:
            try:
                if isinstance(node, GeneralGradNode):
                    results = compute_general(node, grads, self.create_graph, needed)
                else:
                    results = node.compute(grads, self.create_graph, needed)
            except Exception as error:
                raise noted(error, node)
            if node.hooks is not None:
                self.run_post_hooks(node, results, grads)
        if self.watching is not None:
            self.tell_finished(node, results, needed)
        for i in range(count):
            following = node.edge_node(i)
            if following is not None and needed[i]:
                self.deliver(following, node.edge_position(i), results[i])

    def tell_started(self, node: GradNodeBase, holder: GradTensorHolder) -> None:
        """Tell the observers what has arrived at a node."""
        buffer = holder.buffer
        grads = [holder.single] if buffer is None else list(buffer)
        for observer in self.watching:
            observer.node_started(self, node, grads)

    def tell_finished(self, node: GradNodeBase, results: list[Any], needed: list[bool]) -> None:
        """Tell the observers what a node made, and over which edges it is about to go."""
        for observer in self.watching:
            observer.node_finished(self, node, results)
            for i, result in enumerate(results):
                following = node.edge_node(i)
                if following is not None and needed[i]:
                    observer.gradient_delivered(self, node, i, following, node.edge_position(i), result)

    def wants(self, node: GradNodeBase) -> bool:
        """Whether a gradient towards that node is of use."""
        needed = self.needed
        return needed is None or node in needed

    def deliver(self, node: GradNodeBase, position: int, grad: Any) -> None:
        """Hand a gradient over an edge; a node is ready when all its edges have delivered."""
        if grad is not None and (not self.blocked or (node, position) not in self.blocked):
            holder = self.table.get(node)
            if holder is None:
                holder = GradTensorHolder(node.num_outputs())
                self.table[node] = holder
            holder.add(position, grad, self.create_graph)
        if node.pass_mark == self.mark:
            left = node.remaining - 1
            node.remaining = left
        else:
            left = self.counts[node] - 1
            self.counts[node] = left
        if left == 0:
            self.make_ready(node)

    def accumulate(self, node: GradNodeBase) -> None:
        """A leaf: hooks on the sum, then into `.grad` (or to the caller of grad)."""
        holder = self.taken(node)
        if holder.single is None:
            return
        if self.watching is not None:
            self.tell_started(node, holder)
        if node.hooks is not None:
            self.run_hooks(node, holder)
        if self.captures is not None:
            self.capture(node, holder)
            return
        if not isinstance(node, AccumulationNode):
            return
        if self.watching is not None:
            for observer in self.watching:
                observer.gradient_accumulated(self, node, holder.single)
        grad = holder.single
        owned = holder.owned
        holder.single = None
        accumulate_into(node, grad, owned, self.create_graph)
        if node.hooks is not None:
            for hook in node.hooks:
                if hook.kind == st.REDUCE_HOOK:
                    hook.function()

    def capture(self, node: GradNodeBase, holder: GradTensorHolder) -> None:
        """Take the gradients that grad() was asked for."""
        captures = self.captures
        if captures is None:
            return
        wanted = captures.get(node)
        if wanted is None:
            return
        buffer = holder.buffer
        for position, index in wanted:
            self.results[index] = holder.single if buffer is None else buffer[position]

    def run_hooks(self, node: GradNodeBase, holder: GradTensorHolder) -> None:
        """The user's hooks on the gradients that arrived, in the order they were registered; retained gradients last."""
        hooks = node.hooks
        buffer = holder.buffer
        if hooks is None:
            return
        for hook in hooks:
            if hook.kind == st.TENSOR_HOOK:
                before = holder.single if buffer is None else buffer[hook.position]
                if before is None:
                    continue
                after = self.call_hook(node, hook, before)
                if self.watching is not None:
                    for observer in self.watching:
                        observer.hook_called(self, node, hook, before, after)
                if after is not before:
                    if buffer is None:
                        holder.single = after
                        holder.owned = False
                    else:
                        buffer[hook.position] = after
            elif hook.kind == st.NODE_PRE_HOOK:
                hook.function([as_tensor(g) for g in ([holder.single] if buffer is None else buffer)])
        for hook in hooks:
            if hook.kind == st.RETAIN_GRAD:
                grad = holder.single if buffer is None else buffer[hook.position]
                if grad is not None:
                    hook.function.grad = kept(grad, self.create_graph)

    def call_hook(self, node: GradNodeBase, hook: st.Hook, grad: Any) -> Any:
        """Call one tensor hook and check what it returns."""
        before = set_grad_enabled_flag(self.create_graph)
        try:
            result = hook.function(as_tensor(grad))
        except Exception as error:
            raise noted(error, node)
        finally:
            set_grad_enabled_flag(before)
        if result is None:
            return grad
        name = getattr(hook.function, "__qualname__", repr(hook.function))
        if not isinstance(result, TensorBase):
            text = f"the hook {name}: expected a Tensor or None as its result, received {type(result).__name__}"
            raise noted(refused_hook(TypeError(text), hook.function), node)
        expected = meta_of_value(grad)
        if result.impl.meta.shape != expected.shape or result.impl.meta.dtype is not expected.dtype:
            text = f"the hook {name}: expected a gradient of {expected} as its result, received {result.impl.meta}"
            raise noted(refused_hook(ValueError(text), hook.function), node)
        return result if self.create_graph else result.impl

    def run_post_hooks(self, node: GradNodeBase, results: list[Any], grads: list[Any]) -> None:
        """Hooks on a whole node, after its rules."""
        hooks = node.hooks
        if hooks is not None:
            for hook in hooks:
                if hook.kind == st.NODE_POST_HOOK:
                    hook.function([as_tensor(r) for r in results], [as_tensor(g) for g in grads])


def noted(error: Exception, node: GradNodeBase) -> Exception:
    """The exception with a note that names the node and the user's forward line."""
    # The kernel that raised did not say that it had ended.
    STATE.in_kernel = False
    if not getattr(error, "wherry_noted", False):
        changed: Any = error
        changed.wherry_noted = True
        line = node.forward_line()
        text = f"raised in the backward of {node.op_name()}, which was recorded at {line}"
        if not (getattr(error, "wherry_explained", False) or getattr(error, "wherry_kind", "")):
            # The user's own exception passes as it is; what is to be said goes into a note.
            error.add_note(text)
        elif line not in str(error):
            error.args = (f"{error}\n  {text}",)
    return error


def refused_hook(error: Exception, function: Any) -> Exception:
    """The exception for what a hook returned, with the place of the hook's definition."""
    refusal: Any = error
    code = getattr(function, "__code__", None)
    refusal.wherry_kind = "hook"
    refusal.wherry_places = [("the hook", code, 0)]
    if code is not None:
        error.args = (f"{error}\n  the hook is defined at {describe(code, 0)}",)
    return error


def as_tensor(grad: Any) -> Any:
    """A gradient as user code sees it."""
    return new_tensor(grad) if isinstance(grad, DenseTensor) else grad


def kept(grad: Any, create_graph: bool) -> Any:
    """A gradient to keep for the user: its memory is nobody else's."""
    if create_graph:
        return grad
    return new_tensor(DenseTensor(_array(grad.array), grad.meta))


def references(dense: Any) -> int:
    """References to a DenseTensor's array, as counted from here."""
    return int(_getrefcount(dense.array))


def private(grad: DenseTensor) -> bool:
    """Whether nobody else can see this gradient's memory, so that it may become `.grad` without a copy."""
    array = grad.array
    return (
        array.base is None
        and int(_getrefcount(grad)) <= LIMITS.dense
        and references(grad) <= LIMITS.array
        and grad.storage is None
        and bool(array.flags.owndata)
    )


class Limits:
    """How many references a gradient has that nobody shares; measured at import, as it differs when compiled."""

    def __init__(self) -> None:
        self.dense = 0
        self.array = 0


LIMITS: Final = Limits()


def accumulate_into(node: AccumulationNode, grad: Any, owned: bool, create_graph: bool) -> None:
    """Add a gradient into a leaf's `.grad`; threads that share the leaf take turns."""
    state = node.state
    if create_graph:
        before = state.grad
        state.grad = grad if before is None else REGISTRY.recorded_ops.add(before, grad)
        return
    _turns.acquire()
    try:
        add_into(node, state, grad, owned)
    finally:
        _turns.release()


def add_into(node: AccumulationNode, state: st.GradState, grad: Any, owned: bool) -> None:
    """accumulate_into, in this thread's turn."""
    before = state.grad
    if before is None:
        state.grad = new_tensor(grad if owned or private(grad) else DenseTensor(_array(grad.array), grad.meta))
        return
    if isinstance(before, TensorBase):
        impl = before.impl
        if impl.meta.shape == grad.meta.shape and impl.meta.dtype is grad.meta.dtype and before._grad_node is None:
            _add(impl.array, grad.array, impl.array)
            impl.ensure_storage().bump("gradient accumulation", None, 0)
        else:
            state.grad = new_tensor(REGISTRY.raw_ops.add(impl, grad))


def calibrate() -> None:
    """Measure LIMITS on a gradient that nothing else refers to, along the very way that real ones come."""
    meta = Meta((1,), dt.float32)
    node = AccumulationNode(st.GradState(), meta)
    engine = BackwardPass(False, False)
    engine.seed(node, 0, DenseTensor(_array([0.0], "float32"), meta))
    holder = engine.taken(node)
    grad = holder.single
    holder.single = None
    measure(node, grad, False, False)


def measure(node: AccumulationNode, grad: Any, owned: bool, create_graph: bool) -> None:
    """Stands where accumulate_into stands."""
    measure_into(node, node.state, grad, owned)


def measure_into(node: AccumulationNode, state: st.GradState, grad: Any, owned: bool) -> None:
    """Stands where add_into stands."""
    before = state.grad
    if before is None:
        count(grad)


def count(grad: DenseTensor) -> None:
    """Stands where `private` stands."""
    array = grad.array
    LIMITS.dense = int(_getrefcount(grad))
    if array.base is None:
        LIMITS.array = references(grad)


calibrate()
