"""`make bench-seams`: what the observer seam costs while nobody listens: this wheel beside one built without it.

The other wheel comes from a copy of the sources from which every question "does anyone observe?" is taken out. Both are timed in turns, in
processes of their own; the table has the ratio of the quickest times, which noise of the machine can only raise. Writes docs/benchmark-seam.md.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.cases import CASES as CASE_TITLES
from bench.run import ROOT, Worker

CASES = ("add", "add_grad", "matmul_grad", "chain_100", "fan_out", "mlp", "gpt")

PAGE = """\
# What the observer seam costs

Made by `make bench-seams` (bench/seams.py). Everything that watches the engine listens at one seam (core/observer.py). Here the compiled wheel is timed beside one built from the same sources
with every question "does anyone listen?" taken out, while nobody listens: quickest of {processes} processes with {rounds} rounds each.

| case | with the seam / without it |
| --- | ---: |
{rows}
"""


class WithoutSeams(ast.NodeTransformer):
    """Takes the questions out of a module."""

    def visit_For(self, node: ast.For) -> Any:
        """`for observer in ...` goes."""
        if isinstance(node.target, ast.Name) and node.target.id == "observer":
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`STATE.observers == 0` holds, `!= 0` and `self.watching is not None` do not."""
        text = ast.unparse(node)
        if text == "STATE.observers == 0":
            return ast.copy_location(ast.Constant(True), node)
        if text in ("STATE.observers != 0", "self.watching is not None", "engine.watching is not None"):
            return ast.copy_location(ast.Constant(False), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """`observers()` is empty."""
        if ast.unparse(node) in ("observers()", "state.observers()"):
            return ast.copy_location(ast.Tuple([], ast.Load()), node)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Nodes carry no number."""
        return (
            ast.copy_location(ast.Pass(), node) if ast.unparse(node) == "self.serial = 0" else self.generic_visit(node)
        )


def stripped(target: Path) -> None:
    """A copy of the project without the seam."""
    ignore = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "__pycache__", "*.so", "*.egg-info")
    shutil.copytree(ROOT, target, ignore=ignore)
    for folder in ("autograd", "dispatch", "nn", "tensor", "optimizer"):
        for path in (target / "src" / "wherry" / folder).rglob("*.py"):
            text = path.read_text()
            if "observer" in text:
                path.write_text(ast.unparse(WithoutSeams().visit(ast.parse(text))))


def build(folder: Path, python: str) -> str:
    """A wheel of the stripped copy, unpacked; returns a program that runs `python` with it."""
    source = folder / "source"
    stripped(source)
    command = [python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder / "dist"), str(source)]
    subprocess.run(command, check=True, env={**os.environ, "WHERRY_COMPILED": "1"})
    (wheel,) = (folder / "dist").glob("wherry-*.whl")
    shutil.unpack_archive(wheel, folder / "without", "zip")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder / "without"}:$PYTHONPATH" exec "{python}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wherry-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--processes", type=int, default=5)
    options = parser.parse_args()
    # Not resolved: a virtual environment's python is a link.
    python = os.path.abspath(options.wherry_python)
    with tempfile.TemporaryDirectory() as name:
        pythons = {"with": python, "without": build(Path(name), python)}
        best = {(kind, case): float("inf") for kind in pythons for case in CASES}
        # Where a process's memory lies makes some per cent too: several processes each.
        for _ in range(options.processes):
            workers = {kind: Worker("wherry", program, 1) for kind, program in pythons.items()}
            for case in CASES:
                for _ in range(options.rounds):
                    for kind, worker in workers.items():
                        best[kind, case] = min(best[kind, case], float(worker.ask(case)["seconds"]))
            for worker in workers.values():
                worker.close()
        lines = [f"| {CASE_TITLES[case][0]} | {best['with', case] / best['without', case]:.3f} |" for case in CASES]
        text = PAGE.format(processes=options.processes, rounds=options.rounds, rows="\n".join(lines))
        (ROOT / "docs" / "benchmark-seam.md").write_text(text, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
