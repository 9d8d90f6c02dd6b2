"""`wherry run SCRIPT` and `wherry doctor SCRIPT`."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from wherry.commands.app import Job, app, choose
from wherry.commands.script import exit_status

_OWN = ("--report", "--check", "--json", "--profile")
_ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
Report = Annotated[Path | None, typer.Option("--report", help="Write the run as one HTML page.")]
Check = Annotated[
    str | None, typer.Option("--check", help="Look for faults while it runs: nan,inplace,leak,none-grad,... or all.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the findings as JSON; the script's own output goes to stderr.")
]
Profile = Annotated[Path | None, typer.Option("--profile", help="Write a trace for Perfetto or chrome://tracing.")]


@app.command(context_settings=_ANY_ARGUMENTS)
def run(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(help="A Python file that uses paddle.")],
    report: Report = None,
    check: Check = None,
    as_json: AsJson = False,
    profile: Profile = None,
) -> None:
    """Run a Paddle script unchanged: `import paddle` and its submodules are wherry's, in this process only.

    Options may stand before SCRIPT or right after it; from the first other argument on, or after `--`, everything
    belongs to the script. Without options, traceback and exit status are those of `python SCRIPT`. With --check or
    --json the status is 1 where a finding is an error or a warning.
    """
    own, arguments = split(list(context.args))
    report = _path(own.get("--report")) or report
    profile = _path(own.get("--profile")) or profile
    check = own.get("--check") or check
    as_json = "--json" in own or as_json
    if not (report or check or as_json or profile):
        choose(Job(str(script), arguments))
        return
    kinds = None if check in (None, "all") else [k.strip() for k in str(check).split(",")]
    # A report without --check shows all findings, and leaves the exit status alone.
    decides = check is not None or as_json
    choose(Job(str(script), arguments, watched(kinds, decides, as_json, report, profile)))


@app.command(context_settings=_ANY_ARGUMENTS)
def doctor(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(help="A Python file that uses paddle.")],
    as_json: AsJson = False,
    report: Report = None,
) -> None:
    """Run a script under all checks and print what is wrong, with line, cause and fix.

    The exit status is 1 where a finding is an error or a warning, or the script's own if that is not 0.
    """
    own, arguments = split(list(context.args))
    as_json = "--json" in own or as_json
    report = _path(own.get("--report")) or report
    choose(Job(str(script), arguments, watched(None, True, as_json, report, _path(own.get("--profile")))))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def split(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Our options at the head of what follows SCRIPT, and the script's arguments; raises typer.Exit(2) for one without its value."""
    own: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].partition("=")[0] in _OWN:
        name, given, value = rest.pop(0).partition("=")
        if name == "--json":
            own[name] = ""
        elif given:
            own[name] = value
        elif rest:
            own[name] = rest.pop(0)
        else:
            typer.echo(f"wherry run: {name} needs a value", err=True)
            raise typer.Exit(2)
    if rest and rest[0] == "--":
        rest.pop(0)
    return own, rest


def watched(
    kinds: list[str] | None, decides: bool, as_json: bool, report: Path | None, profile: Path | None
) -> Callable[[Callable[[], None], dict[str, Any]], int]:
    """What runs around the script: checks, the tape where a report or a profile is asked for, and the output after it."""
    from wherry.inspect.checks import CHECKS

    for kind in kinds or ():
        if kind not in CHECKS:
            typer.echo(f"wherry run: unknown check {kind!r}; there are {', '.join(CHECKS)}", err=True)
            raise typer.Exit(2)

    def around(script: Callable[[], None], variables: dict[str, Any]) -> int:
        from wherry.inspect import Doctor, record
        from wherry.inspect.findings import print_findings

        tape = record() if report or profile else None
        examination = Doctor(kinds)
        examination.variables = variables
        error: BaseException | None = None
        with _output_to_stderr() if as_json else contextlib.nullcontext():
            try:
                with examination, tape or contextlib.nullcontext():
                    script()
            except BaseException as caught:
                error = caught
            status = exit_status(error)
        if profile and tape:
            from wherry.inspect.profile import write_profile

            write_profile(tape, profile)
        if report and tape:
            from wherry.inspect.report import write_report

            write_report(tape, examination.findings, report)
        if as_json:
            sys.stdout.write(json.dumps({"findings": [f.to_dict() for f in examination.findings]}, indent=2) + "\n")
        else:
            print_findings(examination.findings)
        serious = any(f.severity != "note" for f in examination.findings)
        return status or int(decides and serious)

    return around


@contextlib.contextmanager
def _output_to_stderr() -> Iterator[None]:
    with contextlib.redirect_stdout(sys.stderr):
        yield
