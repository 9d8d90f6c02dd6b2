"""The typer application that the commands join, and the job that one of them leaves to be done after parsing."""

from collections.abc import Callable
from dataclasses import dataclass

import typer

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="wherry: an eager deep-learning engine with Paddle's API."
)


@dataclass
class Job:
    """A script to run once the command line is parsed and done with, so that the script's exceptions are its own.

    around: called with the function that runs the script; returns the exit status. None: the script runs as `python SCRIPT`.
    """

    script: str
    arguments: list[str]
    around: Callable[[Callable[[], None], dict[str, object]], int] | None = None


CHOSEN: list[Job] = []


def choose(job: Job) -> None:
    """Leave a script to be run; raises typer.Exit(2) where there is no such file."""
    import os

    if not os.path.isfile(job.script):
        typer.echo(f"wherry: expected a Python file, found none at {job.script}", err=True)
        raise typer.Exit(2)
    CHOSEN.append(job)
