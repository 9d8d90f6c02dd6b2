"""The table of Paddle APIs: it says what is true, and the command prints it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.coverage import COLUMNS, DATA, PAGE, exists, page, twin_of

RANKED = Path(__file__).resolve().parent.parent.parent / "shared" / "paddle_api_usage.tsv"
ROWS = [tuple(line.split("\t")) for line in DATA.read_text().splitlines()[1:]]


def test_page_and_data_agree() -> None:
    assert PAGE.read_text() == page(ROWS)
    assert DATA.read_text().splitlines()[0] == "\t".join(COLUMNS)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r[1])
def test_what_a_row_says_is_true(row: tuple[str, ...]) -> None:
    name, status, twin = row[1], row[2], row[6]
    assert exists(name) == (status != "missing"), "run python -m tests.coverage"
    if status != "missing":
        assert twin == twin_of(name)


@pytest.mark.skipif(not RANKED.exists(), reason="the ranked table is not beside the project")
def test_every_ranked_api_has_its_row() -> None:
    lines = [line for line in RANKED.read_text().splitlines() if line and not line.startswith("#")][1:]
    names = [next(cell for cell in line.split("\t") if cell.startswith("paddle.")) for line in lines]
    assert [r[1] for r in ROWS] == names


def test_the_command_prints_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wherry", "ops", "--coverage", "paddle.reshape"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "   2 paddle.reshape: yes; 12/12 calls run; u8 i32 i64 f16 f32 f64 c64; derivatives checked to order 2; in place as reshape_; a view\n"
        "1 of 1 APIs are served\n"
    )
    none = subprocess.run(
        [sys.executable, "-m", "wherry", "ops", "--coverage", "paddle.nothing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert none.returncode == 1 and none.stderr == "wherry ops: no API matches 'paddle.nothing'\n"
