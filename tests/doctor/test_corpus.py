"""Programs with one fault each, of kinds that people report, and programs without: the doctor names kind, line and fix, and leaves the others alone.

A faulty program says in its first lines what is expected ("expect": the kind; "fix": words of the advice) and marks the line with "# cause".
"""

import contextlib
import io
import linecache
import types
from pathlib import Path

import pytest

import wherry as paddle
from wherry.inspect import Doctor, Finding
from wherry.paddle_alias import install

HERE = Path(__file__).parent
FAULTY = sorted((HERE / "faulty").glob("*.py"))
CLEAN = sorted((HERE / "clean").glob("*.py"))
SCENARIOS = ("dispatch", "gradient", "memory", "custom", "complex", "inplace")
# Programs whose fault raises nothing; the others end in an exception.
RAISES = 9


def examined(path: Path) -> tuple[list[Finding], BaseException | None]:
    """The findings of a program, run in this process, and its exception."""
    paddle.seed(0)
    finder = install()
    linecache.checkcache(str(path))
    module = types.ModuleType("__main__")
    examination = Doctor()
    examination.variables = module.__dict__
    error: BaseException | None = None
    try:
        with contextlib.redirect_stdout(io.StringIO()), examination:
            exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    except Exception as caught:
        error = caught
    finally:
        import sys

        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == "paddle" or n.startswith("paddle.")]:
            del sys.modules[name]
    return examination.findings, error


def test_the_corpus_is_large_enough() -> None:
    for scenario in SCENARIOS:
        assert sum(p.name.startswith(scenario + "_") for p in FAULTY) >= 6, scenario
    assert len(FAULTY) >= 36 and len(CLEAN) >= 12


@pytest.mark.parametrize("path", FAULTY, ids=lambda p: p.stem)
def test_a_fault_is_named(path: Path) -> None:
    lines = path.read_text().split("\n")
    kind = lines[0].removeprefix("# expect: ")
    fix = lines[1].removeprefix("# fix:").strip()
    cause = next(n for n, line in enumerate(lines, 1) if "# cause" in line)
    findings, _ = examined(path)
    serious = [f for f in findings if f.severity != "note"]
    assert [(f.kind, Path(f.file).name, f.line) for f in serious] == [(kind, path.name, cause)], findings
    assert serious[0].cause and serious[0].fix and fix in serious[0].cause + serious[0].fix


@pytest.mark.parametrize("path", CLEAN, ids=lambda p: p.stem)
def test_nothing_is_wrong_with_a_clean_program(path: Path) -> None:
    findings, error = examined(path)
    assert error is None and findings == []


def test_half_of_the_faults_raise_nothing() -> None:
    raising = [p.stem for p in FAULTY if examined(p)[1] is not None]
    assert len(raising) <= len(FAULTY) / 2, raising
