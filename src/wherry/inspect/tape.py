"""The tape of a stretch of a program: every call, every node of every backward pass, and what the user did between them.

What is kept are facts (facts.py), never tensors, so that recording changes no lifetime.
"""

import time
import weakref
from typing import Any, Final

from wherry.autograd.amp import decision
from wherry.autograd.history import grad_node_of
from wherry.autograd.structures import AccumulationNode, GradNodeBase, TensorBase
from wherry.core.observer import Observer
from wherry.core.state import amp_state, is_grad_enabled
from wherry.dispatch import op_def as od
from wherry.dispatch import select
from wherry.dispatch.kernel_factory import FACTORY
from wherry.dispatch.op_def import OpDef
from wherry.inspect.facts import (
    Numbers,
    Statistics,
    TensorFact,
    api_function,
    array_of,
    fact_of,
    function_place,
    here,
    line_of_node,
    owner_of,
    statistics,
)
from wherry.inspect.tape_facts import Call, Delivery, Event, HookRun, InputFact, Kept, NodeRun, Pass, SavedFact


def function_name(function: Any) -> str:
    """A user's function by name."""
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


class Tape(Observer):
    """Records what it is told; see `record`.

    with_statistics: min, max, mean, norm, nan and inf of every tensor and gradient, a look at each element. limit: how many calls, and how many
    nodes of a pass, are kept in full: the first and the last; `dropped` of the lists says how many lay between.
    """

    def __init__(self, with_statistics: bool = True, limit: int = 50_000) -> None:
        self.with_statistics: Final = with_statistics
        self.limit: Final = limit
        self.numbers: Final = Numbers()
        self.calls: Kept[Call] = Kept(limit)
        self.passes: Kept[Pass] = Kept(max(limit // 10, 2))
        self.events: Kept[Event] = Kept(limit)
        self.started: Final = time.perf_counter()
        # (seconds, bytes of the memory made while recording that is alive).
        self.memory_track: Kept[tuple[float, int]] = Kept(limit)
        self._alive: dict[int, Any] = {}
        self._live_bytes = 0
        # Leaves by the number of their AccumulationNode, with the tensor's number.
        self.leaves: Final[dict[int, TensorFact]] = {}
        self._clock = 0
        self._open: list[tuple[Call, float, float]] = []
        self._modules: list[str] = []
        # Inputs of the innermost call that are not contiguous, with their bytes.
        self._copied: list[tuple[str, int]] = []
        self._passes: list[tuple[Pass, list[NodeRun]]] = []
        # How many edges have delivered to a node that has not run yet.
        self._delivered: dict[int, int] = {}

    # Small things.

    def tick(self) -> int:
        """The next number of the order in which things happened."""
        self._clock += 1
        return self._clock

    def now(self) -> float:
        """Seconds since the tape began."""
        return time.perf_counter() - self.started

    def _fact(self, tensor: Any) -> TensorFact:
        return fact_of(tensor, self.numbers, self.with_statistics)

    def _statistics(self, grad: Any) -> Statistics | None:
        return None if grad is None or not self.with_statistics else statistics(array_of(grad))

    def _event(self, kind: str, tensor: Any, detail: str, other: int = 0) -> None:
        number = 0 if tensor is None else self.numbers.of(tensor)
        storage = 0 if tensor is None else self.numbers.of_memory(tensor.impl)
        version = 0 if tensor is None else tensor.impl.inplace_version
        self.events.append(Event(self.tick(), kind, here(), number, detail, storage, version, other))

    def _made(self, array: Any) -> None:
        """Follow the memory of a new array until it is freed."""
        owner = owner_of(array)
        key, nbytes = id(owner), int(owner.nbytes)
        known = self._alive.get(key)
        if known is not None and known() is owner:
            return
        self._alive[key] = weakref.ref(owner, lambda _: self._freed(key, nbytes))
        self._live_bytes += nbytes
        self.memory_track.append((self.now(), self._live_bytes))

    def _freed(self, key: int, nbytes: int) -> None:
        self._alive.pop(key, None)
        self._live_bytes -= nbytes
        self.memory_track.append((self.now(), self._live_bytes))

    # Forward.

    def _begin(self, op: str, kind: str, inputs: list[tuple[str, Any]], has_rule: Any) -> None:
        parent = self._open[-1][0].index if self._open else 0
        in_node = self._passes[-1][1][-1].node if self._passes and self._passes[-1][1] else 0
        call = Call(self.tick(), op, kind, here(), tuple(self._modules), parent, in_node, self.now())
        call.grad_enabled = is_grad_enabled()
        for name, tensor in inputs:
            call.inputs.append(self._input(name, tensor, has_rule(name)))
        now = time.perf_counter()
        self._open.append((call, now, now))

    def _input(self, name: str, tensor: Any, has_rule: bool) -> InputFact:
        node = grad_node_of(tensor)
        fact = self._fact(tensor)
        leaf = node is None or isinstance(node, AccumulationNode)
        if isinstance(node, AccumulationNode):
            self.leaves[fact.node or self.numbers.of_node(node)] = fact
        return InputFact(name, fact, fact.dtype, gradient_reason(tensor, node, has_rule), leaf)

    def call_started(self, op: OpDef, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        rules = dict(zip(op.inputs, op.rules)) if op.rules else {}
        self._begin(op.name, "inplace" if inplace else "op", named_inputs(op, inputs), lambda n: bool(rules.get(n)))
        call = self._open[-1][0]
        call.attrs = {name: value for name, value in zip(op.attrs, attrs)}
        call.api = api_function()
        amp = amp_state()
        if amp is not None:
            kind = decision(op, amp)
            call.amp = f"{amp.level} {amp.dtype.name}: {kind or 'not listed'}"

    def call_prepared(self, op: OpDef, inputs: tuple[Any, ...]) -> None:
        call, started, _ = self._open[-1]
        for fact, (_, tensor) in zip(call.inputs, named_inputs(op, inputs)):
            fact.dtype = tensor.impl.meta.dtype.name
        if op.promote and not call.amp:
            changed = [f for f in call.inputs if f.dtype != f.given.dtype]
            if changed:
                call.promotion = ", ".join(f"{f.name}: {f.given.dtype} -> {f.dtype}" for f in changed)
        self._copied = [
            (name, int(t.impl.array.nbytes))
            for name, t in named_inputs(op, inputs)
            if not t.impl.array.flags.c_contiguous
        ]
        now = time.perf_counter()
        call.prepare_seconds = now - started
        self._open[-1] = (call, started, now)

    def data_prepared(self, op: OpDef, before: list[Any], after: list[Any]) -> None:
        if self._inside(op.name):
            for name, old, new in zip(op.inputs, before, after):
                if old is not new:
                    text = f"{name} cast {old.meta.dtype.name} -> {new.meta.dtype.name}, {new.array.nbytes} bytes"
                    self._open[-1][0].transforms.append(text)

    def meta_inferred(self, op: OpDef, metas: Any) -> None:
        if self._inside(op.name):
            self._open[-1][0].inferred = repr(metas)

    def kernel_selected(self, op: OpDef, dtype_code: int, kernel: Any) -> None:
        if self._passes and self._passes[-1][1] and not self._inside(op.name):
            self._passes[-1][1][-1].kernels.append(f"{op.name} {kernel.key}")
            return
        if not self._inside(op.name):
            return
        call, started, _ = self._open[-1]
        call.kernel = kernel.location
        call.kernel_key = repr(kernel.key)
        call.kernel_hash = kernel.key.packed
        call.steps = selection_steps(op, dtype_code, kernel)
        if kernel.contiguous:
            call.transforms += [f"{name} copied to contiguous memory, {n} bytes" for name, n in self._copied]
        self._open[-1] = (call, started, time.perf_counter())

    def kernel_finished(self, op: OpDef, result: Any) -> None:
        if self._inside(op.name):
            call, _, selected = self._open[-1]
            call.kernel_seconds += time.perf_counter() - selected

    def _inside(self, op: str) -> bool:
        return bool(self._open) and self._open[-1][0].op == op

    def call_finished(self, op: OpDef, outputs: tuple[Any, ...]) -> None:
        tensors = flat_tensors(outputs)
        call = self._end(tensors)
        node = next((t._grad_node for t in tensors if t._grad_node is not None and not t._stop_gradient), None)
        if node is not None and node.op_name() == op.name:
            call.node = self.numbers.of_node(node)
            call.saved = self._saved(op, node, call)
        elif op.has_grad:
            call.not_recorded = not_recorded_reason(call)
        else:
            call.not_recorded = "the operation has no derivative"

    def _saved(self, op: OpDef, node: GradNodeBase, call: Call) -> list[SavedFact]:
        wanted = wanted_names(op, call)
        return [
            SavedFact(
                w.name,
                w.meta.shape,
                w.meta.dtype.name,
                0 if w.dense is None else int(w.dense.array.nbytes),
                0 if w.dense is None else self.numbers.of_memory(w.dense),
                w.inplace_version_snapshot,
                tuple(wanted.get(w.name, ())),
            )
            for w in node.saved()
        ]

    def _end(self, tensors: list[Any]) -> Call:
        call, started, _ = self._open.pop()
        call.outputs = [self._fact(t) for t in tensors]
        call.nbytes = sum(f.nbytes for f in call.outputs)
        for tensor in tensors:
            self._made(tensor.impl.array)
        call.seconds = time.perf_counter() - started
        call.library_seconds = max(call.seconds - call.kernel_seconds, 0.0)
        self.calls.append(call)
        return call

    def call_failed(self, op: Any, error: BaseException) -> None:
        self._end([]).error = f"{type(error).__name__}: {error}"

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        self._begin(layer.__qualname__, "pylayer", [(str(i), t) for i, t in enumerate(inputs)], lambda _: True)
        call = self._open[-1][0]
        plain = [v for v in (*args, *kwargs.values()) if not isinstance(v, TensorBase)]
        call.attrs = {f"argument {i}": repr(v)[:80] for i, v in enumerate(plain)}
        call.kernel = str(function_place(layer.forward))

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        tensors = flat_tensors(tuple(outputs))
        call = self._end(tensors)
        node = next((t._grad_node for t in tensors if t._grad_node is not None), None)
        if node is None or node.op_name() != layer.__qualname__:
            call.not_recorded = not_recorded_reason(call)
            return
        call.node = self.numbers.of_node(node)
        call.saved = [
            SavedFact(
                w.name,
                w.meta.shape,
                w.meta.dtype.name,
                0 if w.dense is None else int(w.dense.array.nbytes),
                0 if w.dense is None else self.numbers.of_memory(w.dense),
                w.inplace_version_snapshot,
                ("backward",),
            )
            for w in node.saved()
        ]

    def custom_failed(self, layer: Any, context: Any, error: BaseException) -> None:
        self._end([]).error = f"{type(error).__name__}: {error}"

    # What the user does.

    def mode_changed(self, name: str, enabled: bool) -> None:
        self._event("mode", None, f"{name}: recording {'on' if enabled else 'off'}")

    def stop_gradient_set(self, tensor: Any, value: bool) -> None:
        self._event("stop_gradient", tensor, str(value))

    def detached(self, source: Any, result: Any) -> None:
        self._event("detach", result, "", self.numbers.of(source))

    def tensor_created(self, tensor: Any, data: Any) -> None:
        other = self.numbers.of(data) if isinstance(data, TensorBase) else 0
        self._event("created", tensor, type(data).__name__, other)

    def numpy_taken(self, tensor: Any) -> None:
        self._event("numpy", tensor, "")

    def written(self, tensor: Any, name: str) -> None:
        self._event("write", tensor, name)

    def hook_registered(self, node: Any, hook: Any) -> None:
        self.events.append(
            Event(
                self.tick(), "hook", here(), self.numbers.of_node(node), function_name(hook.function), 0, hook.position
            )
        )

    def optimizer_stepped(self, optimizer: Any) -> None:
        self._event("step", None, type(optimizer).__name__)

    def gradient_cleared(self, tensor: Any) -> None:
        self._event("clear", tensor, "")

    def layer_entered(self, layer: Any) -> None:
        self._modules.append(layer.full_name())

    def layer_left(self, layer: Any) -> None:
        if self._modules:
            self._modules.pop()

    # Backward.

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        nodes: Kept[NodeRun] = Kept(self.limit)
        numbers = [self.numbers.of_node(r) for r in roots]
        entry = Pass(engine.mark, here(), numbers, engine.create_graph, engine.retain_graph, self.now(), nodes)
        self.passes.append(entry)
        self._passes.append((entry, []))

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        entry, running = self._passes.pop()
        self._close(running)
        entry.seconds = self.now() - entry.start
        entry.error = "" if error is None else f"{type(error).__name__}: {error}"

    def _close(self, running: list[NodeRun]) -> None:
        if running:
            run = running.pop()
            run.seconds = self.now() - run.start

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        entry, running = self._passes[-1]
        self._close(running)
        leaf = None
        if isinstance(node, AccumulationNode):
            leaf = node.state.name or ""
        run = NodeRun(
            self.tick(),
            self.numbers.of_node(node),
            node.op_name(),
            line_of_node(node),
            leaf,
            [self._statistics(g) for g in grads],
            self.now(),
        )
        run.in_degree = self._delivered.pop(run.node, 0)
        run.nbytes = sum(int(array_of(g).nbytes) for g in grads if g is not None)
        entry.nodes.append(run)
        running.append(run)

    def node_finished(self, engine: Any, node: Any, results: list[Any]) -> None:
        self._passes[-1][1][-1].results = [self._statistics(r) for r in results]
        for result in results:
            if result is not None:
                self._made(array_of(result))

    def gradient_delivered(self, engine: Any, source: Any, index: int, target: Any, position: int, grad: Any) -> None:
        meta = None if grad is None else (grad.meta if not isinstance(grad, TensorBase) else grad.impl.meta)
        left = target.remaining if target.pass_mark == engine.mark else engine.counts.get(target, 1)
        run = self._passes[-1][1][-1]
        number = self.numbers.of_node(target)
        # All edges of a node are told before the first of them delivers.
        left -= sum(d.target == number for d in run.deliveries)
        self._delivered[number] = self._delivered.get(number, 0) + 1
        run.deliveries.append(
            Delivery(
                self.tick(),
                self.numbers.of_node(source),
                index,
                number,
                position,
                self._statistics(grad),
                "" if meta is None else meta.dtype.name,
                () if meta is None else meta.shape,
                left - 1,
                grad is None,
            )
        )

    def hook_called(self, engine: Any, node: Any, hook: Any, before: Any, after: Any) -> None:
        function = hook.function
        self._passes[-1][1][-1].hooks.append(
            HookRun(
                self.tick(),
                self.numbers.of_node(node),
                hook.position,
                function_name(function),
                function_place(function),
                after is not before,
                self._statistics(before),
                self._statistics(after),
            )
        )


def selection_steps(op: OpDef, dtype_code: int, kernel: Any) -> list[str]:
    """Each key that selection asked for, with what it found."""
    steps = []
    for reason, key in select.fallback_steps(select.preferred_key(dtype_code)):
        found = FACTORY.find(op.kernel, key)
        if not found:
            steps.append(f"{key} ({reason}): no kernel")
            continue
        for candidate in found:
            if candidate is kernel:
                steps.append(f"{key} ({reason}): taken")
                return steps
            steps.append(f"{key} ({reason}): {candidate.location} declined these arguments")
    return steps


def named_inputs(op: OpDef, inputs: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """The tensors of a call with the names of their arguments; those of a list as name[0], name[1] ..."""
    found: list[tuple[str, Any]] = []
    for name, value in zip(op.inputs, inputs):
        if isinstance(value, TensorBase):
            found.append((name, value))
        elif value is not None:
            found += [(f"{name}[{i}]", v) for i, v in enumerate(value)]
    return found


def flat_tensors(outputs: Any) -> list[Any]:
    """The Tensors among outputs, those in lists included."""
    if isinstance(outputs, TensorBase):
        return [outputs]
    if isinstance(outputs, (tuple, list)):
        return [t for o in outputs for t in flat_tensors(o)]
    return []


def gradient_reason(tensor: Any, node: GradNodeBase | None, has_rule: bool) -> str:
    """Why a call is, or is not, recorded for an input."""
    if not tensor.impl.meta.dtype.is_differentiable:
        return f"no: dtype {tensor.impl.meta.dtype.name} has no gradient"
    if node is None:
        return "no: stop_gradient=True"
    if not has_rule:
        return "no: the operation has no derivative for this input"
    return "yes: a leaf" if isinstance(node, AccumulationNode) else f"yes: made by {node.op_name()}"


def not_recorded_reason(call: Call) -> str:
    """Why a call has no node."""
    if not call.inputs:
        return "the call has no tensor inputs"
    if not any(f.gradient.startswith("yes") for f in call.inputs):
        return "no input needs a gradient"
    if not call.grad_enabled:
        return "recording is off (no_grad)"
    return "no output can carry a gradient"


def wanted_names(op: OpDef, call: Call) -> dict[str, list[str]]:
    """For each saved tensor the inputs whose derivative rule asks for it."""
    wanted: dict[str, list[str]] = {}
    for i, name in enumerate(op.inputs):
        rule = op.rules[i]
        needed = any(
            f.gradient.startswith("yes") and (f.name == name or f.name.startswith(name + "[")) for f in call.inputs
        )
        if rule is None or not needed:
            continue
        for kind, position in zip(rule.kinds, rule.positions):
            if kind == od.WANTS_INPUT:
                wanted.setdefault(op.inputs[position], []).append(name)
            elif kind == od.WANTS_OUTPUT:
                wanted.setdefault(op.outputs[position], []).append(name)
    return wanted
