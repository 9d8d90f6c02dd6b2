"""Writes docs/coverage.md and what `wherry ops --coverage` prints: how far the Paddle APIs that real models call are served.

`python -m tests.coverage TABLE CONFIGURATIONS TOOL`: the ranked table of APIs, real call configurations, and the tool that reads and runs them. Each API is called in its
configurations while an observer notes the operations it is made of; the rest is read off their entries and the test table.
"""

import contextlib
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import wherry
from tests.op_table.row import Row
from tests.suites import table
from tests.verification import short
from wherry._generated.op_defs import OPS
from wherry.core.observer import Observer, observing

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "coverage.md"
DATA: Final = ROOT / "src" / "wherry" / "commands" / "coverage.tsv"
COLUMNS: Final = ("rank", "api", "status", "calls", "dtypes", "order", "in place", "view", "operations")
# Configurations called of each API: they are drawn for variety, and a few show what it is made of.
_CALLED: Final = 12


class Seen(Observer):
    """Notes the operations of a call."""

    def __init__(self) -> None:
        self.operations: set[str] = set()

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        self.operations.add(op.name)


@dataclass
class Found:
    """What calling an API gave."""

    ran: int = 0
    tried: int = 0
    dtypes: set[str] = field(default_factory=set)
    operations: set[str] = field(default_factory=set)
    views: bool = False


def exists(api: str) -> bool:
    """Whether the name is there, sub-packages that are imported on demand included."""
    found: Any = wherry
    path = "wherry"
    for part in api.split(".")[1:]:
        path += f".{part}"
        if not hasattr(found, part):
            try:
                found = importlib.import_module(path)
            except ModuleNotFoundError:
                return False
        else:
            found = getattr(found, part)
    return True


def twin_of(api: str) -> str:
    """The in-place twin's name, where there is one."""
    home, _, name = api.rpartition(".")
    return f"{name}_" if not name.startswith("_") and not name.endswith("_") and exists(f"{home}.{name}_") else "-"


@cache
def orders() -> dict[str, int]:
    """To which order the derivative of each operation is checked by the suites."""
    found: dict[str, int] = {}
    for row in table.ROWS:
        found[row.op] = max(found.get(row.op, 0), order_of(row))
    return found


def order_of(row: Row) -> int:
    return row.order if OPS[row.op].has_grad else 0


def order_text(operations: Iterable[str]) -> str:
    """The lowest order among the operations that have a derivative."""
    checked = [orders().get(name, 0) for name in operations if OPS[name].has_grad]
    return str(min(checked)) if checked else "-"


def call_all(table_path: Path, configurations: Path, tool_path: Path) -> tuple[list[str], dict[str, Found]]:
    """The APIs by rank, and what calling each gave."""
    lines = [line.split("\t") for line in table_path.read_text().splitlines() if line and not line.startswith("#")]
    at = next(i for i, cell in enumerate(lines[1]) if cell.startswith("paddle."))
    names = [line[at] for line in lines[1:]]
    spec = importlib.util.spec_from_file_location("configurations_tool", tool_path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["configurations_tool"] = tool
    spec.loader.exec_module(tool)
    found = {name: Found() for name in names}
    executor = tool.Executor(wherry)
    for line in configurations.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name = line.split("(", 1)[0]
        if name in found and found[name].tried < _CALLED:
            call_once(tool, executor, line, found[name])
    return names, found


def call_once(tool: Any, executor: Any, line: str, found: Found) -> None:
    """One configuration, forward."""
    found.tried += 1
    with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        call = tool.parse_config(line)
        tool.make_inputs(call, 0)
        function = tool.resolve(wherry, call.api)
        inputs = [executor.make_tensor(spec.dtype, tool.pack_array(spec.array)) for spec in call.tensors]
        for tensor in inputs:
            tensor.stop_gradient = True
        args = [executor.build(node, inputs) for node in call.args]
        kwargs = {key: executor.build(node, inputs) for key, node in call.kwargs.items()}
        seen = Seen()
        with observing(seen):
            function(*args, **kwargs)
        found.ran += 1
        found.operations |= seen.operations
        found.dtypes |= {spec.dtype for spec in call.tensors}


def rows_of(names: list[str], found: dict[str, Found]) -> list[tuple[str, ...]]:
    """The table's cells."""
    rows = []
    for rank, name in enumerate(names, 1):
        one = found[name]
        there = exists(name)
        status = "missing" if not there else "not called" if not one.tried else "yes" if one.ran else "refuses"
        operations = sorted(one.operations)
        views = "view" if len(operations) == 1 and OPS[operations[0]].is_view else "-"
        rows.append(
            (
                str(rank),
                name,
                status,
                f"{one.ran}/{one.tried}" if one.tried else "-",
                short(one.dtypes),
                order_text(operations) if there else "-",
                twin_of(name) if there else "-",
                views,
                " ".join(operations) or "-",
            )
        )
    return rows


def page(rows: list[tuple[str, ...]]) -> str:
    """The page of the documentation."""
    count = {status: sum(r[2] == status for r in rows) for status in ("yes", "not called", "refuses", "missing")}
    lines = [
        "# Coverage",
        "",
        "Written by `python -m tests.coverage`; `wherry ops --coverage [PATTERN]` prints it. The Paddle APIs that real models call, most used first.",
        f"{count['yes']} of {len(rows)} ran in at least one of the configurations that were tried, {count['not called']} are there but had none to be tried in, {count['refuses']} refused all of them, {count['missing']} are missing.",
        "",
        "calls: how many of the configurations that were tried run. dtypes: of their tensors (f, c, bf, i, u: float, complex, bfloat, int, uint). order: the lowest to which the derivatives of the operations it is made of are",
        "compared with finite differences (docs/verification.md); - where none has one. operations: what it was made of in these calls; derivatives of any order come from theirs.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    names, found = call_all(*(Path(a) for a in sys.argv[1:4]))
    rows = rows_of(names, found)
    DATA.write_text("\n".join("\t".join(r) for r in (COLUMNS, *rows)) + "\n")
    PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
