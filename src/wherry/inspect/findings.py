"""A finding: a fault in the user's program, the line that causes it, and what to do. A check: an observer that looks for one kind."""

import ast
import functools
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from wherry.core.observer import Observer
from wherry.inspect.facts import Line

SEVERITIES: Final = ("error", "warning", "note")


@dataclass(frozen=True)
class Related:
    """Another line that has to do with a finding, and its part in it ("saved here", "the symptom")."""

    file: str
    line: int
    role: str


@dataclass(frozen=True)
class Finding:
    """A fault. `file` and `line` are the user's mistake, not its symptom; severity is "error", "warning" or "note"."""

    kind: str
    severity: str
    file: str
    line: int
    cause: str
    fix: str
    related: tuple[Related, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As `wherry doctor --json` prints it."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "cause": self.cause,
            "fix": self.fix,
            "related": [{"file": r.file, "line": r.line, "role": r.role} for r in self.related],
        }


def finding(
    kind: str, severity: str, line: Line, cause: str, fix: str, related: Iterable[tuple[Line, str]] = ()
) -> Finding:
    """A Finding from Lines; a related line that is the finding's own is left out."""
    others = [
        (other, role) for other, role in related if other.line and (other.file, other.line) != (line.file, line.line)
    ]
    places = tuple(Related(other.file, other.line, role) for other, role in others)
    return Finding(kind, severity, line.file, line.line, cause, fix, places)


class Check(Observer):
    """Looks for one kind of fault while a program runs.

    It keeps a bounded state and no tensors, and reports each line once. `kind` is what `--check` calls it.
    """

    kind: ClassVar[str] = ""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def report(
        self, severity: str, line: Line, cause: str, fix: str, related: Iterable[tuple[Line, str]] = (), kind: str = ""
    ) -> None:
        """Add a finding, unless this line has one of this kind already."""
        new = finding(kind or self.kind, severity, line, cause, fix, related)
        if not any((f.kind, f.file, f.line) == (new.kind, new.file, new.line) for f in self.found):
            self.found.append(new)

    def failed(self, error: BaseException) -> None:
        """The program raised; called before `finish`."""

    def finish(self, variables: dict[str, Any]) -> None:
        """The program is over; `variables` are its globals."""


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes; each by file and line."""
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.file, f.line, f.kind))


@functools.lru_cache(maxsize=64)
def syntax_tree(file: str) -> ast.Module | None:
    """The parsed source of a file; None where it cannot be read or parsed."""
    import linecache

    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


def as_text(findings: list[Finding]) -> str:
    """The findings for a person, in plain text."""
    if not findings:
        return "No findings.\n"
    parts = []
    for f in findings:
        part = f"{f.severity} ({f.kind}) at {f.file}:{f.line}\n"
        source = source_line(f.file, f.line)
        part += f"    {source}\n" if source else ""
        part += f"  cause: {f.cause}\n  fix:   {f.fix}\n"
        for r in f.related:
            part += f"  {r.role}: {r.file}:{r.line}  {source_line(r.file, r.line)}".rstrip() + "\n"
        parts.append(part)
    return "\n".join(parts)


def source_line(file: str, line: int) -> str:
    """A line of source, stripped; empty where it cannot be read."""
    import linecache

    return linecache.getline(file, line).strip()


def print_findings(findings: list[Finding]) -> None:
    """Print them, with colours where standard output is a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(as_text(findings))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    colours = {"error": "bold red", "warning": "bold yellow", "note": "bold blue"}
    for block in as_text(findings).split("\n\n"):
        word = block.split(" ", 1)[0]
        text = Text(block.strip("\n"))
        text.highlight_words([word], colours.get(word, "bold"))
        console.print(text)
        console.print()
