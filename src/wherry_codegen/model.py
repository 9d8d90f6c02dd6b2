"""What the parser makes of an operation file: frozen records, each knowing where it was written."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Location:
    """A line of a file, printed as file:line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """Something to change, and where."""

    location: Location
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


class CodegenError(Exception):
    """Problems that stop the generator, all at once rather than the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(p) for p in problems))
        self.problems = problems


class NoDefault:
    """Stands for the default of an argument that has none."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()


@dataclass(frozen=True)
class ArgType:
    """An argument's type: `name` as the entry writes it without parentheses; `inner` is int64_t in Scalar(int64_t)."""

    name: str
    inner: str = ""

    @property
    def is_tensor(self) -> bool:
        """Whether it is Tensor or Tensor[]."""
        return self.name in ("Tensor", "Tensor[]")

    @property
    def is_list(self) -> bool:
        """Whether a value of it is a sequence."""
        return self.name.endswith("[]") or self.name == "IntArray"

    def __str__(self) -> str:
        return f"{self.name}({self.inner})" if self.inner else self.name


@dataclass(frozen=True)
class Argument:
    """One argument; `default` is a Python value, or NO_DEFAULT."""

    name: str
    type: ArgType
    default: object
    location: Location

    @property
    def has_default(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True)
class Output:
    """One output; `size` is the text in braces of a Tensor[] output, "" where there is none."""

    name: str
    type: ArgType
    size: str
    location: Location


@dataclass(frozen=True)
class Signature:
    """`name (arguments) -> outputs`."""

    name: str
    args: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    location: Location


@dataclass(frozen=True)
class KernelFunction:
    """A kernel's name, with the kinds of tensor it takes and returns where the entry dispatches on them."""

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where a kernel's dtype, layout or backend comes from: an argument, perhaps made complex, or a constant."""

    name: str
    conversion: str = ""
    constant: bool = False

    def __str__(self) -> str:
        return f"{self.conversion}({self.name})" if self.conversion else self.name


@dataclass(frozen=True)
class KernelSpec:
    """The `kernel` field. Sources are tried in order."""

    functions: tuple[KernelFunction, ...]
    params: tuple[str, ...] | None
    data_type: tuple[Source, ...]
    layout: tuple[Source, ...]
    backend: tuple[Source, ...]
    location: Location


@dataclass(frozen=True)
class InferMetaSpec:
    """The `infer_meta` field; the sharding fields are kept and mean nothing here."""

    function: str
    params: tuple[str, ...] | None
    spmd_rule: str
    local_shape: str
    global_shape: str
    location: Location


@dataclass(frozen=True)
class CallSpec:
    """`name(argument, ...)` of `invoke` and `composite`, the arguments as text."""

    name: str
    args: tuple[str, ...]
    location: Location


@dataclass(frozen=True)
class DataTransform:
    """The `data_transform` field: inputs that are never transformed, and inputs whose dtype may be cast."""

    skip_transform: tuple[str, ...] = ()
    support_trans_dtype: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One operation, forward or backward. For a backward entry `forward` is the signature it belongs to.

    `grad` maps an input to its rule; the key "" stands for one rule of all inputs.
    """

    name: str
    args: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    location: Location
    is_backward: bool = False
    forward: Signature | None = None
    infer_meta: InferMetaSpec | None = None
    kernel: KernelSpec | None = None
    invoke: CallSpec | None = None
    composite: CallSpec | None = None
    backward: str = ""
    inplace: tuple[tuple[str, str], ...] = ()
    view: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()
    intermediate: tuple[str, ...] = ()
    no_need_buffer: tuple[str, ...] = ()
    data_transform: DataTransform = DataTransform()
    traits: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    amp: str = ""
    promote: bool = False
    strided: bool = False
    aliases: tuple[str, ...] = ()
    grad: dict[str, str] = field(default_factory=dict)
    api: tuple[str, ...] = ()
    doc: str = ""
    other: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def at(self, name: str) -> Location:
        """Where a field of the entry stands (the entry itself where it has none)."""
        return Location(self.location.file, self.lines.get(name, self.location.line))

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The tensor arguments, in order."""
        return tuple(a for a in self.args if a.type.is_tensor)

    @property
    def attributes(self) -> tuple[Argument, ...]:
        """The other arguments, in order."""
        return tuple(a for a in self.args if not a.type.is_tensor)

    @property
    def writes(self) -> bool:
        """Whether the operation itself changes inputs (its name ends in `_`)."""
        return self.name.endswith("_")


def shown(path: Path, root: Path) -> str:
    """A path as problems print it: relative to the repository where it is inside."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()
