"""The command line: `wherry run SCRIPT`, `wherry config`, `wherry --version`."""

import runpy
import sys
from pathlib import Path

import typer

from wherry.paddle_alias import PaddleFinder, install

__all__ = ["PaddleFinder", "app", "main"]

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="wherry: an eager deep-learning engine with Paddle's API."
)


def _version(wanted: bool) -> None:
    if wanted:
        from wherry._version import __version__

        typer.echo(f"wherry {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
def run(context: typer.Context, script: Path = typer.Argument(..., help="A Python file that uses paddle.")) -> None:
    """Run a Paddle script unchanged: `import paddle` and its submodules are wherry's, in this process only.

    Everything after SCRIPT belongs to the script. Traceback and exit status are those of `python SCRIPT`.
    """
    if not script.is_file():
        typer.echo(f"wherry run: expected a Python file, found none at {script}", err=True)
        raise typer.Exit(2)
    install()
    sys.argv = [str(script), *context.args]
    sys.path[0:0] = [str(script.resolve().parent)]
    runpy.run_path(str(script), run_name="__main__")


@app.command()
def config() -> None:
    """Print what is running: compiled or interpreted, Python, NumPy and its BLAS, backends."""
    import wherry

    wherry.show_config()


def main() -> None:
    """Entry point of the `wherry` command."""
    app(standalone_mode=True)
