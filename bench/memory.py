"""`make bench-memory`: the memory of training steps and of knots that user code ties, beside torch and Paddle; writes docs/memory.md.

Each scenario runs in a fresh process of each peer. What counts is the process's resident memory, which every allocator has in the end: the peak of
one run above what was resident before it (the kernel's high-water mark, reset before the run), and what is still there after
many runs and a collection. Before each look the C library is asked to give free pages back (malloc_trim).
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WARM, MANY = 3, 40
BLOCK = (512, 1024)  # 2 MB of float32


def mlp(peer: Any) -> Callable[[], Any]:
    return peer.mlp_step(batch=8192)


def gpt(peer: Any) -> Callable[[], Any]:
    return peer.gpt_step(batch=32, length=64)


def chain(peer: Any) -> Callable[[], Any]:
    x, y = peer.tensor(BLOCK, grad=True), peer.tensor(BLOCK)
    seed = peer.tensor(BLOCK)

    def run() -> None:
        z = x
        for _ in range(50):
            z = z * y
        peer.backward(z, seed)

    return run


def abandoned(peer: Any) -> Callable[[], Any]:
    x = peer.tensor(BLOCK, grad=True)
    return lambda: peer.exp(peer.exp(x) * x)


def hook_on_itself(peer: Any) -> Callable[[], Any]:
    x = peer.tensor(BLOCK, grad=True)

    def run() -> None:
        y = x * 2.0
        y.register_hook(lambda g, y=y: None)
        peer.backward(y.sum())

    return run


def hook_on_the_loss(peer: Any) -> Callable[[], Any]:
    x = peer.tensor(BLOCK, grad=True)

    def run() -> None:
        y = peer.exp(x)
        loss = (y * y).sum()
        y.register_hook(lambda g, loss=loss: None)

    return run


def exception(peer: Any) -> Callable[[], Any]:
    x = peer.tensor(BLOCK, grad=True)

    def fail(g: Any) -> None:
        raise ValueError("stop")

    def run() -> None:
        y = peer.exp(x)
        y.register_hook(fail)
        try:
            peer.backward((y * y).sum())
        except Exception as error:
            kept = error
            del kept

    return run


def context(peer: Any) -> Callable[[], Any]:
    x = peer.tensor(BLOCK, grad=True)
    base = peer.torch.autograd.Function if hasattr(peer, "torch") else peer.paddle.autograd.PyLayer

    class Keeps(base):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.out = x * 2.0
            return ctx.out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    return lambda: Keeps.apply(x)


SCENARIOS: dict[str, tuple[str, Callable[[Any], Callable[[], Any]]]] = {
    "mlp": ("MLP training step, batch 8192", mlp),
    "gpt": ("GPT (2 layers, width 64) training step, 32x64 tokens", gpt),
    "chain": ("chain of 50 products of 2 MB, forward and backward", chain),
    "abandoned": ("a graph that is dropped without backward", abandoned),
    "exception": ("a hook that raises in backward", exception),
    "hook": ("a hook that captures its own tensor", hook_on_itself),
    "loss": ("a hook that captures the loss, no backward", hook_on_the_loss),
    "context": ("a custom operation that keeps its output on ctx", context),
}


def resident(field: str) -> int:
    """A figure of this process in bytes: VmRSS or VmHWM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, peer: Any) -> dict[str, int]:
    """Peak of one run and growth over many, in bytes."""
    run = SCENARIOS[name][1](peer)
    for _ in range(WARM):
        run()
    before = settled()
    Path("/proc/self/clear_refs").write_text("5")
    run()
    peak = resident("VmHWM") - before
    start = settled()
    for _ in range(MANY):
        run()
    return {"peak": max(peak, 0), "growth": max((settled() - start) // MANY, 0)}


def settled() -> int:
    """Resident memory after a collection, when the C library has given free pages back."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return resident("VmRSS")


def in_process(name: str, peer: str, python: str) -> dict[str, Any]:
    """One scenario in a fresh process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-m", "bench.memory", "--worker", peer, name],
        capture_output=True,
        text=True,
        cwd=ROOT / "bench",
        env=environment,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": f"exit status {done.returncode}: {done.stderr[-200:]}"}


def size(nbytes: int) -> str:
    """Megabytes with a digit after the point."""
    return f"{nbytes / 1e6:.1f} MB"


def page(results: dict[str, dict[str, dict[str, Any]]], versions: dict[str, str]) -> str:
    """docs/memory.md."""
    peers = list(versions)
    lines = [
        "# Memory",
        "",
        "Written by `make bench-memory`. Each scenario ran in a fresh process of each peer, one thread. Peak: resident memory at its highest during one run,",
        f"above what was resident before it, after {WARM} runs and after free pages were given back. Left behind: growth of resident memory for each of {MANY} further runs, after a collection; less",
        "than 0.1 MB is noise.",
        "",
        ", ".join(f"{peer} {version}" for peer, version in versions.items()) + ".",
        "",
        "| scenario | "
        + " | ".join(f"peak, {p}" for p in peers)
        + " | "
        + " | ".join(f"left behind, {p}" for p in peers)
        + " |",
        "|---|" + "---|" * (2 * len(peers)),
    ]
    for name, (title, _) in SCENARIOS.items():
        cells = [results[name][p] for p in peers]
        shown = [c.get("error") or size(c["peak"]) for c in cells] + [
            "-" if "error" in c else size(c["growth"]) for c in cells
        ]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "A saved tensor is freed as soon as backward has passed its node; a knot that user code ties (a hook that captures its own tensor, an output on ctx) is",
        "visible to Python's cyclic collector and freed by it. tests/engine/test_memory_scenarios.py counts nodes, tensors and bytes exactly: everything else is",
        "freed by reference counts alone.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2, metavar=("PEER", "SCENARIO"))
    parser.add_argument("--wherry-python", default=sys.executable)
    parser.add_argument("--torch-python")
    parser.add_argument("--paddle-python")
    parser.add_argument("--output", default=str(ROOT / "docs" / "memory.md"))
    options = parser.parse_args()
    if options.worker:
        from bench.peers import make_peer

        peer = make_peer(options.worker[0], 1)
        print(json.dumps({**measure(options.worker[1], peer), "version": peer.version}))
        return
    from bench.run import environment

    given = {"wherry": options.wherry_python, "torch": options.torch_python, "paddle": options.paddle_python}
    pythons = {peer: environment(peer, python) for peer, python in given.items()}
    results = {name: {peer: in_process(name, peer, python) for peer, python in pythons.items()} for name in SCENARIOS}
    versions = {p: next((r[p]["version"] for r in results.values() if "version" in r[p]), "") for p in pythons}
    Path(options.output).write_text(page(results, versions))
    print(page(results, versions))


if __name__ == "__main__":
    main()
