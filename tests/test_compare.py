"""`wherry compare` finds the first operation at fault: a kernel, a derivative rule, a promotion, in a model of twelve layers."""

import subprocess
import sys
from pathlib import Path

import pytest

from wherry.inspect.comparison import compare

MODEL = """\
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Block(nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = F.gelu(self.up(self.norm(x)))
        return x + self.drop(self.down(h))


paddle.seed(1)
net = nn.Sequential(*[Block(8) for _ in range(12)], nn.Linear(8, 5))
opt = paddle.optimizer.AdamW(1e-3, parameters=net.parameters())
weights = paddle.to_tensor(np.linspace(0.5, 1.5, 4))
for step in range(2):
    x = paddle.randn([4, 8])
    y = paddle.randint(0, 5, [4])
    losses = F.cross_entropy(net(x), y, reduction="none")
    weighted = losses.reshape([4]) * weights
    loss = weighted.mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
print(float(loss))
"""

KERNEL = """\
import numpy as np
from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import FACTORY, register

right = FACTORY.find("gelu", next(k for k in FACTORY.registered("gelu") if k.dtype == dt.float32.code))[0].function
calls = []

def gelu(x, *attrs):
    calls.append(x)
    return right(x, *attrs) * np.float32(1.001 if len(calls) >= 7 else 1)

register("gelu", gelu, [dt.float32])
"""

RULE = """\
from wherry._generated.op_defs import OPS
from wherry.dispatch.bind import bind
from wherry.dispatch.op_def import Rule

op = OPS["gelu"]
bind(op)
before = op.rules[0]
calls = []

def rule(ops, *arguments):
    calls.append(1)
    value = before.function(ops, *arguments)
    return ops.scale(value, 1.01, 0.0) if len(calls) == 5 else value

op.rules[0] = Rule(rule, before.kinds, before.positions)
"""

PROMOTION = """\
from wherry import _C_ops

cast = _C_ops.cast
_C_ops.cast = lambda x, dtype, *rest: cast(x, "float32")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(MODEL.split("\n"), 1) if text in line)


def planted(script: Path, fault: str) -> tuple[object, Path]:
    before = script.with_name("before.py")
    before.write_text(fault)
    folder = script.with_name("runs")
    return compare(str(script), "wherry", folder=folder, before=str(before)), folder


def test_without_a_fault_everything_agrees(script: Path) -> None:
    found, _ = planted(script, "")
    assert not found and "calls and" in found.text and "gradients agree" in found.text
    assert found.compared > 150


def test_a_kernel(script: Path) -> None:
    found, folder = planted(script, KERNEL)
    assert (found.kind, found.operation, found.line) == ("value", "gelu", line_of("F.gelu"))
    # The first six blocks are right.
    assert "paddle.nn.functional.gelu(t('t0'))" in found.repeat
    done = subprocess.run(
        found.repeat.replace("python -c", f"{sys.executable} -c", 1),
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "shape=[4, 16]" in done.stdout, done.stderr
    assert (folder / "again" / "inputs.npz").exists()


def test_a_derivative_rule(script: Path) -> None:
    found, _ = planted(script, RULE)
    assert (found.kind, found.operation, found.line) == ("gradient", "gelu", line_of("F.gelu"))
    assert "the gradient that it gives to the output of linear at" in found.text


def test_a_promotion(script: Path) -> None:
    found, _ = planted(script, PROMOTION)
    assert (found.kind, found.operation, found.line) == ("dtype", "multiply", line_of("weighted ="))
    assert found.text == "the output is float32 where the reference has float64"


def test_from_the_command_line(script: Path, tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text("import paddle\nprint(paddle.ones([2]) + 1.0)\n")
    command = [
        sys.executable,
        "-m",
        "wherry",
        "compare",
        str(tmp_path / "small.py"),
        "--folder",
        str(tmp_path / "runs"),
        "--against",
    ]
    done = subprocess.run([*command, "wherry"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "agree" in done.stdout, done.stderr
    done = subprocess.run([*command, "torch"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected against 'paddle' or 'wherry', received 'torch'" in done.stderr
