"""A tape as plain lists and dictionaries, for `--json`, the page and other programs."""

from dataclasses import fields, is_dataclass
from typing import Any

from wherry.core.dtype import DataType
from wherry.inspect.facts import Line
from wherry.inspect.tape import Tape
from wherry.inspect.tape_facts import Kept


def plain(value: Any) -> Any:
    """Dataclasses as dictionaries, Lines resolved, numbers that JSON has no form for as text."""
    if isinstance(value, Line):
        return {"file": value.file, "line": value.line, "function": value.function}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Kept):
        return {"total": value.total, "dropped": value.dropped, "items": [plain(v) for v in value]}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    return value.name if isinstance(value, DataType) else repr(value)


def tape_dict(tape: Tape) -> dict[str, Any]:
    """A tape as {"calls", "passes", "events", "leaves"}; calls, passes and events with "total", "dropped" and "items"."""
    return {
        "calls": plain(tape.calls),
        "passes": plain(tape.passes),
        "events": plain(tape.events),
        "leaves": [{"node": node, **plain(fact)} for node, fact in tape.leaves.items()],
    }
