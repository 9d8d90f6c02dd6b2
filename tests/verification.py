"""Writes docs/verification.md: what the suites check of every operation. Run `python -m tests.verification`; a test fails where the page is out of date."""

from pathlib import Path
from typing import Final

from tests.op_table import all_rows
from tests.op_table.row import CHECKS, Row
from wherry._generated.op_defs import OPS
from wherry.dispatch.op_def import OpDef

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "verification.md"
_SHORT: Final = {"float": "f", "complex": "c", "bfloat": "bf", "int": "i", "uint": "u"}


def short(dtypes: tuple[str, ...]) -> str:
    """float32, complex128 -> f32 c128."""
    texts = []
    for name in dtypes:
        stem = name.rstrip("0123456789")
        texts.append(_SHORT.get(stem, stem) + name[len(stem) :])
    return " ".join(texts)


def line(op: OpDef, rows: list[Row]) -> str:
    """An operation's line of the table."""
    dtypes = tuple(dict.fromkeys(d for r in rows for d in r.dtypes))
    grads = tuple(dict.fromkeys(d for r in rows if r.order for d in r.grad_dtypes))
    order = max(r.order for r in rows)
    marks = [f"{op.name}_" if op.inplace and not op.name.endswith("_") else "", "view" if op.is_view else ""]
    reasons = [r.reason for r in rows if r.reason] + [
        f"{CHECKS[name]}: {why}" for r in rows for name, why in r.exempt.items()
    ]
    calls = sum(len(r.cases) for r in rows)
    return (
        f"| {op.name} | {calls} | {short(dtypes)} | {short(grads) if op.has_grad else '-'} | {order if op.has_grad else '-'} | "
        f"{', '.join(filter(None, marks)) or '-'} | {'; '.join(dict.fromkeys(reasons)) or '-'} |"
    )


def page() -> str:
    """The whole page."""
    by_op: dict[str, list[Row]] = {}
    for row in all_rows():
        by_op.setdefault(row.op, []).append(row)
    rows = [r for group in by_op.values() for r in group]
    forward = sum(len(r.cases) * len(r.dtypes) for r in rows)
    first = sum(len(r.cases) * len(r.grad_dtypes) for r in rows if r.order >= 1)
    second = sum(len(r.cases) * len(r.grad_dtypes) for r in rows if r.order >= 2)
    differentiable = [op for op in OPS.values() if op.has_grad]
    complete = [op for op in differentiable if max(r.order for r in by_op[op.name]) >= 2]
    in_complex = [op for op in differentiable if any("complex128" in r.grad_dtypes for r in by_op[op.name])]
    lines = [
        "# What is verified",
        "",
        "Written by `python -m tests.verification` from the table that the suites run over (tests/op_table); a test fails where it is out of date.",
        "",
        f"{len(OPS)} operations, {sum(len(r.cases) for r in rows)} calls. Forward against an independent reference: {forward} (call, dtype) pairs. "
        f"{len(differentiable)} operations have a derivative; it is compared with finite differences in {first} (call, dtype) pairs, its own derivative in {second}: "
        f"{len(complete)} operations to second order, {len(in_complex)} of them in complex128 too (both Wirtinger directions).",
        "",
        "Besides, every operation is taken through these checks unless the last column says why not:",
        "",
        *[f"- {text[0].upper() + text[1:]}." for text in CHECKS.values()],
        "- InferMeta gives the shape and dtype that the kernel returns; inputs are unchanged; non-contiguous, 0-D and empty inputs; the in-place twin.",
        "",
        "f, c, bf, i, u: float, complex, bfloat, int, uint.",
        "",
        "| operation | calls | forward | derivative | order | twin, view | left out, and why |",
        "|---|---|---|---|---|---|---|",
        *[line(OPS[name], by_op[name]) for name in sorted(OPS)],
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
