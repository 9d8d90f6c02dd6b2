"""Nothing is left out of the verification without a reason, and its page is up to date."""

import pytest

from tests.op_table.row import CHECKS, Row
from tests.oracle.torch_calls import CALLS, NOT_IN_TORCH
from tests.suites import table
from tests.suites.rules import RULES
from tests.verification import PAGE, derivative_calls, forward_calls, page, unchecked_complex
from wherry._generated.op_defs import OPS


def test_the_page_is_up_to_date() -> None:
    written, now = PAGE.read_text().split("\n"), page().split("\n")
    assert written == now, "docs/verification.md is out of date: run `python -m tests.verification` and commit it"


@pytest.mark.parametrize("row", [r for r in table.ROWS if r.exempt], ids=lambda row: row.op)
def test_an_exemption_names_a_check_and_its_reason(row: Row) -> None:
    for name, why in row.exempt.items():
        assert name in CHECKS, f"{row.op}: there is no check {name!r}; CHECKS in tests/op_table/row.py has them"
        assert len(why.split()) > 3, f"{row.op}: say why the check {name!r} does not hold"


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_operation_is_verified_or_excused(op: str) -> None:
    rows = [r for r in table.ROWS if r.op == op]
    excused = any(r.reason or r.random for r in rows)
    assert op in forward_calls() or excused, f"{op}: no value is compared with a reference; give one, or Row.reason"
    assert not OPS[op].has_grad or op in derivative_calls(2) or excused, (
        f"{op}: no derivative is checked; give Row.reason"
    )


@pytest.mark.parametrize("op", [op for op in sorted(OPS) if OPS[op].has_grad])
def test_an_operation_that_takes_complex_inputs_is_differentiated_by_them(op: str) -> None:
    rows = [r for r in table.ROWS if r.op == op]
    excused = any("complex" in r.exempt for r in rows) or all(r.order == 0 and r.reason for r in rows)
    assert excused or not unchecked_complex(op), (
        f"{op} has a kernel for complex128 and a derivative, but no row with an order has complex128 in grad_dtypes; add it, or say why not "
        "in exempt={'complex': ...}"
    )


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_operation_is_compared_with_torch_or_excused(op: str) -> None:
    assert (op in CALLS) != (op in NOT_IN_TORCH), (
        f"{op}: give its call in torch (tests/oracle/torch_elementwise.py, torch_shapes.py, torch_linalg.py), or the reason in NOT_IN_TORCH"
    )


def test_calls_in_torch_and_rules_belong_to_operations() -> None:
    assert not (set(CALLS) | set(NOT_IN_TORCH) | {r.op for r in RULES}) - set(OPS)
    assert all(set(c.without) <= {"gradients", "special values", "special gradients"} for c in CALLS.values())
    assert all(c.differs for c in CALLS.values() if c.without), "what is not compared has a reason"
