"""The command line: `wherry run SCRIPT`, `wherry doctor SCRIPT`, `wherry config`, and more; see `wherry --help`."""

import importlib
import sys
from typing import Annotated

import typer

from wherry.commands.app import CHOSEN, app
from wherry.paddle_alias import PaddleFinder

__all__ = ["PaddleFinder", "app", "main"]

for _name in ("run", "look", "compare", "config"):
    importlib.import_module(f"wherry.commands.{_name}")


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


def main() -> None:
    """Entry point of the `wherry` command."""
    before = sys.excepthook
    try:
        app()
    except SystemExit:
        if not CHOSEN:
            raise
    # Typer puts its own in the place of Python's.
    sys.excepthook = before
    from wherry.commands.script import start

    start(CHOSEN.pop())
