"""`python -m codegen` builds the generated modules; `python -m codegen --check` fails where they or the entries are wrong."""

import argparse
import os
import sys
from pathlib import Path

from codegen.emit import emit
from codegen.model import Entry, Problem
from codegen.parse import ROOT, read_file


def read_all(root: Path) -> tuple[list[Entry], list[Problem]]:
    """Every entry of ops/*.yaml."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in sorted((root / "ops").glob("*.yaml")):
        found, wrong = read_file(path, root)
        entries += found
        problems += wrong
    return entries, problems


def write(files: dict[str, str], package: Path) -> int:
    """Write what has changed; returns how many files that were."""
    changed = 0
    for name, text in files.items():
        path = package / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            # In one step, so that an import going on elsewhere never sees half a file.
            beside = path.with_name(f"{path.name}.{os.getpid()}")
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
            changed += 1
    return changed


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something is wrong or out of date")
    options = parser.parse_args(arguments)
    package = ROOT / "src" / "wherry"
    entries, problems = read_all(ROOT)
    unique: dict[str, Entry] = {}
    for entry in entries:
        unique.setdefault(entry.name, entry)
    files = emit(list(unique.values()))
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    changed = write(files, package)
    sys.stdout.write(f"{len(unique)} operations, {changed} of {len(files)} files written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
