"""Running a file as Python runs its main script, with paddle standing for wherry."""

import builtins
import importlib.machinery
import os
import sys
from types import CodeType, ModuleType, TracebackType
from typing import Any

from wherry.commands.app import Job
from wherry.paddle_alias import install


def hide_own_frames(code_file: str) -> None:
    """Print tracebacks from the script's first frame on, as if Python had been started with it."""
    print_traceback = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        inner = trace
        while inner is not None and inner.tb_frame.f_code.co_filename != code_file:
            inner = inner.tb_next
        # A syntax error of the script itself has no frame of it.
        shown = None if inner is None and isinstance(error, SyntaxError) else inner or trace
        return print_traceback(kind, error.with_traceback(shown), shown)

    sys.excepthook = hook


def prepared(script: str, arguments: list[str]) -> ModuleType:
    """A new `__main__` for the script, with argv and the search path as Python would set them."""
    install()
    sys.argv = [script, *arguments]
    folder = os.path.dirname(os.path.realpath(script))
    if sys.flags.safe_path:
        pass
    elif sys.path:
        # Where Python put the folder of the `wherry` command, or the current one.
        sys.path[0] = folder
    else:
        sys.path.append(folder)
    hide_own_frames(script)
    main_module = ModuleType("__main__")
    main_module.__dict__.update(
        __file__=script,
        __builtins__=builtins,
        __loader__=importlib.machinery.SourceFileLoader("__main__", script),
        __spec__=None,
        __package__=None,
        __cached__=None,
    )
    # Kept beyond the script's end: what runs at exit may need its globals.
    sys.modules["__main__"] = main_module
    return main_module


def execute(script: str, main_module: ModuleType) -> None:
    """Compile the script and run it in its module."""
    with open(script, "rb") as file:
        source = file.read()
    code: CodeType = compile(source, script, "exec", dont_inherit=True)
    exec(code, main_module.__dict__)


def start(job: Job) -> None:
    """Run a job's script; with `around`, ends in sys.exit."""
    main_module = prepared(job.script, job.arguments)
    if job.around is None:
        execute(job.script, main_module)
        return
    sys.exit(job.around(lambda: execute(job.script, main_module), main_module.__dict__))


def exit_status(error: BaseException | None) -> int:
    """The status Python would end with; a traceback is printed for an exception other than SystemExit."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        code = error.code
        if code is None:
            return 0
        if isinstance(code, int):
            return code
        sys.stderr.write(f"{code}\n")
        return 1
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
