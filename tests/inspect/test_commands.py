"""The commands: run with checks, doctor, explain, graph, ops, kernels, profile."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import sys
import paddle

x = paddle.to_tensor([0.0, 1.0], stop_gradient=False)
y = paddle.sqrt(x)
loss = y.sum()
loss.backward()
print("arguments", sys.argv[1:])
"""


def wherry(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "wherry", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_doctor_as_text_and_as_json(script: Path) -> None:
    done = wherry("doctor", script)
    assert done.returncode == 1 and done.stdout.startswith("arguments []\nerror (nan) at ")
    assert f"{script}:5\n    y = paddle.sqrt(x)\n  cause: " in done.stdout and "  fix:   " in done.stdout
    done = wherry("doctor", script, "--json")
    assert done.stderr == "arguments []\n"
    (finding,) = json.loads(done.stdout)["findings"]
    assert list(finding) == ["kind", "severity", "file", "line", "cause", "fix", "related"]
    assert (finding["kind"], finding["severity"], finding["file"], finding["line"]) == ("nan", "error", str(script), 5)


def test_run_with_report_profile_and_checks(script: Path, tmp_path: Path) -> None:
    report, trace = tmp_path / "out.html", tmp_path / "out.json"
    done = wherry("run", script, "--report", report, "--profile", trace, "--check", "nan,leak", "--", "--json", "a")
    assert done.returncode == 1 and "arguments ['--json', 'a']" in done.stdout and "error (nan)" in done.stdout
    assert "<!DOCTYPE html>" in report.read_text() and json.loads(trace.read_text())["traceEvents"]
    done = wherry("run", "--report", report, script, "x")
    assert done.returncode == 0, "a report alone leaves the status to the script"
    done = wherry("run", script, "--check", "leak")
    assert done.returncode == 0 and done.stdout.endswith("No findings.\n")
    done = wherry("run", script, "--check", "typo")
    assert done.returncode == 2 and "unknown check 'typo'; there are error, nan, " in done.stderr
    done = wherry("run", script, "--report")
    assert done.returncode == 2 and "--report needs a value" in done.stderr


def test_a_script_that_fails_keeps_its_status_and_traceback(tmp_path: Path) -> None:
    path = tmp_path / "fails.py"
    path.write_text("import paddle\nimport sys\n\n\ndef f():\n    sys.exit(7)\n\n\nf()\n")
    assert wherry("doctor", path).returncode == 7
    path.write_text("import paddle\n\npaddle.ones([2]) + paddle.ones([3])\n")
    done = wherry("doctor", path)
    assert done.returncode == 1 and "Traceback" in done.stderr and "error (error) at" in done.stdout
    assert done.stderr.split("\n")[1].strip().startswith(f'File "{path}", line 3')


def test_explain_an_expression() -> None:
    done = wherry("explain", "F.softmax(paddle.ones([2, 3]), -1)")
    assert done.returncode == 0 and "softmax at expression:1" in done.stdout and "5 kernel" in done.stdout
    assert json.loads(wherry("explain", "x = paddle.ones([2]); x + x", "--json").stdout)["calls"]["total"] == 2
    done = wherry("explain", "paddle.ones([2]) + paddle.ones([3])")
    assert done.returncode == 1 and "raised" in done.stdout and "ValueError: add" in done.stderr
    done = wherry("explain", "1 +")
    assert done.returncode == 2 and "not Python" in done.stderr


def test_graph_of_a_script(script: Path, tmp_path: Path) -> None:
    done = wherry("graph", f"{script}:y")
    assert done.returncode == 0 and "sqrt" in done.stdout and "[released]" in done.stdout
    for kind, begin in (("dot", "digraph"), ("html", "<!DOCTYPE"), ("json", '{"roots"')):
        assert wherry("graph", f"{script}:loss", "-o", tmp_path / f"g.{kind}").returncode == 0
        assert (tmp_path / f"g.{kind}").read_text().startswith(begin)
    done = wherry("graph", f"{script}:nothing")
    assert done.returncode == 1 and "NameError" in done.stderr
    assert wherry("graph", script).returncode == 2
    done = wherry("graph", f"{script}:y", "-o", "g.pdf")
    assert done.returncode == 2 and "expected a file ending in .svg, .dot, .html, .json" in done.stderr


def test_ops_and_kernels() -> None:
    done = wherry("ops", "softmax")
    assert "softmax(x, int axis=-1) -> out\n    in place as softmax_; derivatives for x; AMP: black" in done.stdout
    assert {e["op"] for e in json.loads(wherry("ops", "so?tmax", "--json").stdout)} == {"softmax"}
    assert wherry("ops", "nothing_like_it").returncode == 1
    done = wherry("kernels", "softmax")
    assert "(CPU, ANY, float32)" in done.stdout and "0x00a001" in done.stdout and "softmax.py:" in done.stdout
    done = wherry("kernels", "softma")
    assert done.returncode == 1 and "no operation 'softma'; there are" in done.stderr
