"""What the code offers to entries: derivative rules, InferMeta functions and kernels, found by importing their modules.

They are imported without wherry's own `__init__` (which needs the generated code), in a process of their own, so that the
generator can run in a checkout that has never been built. `python -m wherry_codegen.inventory SRC` prints the result as JSON.
"""

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path

from wherry_codegen.model import Location, Problem, shown
from wherry_codegen.parse import ROOT

PACKAGES = ("wherry.infermeta", "wherry.kernels.numpy", "wherry.grads")


@dataclass(frozen=True)
class RuleFunction:
    """A function of wherry.grads and its parameters, the first of which is `ops`."""

    params: tuple[str, ...]
    location: Location


@dataclass(frozen=True)
class Inventory:
    """Names that entries may use."""

    rules: dict[str, tuple[RuleFunction, ...]] = field(default_factory=dict)
    infer_meta: frozenset[str] = frozenset()
    kernels: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def collect(root: Path) -> Inventory:
    """The inventory of the checkout at `root`."""
    command = [sys.executable, "-m", "wherry_codegen.inventory", str(root / "src")]
    done = subprocess.run(command, check=False, cwd=ROOT / "src", capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"could not look for rules and kernels:\n{done.stderr}")
    found = json.loads(done.stdout)

    def location(file: str, line: int) -> Location:
        return Location(shown(Path(file), root), line)

    rules = {
        name: tuple(RuleFunction(tuple(params), location(file, line)) for file, line, params in functions)
        for name, functions in found["rules"].items()
    }
    problems = tuple(Problem(location(file, line), message) for file, line, message in found["problems"])
    return Inventory(rules, frozenset(found["infer_meta"]), frozenset(found["kernels"]), problems)


def _import_all(source: Path, problems: list[tuple[str, int, str]]) -> list[types.ModuleType]:
    package = types.ModuleType("wherry")
    package.__path__ = [str(source / "wherry")]
    sys.modules["wherry"] = package
    modules = []
    for name in PACKAGES:
        parent = importlib.import_module(name)
        for info in pkgutil.iter_modules(parent.__path__):
            full = f"{name}.{info.name}"
            try:
                modules.append(importlib.import_module(full))
            except Exception as error:  # Whatever a half-written module raises is reported with its line.
                frames = traceback.extract_tb(error.__traceback__)
                last = next((f for f in reversed(frames) if str(source) in f.filename), frames[-1])
                problems.append((last.filename, last.lineno or 1, f"cannot import {full}: {error}"))
    return modules


def main(source: Path) -> None:
    """Print the inventory of the package below `source`."""
    problems: list[tuple[str, int, str]] = []
    rules: dict[str, list[tuple[str, int, list[str]]]] = {}
    for module in _import_all(source, problems):
        if not module.__name__.startswith("wherry.grads."):
            continue
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                code = value.__code__
                params = list(inspect.signature(value).parameters)
                rules.setdefault(name, []).append((code.co_filename, code.co_firstlineno, params))
    registry = importlib.import_module("wherry.infermeta.registry")
    factory = importlib.import_module("wherry.dispatch.kernel_factory")
    found = {
        "rules": rules,
        "infer_meta": sorted(registry.INFER_META),
        "kernels": sorted(factory.FACTORY.kernels),
        "problems": problems,
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
