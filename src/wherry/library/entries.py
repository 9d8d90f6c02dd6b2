"""`load_ops`: operations from entries in Paddle's YAML, read at run time by the generator that makes the engine's own."""

import importlib
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wherry import _C_ops
from wherry._generated import raw_ops
from wherry._generated.op_defs import OPS
from wherry.dispatch.bind import RULES
from wherry.tensor.tensor import Tensor

_MODULE = "wherry.library.loaded"


def load_ops(source: str | os.PathLike[str]) -> SimpleNamespace:
    """Make operations of the entries of a YAML text or file; returns an object that has a function for each.

    source: a path that ends in .yaml or .yml, or the text. Entries are as in Paddle's ops.yaml and backward.yaml, with the fields of docs/adding-an-op.md; `api` puts the
    public function where it says, and makes it a method of Tensor. The kernels, InferMeta functions and rules that entries name are the engine's, or
    registered by `kernel`, `infer_meta` and `rule` before the first call. The functions take an entry's arguments in order; `name_` is the in-place twin. Needs PyYAML. Raises
    ValueError that lists every problem with its line, the name of an operation of the engine's own among them; nothing is made known then.
    Source: paddle/phi/ops/yaml/ops.yaml.
    """
    try:
        from wherry_codegen.check import check
        from wherry_codegen.emit import api, api_module, emit, public_names
        from wherry_codegen.lower import lower
        from wherry_codegen.model import Problem
        from wherry_codegen.parse import parse_text
    except ModuleNotFoundError as error:
        if error.name != "yaml":
            raise
        raise ModuleNotFoundError("load_ops needs PyYAML: pip install PyYAML", name="yaml") from None
    text, place = _text_of(source)
    parsed, problems = parse_text(text, place)
    parsed = [e if e.doc else replace(e, doc=f"The operation {e.name}, of {e.location}.") for e in parsed]
    entries, rules, more = lower(parsed)
    problems += more + check(entries)
    publics: dict[str, list[Any]] = {}
    for entry in entries:
        known = OPS.get(entry.name)
        if known is not None and known.location.startswith("ops/"):
            message = f"{entry.name} is an operation of the engine's own ({known.location}); choose another name"
            problems.append(Problem(entry.location, message))
        for public in public_names(entry):
            publics.setdefault(public.namespace, []).append(public)
    if problems:
        raise ValueError("load_ops:\n" + "\n".join(f"  {p}" for p in problems))
    found = _make_known(emit(entries), rules, [e.name for e in entries])
    for namespace, names in publics.items():
        _publish(namespace, _run(api(namespace, names), api_module(namespace)))
    return found


def _text_of(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The text, and what locations call the place it is from."""
    given = os.fspath(source)
    if "\n" not in given and given.endswith((".yaml", ".yml")):
        path = Path(given).resolve()
        return path.read_text(encoding="utf-8"), path.as_posix()
    return given, "the text"


def _make_known(files: dict[str, str], rules: str, names: list[str]) -> SimpleNamespace:
    """Run the modules that were generated for these operations, and put what they define where the engine looks for it."""
    OPS.update(_run(files["_generated/op_defs.py"], "op_defs")["OPS"])
    for name, value in _run(rules, "rules").items():
        if getattr(value, "__module__", "") == _MODULE:
            RULES[name] = value
    functions = _run(files["_C_ops.py"], "_C_ops")
    raw = _run(files["_generated/raw_ops.py"], "raw_ops")
    found: dict[str, Any] = {}
    for name in [*names, *[f"{n}_" for n in names]]:
        if name in functions:
            found[name] = functions[name]
            setattr(_C_ops, name, functions[name])
        if name in raw:
            setattr(raw_ops, name, raw[name])
    return SimpleNamespace(**found)


def _publish(namespace: str, module: dict[str, Any]) -> None:
    target = importlib.import_module(f"wherry.{namespace}" if namespace else "wherry")
    for name in module["__all__"]:
        setattr(target, name, module[name])
    for name in module.get("METHODS", ()):
        setattr(Tensor, name, module[name])


def _run(text: str, name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": _MODULE}
    # A file name inside the package: these functions are no lines of the user's.
    exec(compile(text, os.path.join(os.path.dirname(__file__), f"<{name} of load_ops>"), "exec"), namespace)
    return namespace
