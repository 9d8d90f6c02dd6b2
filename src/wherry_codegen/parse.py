"""The parser of operation files: Paddle's grammar and the fields that are ours.

YAML gives the structure, with the line of every value; the values are small languages of their own (argument lists,
outputs, kernel functions, pairs), parsed here. `read_file` returns what is sound and what is not, so that one bad entry
does not hide the others.
"""

import re
from pathlib import Path

import yaml

from wherry_codegen.literals import LiteralError, python_value
from wherry_codegen.model import (
    NO_DEFAULT,
    ArgType,
    Argument,
    CallSpec,
    CodegenError,
    DataTransform,
    Entry,
    InferMetaSpec,
    KernelFunction,
    KernelSpec,
    Location,
    Output,
    Problem,
    Signature,
    Source,
    shown,
)

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
ROOT = Path(__file__).resolve().parent.parent.parent

ELEMENT_TYPES = ("int", "int64_t", "float", "double", "bool", "str", "Scalar")
# ViewChain is ours: how a view was made, handed through to the kernel as it is.
TYPES = frozenset(
    ("Tensor", "Tensor[]", "IntArray", "DataType", "DataLayout", "Place", "size_t", "ViewChain")
    + ELEMENT_TYPES
    + tuple(t + "[]" for t in ELEMENT_TYPES)
)
# Fields that have no meaning here and are kept as text.
KEPT = ("traits", "interfaces")
FIELDS = frozenset(
    "op backward_op forward args output infer_meta kernel invoke composite backward inplace view optional intermediate"
    " no_need_buffer data_transform traits interfaces support_dygraph_mode"
    " amp promote strided aliases grad api doc".split()
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPEN = {"(": ")", "[": "]", "{": "}"}


class _Fault(Exception):
    """A problem inside one entry."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(location, message)


def parse_files(paths: list[Path], root: Path = ROOT) -> list[Entry]:
    """The entries of several files; raises CodegenError with every problem."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in paths:
        found, wrong = read_file(path, root)
        entries += found
        problems += wrong
    if problems:
        raise CodegenError(problems)
    return entries


def read_file(path: Path, root: Path = ROOT) -> tuple[list[Entry], list[Problem]]:
    """The sound entries of a file and the problems of the others."""
    return parse_text(path.read_text(encoding="utf-8"), shown(path, root))


def parse_text(text: str, file: str) -> tuple[list[Entry], list[Problem]]:
    """The same for a text; `file` is the name that locations get."""
    try:
        document = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        return [], [Problem(Location(file, mark.line + 1 if mark else 1), f"not YAML: {what}")]
    if document is None:
        return [], []
    if not isinstance(document, yaml.SequenceNode):
        return [], [Problem(Location(file, 1), "expected a list of entries, each beginning with '- op : name'")]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for node in document.value:
        try:
            entries.append(_EntryParser(file, node).entry())
        except _Fault as fault:
            problems.append(fault.problem)
    return entries, problems


class _EntryParser:
    """One entry: its YAML mapping turned into an Entry."""

    def __init__(self, file: str, node: yaml.Node) -> None:
        self.file = file
        self.start = self.line_of(node)
        if not isinstance(node, yaml.MappingNode):
            raise _Fault(self.start, "expected an entry: '- op : name' and its fields")
        self.nodes: dict[str, yaml.Node] = {}
        self.lines: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            at = self.line_of(key)
            if name in self.nodes:
                raise _Fault(at, f"the field {name} stands twice in one entry; remove one")
            if name not in FIELDS:
                raise _Fault(at, f"unknown field {name}; expected one of {', '.join(sorted(FIELDS))}")
            self.nodes[name] = value
            self.lines[name] = at.line

    def line_of(self, node: yaml.Node) -> Location:
        return Location(self.file, node.start_mark.line + 1)

    def at(self, name: str) -> Location:
        return Location(self.file, self.lines.get(name, self.start.line))

    def fault(self, name: str, message: str) -> _Fault:
        return _Fault(self.at(name), message)

    def text(self, name: str) -> str:
        """A field that is plain text; "" where it is absent."""
        node = self.nodes.get(name)
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode):
            raise self.fault(name, f"expected text for {name}, received {type(node).__name__}")
        return str(node.value).strip()

    def names(self, name: str) -> tuple[str, ...]:
        """A field that names things: 'a, b' or [a, b]."""
        node = self.nodes.get(name)
        if isinstance(node, yaml.SequenceNode):
            return tuple(str(item.value).strip() for item in node.value)
        return tuple(part for part in (p.strip() for p in split(self.text(name), ",")) if part)

    def mapping(self, name: str, known: tuple[str, ...]) -> dict[str, yaml.Node]:
        """A field with fields of its own."""
        node = self.nodes.get(name)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self.fault(name, f"expected fields below {name} ({', '.join(known)}), received {node.value!r}")
        result: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.value not in known:
                raise _Fault(self.line_of(key), f"unknown field {name}.{key.value}; expected one of {', '.join(known)}")
            result[str(key.value)] = value
        return result

    def flag(self, name: str) -> bool:
        value = self.text(name)
        if value.lower() not in ("", "true", "false"):
            raise self.fault(name, f"expected true or false for {name}, received {value!r}")
        return value.lower() == "true"

    def entry(self) -> Entry:
        is_backward = "backward_op" in self.nodes
        name = self.text("backward_op" if is_backward else "op")
        if not _NAME.fullmatch(name):
            raise _Fault(self.start, f"expected 'op : name' with an identifier, received {name!r}")
        for needed in ("args", "output") + (("forward",) if is_backward else ()):
            if needed not in self.nodes:
                raise _Fault(self.start, f"{name} has no field {needed}; add it")
        if not is_backward and "forward" in self.nodes:
            raise self.fault("forward", f"forward belongs to backward_op entries; {name} is an op")
        api = self.names("api")
        for public in api:
            if not all(_NAME.fullmatch(part) for part in public.split(".")):
                raise self.fault(
                    "api", f"expected a dotted name such as nn.functional.relu in api, received {public!r}"
                )
        amp = self.text("amp")
        if amp not in ("", "white", "black", "promote"):
            raise self.fault("amp", f"expected white, black or promote for amp, received {amp!r}")
        return Entry(
            name=name,
            args=parse_args(self.text("args"), self.at("args")),
            outputs=parse_outputs(self.text("output"), self.at("output")),
            location=self.start,
            is_backward=is_backward,
            forward=parse_signature(self.text("forward"), self.at("forward")) if is_backward else None,
            infer_meta=self.infer_meta(),
            kernel=self.kernel(),
            invoke=self.call("invoke"),
            composite=self.call("composite"),
            backward=self.text("backward"),
            inplace=parse_pairs(self.text("inplace"), self.at("inplace")),
            view=parse_pairs(self.text("view"), self.at("view")),
            optional=self.names("optional"),
            intermediate=self.names("intermediate"),
            no_need_buffer=self.names("no_need_buffer"),
            data_transform=self.data_transform(),
            traits=self.names("traits"),
            interfaces=self.names("interfaces"),
            amp=amp,
            promote=self.flag("promote"),
            strided=self.flag("strided"),
            aliases=self.names("aliases"),
            grad=self.grad(),
            api=api,
            doc=self.text("doc"),
            other={k: self.text(k) for k in ("support_dygraph_mode",) if k in self.nodes},
            lines=self.lines,
        )

    def params(self, nodes: dict[str, yaml.Node], field: str) -> tuple[str, ...] | None:
        node = nodes.get("param")
        if node is None:
            return None
        if not isinstance(node, yaml.SequenceNode):
            raise _Fault(
                self.line_of(node), f"expected a list for {field}.param, such as [x, axis]; received {node.value!r}"
            )
        return tuple(str(item.value).strip() for item in node.value)

    def infer_meta(self) -> InferMetaSpec | None:
        nodes = self.mapping("infer_meta", ("func", "param", "spmd_rule", "local_shape", "global_shape"))
        if not nodes:
            return None
        texts = {k: str(v.value).strip() for k, v in nodes.items() if k != "param"}
        if not texts.get("func"):
            raise self.fault("infer_meta", "infer_meta has no func; name the InferMeta function")
        return InferMetaSpec(
            texts["func"],
            self.params(nodes, "infer_meta"),
            texts.get("spmd_rule", ""),
            texts.get("local_shape", ""),
            texts.get("global_shape", ""),
            self.at("infer_meta"),
        )

    def kernel(self) -> KernelSpec | None:
        nodes = self.mapping("kernel", ("func", "param", "data_type", "layout", "backend", "force_backend"))
        if not nodes:
            return None
        texts = {k: str(v.value).strip() for k, v in nodes.items() if k != "param"}
        if not texts.get("func"):
            raise self.fault("kernel", "kernel has no func; name the kernel")
        sources = {
            k: parse_sources(texts.get(k, ""), self.line_of(nodes[k]) if k in nodes else self.at("kernel"))
            for k in ("data_type", "layout", "backend")
        }
        functions = parse_kernel_functions(texts["func"], self.line_of(nodes["func"]))
        params = self.params(nodes, "kernel")
        return KernelSpec(functions, params, location=self.at("kernel"), **sources)

    def call(self, name: str) -> CallSpec | None:
        text = self.text(name)
        if not text:
            return None
        match = re.fullmatch(r"([A-Za-z_][\w:]*)\s*\((.*)\)", text, re.DOTALL)
        if match is None:
            raise self.fault(name, f"expected name(argument, ...) for {name}, received {text!r}")
        return CallSpec(match[1], tuple(p.strip() for p in split(match[2], ",") if p.strip()), self.at(name))

    def data_transform(self) -> DataTransform:
        nodes = self.mapping("data_transform", ("skip_transform", "support_trans_dtype"))

        def items(key: str) -> tuple[str, ...]:
            node = nodes.get(key)
            if node is None:
                return ()
            if isinstance(node, yaml.SequenceNode):
                return tuple(str(item.value).strip() for item in node.value)
            return tuple(p.strip() for p in str(node.value).split(",") if p.strip())

        return DataTransform(items("skip_transform"), items("support_trans_dtype"))

    def grad(self) -> dict[str, str]:
        node = self.nodes.get("grad")
        if node is None:
            return {}
        if isinstance(node, yaml.MappingNode):
            rules = {str(k.value).strip(): str(v.value).strip() for k, v in node.value}
        else:
            rules = {"": self.text("grad")}
        for rule in rules.values():
            if not _NAME.fullmatch(rule):
                raise self.fault("grad", f"expected a rule's name in grad, received {rule!r}")
        return rules


def split(text: str, separator: str) -> list[str]:
    """Split at a separator outside brackets and strings."""
    parts: list[str] = []
    stack: list[str] = []
    start = 0
    quoted = False
    for i, char in enumerate(text):
        if char == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        if quoted:
            continue
        if char in _OPEN:
            stack.append(_OPEN[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif char == separator and not stack:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return parts


def parse_type(text: str, location: Location) -> ArgType:
    """A type such as Tensor[] or Scalar(int64_t)."""
    match = re.fullmatch(r"(?:const\s+)?(\w+)\s*(?:\(\s*(\w+)\s*\))?\s*(\[\s*\])?\s*&?", text.strip())
    if match is not None:
        name = match[1] + ("[]" if match[3] else "")
        if name in TYPES and (not match[2] or match[1] == "Scalar"):
            return ArgType(name, match[2] or "")
    raise _Fault(location, f"unknown type {text.strip()!r}; expected one of {', '.join(sorted(TYPES))}")


def parse_args(text: str, location: Location) -> tuple[Argument, ...]:
    """`(Type name [= default], ...)`."""
    text = text.strip()
    if not text.startswith("(") or not text.endswith(")"):
        raise _Fault(location, f"expected args in parentheses, such as (Tensor x, int axis = -1); received {text!r}")
    args: list[Argument] = []
    for part in split(text[1:-1], ","):
        if not part.strip():
            if len(text[1:-1].strip()) == 0:
                break
            raise _Fault(location, f"an argument is missing between commas in {text!r}")
        declaration, equals, default_text = part.partition("=")
        match = re.fullmatch(r"\s*(.*[\]\s)&])\s*([A-Za-z_]\w*)\s*", declaration, re.DOTALL)
        if match is None:
            raise _Fault(location, f"expected 'Type name' in args, received {part.strip()!r}")
        kind = parse_type(match[1], location)
        default: object = NO_DEFAULT
        if equals:
            try:
                default = python_value(default_text, kind)
            except LiteralError as error:
                raise _Fault(location, f"argument {match[2]}: {error}") from None
        args.append(Argument(match[2], kind, default, location))
    return tuple(args)


def parse_outputs(text: str, location: Location) -> tuple[Output, ...]:
    """`Tensor(out), Tensor[](outs){size}`; an output without a name is called out, or out_0, out_1 ... of several."""
    parts = split(text, ",")
    outputs: list[Output] = []
    for i, part in enumerate(parts):
        match = re.fullmatch(
            r"\s*(Tensor\s*(?:\[\s*\])?)\s*(?:\(\s*([A-Za-z_]\w*)\s*\))?\s*(?:\{(.*)\})?\s*", part, re.DOTALL
        )
        if match is None:
            raise _Fault(
                location, f"expected outputs such as Tensor(out) or Tensor[](outs){{num}}, received {part.strip()!r}"
            )
        name = match[2] or ("out" if len(parts) == 1 else f"out_{i}")
        kind = ArgType(re.sub(r"\s", "", match[1]))
        outputs.append(Output(name, kind, (match[3] or "").strip(), location))
    return tuple(outputs)


def parse_signature(text: str, location: Location) -> Signature:
    """`name (args) -> outputs`."""
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(\(.*\))\s*->\s*(.*)", text, re.DOTALL)
    if match is None:
        raise _Fault(location, f"expected 'name (args) -> outputs' for forward, received {text!r}")
    return Signature(match[1], parse_args(match[2], location), parse_outputs(match[3], location), location)


def parse_pairs(text: str, location: Location) -> tuple[tuple[str, str], ...]:
    """`(x -> out), (y -> out2)`."""
    if not text.strip():
        return ()
    pairs: list[tuple[str, str]] = []
    for part in split(text, ","):
        match = re.fullmatch(r"\s*\(\s*(\w+)\s*->\s*(\w+)\s*\)\s*", part)
        if match is None:
            raise _Fault(location, f"expected (input -> output), received {part.strip()!r}")
        pairs.append((match[1], match[2]))
    return tuple(pairs)


def parse_sources(text: str, location: Location) -> tuple[Source, ...]:
    """`attr > x`, `complex(x)`, `DataType::FLOAT32`."""
    if not text:
        return ()
    sources: list[Source] = []
    for part in text.split(">"):
        part = part.strip()
        called = re.fullmatch(r"(complex|real)\s*\(\s*(\w+)\s*\)", part)
        if called:
            sources.append(Source(called[2], called[1]))
        elif re.fullmatch(r"\w+::\w+", part):
            sources.append(Source(part, constant=True))
        elif _NAME.fullmatch(part):
            sources.append(Source(part))
        else:
            raise _Fault(location, f"expected an argument, complex(argument) or DataType::NAME, received {part!r}")
    return tuple(sources)


def parse_kernel_functions(text: str, location: Location) -> tuple[KernelFunction, ...]:
    """`name`, or `name {dense, dense -> dense}, name_sr {selected_rows -> dense}` with or without the commas."""
    functions: list[KernelFunction] = []
    position = 0
    pattern = re.compile(r"\s*,?\s*([A-Za-z_]\w*)\s*(?:\{([^{}]*?)->([^{}]*)\})?\s*,?\s*")
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise _Fault(
                location, f"expected a kernel's name, or name {{dense -> dense}}, received {text[position:]!r}"
            )
        inputs, outputs = (tuple(k.strip() for k in (match[g] or "").split(",") if k.strip()) for g in (2, 3))
        functions.append(KernelFunction(match[1], inputs, outputs))
        position = match.end()
    return tuple(functions)
