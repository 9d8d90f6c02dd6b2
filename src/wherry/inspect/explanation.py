"""`explain`: the way of each call through the five forward layers, and for a PyLayer what its forward and backward exchanged."""

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

from wherry.core import state
from wherry.inspect.graph_text import size_text
from wherry.inspect.tape import Tape
from wherry.inspect.tape_facts import Call


class Explanation(Tape):
    """The calls of a block or function, explained. Printing it shows a card for each; `calls` has them as data.

    result: what the explained function returned.
    """

    result: Any = None

    def __enter__(self) -> "Explanation":
        self._outer = state.set_observers((*state.observers(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.set_observers(self._outer)

    def __str__(self) -> str:
        if not self.calls.total:
            return "no operation was called"
        cards = [card(call, self) for call in self.calls if not call.parent or call.kind != "op" or call.op != "cast"]
        if self.calls.dropped:
            cards.append(f"({self.calls.dropped} calls in between are left out)")
        return "\n\n".join(cards)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The calls as plain lists and dictionaries."""
        from wherry.inspect.tape_json import tape_dict

        return tape_dict(self)

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict())


def explain(fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Explanation:
    """How each operation that fn(*args, **kwargs) calls goes through the five layers; without fn a context that does it for its block.

        print(wherry.inspect.explain(paddle.add, x, y))
        with wherry.inspect.explain() as call:
            z = x + y
        print(call)

    A card says: arguments as parsed; AMP decision; promotion and from what; for each input why it is recorded or not; what was saved and
    for which rule; the kernel key, each step of selection; casts and copies; InferMeta's result; the kernel function; time in each layer.
    """
    explanation = Explanation()
    if fn is None:
        return explanation
    if not callable(fn):
        raise TypeError(f"explain: expected a function to call, received {type(fn).__name__}")
    with explanation:
        explanation.result = fn(*args, **kwargs)
    return explanation


def microseconds(seconds: float) -> str:
    """A time for people."""
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def attribute_text(value: Any) -> str:
    """An attribute, shortened."""
    text = getattr(value, "name", None) or repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def rows(call: Call, tape: Tape) -> list[tuple[str, list[str]]]:
    """A call as (layer, lines) pairs."""
    given = [f"{f.name}: {f.given}" for f in call.inputs]
    attributes = [f"{name}={attribute_text(value)}" for name, value in call.attrs.items()]
    layers = [
        ("1 API", [call.api or ("PyLayer.apply" if call.kind == "pylayer" else "an operator or method of Tensor")]),
        ("2 arguments", [", ".join(given + attributes) or "none"]),
        ("3 autograd", autograd_lines(call)),
    ]
    if call.kind == "pylayer":
        layers.append(("4-5 forward", [f"{call.op}.forward at {call.kernel}", f"returned {outputs_text(call)}"]))
    else:
        layers.append(("4 library", library_lines(call)))
        layers.append(("5 kernel", [f"{call.kernel or 'not reached'}", f"returned {outputs_text(call)}"]))
    if call.error:
        layers.append(("raised", call.error.split("\n")))
    layers.append(("time", [time_text(call)]))
    if call.node:
        backward = backward_lines(call, tape)
        if backward:
            layers.append(("backward", backward))
    return layers


def outputs_text(call: Call) -> str:
    """The outputs with their statistics."""
    texts = [str(f) + (f" ({f.statistics})" if f.statistics else "") for f in call.outputs]
    return "; ".join(texts) or "nothing"


def autograd_lines(call: Call) -> list[str]:
    """Layer 3: AMP, promotion, whether and why the call is recorded, what was saved."""
    lines = [f"AMP: {call.amp or 'off'}"]
    changed = [f"{f.name}: {f.given.dtype} -> {f.dtype}" for f in call.inputs if f.dtype != f.given.dtype]
    if call.kind != "pylayer":
        lines.append(f"promotion: {call.promotion or ('by AMP: ' + ', '.join(changed) if changed else 'none')}")
    if call.node:
        lines.append(f"recorded as node {call.node}")
    else:
        lines.append(f"not recorded: {call.not_recorded or 'the call raised'}")
    lines += [f"  {f.name}: {f.gradient}" for f in call.inputs]
    for s in call.saved:
        why = f"the gradient of {', '.join(s.wanted_by)} needs it" if s.wanted_by else "kept for backward"
        lines.append(f"saved {s.name}: {s.dtype}{list(s.shape)}, {size_text(s.nbytes)}: {why}")
    if call.node and not call.saved:
        lines.append("saved nothing")
    return lines


def library_lines(call: Call) -> list[str]:
    """Layer 4: key, selection, PrepareData, InferMeta."""
    lines = [f"KernelKey {call.kernel_key} = {call.kernel_hash:#x}"] if call.kernel_key else []
    lines += [f"  {step}" for step in call.steps]
    lines.append("PrepareData: " + ("; ".join(call.transforms) or "nothing to do"))
    lines.append(f"InferMeta: {call.inferred or 'not reached'}")
    return lines


def time_text(call: Call) -> str:
    """The time of the call and of its layers."""
    if call.kind == "pylayer":
        return microseconds(call.seconds)
    rest = max(call.seconds - call.prepare_seconds - call.kernel_seconds, 0.0)
    return (
        f"{microseconds(call.seconds)} under observation: AMP and promotion {microseconds(call.prepare_seconds)}, "
        f"library and recording {microseconds(rest)}, kernel {microseconds(call.kernel_seconds)}"
    )


def backward_lines(call: Call, tape: Tape) -> list[str]:
    """What the call's node received and returned, in the passes of the block."""
    lines = []
    for entry in tape.passes:
        for run in entry.nodes:
            if run.node != call.node:
                continue
            lines.append(f"in the pass at {entry.line}:")
            lines += [f"  received {i}: {s if s else 'no gradient'}" for i, s in enumerate(run.arrived)]
            for i, (fact, s) in enumerate(zip(call.inputs, run.results)):
                expected = f", for {fact.given.dtype}{list(fact.given.shape)}"
                lines.append(f"  returned {i} ({fact.name}{expected}): {s if s else 'none'}")
    return lines


def card(call: Call, tape: Tape) -> str:
    """A call as text."""
    title = call.op + ("_" if call.kind == "inplace" and not call.op.endswith("_") else "")
    lines = [f"{title} at {call.line}"]
    if call.line.text:
        lines.append(f"    {call.line.text}")
    if call.modules:
        lines.append(f"    in {' / '.join(call.modules)}")
    for layer, texts in rows(call, tape):
        for i, text in enumerate(texts):
            lines.append(f"  {layer if i == 0 else '':<12} {text}")
    return "\n".join(lines)
