"""Real Paddle still does what the list of its faults says; each runs in a process of its own."""

import subprocess
import sys

import pytest

from tests.regressions.paddle_faults import FAULTS, Fault

pytest.importorskip("paddle")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.title)
def test_paddle_s_line(fault: Fault) -> None:
    command = [sys.executable, "-W", "ignore", "-c", "import paddle\n" + fault.code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        assert fault.paddle == "does not return"
        return
    endings = {"segmentation fault": -11, "the process aborts": -6, "raises": 1}
    assert done.returncode == endings.get(fault.paddle, 0)
    if fault.paddle not in endings:
        assert done.stdout.strip() == fault.paddle
