"""`python -m wherry_codegen` writes the generated modules; `python -m wherry_codegen --check` fails where they or the entries are wrong."""

import argparse
import sys
from pathlib import Path

from wherry_codegen import stubs
from wherry_codegen.build import build, differing, generate, leftovers
from wherry_codegen.inventory import collect
from wherry_codegen.model import Location, Problem
from wherry_codegen.parse import ROOT


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """The command; returns its exit status. Sound entries are generated even where others are not."""
    parser = argparse.ArgumentParser(prog="python -m wherry_codegen", description=__doc__)
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail where an entry is wrong, names a rule, InferMeta function or kernel that does not exist, "
        "or a generated file is out of date",
    )
    options = parser.parse_args(arguments)
    package = root / "src" / "wherry"
    result = build(root, collect(root) if options.check else None)
    for problem in result.problems:
        sys.stderr.write(f"{problem}\n")
    if options.check:
        files = result.files
        try:
            files = files | stubs.collect(root)
        except RuntimeError as error:
            result.problems.append(
                Problem(Location("src/wherry/__init__.py", 1), f"the package does not import: {error}")
            )
            sys.stderr.write(f"{result.problems[-1]}\n")
        old = differing(files, package) + leftovers(files, package)
        for name in old:
            sys.stderr.write(f"src/wherry/{name}: out of date; run python -m wherry_codegen\n")
        sys.stdout.write(
            f"{len(result.entries)} operations, {len(result.problems)} problems, {len(old)} files out of date\n"
        )
        return 1 if result.problems or old else 0
    changed, missing = generate(root, result)
    if missing:
        sys.stderr.write(f"{missing}\n")
    sys.stdout.write(f"{len(result.entries)} operations, {len(changed)} files written\n")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
