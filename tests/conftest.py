"""Which wherry is under test: said at the top, and checked where WHERRY_EXPECT says which it must be."""

import os

import pytest

import wherry
from wherry._assembly import is_compiled


def _running() -> str:
    return "compiled" if is_compiled() else "interpreted"


def pytest_configure(config: pytest.Config) -> None:
    expected = os.environ.get("WHERRY_EXPECT")
    if expected and expected != _running():
        raise pytest.UsageError(
            f"WHERRY_EXPECT asks for the {expected} engine, but {wherry.__file__} runs {_running()}"
        )


def pytest_report_header(config: pytest.Config) -> str:
    return f"wherry {wherry.__version__}, engine {_running()}, from {os.path.dirname(wherry.__file__)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"wherry engine: {_running()}")
