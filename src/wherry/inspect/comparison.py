"""`wherry compare`: a script under two implementations, call by call; the first value, dtype or gradient that differs."""

import difflib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

_WORKER: Final = Path(__file__).with_name("compare_worker.py")
# How far values may differ, relative to the largest of the reference.
TOLERANCE: Final = {
    "float64": 1e-8, "complex128": 1e-8, "float32": 2e-4, "complex64": 2e-4, "float16": 2e-2, "bfloat16": 8e-2,
}  # fmt: skip


class Run:
    """What the worker wrote of one run."""

    def __init__(self, folder: Path) -> None:
        data = json.loads((folder / "run.json").read_text())
        self.folder: Final = folder
        self.calls: Final[list[dict[str, Any]]] = data["calls"]
        self.gradients: Final[list[dict[str, Any]]] = data["gradients"]
        self.error: Final[str] = data["error"]
        self.captured: Final[dict[str, Any]] = data["captured"]
        self.version: Final[str] = data["version"]
        self._arrays: Final = np.load(folder / "arrays.npz")

    def values(self, entry: dict[str, Any]) -> Any:
        """The (thinned) array of an output or gradient."""
        return self._arrays[entry["values"]]


@dataclass
class Difference:
    """The first difference between two runs.

    kind: "value", "dtype", "shape", "stop_gradient", "gradient", "error", or "" where there is none. call: of the run under test, the operation at
    fault. repeat: a command that makes the call again, "" where its inputs could not be kept.
    """

    kind: str
    text: str
    operation: str = ""
    file: str = ""
    line: int = 0
    number: int = -1
    compared: int = 0
    # How many calls the reference had made by then.
    when: float = 0.0
    repeat: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind)

    def __str__(self) -> str:
        place = f" at {self.file}:{self.line}" if self.line else ""
        lines = [
            f"{self.kind or 'no difference'}: {self.operation}{place}"
            if self.operation
            else (self.kind or "no difference"),
            f"  {self.text}",
        ]
        if self.repeat:
            lines.append(f"  again with the same inputs: {self.repeat}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        return dict(vars(self))


def run_worker(
    python: str,
    module: str,
    script: str,
    folder: Path,
    arguments: list[str],
    replay: Path | None = None,
    capture: int = -1,
    before: str = "",
) -> Run:
    """Run the script in a process of its own; raises RuntimeError with its last words where it wrote nothing."""
    command = [python, str(_WORKER), module, script, str(folder)]
    command += ["--replay", str(replay)] if replay else []
    command += ["--capture", str(capture)] if capture >= 0 else []
    command += ["--before", before] if before else []
    environment = dict(os.environ)
    if module != "paddle":
        root = str(Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [environment.get("PYTHONPATH", "")])])
    done = subprocess.run([*command, "--", *arguments], env=environment, capture_output=True, text=True, check=False)
    if not (folder / "run.json").exists():
        raise RuntimeError(
            f"compare: the run under {module} ended with status {done.returncode}: {done.stderr.strip()[-1500:]}"
        )
    return Run(folder)


def pairs(reference: Run, own: Run) -> list[tuple[int, int]]:
    """Calls of the two runs that belong together, by the user's line and the operation's name."""
    tokens = [[(c["name"], os.path.basename(c["file"]), c["line"]) for c in run.calls] for run in (reference, own)]
    if tokens[0] == tokens[1]:
        return [(i, i) for i in range(len(tokens[0]))]
    matcher = difflib.SequenceMatcher(None, tokens[0], tokens[1], autojunk=False)
    return [(b.a + k, b.b + k) for b in matcher.get_matching_blocks() for k in range(b.size)]


def apart(reference: Any, own: Any, dtype: str) -> str:
    """How two arrays differ by more than their dtype allows, in words; empty where they do not."""
    if reference.dtype.kind in "biu":
        wrong = reference != own
        return (
            f"{int(wrong.sum())} of {wrong.size} elements differ, the first: {own[wrong][0]} for {reference[wrong][0]}"
            if wrong.any()
            else ""
        )
    bad = np.isnan(reference) != np.isnan(own)
    bad |= np.isinf(reference) != np.isinf(own)
    finite = np.isfinite(reference) & np.isfinite(own)
    scale = float(np.max(np.abs(reference[finite]), initial=0.0))
    limit = TOLERANCE.get(dtype, 2e-4) * max(scale, 1e-6)
    with np.errstate(invalid="ignore"):
        distance = np.where(finite, np.abs(np.where(finite, own, 0) - np.where(finite, reference, 0)), 0)
    bad |= distance > limit
    if not bad.any():
        return ""
    worst = int(np.argmax(np.where(bad, np.maximum(distance, 1e-300), 0)))
    return f"{int(bad.sum())} of {bad.size} compared elements differ, the most at {worst}: {own[worst]} for {reference[worst]}"


def forward_difference(reference: Run, own: Run, matched: list[tuple[int, int]]) -> Difference | None:
    """The first call whose outputs differ."""
    for k, (i, j) in enumerate(matched):
        a, b = reference.calls[i], own.calls[j]
        for n, (x, y) in enumerate(zip(a["outputs"], b["outputs"])):
            where = f"output {n}" if len(a["outputs"]) > 1 else "the output"
            kind, text = "", ""
            if x["shape"] != y["shape"]:
                kind, text = "shape", f"{where} has shape {y['shape']} where the reference has {x['shape']}"
            elif x["dtype"] != y["dtype"]:
                kind, text = "dtype", f"{where} is {y['dtype']} where the reference has {x['dtype']}"
            else:
                text = apart(reference.values(x), own.values(y), x["dtype"])
                kind, text = ("value", f"{where}: {text}") if text else ("", "")
            if kind:
                return Difference(kind, text, b["name"], b["file"], b["line"], j, k, i)
    return None


def gradient_difference(reference: Run, own: Run, matched: list[tuple[int, int]]) -> Difference | None:
    """The first gradient, in the order of backward, that differs; the operation at fault is one that used the tensor."""
    to_own = dict(matched)
    queues: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for g in own.gradients:
        queues.setdefault((g["call"], g["output"]), []).append(g)
    for k, g in enumerate(reference.gradients):
        j = to_own.get(g["call"])
        if j is None:
            continue
        waiting = queues.get((j, g["output"]), [])
        call = own.calls[j]
        tensor = f"the output of {call['name']} at {call['file']}:{call['line']}"
        if not waiting:
            user = user_of(own, j, g["output"])
            return Difference(
                "gradient",
                f"no gradient comes to {tensor}",
                user["name"],
                user["file"],
                user["line"],
                user["number"],
                k,
            )
        found = waiting.pop(0)
        text = "" if g["shape"] == found["shape"] else f"shape {found['shape']} for {g['shape']}"
        text = text or ("" if g["dtype"] == found["dtype"] else f"{found['dtype']} for {g['dtype']}")
        text = text or apart(reference.values(g), own.values(found), g["dtype"])
        if text:
            user = user_of(own, j, g["output"])
            text = f"the gradient that it gives to {tensor}: {text}"
            return Difference("gradient", text, user["name"], user["file"], user["line"], user["number"], k, g["after"])
    return None


def user_of(run: Run, call: int, output: int) -> dict[str, Any]:
    """The last call that took a tensor as input: whose derivative its gradient is (or the largest part of it)."""
    for number in range(len(run.calls) - 1, -1, -1):
        if [call, output] in run.calls[number]["inputs"]:
            return {**run.calls[number], "number": number}
    return {**run.calls[call], "number": call}


def compare(
    script: str,
    against: str = "paddle",
    python: str = sys.executable,
    arguments: list[str] | None = None,
    folder: str | os.PathLike[str] = "wherry-compare",
    before: str = "",
) -> Difference:
    """Run a script under `against` and under wherry, and find the first call whose value, dtype or gradient differs.

    against: "paddle", or "wherry" (the same engine, to compare two states of it: `before` names a Python file that the second run starts with). python:
    the interpreter that has `against`. folder: where both runs, and the inputs of the call at fault, are written. Numbers of chance are the
    reference's in both runs. Raises ValueError for another `against`, RuntimeError where a run could not be made.
    """
    if against not in ("paddle", "wherry"):
        raise ValueError(
            f"compare: expected against 'paddle' or 'wherry', received {against!r}: the script is written in Paddle's API"
        )
    arguments = arguments or []
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    for name in ("reference", "own", "again"):
        for file in (base / name).glob("*"):
            file.unlink()
    reference = run_worker(python, against, script, base / "reference", arguments)
    own = run_worker(
        sys.executable, "wherry", script, base / "own", arguments, replay=base / "reference", before=before
    )
    matched = pairs(reference, own)
    # A wrong gradient makes the next step's values wrong; what came first is at fault.
    both = [forward_difference(reference, own, matched), gradient_difference(reference, own, matched)]
    found = min((d for d in both if d is not None), key=lambda d: d.when, default=None)
    if found is None and bool(reference.error) != bool(own.error):
        text = (own.error or reference.error).strip().split("\n")[-1]
        found = Difference("error", f"{'wherry' if own.error else against} raised {text}")
    if found is None:
        text = f"{len(matched)} calls and {len(reference.gradients)} gradients agree ({against} {reference.version})"
        return Difference("", text, compared=len(matched))
    if found.number >= 0:
        found.repeat = reproduce(script, arguments, base, found.number, before)
    return found


def reproduce(script: str, arguments: list[str], base: Path, number: int, before: str) -> str:
    """Run once more to keep the inputs of a call; returns the command that makes it again."""
    again = run_worker(
        sys.executable,
        "wherry",
        script,
        base / "again",
        arguments,
        replay=base / "reference",
        capture=number,
        before=before,
    )
    if not again.captured:
        return ""
    inputs = base / "again" / "inputs.npz"
    call = f"{again.captured['function']}({', '.join(again.captured['arguments'])})"
    code = f"import numpy as np, wherry as paddle; a = np.load('{inputs}'); t = lambda n: paddle.to_tensor(a[n]); print({call})"
    return f'python -c "{code}"'
