"""Write the generated modules: op definitions, the layer-2 table `_C_ops`, its raw twin, and the public functions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wherry_codegen.model import Argument, Entry

HEADER = '"""{doc}\n\nGenerated from ops/*.yaml by `python -m wherry_codegen`: do not edit.\n"""\n'
WIDTH = 120

# Annotations of the public functions, by argument type.
ANNOTATIONS = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "int": "int",
    "int64_t": "int",
    "size_t": "int",
    "float": "float",
    "double": "float",
    "bool": "bool",
    "str": "str",
    "Scalar": "Number | Tensor",
    "IntArray": "int | Sequence[int | Tensor] | Tensor",
    "DataType": "DataType | str | None",
    "DataLayout": "str",
    "Place": "Place | str | None",
    "ViewChain": "Any",
}
ELEMENT_ANNOTATIONS = {"Scalar": "Number"}

TYPING_IMPORTS = """\
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wherry._generated.op_defs import OPS
from wherry.autograd.eager import eager, eager1, eager2, eager_inplace

if TYPE_CHECKING:
    from builtins import complex as Number
    from collections.abc import Sequence

    from wherry.core.dtype import DataType
    from wherry.core.place import Place
    from wherry.tensor.tensor import Tensor
"""


def emit(entries: list[Entry]) -> dict[str, str]:
    """The text of every generated module, by path below src/wherry."""
    entries = sorted(entries, key=lambda e: e.name)
    files = {
        "_generated/__init__.py": HEADER.format(doc="Modules that are built from the operation entries."),
        "_generated/op_defs.py": op_defs(entries),
        "_generated/raw_ops.py": raw_ops(entries),
        "_C_ops.py": c_ops(entries),
    }
    namespaces: dict[str, list[PublicName]] = {"": []}
    for entry in entries:
        for public in public_names(entry):
            namespaces.setdefault(public.namespace, []).append(public)
    for namespace, names in sorted(namespaces.items()):
        files[f"_generated/{api_module(namespace)}.py"] = api(namespace, names)
    return files


def api_module(namespace: str) -> str:
    """The generated module of a namespace: api_paddle, api_nn_functional ..."""
    return "api_" + (namespace.replace(".", "_") or "paddle")


# ------------------------------------------------------------------------------------------------ op definitions


def op_defs(entries: list[Entry]) -> str:
    """`OPS`, an OpDef for each entry."""
    lines = [
        HEADER.format(doc="`OPS`: what the engine knows of every operation."),
        "from wherry.dispatch.op_def import REQUIRED, OpDef\n",
        "OPS: dict[str, OpDef] = {",
    ]
    for entry in entries:
        lines.append(f"    {quoted(entry.name)}: OpDef(")
        lines.append(f"        {quoted(entry.name)},")
        lines += [f"        {key}={value}," for key, value in op_def_fields(entry)]
        lines.append("    ),")
    lines.append("}\n")
    return "\n".join(lines)


def op_def_fields(entry: Entry) -> Iterator[tuple[str, str]]:
    """The keyword arguments of an entry's OpDef as source text; what equals OpDef's own default is left out."""
    tensors, attributes, outputs = entry.tensors, entry.attributes, entry.outputs
    input_names = [a.name for a in tensors]
    output_names = [o.name for o in outputs]
    yield "inputs", names(input_names)
    yield "input_kinds", numbers(kind_of(a.type.name, a.name in entry.optional) for a in tensors)
    if attributes:
        yield "attrs", names(a.name for a in attributes)
        yield "attr_kinds", names(a.type.name for a in attributes)
        yield "attr_defaults", items(repr_of(a.default) if a.has_default else "REQUIRED" for a in attributes)
    yield "outputs", names(output_names)
    yield "output_kinds", numbers(kind_of(o.type.name, o.name in entry.optional) for o in outputs)
    if entry.intermediate:
        yield "intermediate", items(str(name in entry.intermediate) for name in output_names)
    canonical = tuple(input_names) + tuple(a.name for a in attributes)
    written = tuple(a.name for a in entry.args)
    in_order = () if written == canonical else written
    infer, kernel = entry.infer_meta, entry.kernel
    yield "infer_meta", quoted(infer.function if infer else "")
    infer_params = in_order if infer is None or infer.params is None else infer.params
    if infer_params:
        yield "infer_params", names(infer_params)
    yield "kernel", quoted(kernel.functions[0].name if kernel else "")
    kernel_params = in_order if kernel is None or kernel.params is None else kernel.params
    if kernel_params:
        yield "kernel_params", names(kernel_params)
    if kernel and kernel.data_type:
        yield "data_type", names(str(s) for s in kernel.data_type)
    for key, pairs in (("inplace", entry.inplace), ("view", entry.view)):
        if pairs:
            yield key, items(f"({input_names.index(x)}, {output_names.index(y)})" for x, y in pairs)
    if entry.grad:
        yield "grad", "{" + ", ".join(f"{quoted(k)}: {quoted(v)}" for k, v in entry.grad.items()) + "}"
    if entry.amp:
        yield "amp", quoted(entry.amp)
    if entry.promote:
        yield "promote", "True"
    for key in ("skip_transform", "support_trans_dtype"):
        value = getattr(entry.data_transform, key)
        if value:
            yield key, names(value)
    yield "location", quoted(str(entry.location))


def kind_of(type_name: str, optional: bool) -> int:
    """TENSOR, OPTIONAL, LIST or OPTIONAL_LIST of wherry.dispatch.op_def."""
    return (2 if type_name == "Tensor[]" else 0) + optional


def quoted(text: str) -> str:
    """A string literal in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def repr_of(value: object) -> str:
    """A default as source text."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    if isinstance(value, tuple):
        return items(repr_of(v) for v in value)
    return repr(value)


def items(texts: Iterator[str]) -> str:
    """A tuple of source texts."""
    parts = list(texts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def names(texts: object) -> str:
    """A tuple of strings."""
    return items(quoted(str(t)) for t in texts)  # type: ignore[attr-defined]


def numbers(values: Iterator[int]) -> str:
    """A tuple of ints."""
    return items(str(v) for v in values)


# ------------------------------------------------------------------------------------------------ functions


def defaults_of(entry: Entry) -> dict[str, str]:
    """Source text of the default of each argument that has one in Python.

    An optional tensor defaults to None where everything behind it has a default too, as Python asks.
    """
    result: dict[str, str] = {}
    for arg in reversed(entry.args):
        if arg.has_default:
            result[arg.name] = repr_of(arg.default)
        elif arg.type.is_tensor and arg.name in entry.optional:
            result[arg.name] = "None"
        else:
            break
    return result


def annotation_of(entry: Entry, arg: Argument) -> str:
    """The annotation of an argument."""
    name = arg.type.name
    if name in ANNOTATIONS:
        text = ANNOTATIONS[name]
    else:
        element = name[:-2]
        text = f"Sequence[{ELEMENT_ANNOTATIONS.get(element, ANNOTATIONS[element])}]"
        if element in ("int", "int64_t"):
            text = f"int | {text}"
    if arg.name in entry.optional and arg.type.is_tensor:
        text += " | None"
    return text


def result_annotation(entry: Entry) -> str:
    """The annotation of what a function returns."""
    kinds = ["list[Tensor]" if o.type.is_list else "Tensor" for o in entry.outputs if o.name not in entry.intermediate]
    if len(kinds) == 1:
        return kinds[0]
    return f"tuple[{', '.join(kinds)}]"


def signature(name: str, params: list[str], result: str) -> str:
    """`def name(params) -> result:`, on several lines where one is too short."""
    line = f"def {name}({', '.join(params)}) -> {result}:"
    if len(line) <= WIDTH:
        return line
    return f"def {name}(\n" + "".join(f"    {p},\n" for p in params) + f") -> {result}:"


def parameters(entry: Entry, annotated: bool) -> list[str]:
    """The parameters of an entry's function."""
    defaults = defaults_of(entry)
    result = []
    for arg in entry.args:
        text = arg.name
        if annotated:
            text += f": {annotation_of(entry, arg)}"
        if arg.name in defaults:
            text += (" = " if annotated else "=") + defaults[arg.name]
        result.append(text)
    return result


def call(entry: Entry, prefix: str) -> str:
    """The call of the generic function: prefix1/prefix2 for one and two plain tensors, else prefix."""
    tensors, attributes = entry.tensors, entry.attributes
    plain = not attributes and all(a.type.name == "Tensor" and a.name not in entry.optional for a in tensors)
    handle = "_" + entry.name
    if plain and len(tensors) in (1, 2):
        return f"{prefix}{len(tensors)}({', '.join([handle] + [a.name for a in tensors])})"
    return f"{prefix}({handle}, {arguments(tensors)}, {arguments(attributes)})"


def inplace_call(entry: Entry) -> str:
    """The call that writes."""
    return f"eager_inplace(_{entry.name}, {arguments(entry.tensors)}, {arguments(entry.attributes)})"


def arguments(args: tuple[Argument, ...]) -> str:
    """A tuple of arguments."""
    return items(a.name for a in args)


def first_sentence(entry: Entry) -> str:
    """What an entry's documentation begins with, else its signature."""
    if entry.doc:
        return entry.doc.split("\n\n")[0].replace("\n", " ").strip()
    args = ", ".join(f"{a.type} {a.name}" for a in entry.args)
    outputs = ", ".join(f"{o.type}({o.name})" for o in entry.outputs)
    return f"({args}) -> {outputs}"


def docstring(text: str) -> str:
    """A docstring, indented by four."""
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = text.strip().split("\n")
    if text.rstrip().endswith('"'):
        lines[-1] += " "
    if len(lines) == 1:
        return f'    """{lines[0]}"""'
    body = "\n".join(f"    {line}".rstrip() for line in lines[1:])
    return f'    """{lines[0]}\n{body}\n    """'


def c_ops(entries: list[Entry]) -> str:
    """Layer 2 by name: every entry's function with the entry's own arguments, and its in-place twin."""
    lines = [
        HEADER.format(doc="Every operation with the arguments of its entry: what the public functions call."),
        TYPING_IMPORTS,
    ]
    for entry in entries:
        params = parameters(entry, annotated=True)
        result = result_annotation(entry)
        lines.append(f"_{entry.name} = OPS[{quoted(entry.name)}]\n\n")
        lines.append(signature(entry.name, params, result))
        lines.append(docstring(first_sentence(entry)))
        lines.append(f"    return {inplace_call(entry) if entry.writes else call(entry, 'eager')}\n\n")
        if entry.inplace and not entry.writes:
            lines.append(signature(entry.name + "_", params, result))
            lines.append(docstring(f"{entry.name}, written into {entry.inplace[0][0]}."))
            lines.append(f"    return {inplace_call(entry)}\n\n")
    return "\n".join(lines)


def raw_ops(entries: list[Entry]) -> str:
    """Layer 4 by name: the same functions on DenseTensors, nothing recorded; derivative rules run on them."""
    lines = [
        HEADER.format(
            doc="Every operation on raw tensors, nothing recorded: what derivative rules call in a plain backward."
        ),
        "from typing import Any\n",
        "from wherry._generated.op_defs import OPS",
        "from wherry.dispatch.library import raw, raw1, raw2\n",
    ]
    for entry in entries:
        if entry.writes:
            continue
        lines.append(f"_{entry.name} = OPS[{quoted(entry.name)}]\n\n")
        lines.append(signature(entry.name, parameters(entry, annotated=False), "Any"))
        lines.append(f"    return {call(entry, 'raw')}\n\n")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------ public functions


@dataclass(frozen=True)
class PublicName:
    """A public name of an entry; `same_as` is the name in the namespace that it is another name of, or ""."""

    entry: Entry
    namespace: str
    name: str
    same_as: str = ""


def public_names(entry: Entry) -> list[PublicName]:
    """The names an entry's `api` and `aliases` give; aliases live where the first api name does."""
    result: list[PublicName] = []
    first: dict[str, str] = {}
    dotted = list(entry.api)
    if entry.api:
        home = entry.api[0].rpartition(".")[0]
        dotted += [f"{home}.{alias}" if home else alias for alias in entry.aliases]
    for public in dotted:
        namespace, _, name = public.rpartition(".")
        result.append(PublicName(entry, namespace, name, first.get(namespace, "")))
        first.setdefault(namespace, name)
    return result


def api(namespace: str, publics: list[PublicName]) -> str:
    """The public functions of a namespace."""
    title = "wherry" + (f".{namespace}" if namespace else "")
    lines = [HEADER.format(doc=f"Public functions of {title}."), TYPING_IMPORTS]
    exported: list[str] = []
    methods: list[str] = []
    seen: set[str] = set()
    for public in publics:
        entry = public.entry
        twin = bool(entry.inplace) and not entry.writes
        if entry.name not in seen and not public.same_as:
            lines.append(f"_{entry.name} = OPS[{quoted(entry.name)}]\n\n")
            seen.add(entry.name)
        if public.same_as:
            lines.append(f"{public.name} = {public.same_as}\n")
            if twin:
                lines.append(f"{public.name}_ = {public.same_as}_\n")
        else:
            lines += public_function(entry, public.name, False)
            if twin:
                lines += public_function(entry, public.name + "_", True)
        added = [public.name] + ([public.name + "_"] if twin else [])
        exported += added
        if entry.args and entry.args[0].type.name == "Tensor":
            methods += added
    lines.append(name_list("__all__: list[str]", exported, "[]"))
    if not namespace:
        lines.append("# Those whose first argument is a tensor are also methods of Tensor.")
        lines.append(name_list("METHODS: tuple[str, ...]", methods, "()"))
    return "\n".join(lines)


def name_list(target: str, values: list[str], brackets: str) -> str:
    """An assignment of names, one a line."""
    body = "".join(f"    {quoted(v)},\n" for v in sorted(values))
    return f"{target} = {brackets[0]}\n{body}{brackets[1]}\n" if values else f"{target} = {brackets}\n"


def public_function(entry: Entry, name: str, twin: bool) -> list[str]:
    """The source of a public function, or of its in-place twin."""
    params = parameters(entry, annotated=True)
    # As in Paddle, `name` comes last and means nothing in eager mode.
    params.append("name: str | None = None")
    doc = entry.doc or first_sentence(entry)
    if twin:
        rest = re.sub(r"(Source: [\w.]*\w)", r"\1_", doc.partition("\n\n")[2])
        doc = f"In-place twin of {name[:-1]}: the result is written into {entry.inplace[0][0]}, which is returned."
        doc += f"\n\n{rest}" if rest else ""
    lines = [signature(name, params, result_annotation(entry)), docstring(doc)]
    body = inplace_call(entry) if twin or entry.writes else call(entry, "eager")
    return lines + [f"    return {body}\n\n"]
