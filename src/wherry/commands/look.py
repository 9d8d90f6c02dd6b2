"""`wherry explain`, `wherry graph`, `wherry ops`, `wherry kernels`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from wherry.commands.app import Job, app, choose

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def explain(
    expression: Annotated[str, typer.Argument(help="Python; paddle, nn, F, np and wherry are there.")],
    as_json: AsJson = False,
) -> None:
    """Show the way of each operation in an expression through the five layers.

    Example: wherry explain "F.softmax(paddle.randn([2, 3]), -1)". Statements may come before, separated by semicolons; an
    exception is printed with the card of the call that raised it.
    """
    import ast
    import linecache

    import numpy as np

    import wherry
    from wherry.inspect import explain as explained

    names: dict[str, Any] = {"paddle": wherry, "wherry": wherry, "nn": wherry.nn, "F": wherry.nn.functional, "np": np}
    file = "expression"
    linecache.cache[file] = (len(expression), None, [line + "\n" for line in expression.split("\n")], file)
    try:
        tree = ast.parse(expression, file)
    except SyntaxError as error:
        typer.echo(f"wherry explain: not Python: {error.msg}: {(error.text or expression).strip()}", err=True)
        raise typer.Exit(2)
    failure: Exception | None = None
    with explained() as call:
        try:
            exec(compile(tree, file, "exec"), names)
        except Exception as error:
            failure = error
    typer.echo(json.dumps(call.to_dict()) if as_json else str(call))
    if failure is not None:
        typer.echo(f"\n{type(failure).__name__}: {failure}", err=True)
        raise typer.Exit(1)


@app.command()
def graph(
    target: Annotated[str, typer.Argument(metavar="SCRIPT:NAME", help="A script, and a Tensor among its variables.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A .svg, .dot, .html or .json file; text without it.")
    ] = None,
    fold: Annotated[str | None, typer.Option(help="line, module or none; by line above 300 nodes.")] = None,
) -> None:
    """Run a script and show the backward graph of one of its tensors.

    The graph is as it is when the script ends: what backward has released is marked so. NAME may be an expression over the script's variables.
    """
    script, _, name = target.rpartition(":")
    if not script or not name:
        typer.echo(f"wherry graph: expected SCRIPT:NAME, received {target!r}", err=True)
        raise typer.Exit(2)
    kinds = {".svg": "to_svg", ".dot": "to_dot", ".html": "to_html", ".json": "to_json"}
    if output is not None and output.suffix not in kinds:
        typer.echo(f"wherry graph: expected a file ending in {', '.join(kinds)}, received {output}", err=True)
        raise typer.Exit(2)

    def around(run_script: Any, variables: dict[str, Any]) -> int:
        import wherry.inspect
        from wherry.commands.script import exit_status

        tape = wherry.inspect.record(with_statistics=False)
        try:
            with tape:
                run_script()
        except BaseException as error:
            status = exit_status(error)
            if status:
                return status
        try:
            found = wherry.inspect.graph(eval(name, variables), tape)
            if output is None:
                typer.echo(str(found))
            elif output.suffix in (".svg", ".dot"):
                getattr(found, kinds[output.suffix])(output, fold)
            else:
                getattr(found, kinds[output.suffix])(output)
        except Exception as error:
            typer.echo(f"wherry graph: {type(error).__name__}: {error}", err=True)
            return 1
        return 0

    choose(Job(script, [], around))


@app.command()
def ops(
    pattern: Annotated[str, typer.Argument(help="A part of the name, or a pattern with * and ?.")] = "",
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Instead the Paddle APIs that real models call, and how far each is served."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the operations: arguments, outputs, in-place twin, views, derivatives, AMP list."""
    if coverage:
        print_coverage(pattern, as_json)
        return
    import wherry._assembly  # noqa: F401  (loads the operations)
    from wherry._generated.op_defs import OPS

    chosen = [op for name, op in sorted(OPS.items()) if matches(name, pattern)]
    if not chosen:
        typer.echo(f"wherry ops: no operation matches {pattern!r}", err=True)
        raise typer.Exit(1)
    entries = [op_entry(op) for op in chosen]
    if as_json:
        typer.echo(json.dumps(entries))
        return
    for e in entries:
        marks = [f"in place as {e['inplace']}"] if e["inplace"] else []
        marks += ["a view"] if e["view"] else []
        marks += [f"derivatives for {', '.join(e['derivatives'])}"] if e["derivatives"] else ["no derivative"]
        marks += [f"AMP: {e['amp']}"] if e["amp"] else []
        typer.echo(f"{e['op']}({', '.join(e['arguments'])}) -> {', '.join(e['outputs'])}\n    {'; '.join(marks)}")
    typer.echo(f"{len(entries)} operations")


def print_coverage(pattern: str, as_json: bool) -> None:
    """The table of docs/coverage.md, or the APIs of it that match."""
    text = (Path(__file__).parent / "coverage.tsv").read_text(encoding="utf-8")
    columns, *rows = [line.split("\t") for line in text.splitlines()]
    chosen = [dict(zip(columns, row)) for row in rows if matches(row[1], pattern)]
    if not chosen:
        typer.echo(f"wherry ops: no API matches {pattern!r}", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json.dumps(chosen))
        return
    for e in chosen:
        marks = [f"{e['calls']} calls run"] if e["calls"] != "-" else []
        marks += [e["dtypes"]] if e["dtypes"] != "-" else []
        marks += [f"derivatives checked to order {e['order']}"] if e["order"] != "-" else []
        marks += [f"in place as {e['in place']}"] if e["in place"] != "-" else []
        marks += ["a view"] if e["view"] != "-" else []
        typer.echo(f"{e['rank']:>4} {e['api']}: {e['status']}" + "".join(f"; {m}" for m in marks))
    served = sum(e["status"] == "yes" for e in chosen)
    typer.echo(f"{served} of {len(chosen)} APIs are served")


def matches(name: str, pattern: str) -> bool:
    """Whether a name has the pattern in it, or fits it where it has * or ?."""
    import fnmatch

    return fnmatch.fnmatch(name, pattern) if set("*?") & set(pattern) else pattern in name


def op_entry(op: Any) -> dict[str, Any]:
    """What there is to say about an operation."""
    from wherry.dispatch.op_def import REQUIRED

    arguments = list(op.inputs)
    for name, kind, default in zip(op.attrs, op.attr_kinds, op.attr_defaults):
        arguments.append(f"{kind} {name}" + ("" if default is REQUIRED else f"={default!r}"))
    return {
        "op": op.name,
        "arguments": arguments,
        "outputs": [o for o, hidden in zip(op.outputs, op.intermediate) if not hidden],
        "inplace": f"{op.name}_" if op.inplace and not op.name.endswith("_") else "",
        "view": op.is_view,
        "derivatives": list(op.grad),
        "amp": op.amp,
        "promotes": op.promote,
        "entry": op.location,
    }


@app.command()
def kernels(op: Annotated[str, typer.Argument(help="An operation's name.")], as_json: AsJson = False) -> None:
    """List the kernels of an operation: key, hash, function, and what each asks of its arguments."""
    import wherry._assembly  # noqa: F401  (loads the kernels)
    from wherry._generated.op_defs import OPS
    from wherry.dispatch.kernel_factory import FACTORY

    entry = OPS.get(op)
    if entry is None:
        near = [name for name in sorted(OPS) if op in name][:8]
        hint = f"; there are {', '.join(near)}" if near else ""
        typer.echo(f"wherry kernels: no operation {op!r}{hint}", err=True)
        raise typer.Exit(1)
    found = [
        {
            "key": repr(key),
            "hash": key.packed,
            "kernel": kernel.location,
            "contiguous": kernel.contiguous,
            "out": kernel.supports_out,
            "predicate": kernel.predicate is not None,
        }
        for key in FACTORY.registered(entry.kernel)
        for kernel in FACTORY.find(entry.kernel, key)
    ]
    if as_json:
        typer.echo(json.dumps(found))
        return
    for k in found:
        marks = [name for name, on in (("contiguous inputs", k["contiguous"]), ("writes to out=", k["out"])) if on]
        marks += ["asked first whether it wants the call"] if k["predicate"] else []
        typer.echo(f"{k['key']:<28} {k['hash']:#08x}  {k['kernel']}" + (f"  ({', '.join(marks)})" if marks else ""))
    typer.echo(f"{len(found)} kernels of {op}")
