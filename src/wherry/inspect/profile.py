"""A recorded run as a trace in the Chrome format, for Perfetto (ui.perfetto.dev) and chrome://tracing."""

import json
import os
from typing import Any, Final

from wherry.inspect.tape import Tape

# Rows of the trace.
_FORWARD: Final = 1
_KERNELS: Final = 2
_BACKWARD: Final = 3


def trace_events(tape: Tape) -> list[dict[str, Any]]:
    """The events: forward calls, their kernels, backward passes and nodes, and a counter of bytes made by the program."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for tid, name in ((_FORWARD, "forward"), (_KERNELS, "kernels"), (_BACKWARD, "backward"))
    ]
    for call in tape.calls:
        start, length = call.start * 1e6, call.seconds * 1e6
        details = {
            "line": str(call.line),
            "modules": "/".join(call.modules),
            "inputs": [f"{f.name}: {f.given}" for f in call.inputs],
            "outputs": [str(f) for f in call.outputs],
        }
        events.append(complete(_FORWARD, call.op, start, length, details))
        if call.kernel_seconds:
            # The kernel is the last phase but the outputs; its end is not kept apart.
            begin = start + max(length - call.kernel_seconds * 1e6, 0.0)
            events.append(complete(_KERNELS, call.op, begin, call.kernel_seconds * 1e6, {"kernel": call.kernel}))
    for entry in tape.passes:
        events.append(
            complete(_BACKWARD, "backward", entry.start * 1e6, entry.seconds * 1e6, {"line": str(entry.line)})
        )
        for run in entry.nodes:
            details = {"line": str(run.line), "kernels": run.kernels}
            name = f"{run.op} backward" if run.leaf is None else f"accumulate {run.leaf}"
            events.append(complete(_BACKWARD, name, run.start * 1e6, run.seconds * 1e6, details))
    for seconds, nbytes in tape.memory_track:
        events.append({"ph": "C", "pid": 1, "name": "memory", "ts": seconds * 1e6, "args": {"live bytes": nbytes}})
    return events


def complete(tid: int, name: str, start: float, length: float, details: dict[str, Any]) -> dict[str, Any]:
    """One slice; times in microseconds."""
    return {"ph": "X", "pid": 1, "tid": tid, "name": name, "ts": start, "dur": length, "args": details}


def write_profile(tape: Tape, path: str | os.PathLike[str]) -> None:
    """Write a tape as a trace file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": trace_events(tape), "displayTimeUnit": "ms"}, file)
