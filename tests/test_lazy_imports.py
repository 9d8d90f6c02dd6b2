"""`import wherry` is light: what it loads, counted in a fresh interpreter."""

import json
import subprocess
import sys

import pytest

# What only some calls need, and what only a machine with it has.
HEAVY = (
    "scipy", "rich", "typer", "sklearn", "torch", "paddle", "pandas", "matplotlib", "hypothesis", "pytest", "yaml", "mypy", "PIL",
    "asyncio", "multiprocessing.pool", "unittest", "http", "xml", "sqlite3", "tkinter", "cupy", "wherry.cli",
)  # fmt: skip
# Modules besides NumPy's and wherry's own, of which there is one for each family of operations.
BOUND = 40


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that `import wherry` adds to those that NumPy, which is needed in any case, loads."""
    code = (
        "import sys, json, numpy, ml_dtypes; before = set(sys.modules); import wherry; "
        "print(json.dumps([sorted(before), sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    before, after = json.loads(done.stdout)
    return set(after) - set(before)


@pytest.mark.parametrize("name", HEAVY)
def test_nothing_heavy_is_loaded(loaded: set[str], name: str) -> None:
    assert not {m for m in loaded if m == name or m.startswith(name + ".")}


def test_the_number_of_other_modules_is_bounded(loaded: set[str]) -> None:
    others = {m for m in loaded if not m.startswith("wherry")}
    assert len(others) <= BOUND, sorted(others)


def test_no_operation_runs_at_import() -> None:
    """Importing neither draws random numbers nor warns."""
    code = "import numpy as np; s = np.random.get_state()[2]; import wherry; assert np.random.get_state()[2] == s"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
