"""The whole way from ops/*.yaml to the generated modules."""

import os
from dataclasses import dataclass
from pathlib import Path

from wherry_codegen import stubs
from wherry_codegen.check import check
from wherry_codegen.emit import emit
from wherry_codegen.inventory import Inventory
from wherry_codegen.lower import lower
from wherry_codegen.model import Entry, Problem
from wherry_codegen.parse import ROOT, read_file


@dataclass(frozen=True)
class Build:
    """The operations, the text of each generated file by its path below src/wherry, and what is wrong."""

    entries: list[Entry]
    files: dict[str, str]
    problems: list[Problem]


def build(root: Path = ROOT, inventory: Inventory | None = None) -> Build:
    """Read, check and generate; nothing is written. Entries that cannot be used are left out and reported."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in sorted((root / "ops").glob("*.yaml")):
        found, wrong = read_file(path, root)
        entries += found
        problems += wrong
    entries, rules, wrong = lower(entries)
    problems += wrong
    problems += check(entries, inventory)
    unique: dict[str, Entry] = {}
    for entry in entries:
        unique.setdefault(entry.name, entry)
    files = emit(list(unique.values()))
    files["_generated/rules.py"] = rules
    return Build(list(unique.values()), files, problems)


def differing(files: dict[str, str], package: Path) -> list[str]:
    """The files that are missing or hold another text."""
    return sorted(n for n, t in files.items() if not (package / n).exists() or (package / n).read_text("utf-8") != t)


def leftovers(files: dict[str, str], package: Path) -> list[str]:
    """Modules among the generated ones that are generated no longer."""
    present = {p.relative_to(package).as_posix() for p in (package / "_generated").glob("*.py")}
    return sorted(present - files.keys())


def write(files: dict[str, str], package: Path) -> list[str]:
    """Write the files that differ; returns their names."""
    changed = differing(files, package)
    for name in changed:
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # In one step, so that an import going on elsewhere never sees half a file.
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(files[name], encoding="utf-8")
        beside.replace(path)
    return changed


def generate(root: Path, result: Build) -> tuple[list[str], str]:
    """Write everything below src/wherry, the type stubs last, for they are read off the package.

    Returns what changed, and why there are no stubs ("" where there are).
    """
    package = root / "src" / "wherry"
    changed = write(result.files, package)
    for name in leftovers(result.files, package):
        (package / name).unlink()
        changed.append(name)
    try:
        return changed + write(stubs.collect(root), package), ""
    except RuntimeError as error:
        return changed, f"no type stubs, for the package does not import: {error}"
