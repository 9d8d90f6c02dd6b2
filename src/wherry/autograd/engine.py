"""The backward engine: in-degrees by search from the roots, a ready queue, hooks, accumulation. Nothing here recurses.

A pass keeps its own GradTensorHolders. In-degrees are counted on the nodes, which a pass marks as its own; what another pass has marked
(backward inside a hook), and leaves, which threads share, are counted in a table of the pass. So passes nest and run in several threads.
"""

import itertools
import sys
import threading
from typing import Any, Final

import numpy as np

from wherry.autograd import structures as st
from wherry.autograd.boundary import note, own, run_hooks, run_post_hooks, run_reduce_hooks
from wherry.autograd.compute import compute_general, flat_rule
from wherry.autograd.grad_tensor_holder import GradTensorHolder
from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.structures import AccumulationNode, GeneralGradNode, GradNode, GradNodeBase, TensorBase
from wherry.core import dtype as dt
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.core.state import observers

_add: Final[Any] = np.add
_array: Final[Any] = np.array
_getrefcount: Final[Any] = sys.getrefcount
# Reentrant, because memory that is freed under it may run user code.
_turns: Final[Any] = threading.RLock()
_pass_numbers: Final = itertools.count(1)


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
        leaf = isinstance(node, AccumulationNode)
        if not leaf:
            # Noted first: what stops the pass here must find it.
            self.claimed.append(node)
        # No call between the question and the mark: another thread could have its turn there.
        if node.pass_mark == 0 and not leaf:
            node.pass_mark = self.mark
            node.remaining = count
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
            run_hooks(self, node, holder)
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
            except BaseException as error:
                note(error, node, self.mark)
                raise
            if node.hooks is not None:
                results = [value0, value1][: node.num_inputs()]
                value0 = value1 = None
                results = run_post_hooks(self, node, results, [grad])
                value0 = results[0]
                if len(results) == 2:
                    value1 = results[1]
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
        holder.single = None
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
                    results = node.compute(grads if node.hooks is None else list(grads), self.create_graph, needed)
            except BaseException as error:
                note(error, node, self.mark)
                raise
            if node.hooks is not None:
                results = run_post_hooks(self, node, results, grads)
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
            run_hooks(self, node, holder)
        if self.captures is not None:
            self.capture(node, holder)
            return
        if holder.single is None or not isinstance(node, AccumulationNode):
            return
        if self.watching is not None:
            for observer in self.watching:
                observer.gradient_accumulated(self, node, holder.single)
        grad = holder.single
        owned = holder.owned
        holder.single = None
        if self.create_graph:
            grad = own(grad, True)
        accumulate_into(node, grad, owned, self.create_graph)
        if node.hooks is not None:
            run_reduce_hooks(self, node)

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
    _turns.acquire()
    try:
        if create_graph:
            before = state.grad
            state.grad = grad if before is None else REGISTRY.recorded_ops.add(before, grad)
        else:
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
