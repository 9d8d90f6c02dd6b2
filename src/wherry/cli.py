"""The command line: `wherry run SCRIPT`, `wherry config`, `wherry --version`."""

import builtins
import importlib.machinery
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Annotated, Any

import typer

from wherry.paddle_alias import PaddleFinder, install

__all__ = ["PaddleFinder", "app", "main"]

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="wherry: an eager deep-learning engine with Paddle's API."
)
# What `run` was asked for; it starts when the command line is parsed and done with, so that the script's exceptions are its own.
_CHOSEN: list[tuple[str, list[str]]] = []


def _version(wanted: bool) -> None:
    if wanted:
        from wherry._version import __version__

        typer.echo(f"wherry {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
def run(
    context: typer.Context, script: Annotated[Path, typer.Argument(help="A Python file that uses paddle.")]
) -> None:
    """Run a Paddle script unchanged: `import paddle` and its submodules are wherry's, in this process only.

    Everything after SCRIPT belongs to the script. Traceback and exit status are those of `python SCRIPT`.
    """
    if not script.is_file():
        typer.echo(f"wherry run: expected a Python file, found none at {script}", err=True)
        raise typer.Exit(2)
    _CHOSEN.append((str(script), list(context.args)))


@app.command()
def config() -> None:
    """Print what is running: compiled or interpreted, Python, NumPy and its BLAS, backends."""
    import wherry

    wherry.show_config()


def _hide_own_frames(code_file: str) -> None:
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


def _start(script: str, arguments: list[str]) -> None:
    """Run a file as Python runs its main script."""
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
    _hide_own_frames(script)
    with open(script, "rb") as file:
        source = file.read()
    code: CodeType = compile(source, script, "exec", dont_inherit=True)
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
    exec(code, main_module.__dict__)


def main() -> None:
    """Entry point of the `wherry` command."""
    before = sys.excepthook
    try:
        app()
    except SystemExit:
        if not _CHOSEN:
            raise
    # Typer puts its own in the place of Python's.
    sys.excepthook = before
    script, arguments = _CHOSEN.pop()
    _start(script, arguments)
