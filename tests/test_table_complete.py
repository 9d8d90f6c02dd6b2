"""Every operation has a row in tests/op_table, every row its operation, and no row is easier than it says."""

from collections import Counter

import pytest

from tests.op_table import all_rows
from tests.op_table.row import Case, Row
from wherry._generated.op_defs import OPS
from wherry.dispatch.op_def import LIST, OPTIONAL, OPTIONAL_LIST

ROWS = all_rows()
BY_OP = Counter(row.op for row in ROWS)


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_operation_has_a_row(op: str) -> None:
    assert op in BY_OP, f"{op} ({OPS[op].location}) has no row; add one to tests/op_table/"


@pytest.mark.parametrize("op", sorted(BY_OP))
def test_every_row_has_an_operation(op: str) -> None:
    assert op in OPS, f"the table has a row for {op}, which no entry in ops/ defines; remove or rename the row"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op)
def test_a_row_says_what_it_leaves_out(row: Row) -> None:
    op = OPS[row.op]
    assert row.cases, "a row needs at least one call"
    if op.has_grad and row.order < 2 or row.skip:
        assert row.reason, (
            f"{row.op} has a derivative but order {row.order}, or skips {row.skip}: give the reason in Row.reason"
        )
    if not op.has_grad:
        assert row.order == 0, f"{row.op} names no rule, so its row's order is 0"
    if row.reference is None:
        assert row.random or row.reason, f"{row.op} has no reference: set random, or give the reason"
    assert set(row.skip) <= {"inplace", "noncontiguous", "zero_size"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op)
def test_cases_fit_the_entry(row: Row) -> None:
    op = OPS[row.op]
    for case in row.cases:
        assert len(case.inputs) == len(op.inputs), f"{row.op}: {case} gives {len(case.inputs)} of {op.inputs}"
        unknown = set(case.attrs) - set(op.attrs)
        assert not unknown, f"{row.op}: {case} gives {unknown}, which are no attributes of it ({op.attrs})"
        for kind, value in zip(op.input_kinds, case.inputs):
            assert value is not None or kind in (OPTIONAL, OPTIONAL_LIST), (
                f"{row.op}: {case} leaves out a tensor that it needs"
            )
            assert kind not in (LIST, OPTIONAL_LIST) or value is None or isinstance(value, list), f"{row.op}: {case}"


def exercised(op: str) -> set[str]:
    """The rules of an operation that its rows' gradients reach: those of inputs that some row checks."""
    found: set[str] = set()
    for row in ROWS:
        if row.op != op or row.order == 0:
            continue
        for i, name in enumerate(OPS[op].inputs):
            if row.grad_inputs is None or i in row.grad_inputs:
                found |= {rule for key, rule in OPS[op].grad.items() if key in ("", name)}
    return found


@pytest.mark.parametrize("op", sorted(name for name, d in OPS.items() if d.has_grad and name in BY_OP))
def test_every_rule_is_checked_or_excused(op: str) -> None:
    missing = set(OPS[op].grad.values()) - exercised(op)
    reasons = [row.reason for row in ROWS if row.op == op and row.reason]
    assert not missing or reasons, (
        f"no row of {op} checks the rules {sorted(missing)}; raise order or widen grad_inputs"
    )


def test_rows_are_what_they_say() -> None:
    assert all(isinstance(row, Row) and all(isinstance(c, Case) for c in row.cases) for row in ROWS)
