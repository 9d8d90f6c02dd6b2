"""`wherry doctor`: run a program under checks and say what is wrong, where, and how to put it right."""

from typing import Any

from wherry.core import state
from wherry.inspect import checks
from wherry.inspect.findings import Check, Finding, in_order


class Doctor:
    """Checks around a stretch of a program, as a context; `findings` is complete when it has ended.

    kinds: which checks (`wherry.inspect.checks.CHECKS`), all by default. An exception of the program is noted and passes through.
    """

    def __init__(self, kinds: list[str] | None = None) -> None:
        self.checks: list[Check] = checks.make(kinds)
        self.findings: list[Finding] = []
        # The program's globals, for checks that look at what is still alive.
        self.variables: dict[str, Any] = {}

    def __enter__(self) -> "Doctor":
        self._outer = state.set_observers((*state.observers(), *self.checks))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        state.set_observers(self._outer)
        for check in self.checks:
            if error is not None:
                check.failed(error)
            check.finish(self.variables)
        self.findings = one_for_each_line(in_order(f for check in self.checks for f in check.found))


def one_for_each_line(findings: list[Finding]) -> list[Finding]:
    """Of several findings at one line those of the highest severity there: the others follow from them."""
    worst: dict[tuple[str, int], str] = {}
    for f in findings:
        worst.setdefault((f.file, f.line), f.severity)
    return [f for f in findings if f.severity == worst[f.file, f.line]]
