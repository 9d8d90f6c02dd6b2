"""`wherry run SCRIPT` behaves as `python SCRIPT`, with paddle standing for wherry."""

import subprocess
import sys
import textwrap

import pytest

import wherry


def python(*arguments, cwd=None):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, timeout=120)


def wherry_run(*arguments, cwd=None):
    return python("-m", "wherry", *arguments, cwd=cwd)


@pytest.fixture
def script(tmp_path):
    def write(source, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return path

    return write


def test_every_form_of_import_is_wherry(script):
    path = script(
        """
        import sys
        import paddle
        import paddle.nn as nn
        import paddle.nn.functional as F1
        import paddle.optimizer.lr
        from paddle import nn as nn2, to_tensor
        from paddle.io import DataLoader, Dataset
        from paddle.nn import functional as F2, Linear
        from paddle.nn.initializer import Constant
        from paddle.base.framework import EagerParamBase
        from paddle.io.dataloader.collate import default_collate_fn
        import wherry, wherry.nn.functional, wherry.optimizer.lr

        assert paddle is wherry and nn is nn2 is wherry.nn
        assert F1 is F2 is wherry.nn.functional
        assert sys.modules["paddle.optimizer.lr"] is wherry.optimizer.lr
        assert Linear is wherry.nn.Linear and to_tensor is wherry.to_tensor
        assert wherry.__spec__.name == "wherry" and wherry.nn.__spec__.name == "wherry.nn"
        assert isinstance(Linear(1, 1).weight, EagerParamBase)
        print("same")
        """
    )
    done = wherry_run("run", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")


def test_outside_there_is_no_paddle_from_wherry():
    assert not any(name.split(".")[0] == "paddle" for name in sys.modules)
    done = python("-c", "import wherry, sys; assert 'paddle' not in sys.modules")
    assert done.returncode == 0


def test_a_paddle_that_is_installed_is_shadowed(script):
    path = script("import paddle\nprint(paddle.__name__)\n")
    script("raise SystemExit('the other one')\n", "paddle.py")
    done = wherry_run("run", path)
    assert (done.returncode, done.stdout) == (0, "wherry\n")


def test_arguments_and_names_are_the_scripts(script):
    path = script(
        """
        import sys
        import helper
        print(sys.argv[1:], __name__, __file__ == sys.argv[0], __spec__, __package__)
        print(sys.modules["__main__"].__dict__ is globals(), helper.word)
        """
    )
    script("import paddle\nword = paddle.ones([1]).item()\n", "helper.py")
    done = wherry_run("run", path, "--epochs", "3", "-h", "--version", "run")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "['--epochs', '3', '-h', '--version', 'run'] __main__ True None None",
        "True 1.0",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import sys; sys.exit(7)",
        "import sys; sys.exit('a message')",
        "def f():\n    raise ValueError('no')\n\nf()",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('k') from error",
        "x = (",
        "raise KeyboardInterrupt",
        "import os; os._exit(3)",
        "class Own(Exception):\n    pass\n\nraise Own('x')",
        "import atexit\nvalue = 5\natexit.register(lambda: print(value))",
        "import sys\nsys.excepthook = lambda *e: print('own hook', e[0].__name__)\n1 / 0",
    ],
)
def test_ends_as_python_does(script, source):
    path = script(source)
    mine, real = wherry_run("run", path), python(path)
    assert mine.returncode == real.returncode
    assert mine.stdout == real.stdout
    assert mine.stderr == real.stderr


def test_the_error_of_an_operation_names_the_scripts_line(script):
    path = script("import paddle\n\npaddle.ones([2]) + paddle.ones([3])\n")
    done = wherry_run("run", path)
    assert done.returncode == 1
    assert done.stderr.startswith(f'Traceback (most recent call last):\n  File "{path}", line 3, in <module>')
    assert f"at {path}:3" in done.stderr


def test_a_missing_submodule_is_named(script):
    done = wherry_run("run", script("import paddle.nowhere\n"))
    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'paddle.nowhere'" in done.stderr


def test_a_missing_script(tmp_path):
    done = wherry_run("run", tmp_path / "none.py")
    assert done.returncode == 2
    assert "none.py" in done.stderr


def test_version_and_config():
    assert wherry_run("--version").stdout == f"wherry {wherry.__version__}\n"
    shown = wherry_run("config").stdout
    assert shown.splitlines()[0].startswith(f"wherry {wherry.__version__}, engine ")
    assert "NumPy" in shown and "backends: CPU" in shown


def test_unknown_commands_are_refused():
    done = wherry_run("frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr
