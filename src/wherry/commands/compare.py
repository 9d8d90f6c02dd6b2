"""`wherry compare SCRIPT --against paddle`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from wherry.commands.app import app


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def compare(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(help="A Python file that uses paddle.")],
    against: Annotated[str, typer.Option(help="paddle, or wherry itself.")] = "paddle",
    python: Annotated[str, typer.Option(help="The interpreter that has it.")] = sys.executable,
    folder: Annotated[Path, typer.Option(help="Where runs and inputs are written.")] = Path("wherry-compare"),
    before: Annotated[str, typer.Option(help="A Python file that wherry's run starts with.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a script under two implementations and name the first operation whose value, dtype or gradient differs.

    What random functions draw is the reference's in both runs. The exit status is 1 where something differs. The inputs of the operation at fault are
    kept, with a command that calls it again.
    """
    from wherry.inspect.comparison import compare as compared

    if not script.is_file():
        typer.echo(f"wherry compare: expected a Python file, found none at {script}", err=True)
        raise typer.Exit(2)
    try:
        found = compared(str(script), against, python, list(context.args), folder, before)
    except (ValueError, RuntimeError) as error:
        typer.echo(f"wherry compare: {error}", err=True)
        raise typer.Exit(2)
    typer.echo(json.dumps(found.to_dict()) if as_json else str(found))
    raise typer.Exit(1 if found else 0)
