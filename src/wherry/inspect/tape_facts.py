"""What a tape holds: facts of calls, of nodes that ran, of gradients on their way, and of what the user did."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from wherry.inspect.facts import Line, Statistics, TensorFact

Item = TypeVar("Item")


class Kept(Generic[Item]):
    """A list of bounded length: the first half of the limit and the last half; `dropped` counts what lay between."""

    def __init__(self, limit: int) -> None:
        self._first: list[Item] = []
        self._last: deque[Item] = deque(maxlen=max(limit // 2, 1))
        self._head: Final = max(limit - limit // 2, 1)
        self.total = 0

    def append(self, item: Item) -> None:
        """Add one; where the limit is reached the oldest of the second half goes."""
        self.total += 1
        if len(self._first) < self._head:
            self._first.append(item)
        else:
            self._last.append(item)

    @property
    def dropped(self) -> int:
        """How many were let go of."""
        return self.total - len(self)

    def __len__(self) -> int:
        return len(self._first) + len(self._last)

    def __iter__(self) -> Iterator[Item]:
        yield from self._first
        yield from self._last

    def __getitem__(self, index: int) -> Item:
        return list(self)[index]


@dataclass(slots=True)
class InputFact:
    """A tensor input of a call: as the user gave it, and how it entered layer 4."""

    name: str
    given: TensorFact
    # The dtype after AMP and promotion.
    dtype: str
    # Why the call is, or is not, recorded for this input.
    gradient: str
    leaf: bool


@dataclass(slots=True)
class SavedFact:
    """A tensor that a node keeps for backward."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    storage: int
    version: int
    # The inputs whose rule asks for it.
    wanted_by: tuple[str, ...]


@dataclass(slots=True)
class Call:
    """One call of an operation or PyLayer, forward; times in seconds."""

    index: int
    op: str
    kind: str  # "op", "inplace" or "pylayer"
    line: Line
    modules: tuple[str, ...]
    # The call inside which this one happened (a cast by AMP or promotion, an op inside a PyLayer), or 0; likewise the node in backward.
    parent: int
    in_node: int
    start: float
    attrs: dict[str, Any] = field(default_factory=dict)
    inputs: list[InputFact] = field(default_factory=list)
    outputs: list[TensorFact] = field(default_factory=list)
    amp: str = ""
    promotion: str = ""
    grad_enabled: bool = True
    node: int = 0
    not_recorded: str = ""
    saved: list[SavedFact] = field(default_factory=list)
    # Layer 1 (the public function), and layer 4: each step of selection with its outcome, casts and copies, what InferMeta gave.
    api: str = ""
    steps: list[str] = field(default_factory=list)
    transforms: list[str] = field(default_factory=list)
    inferred: str = ""
    kernel: str = ""
    kernel_key: str = ""
    kernel_hash: int = 0
    kernel_seconds: float = 0.0
    library_seconds: float = 0.0
    prepare_seconds: float = 0.0
    seconds: float = 0.0
    nbytes: int = 0
    error: str = ""


@dataclass(slots=True)
class Delivery:
    """A gradient that went over an edge: one term of a sum."""

    index: int
    source: int
    source_input: int
    target: int
    target_output: int
    statistics: Statistics | None
    dtype: str
    shape: tuple[int, ...]
    # Edges of the target that have yet to deliver after this one.
    remaining: int
    none: bool


@dataclass(slots=True)
class HookRun:
    """A tensor hook that ran, with what it changed."""

    index: int
    node: int
    position: int
    function: str
    line: Line
    changed: bool
    before: Statistics | None
    after: Statistics | None


@dataclass(slots=True)
class NodeRun:
    """A node that ran in a backward pass."""

    index: int
    node: int
    op: str
    line: Line
    leaf: str | None
    arrived: list[Statistics | None]
    start: float
    results: list[Statistics | None] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    hooks: list[HookRun] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    in_degree: int = 0
    seconds: float = 0.0
    nbytes: int = 0


@dataclass(slots=True)
class Pass:
    """One backward pass."""

    number: int
    line: Line
    roots: list[int]
    create_graph: bool
    retain_graph: bool
    start: float
    nodes: Kept[NodeRun]
    seconds: float = 0.0
    error: str = ""


@dataclass(slots=True)
class Event:
    """What the user did: kind is "stop_gradient", "detach", "created", "numpy", "mode", "write", "hook", "step" or "clear"."""

    index: int
    kind: str
    line: Line
    tensor: int
    detail: str
    storage: int = 0
    version: int = 0
    # Of a detach or to_tensor the tensor it was made from.
    other: int = 0
