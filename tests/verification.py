"""Writes docs/verification.md: what the suites check of every operation. Run `python -m tests.verification`; a test fails where the page is out of date."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.op_table.row import CHECKS, Row
from tests.oracle.torch_calls import CALLS, NOT_IN_TORCH
from tests.suites import table
from tests.suites.probe import all_calls
from tests.suites.rules import RULES
from tests.suites.table import GIVEN, Call
from tests.suites.test_gradients import gradient_calls, problem
from tests.suites.test_precision import calls_of, kernel_dtypes
from tests.suites.test_special_forward import calls_of as special_calls_of
from wherry._generated.op_defs import OPS
from wherry.core import dtype as dt
from wherry.dispatch.op_def import OpDef

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "verification.md"
_SHORT: Final = {"float": "f", "complex": "c", "bfloat": "bf", "int": "i", "uint": "u"}
_ORDER: Final = tuple(d.name for d in dt.ALL)
# The checks that need a gradient.
_OF_GRADIENTS: Final = (
    "edges",
    "second_edges",
    "infinite_gradient",
    "local",
    "limits",
    "nan",
    "recorded",
    "layouts",
    "empty",
)
# What the suites leave out of a row in its fields of their own: `skip`.
SKIPS: Final = {"inplace": "the in-place twin", "noncontiguous": "strided inputs", "zero_size": "no elements"}


def short(dtypes: set[str]) -> str:
    """float32, complex128 -> f32 c128."""
    texts = []
    for name in sorted(dtypes, key=_ORDER.index):
        stem = name.rstrip("0123456789")
        texts.append(_SHORT.get(stem, stem) + name[len(stem) :])
    return " ".join(texts) or "-"


def dtypes_in(call: Call) -> set[str]:
    """The dtype of a call; of one with given tensors theirs (of the floating ones where there are any)."""
    if call.dtype != GIVEN:
        return {call.dtype}
    names = [a.dtype.name for a in table.each(table.make_inputs(call))]
    return {n for n in names if n.startswith(("float", "complex"))} or set(names)


@cache
def forward_calls() -> dict[str, list[Call]]:
    """The calls that are compared with a reference."""
    return table.by_operation(table.calls(keep=lambda row, case: row.reference is not None))


@cache
def derivative_calls(order: int) -> dict[str, list[Call]]:
    """The calls whose derivative of an order is compared with finite differences."""
    return table.by_operation(gradient_calls(order))


@cache
def derivative_dtypes(op: str) -> frozenset[str]:
    """The dtypes of the inputs that some call of an operation is differentiated by."""
    found = set()
    for call in all_calls().get(op, []):
        found |= {t.impl.array.dtype.name for t in problem(call)[1] if t.size}
    return frozenset(found)


def narrow_dtypes(op: str) -> set[str]:
    """The dtypes in which values and gradients are compared with the wide one."""
    return {narrow for narrow in ("float32", "float16", "bfloat16", "complex64") if op in calls_of(narrow)}


def unchecked_complex(op: str) -> bool:
    """Whether an operation has a derivative and a kernel for complex128, but no call that differentiates by a complex input."""
    return OPS[op].has_grad and "complex128" in kernel_dtypes(op) and "complex128" not in derivative_dtypes(op)


def special_checks(op: str) -> str:
    """Of the checks at special values, how many an operation goes through."""
    rows = [r for r in table.ROWS if r.op == op]
    names = [n for n in _OF_GRADIENTS if op in all_calls()] + (["special"] if op in special_calls_of("special") else [])
    done = [n for n in names if any(n not in r.exempt for r in rows)]
    return f"{len(done)} of {len(names)}" if len(done) < len(names) else str(len(done) or "-")


def reasons(rows: list[Row]) -> Iterator[str]:
    """What is left out, each with why; checks with one reason together."""
    grouped: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row.exempt.items():
            grouped.setdefault(why, []).append(name)
        if row.reason:
            left_out = [SKIPS[s] for s in row.skip] + (["the order"] if row.order < 2 and OPS[row.op].has_grad else [])
            left_out += ["the reference"] if row.reference is None else []
            grouped.setdefault(row.reason, []).extend(left_out)
    for why, names in grouped.items():
        listed = ", ".join(dict.fromkeys(names))
        yield f"{listed}: {why}" if listed else why


def in_torch(op: str) -> str:
    if op in CALLS:
        return "yes*" if CALLS[op].differs else "yes"
    return "-"


def line(op: OpDef, rows: list[Row]) -> str:
    """An operation's line of the table."""
    forward = set().union(*(dtypes_in(c) for c in forward_calls().get(op.name, [])))
    orders = [order for order in (1, 2) if op.name in derivative_calls(order)]
    marks = [f"{op.name}_" if op.inplace and not op.name.endswith("_") else "", "view" if op.view else ""]
    cells = [
        op.name,
        str(sum(len(r.cases) for r in rows)),
        short(forward),
        short(set(derivative_dtypes(op.name)) if orders else set()),
        str(max(orders, default="-")),
        special_checks(op.name),
        short(narrow_dtypes(op.name)),
        in_torch(op.name),
        ", ".join(filter(None, marks)) or "-",
        "; ".join(reasons(rows)) or "-",
    ]
    return f"| {' | '.join(cells)} |"


def totals() -> list[str]:
    """The numbers at the top."""
    forward = sum(len(c) for c in forward_calls().values())
    first, second = (sum(len(c) for c in derivative_calls(order).values()) for order in (1, 2))
    differentiable = [op.name for op in OPS.values() if op.has_grad]
    complete = [op for op in differentiable if op in derivative_calls(2)]
    in_complex = [op for op in complete if "complex128" in derivative_dtypes(op)]
    pairs = sum(len(derivative_dtypes(op)) for op in complete)
    narrow = sum(len(calls_of(n)) for n in ("float32", "float16", "bfloat16", "complex64"))
    return [
        f"- {len(OPS)} operations, {len(differentiable)} of them with a derivative; {sum(len(r.cases) for r in table.ROWS)} calls.",
        f"- Values: {forward} (call, dtype) pairs of {len(forward_calls())} operations against an independent reference.",
        f"- Derivatives: {first} (call, dtype) pairs of the first order and {second} of the second against finite differences: "
        f"{len(complete)} operations to second order, {len(in_complex)} of them by complex inputs (real and imaginary part moved apart); "
        f"{pairs} (operation, dtype) pairs to second order.",
        f"- Narrow dtypes: {narrow} (operation, dtype) pairs, values and gradients, against float64 and complex128.",
        f"- torch: {len(CALLS)} operations have a call there (`make oracle` compares values and gradients, at special values too); "
        f"{len(NOT_IN_TORCH)} have none.",
        f"- {len(RULES)} examples of what the gradient is at kinks, ties and infinities, below.",
        "",
    ]


def rules() -> list[str]:
    """The rules at kinks and ties, an operation a line."""
    texts: dict[str, list[str]] = {}
    for rule in RULES:
        texts.setdefault(rule.op, []).append(rule.text)
    return [f"- {op}: {'; '.join(dict.fromkeys(found))}." for op, found in sorted(texts.items())]


def page() -> str:
    """The whole page."""
    by_op: dict[str, list[Row]] = {}
    for row in table.ROWS:
        by_op.setdefault(row.op, []).append(row)
    lines = [
        "# What is verified",
        "",
        "Written by `python -m tests.verification` from what the suites run over (tests/op_table, tests/suites); a test fails where it is out of date.",
        "",
        *totals(),
        "## Every operation",
        "",
        "Forward, derivative: the dtypes of the inputs. Order: of the highest derivative compared with finite differences. Special: how many of "
        "the checks below that concern special values and layouts the operation goes through (of how many, where some are left out). Narrow: the "
        "dtypes whose values and gradients are compared with the wide one. torch: yes* where a convention differs (below). Left out: the check, "
        "and why. f, c, bf, i, u stand for float, complex, bfloat, int, uint. InferMeta against the kernel, unchanged inputs, in-place twins and "
        "views are checked for all.",
        "",
        "| operation | calls | forward | derivative | order | special | narrow | torch | twin, view | left out, and why |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *[line(OPS[name], by_op.get(name, [])) for name in sorted(OPS)],
        "",
        "## The checks",
        "",
        *[f"- {name}: {text}." for name, text in CHECKS.items()],
        "",
        "## At kinks, ties and infinities",
        "",
        "Where a function has no derivative, or several, the gradient is one of those on its sides. Which, for each operation (tests/suites/rules.py):",
        "",
        *rules(),
        "",
        "## Where torch differs",
        "",
        *[f"- {op}: {made.differs}." for op, made in sorted(CALLS.items()) if made.differs],
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
