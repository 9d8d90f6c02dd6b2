"""Every fault of real Paddle in the list: its code prints the right line here, and the page has it."""

import contextlib
import io

import pytest

import wherry as paddle
from tests.regressions.paddle_faults import FAULTS, PAGE, Fault, updated


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.title)
def test_the_right_line_is_printed(fault: Fault) -> None:
    paddle.seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(fault.code, fault.title, "exec"), {"paddle": paddle})
    assert printed.getvalue().strip() == fault.expected
    assert fault.expected != fault.paddle


def test_the_page_has_the_list() -> None:
    page = PAGE.read_text()
    assert updated(page) == page, "run python -m tests.regressions.paddle_faults"
