"""Questions about gradients, answered from a tape: why there is none, what it is the sum of, where nan came from."""

from dataclasses import dataclass, field
from typing import Any, Final

from wherry.autograd.history import grad_node_of, is_leaf, requires_grad
from wherry.autograd.structures import TensorBase
from wherry.inspect.facts import NOWHERE, Line, Statistics
from wherry.inspect.tape import Tape
from wherry.inspect.tape_facts import Call, Delivery, NodeRun, Pass

# How far the search for the place where a gradient was lost goes, and how much of it is told.
_FARTHEST: Final = 10_000
_SHOWN: Final = 12


@dataclass
class Reason:
    """Why something is so, and the user's line that made it so (line 0 where none is known).

    kind: "has gradient", "dtype", "stop_gradient", "no_grad", "detach", "default", "inputs", "no derivative", "not retained", "no backward",
    "not used", "cut", "returned none", "cleared", "pruned".
    """

    kind: str
    line: Line
    text: str
    because: list["Reason"] = field(default_factory=list)
    # Of a place where the history was lost: whether the values went on from there into what backward ran through.
    went_on: bool = False

    def __str__(self) -> str:
        place = f" at {self.line}" + (f"\n    {self.line.text}" if self.line.text else "") if self.line.line else ""
        text = self.text + place
        for reason in self.because:
            text += "\n" + "\n".join("  " + part for part in str(reason).split("\n"))
        return text


def checked(tensor: Any, function: str) -> TensorBase:
    """The tensor; raises TypeError for anything else."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"{function}: expected a Tensor, received {type(tensor).__name__}")
    return tensor


def why_no_grad(tensor: Any, tape: Tape | None = None) -> Reason:
    """Why a tensor's `.grad` is None, or why it needs no gradient.

    tape: a recording of the forward and backward (wherry.inspect.record). Without one only what the tensor itself knows can be said.
    """
    tensor = checked(tensor, "why_no_grad")
    if tensor._state is not None and tensor._state.grad is not None:
        return Reason("has gradient", NOWHERE, "it has a gradient")
    dtype = tensor.impl.meta.dtype
    if not dtype.is_differentiable:
        return Reason(
            "dtype", NOWHERE, f"its dtype {dtype.name} has no gradient; only floating and complex tensors have"
        )
    if not requires_grad(tensor):
        return why_stopped(tape.numbers.of(tensor) if tape else 0, tape, set())
    if not is_leaf(tensor) and (tensor._state is None or not tensor._state.retain_grads):
        return Reason(
            "not retained",
            Line(tensor._grad_node.code, tensor._grad_node.lasti) if tensor._grad_node else NOWHERE,
            "it is not a leaf, and only leaves keep their gradient; call retain_grads() on it before backward",
        )
    if tape is None:
        return Reason(
            "no backward", NOWHERE, "no backward pass has reached it; run the step inside wherry.inspect.record()"
        )
    return why_not_reached(tensor, tape)


def why_stopped(number: int, tape: Tape | None, seen: set[int]) -> Reason:
    """Why a tensor has stop_gradient=True."""
    seen.add(number)
    if tape is None:
        return Reason(
            "stop_gradient", NOWHERE, "its stop_gradient is True; record the program to learn which line made it so"
        )
    event = next((e for e in reversed(list(tape.events)) if e.kind == "stop_gradient" and e.tensor == number), None)
    if event is not None and event.detail == "True":
        return Reason("stop_gradient", event.line, "its stop_gradient was set to True")
    event = next((e for e in tape.events if e.kind == "detach" and e.tensor == number), None)
    if event is not None:
        return Reason("detach", event.line, "it was made by detach, which leaves the history behind")
    event = next((e for e in tape.events if e.kind == "created" and e.tensor == number), None)
    if event is not None and event.other:
        return Reason(
            "detach",
            event.line,
            "to_tensor copied it from another tensor, which leaves the history behind; use clone()",
        )
    if event is not None:
        text = f"to_tensor made it from a {event.detail} with stop_gradient=True, the default; pass stop_gradient=False"
        return Reason("default", event.line, text)
    call = next((c for c in tape.calls if any(f.number == number for f in c.outputs)), None)
    if call is None:
        return Reason(
            "default",
            NOWHERE,
            "it is a leaf with stop_gradient=True, the default; set stop_gradient=False before it is used",
        )
    if any(f.gradient.startswith("yes") for f in call.inputs) and not call.grad_enabled:
        mode = next((e for e in reversed(list(tape.events)) if e.kind == "mode" and e.index < call.index), None)
        place = mode.line if mode else call.line
        return Reason(
            "no_grad",
            place,
            f"{call.op} at {call.line} was not recorded: recording was switched off ({mode.detail if mode else 'before'})",
        )
    if not call.inputs:
        return Reason("default", call.line, f"{call.op} made it from no tensor; set stop_gradient=False on it")
    if "derivative" in call.not_recorded:
        return Reason("no derivative", call.line, f"{call.op} has no derivative")
    reason = Reason("inputs", call.line, f"{call.op} made it from tensors none of which needs a gradient")
    for fact in call.inputs[:_SHOWN]:
        if fact.given.number not in seen:
            inner = why_stopped(fact.given.number, tape, seen)
            inner.text = f"{fact.name}: {inner.text}"
            reason.because.append(inner)
    return reason


def why_not_reached(tensor: TensorBase, tape: Tape) -> Reason:
    """Why no gradient came to a tensor that wants one."""
    number = tape.numbers.of(tensor)
    node = tape.numbers.of_node(grad_node_of(tensor))
    cleared = next((e for e in reversed(list(tape.events)) if e.kind == "clear" and e.tensor == number), None)
    reached = [run for p in tape.passes for run in p.nodes if run.node == node]
    if reached and cleared is not None and cleared.index > reached[-1].index:
        return Reason("cleared", cleared.line, "its gradient was cleared after backward")
    nothing = [(run, d) for p in tape.passes for run in p.nodes for d in run.deliveries if d.target == node and d.none]
    if nothing:
        run = nothing[-1][0]
        return Reason("returned none", run.line, f"the backward of {run.op} returned no gradient for it")
    if not tape.passes.total:
        return Reason("no backward", NOWHERE, "no backward pass ran while it was recorded")
    uses = [c for c in tape.calls if any(f.given.number == number for f in c.inputs)]
    if not uses:
        return Reason("not used", NOWHERE, "no recorded operation used it")
    cuts = lost(number, tape, {run.node for p in tape.passes for run in p.nodes})
    reason = Reason(
        "cut", uses[0].line, f"it was used by {uses[0].op}, but nothing leads from there to what backward started from"
    )
    reason.because = cuts[:_SHOWN]
    return reason


def lost(number: int, tape: Tape, ran: set[int]) -> list[Reason]:
    """The places at which the ways from a tensor to the roots end."""
    consumers: dict[int, list[Call]] = {}
    for call in tape.calls:
        for fact in call.inputs:
            consumers.setdefault(fact.given.number, []).append(call)
    detached: dict[int, list[Any]] = {}
    for event in tape.events:
        if event.kind in ("detach", "created") and event.other:
            detached.setdefault(event.other, []).append((event, f"{LOSES[event.kind]} leaves the history behind"))
        elif event.kind == "numpy":
            detached.setdefault(event.tensor, []).append(
                (event, "its values went on as a NumPy array, without history")
            )
    # Where values come from that NumPy held for a while nobody can say; any array that came back counts.
    returned = [
        e.tensor for e in tape.events if e.kind == "created" and e.detail in ("ndarray", "list", "tuple", "float")
    ]
    useful = feeding(ran, consumers, detached)
    cuts: list[Reason] = []
    pending, seen = [number], {number}
    while pending and len(seen) < _FARTHEST:
        here = pending.pop()
        for event, text in detached.get(here, ()):
            following = [event.tensor] if event.kind != "numpy" else returned
            cuts.append(Reason("detach", event.line, text, went_on=any(n in useful for n in following)))
        for call in consumers.get(here, ()):
            if call.node == 0:
                cut = call_cut(call, tape)
                cut.went_on = any(f.number in useful for f in call.outputs)
                cuts.append(cut)
                continue
            if call.node in ran:
                cuts.append(Reason("pruned", call.line, f"backward passed {call.op}, but took no way to the tensor"))
                continue
            following = [f.number for f in call.outputs]
            if not any(n in consumers or n in detached for n in following):
                cuts.append(
                    Reason(
                        "not used",
                        call.line,
                        f"the result of {call.op} goes no further: backward did not start from it",
                    )
                )
            pending += [n for n in following if n not in seen]
            seen.update(following)
    unique: dict[str, Reason] = {str(c): c for c in cuts}
    return sorted(unique.values(), key=lambda c: not c.went_on)


def feeding(ran: set[int], consumers: dict[int, list[Call]], detached: dict[int, list[Any]]) -> set[int]:
    """The tensors whose values went, recorded or not, into a call that backward ran through."""
    makers: dict[int, set[int]] = {}
    useful: set[int] = set()
    for number, calls in consumers.items():
        for call in calls:
            if call.node in ran:
                useful.add(number)
            for fact in call.outputs:
                makers.setdefault(fact.number, set()).add(number)
    for number, events in detached.items():
        for event, _ in events:
            if event.kind != "numpy":
                makers.setdefault(event.tensor, set()).add(number)
    pending = list(useful)
    while pending:
        for source in makers.get(pending.pop(), ()):
            if source not in useful:
                useful.add(source)
                pending.append(source)
    return useful


LOSES: Final = {"detach": "detach", "created": "to_tensor"}


def call_cut(call: Call, tape: Tape) -> Reason:
    """Why a call that used the tensor was not recorded."""
    if not call.grad_enabled:
        mode = next((e for e in reversed(list(tape.events)) if e.kind == "mode" and e.index < call.index), None)
        return Reason(
            "no_grad", mode.line if mode else call.line, f"{call.op} at {call.line} was not recorded: recording was off"
        )
    if call.error:
        return Reason("not used", call.line, f"{call.op} raised {call.error.splitlines()[0]}")
    return Reason("no derivative", call.line, f"{call.op} was not recorded: {call.not_recorded}")


@dataclass
class Term:
    """One term of a gradient's sum: what delivered it, its size, and the way from the root to it."""

    op: str
    line: Line
    statistics: Statistics | None
    path: list[str]

    def __str__(self) -> str:
        size = f"norm {self.statistics.norm:.4g}" if self.statistics else "of unknown size"
        return f"{size} from {self.op} at {self.line}\n    by way of {' -> '.join(self.path)}"


@dataclass
class GradientSum:
    """A gradient as the sum of what came over each edge. `total` is what the node received, hooks not yet applied."""

    terms: list[Term]
    total: Statistics | None
    hooks: list[str]

    def __str__(self) -> str:
        if not self.terms:
            return "no backward pass delivered a gradient to it while it was recorded"
        lines = [
            f"the sum of {len(self.terms)} term{'s' if len(self.terms) > 1 else ''}"
            + (f": {self.total}" if self.total else "")
        ]
        lines += [f"  {i}. " + str(term).replace("\n", "\n     ") for i, term in enumerate(self.terms, 1)]
        lines += [f"  then {hook}" for hook in self.hooks]
        return "\n".join(lines)


def why_grad(tensor: Any, tape: Tape, pass_number: int = -1) -> GradientSum:
    """What a tensor's gradient is the sum of: each term with its size and its way through the graph.

    pass_number: which of the recorded backward passes, from 0; the last by default. Raises TypeError for anything but a Tensor, ValueError where no
    pass was recorded.
    """
    tensor = checked(tensor, "why_grad")
    if not tape.passes.total:
        raise ValueError("why_grad: expected a recording with a backward pass, received one without")
    entry = tape.passes[pass_number]
    node = tape.numbers.of_node(grad_node_of(tensor))
    runs = {run.node: run for run in entry.nodes}
    arriving: dict[int, list[tuple[NodeRun, Delivery]]] = {}
    for run in entry.nodes:
        for d in run.deliveries:
            if not d.none:
                arriving.setdefault(d.target, []).append((run, d))
    leaf = is_leaf(tensor)
    terms = [
        Term(run.op, run.line, d.statistics, path_to(run, arriving))
        for run, d in arriving.get(node, ())
        if leaf or d.target_output == tensor._position
    ]
    own = runs.get(node)
    total = None
    if own is not None and own.arrived:
        total = own.arrived[0 if leaf else tensor._position]
    hooks = (
        [
            f"the hook {h.function} ({h.line}): {'changed it to ' + str(h.after) if h.changed else 'left it'}"
            for h in own.hooks
        ]
        if own
        else []
    )
    return GradientSum(terms, total, hooks)


def path_to(run: NodeRun, arriving: dict[int, list[tuple[NodeRun, Delivery]]]) -> list[str]:
    """The way from the root to a node: where several gradients met the largest is followed, and their number told."""
    path: list[str] = []
    seen: set[int] = set()
    current: NodeRun | None = run
    while current is not None and current.node not in seen:
        seen.add(current.node)
        sources = arriving.get(current.node, [])
        place = f"{current.op} ({current.line.file.rsplit('/', 1)[-1]}:{current.line.line})"
        path.append(place + (f" [a sum of {len(sources)}]" if len(sources) > 1 else ""))
        largest = max(sources, key=lambda pair: pair[1].statistics.norm if pair[1].statistics else 0.0, default=None)
        current = largest[0] if largest else None
    path.reverse()
    if len(path) > _SHOWN:
        path = [*path[: _SHOWN // 2], f"... {len(path) - _SHOWN} more ...", *path[-_SHOWN // 2 :]]
    return path


@dataclass
class NonFinite:
    """The first nan or inf of a recording: the call or backward node that made it, and the inputs it made it from."""

    op: str
    line: Line
    backward: bool
    result: Statistics
    inputs: list[str]
    # True where the inputs were finite; False where they already were not, and came from outside the recording.
    made_here: bool

    def __str__(self) -> str:
        what = f"the backward of {self.op}" if self.backward else self.op
        bad = f"{self.result.nan} nan, {self.result.inf} inf of {self.result.size} elements"
        verb = "first gave" if self.made_here else "was given, and gave,"
        return "\n".join([f"{what} at {self.line} {verb} {bad}; from", *(f"  {i}" for i in self.inputs)])


def first_nonfinite(tape: Tape) -> NonFinite | None:
    """The call or backward node that first gave nan or inf; None where everything is finite.

    Raises ValueError for a recording without statistics.
    """
    if not tape.with_statistics:
        raise ValueError(
            "first_nonfinite: expected a recording with statistics, received one made with with_statistics=False"
        )
    moments: list[tuple[int, Any, Pass | None]] = [(c.index, c, None) for c in tape.calls]
    moments += [(run.index, run, p) for p in tape.passes for run in p.nodes]
    for _, item, entry in sorted(moments, key=lambda m: m[0]):
        results = item.results if entry else [f.statistics for f in item.outputs]
        bad = next((s for s in results if s is not None and not s.finite), None)
        if bad is None:
            continue
        if entry:
            inputs = [f"gradient {i}: {s}" for i, s in enumerate(item.arrived) if s is not None]
            clean = all(s is None or s.finite for s in item.arrived)
            forward = next((c for c in tape.calls if c.node == item.node), None)
            inputs += [f"{f.name}: {f.given} ({f.given.statistics})" for f in forward.inputs] if forward else []
            return NonFinite(item.op, item.line, True, bad, inputs, clean)
        inputs = [f"{f.name}: {f.given} ({f.given.statistics})" for f in item.inputs]
        clean = all(f.given.statistics is None or f.given.statistics.finite for f in item.inputs)
        return NonFinite(item.op, item.line, False, bad, inputs, clean)
    return None


def promotions(tape: Tape) -> list[Call]:
    """The calls whose inputs type promotion cast."""
    return [c for c in tape.calls if c.promotion]


def casts(tape: Tape) -> list[tuple[Call, str]]:
    """Every cast with what asked for it: "promotion in add", "AMP in matmul", or "the program"."""
    by_index = {c.index: c for c in tape.calls}
    found = []
    for call in tape.calls:
        if call.op != "cast":
            continue
        parent = by_index.get(call.parent)
        found.append(
            (call, "the program" if parent is None else f"{'AMP' if parent.amp else 'promotion'} in {parent.op}")
        )
    return found
