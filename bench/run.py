"""`make bench`: wherry beside torch and Paddle, in alternating rounds; writes docs/benchmark.md.

Machines are noisy, so each round measures a case with every peer in turn and forms the ratios within the round; the table has the
medians of the ratios. Each peer runs in its own environment and process.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from bench.cases import CASES

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"torch": ["torch==2.13.0", "numpy"], "paddle": ["paddlepaddle==3.3.1"], "wherry": [str(ROOT)]}

_SIZE = """
import importlib.metadata as m, sys
seen, todo, total, own = set(), [sys.argv[1]], 0, 0
while todo:
    name = todo.pop().lower().replace("_", "-")
    if name in seen: continue
    seen.add(name)
    try: d = m.distribution(name)
    except m.PackageNotFoundError: continue
    size = sum(f.locate().stat().st_size for f in d.files or () if f.locate().exists())
    total += size
    own = own or size
    for r in d.requires or ():
        if "extra ==" not in r:
            import re
            todo.append(re.split(r"[ ;<>=!~\\[(]", r)[0])
print(own, total)
"""


class Worker:
    """A peer's process."""

    def __init__(self, peer: str, python: str, threads: int) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        environment["PYTHONPATH"] = str(ROOT)
        self.peer = peer
        self.process = subprocess.Popen(
            [python, "-m", "bench.worker", peer, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT / "bench",
            env=environment,
        )
        self.version = self.read().get("ready", "failed to start")

    def read(self) -> dict[str, Any]:
        """The next answer; libraries may print lines of their own before it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)  # type: ignore[no-any-return]
        return {"error": f"the process ended (exit status {self.process.wait()})"}

    def ask(self, request: str) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"the process ended (exit status {self.process.wait()})"}
        return self.read()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def environment(peer: str, given: str | None) -> str:
    """The peer's Python: as given, or that of an environment made here."""
    if given:
        return given
    folder = ROOT / f".venv-bench-{peer}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES[peer]], check=True)
    return str(python)


def measured(pythons: dict[str, str], cases: list[str], rounds: int, threads: int) -> dict[str, Any]:
    """For each case and peer the seconds of every round (or an error)."""
    workers = {peer: Worker(peer, python, threads) for peer, python in pythons.items()}
    results: dict[str, Any] = {"versions": {p: w.version for p, w in workers.items()}, "cases": {}}
    for case in cases:
        row: dict[str, list[Any]] = {p: [] for p in workers}
        for _ in range(rounds):
            for peer, worker in list(workers.items()):
                if row[peer] and isinstance(row[peer][-1], str):
                    continue
                answer = worker.ask(case)
                row[peer].append(answer.get("seconds", answer.get("error")))
                if worker.process.poll() is not None:
                    # A crash (Paddle's at long chains) must not take the other cases with it.
                    workers[peer] = Worker(peer, pythons[peer], threads)
        results["cases"][case] = row
        print(case, {p: times[-1] for p, times in row.items()}, flush=True)
    for worker in workers.values():
        worker.close()
    return results


def import_times(pythons: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Seconds that `import` takes in a fresh process, without the interpreter's own start."""
    code = "import time; t = time.perf_counter(); import {0}; print(time.perf_counter() - t)"
    times: dict[str, list[float]] = {p: [] for p in pythons}
    for _ in range(rounds):
        for peer, python in pythons.items():
            done = subprocess.run(
                [python, "-c", code.format(peer)], capture_output=True, text=True, check=True, cwd=ROOT / "bench"
            )
            times[peer].append(float(done.stdout.split()[-1]))
    return times


def sizes(pythons: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Installed bytes of the package, and with everything it needs."""
    found = {}
    for peer, python in pythons.items():
        name = "paddlepaddle" if peer == "paddle" else peer
        done = subprocess.run([python, "-c", _SIZE, name], capture_output=True, text=True, check=True)
        own, total = done.stdout.split()[-2:]
        found[peer] = (int(own), int(total))
    return found


def peaks(pythons: dict[str, str]) -> dict[str, dict[str, int | str]]:
    """Peak resident kilobytes of a process that has run a training step of each model."""
    found: dict[str, dict[str, int | str]] = {}
    for model in ("mlp", "gpt", "chain_400000"):
        found[model] = {}
        for peer, python in pythons.items():
            worker = Worker(peer, python, 1)
            answer = worker.ask(model)
            found[model][peer] = answer["error"] if "error" in answer else worker.ask("peak")["kilobytes"]
            worker.close()
    return found


def ratio(row: dict[str, list[Any]], peer: str) -> float | None:
    """Median over the rounds of wherry's time by the peer's."""
    pairs = [(w, p) for w, p in zip(row["wherry"], row.get(peer, [])) if isinstance(w, float) and isinstance(p, float)]
    return statistics.median(w / p for w, p in pairs) if pairs else None


def shown_time(values: list[Any]) -> str:
    """A median time with its unit, or the error."""
    good = [v for v in values if isinstance(v, float)]
    if not good:
        return str(values[-1]) if values else "-"
    seconds = statistics.median(good)
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def shown_ratio(value: float | None) -> str:
    """Two digits, or a dash."""
    return "-" if value is None else f"{value:.2f}"


def case_table(results: dict[str, Any]) -> list[str]:
    """The table of timed cases."""
    lines = [
        "| case | wherry | torch | Paddle | wherry / torch | wherry / Paddle | bar |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for case, row in results["cases"].items():
        title, _, bar = CASES[case]
        by_torch, by_paddle = ratio(row, "torch"), ratio(row, "paddle")
        verdict = ""
        if bar is not None and by_torch is not None:
            verdict = f"<= {bar} torch: {'met' if by_torch <= bar else 'missed'}"
        times = " | ".join(shown_time(row.get(p, [])) for p in ("wherry", "torch", "paddle"))
        lines.append(f"| {title} | {times} | {shown_ratio(by_torch)} | {shown_ratio(by_paddle)} | {verdict} |")
    return lines


def other_table(imports: dict[str, list[float]], sizes: dict[str, Any], memory: dict[str, Any]) -> list[str]:
    """Import, size and memory."""
    peers = ("wherry", "torch", "paddle")
    import_row = {p: list(t) for p, t in imports.items()}
    by_torch = ratio(import_row, "torch")
    verdict = (
        ""
        if by_torch is None
        else f" (wherry / torch {by_torch:.2f}; bar 0.2: {'met' if by_torch <= 0.2 else 'missed'})"
    )
    lines = ["| | wherry | torch | Paddle |", "| --- | ---: | ---: | ---: |"]
    lines.append(f"| import{verdict} | " + " | ".join(shown_time(imports.get(p, [])) for p in peers) + " |")
    for index, title in ((0, "installed, the package alone"), (1, "installed, with all it needs")):
        cells = [f"{sizes[p][index] / 1e6:.0f} MB" if p in sizes else "-" for p in peers]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    for model, row in memory.items():
        cells = [f"{row[p] / 1024:.0f} MB" if isinstance(row.get(p), int) else str(row.get(p, "-")) for p in peers]
        lines.append(f"| peak memory of a process, {CASES[model][0]} | " + " | ".join(cells) + " |")
    return lines


def report(results: dict[str, Any], others: list[str], rounds: int, threads: int) -> str:
    """The page docs/benchmark.md."""
    processor = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            processor = line.split(":")[1].strip()
            break
    versions = ", ".join(f"{p} {v}" for p, v in results["versions"].items())
    lines = [
        "# Benchmark",
        "",
        "Made by `make bench` (bench/run.py). Each peer runs in its own environment and process. Every round measures a case with each peer in",
        "turn; the ratios are formed within a round, and the table has their medians (times are medians too, but on a noisy machine only the",
        f"ratios mean something). {rounds} rounds, {threads} thread{'s' if threads != 1 else ''} for each peer, {processor},",
        f"{os.cpu_count()} cores, Python {platform.python_version()}; {versions}.",
        "",
        *case_table(results),
        "",
        *others,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for peer in ("wherry", "torch", "paddle"):
        parser.add_argument(f"--{peer}-python", help=f"the Python that has {peer} (default: an environment made here)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmark.md")
    parser.add_argument("--json", type=Path, help="also write the raw times there")
    options = parser.parse_args()
    pythons = {p: environment(p, getattr(options, f"{p}_python")) for p in ("wherry", "torch", "paddle")}
    results = measured(pythons, options.cases, options.rounds, options.threads)
    imports = import_times(pythons, options.rounds)
    others = other_table(imports, sizes(pythons), peaks(pythons))
    page = report(results, others, options.rounds, options.threads)
    options.out.write_text(page, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps({**results, "imports": imports}, indent=1), encoding="utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
