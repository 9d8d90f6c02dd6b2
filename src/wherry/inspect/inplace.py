"""`inplace_history`: who wrote a tensor's memory, who saved it at which version, which views share it."""

import gc
from dataclasses import dataclass
from typing import Any

from wherry.autograd.structures import GradNodeBase, TensorBase
from wherry.core.dense_tensor import DenseTensor, Storage
from wherry.inspect.facts import Line, line_of_node


@dataclass
class WriteFact:
    """One write: the version it made, the operation, the user's line."""

    version: int
    op: str
    line: Line


@dataclass
class SaverFact:
    """A node that saved the memory for backward, and the version it expects there."""

    op: str
    name: str
    line: Line
    expected: int
    # False where the memory was written since: backward through the node will refuse.
    valid: bool


@dataclass
class AliasFact:
    """Another tensor over the same memory."""

    shape: tuple[int, ...]
    dtype: str
    kind: str


@dataclass
class InplaceHistory:
    """What `inplace_history` knows; writes has the last eight, versions count all."""

    version: int
    writes: list[WriteFact]
    savers: list[SaverFact]
    aliases: list[AliasFact]

    def __str__(self) -> str:
        lines = [f"version {self.version}: the memory was written {self.version} times"]
        lines += [f"  version {w.version}: {w.op} at {w.line}" for w in self.writes]
        lines += ["saved for backward:"] if self.savers else ["no node has saved it for backward"]
        for s in self.savers:
            state = "as it is" if s.valid else f"WRITTEN SINCE: backward of {s.op} will refuse"
            lines.append(f"  {s.name} of {s.op} at {s.line}, expects version {s.expected} ({state})")
        lines += ["shares its memory with:"] if self.aliases else ["no other tensor shares its memory"]
        lines += [f"  {a.kind} {a.dtype}{list(a.shape)}" for a in self.aliases]
        return "\n".join(lines)


def same_memory(dense: DenseTensor, storage: Storage | None, array: Any) -> bool:
    """Whether a DenseTensor lies over the memory asked about."""
    return dense.storage is storage if storage is not None else dense.array is array


def inplace_history(tensor: Any) -> InplaceHistory:
    """The versions of a tensor's memory with operation and line, the nodes that saved it with the version each expects, and its views.

    Reads the collector's list of live tensors and nodes. Raises TypeError for anything but a Tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"inplace_history: expected a Tensor, received {type(tensor).__name__}")
    impl = tensor.impl
    storage = impl.storage
    writes = [] if storage is None else [WriteFact(w.version, w.op, Line(w.code, w.lasti)) for w in storage.writes]
    savers: list[SaverFact] = []
    aliases: list[AliasFact] = []
    for thing in gc.get_objects():
        if isinstance(thing, GradNodeBase):
            for w in thing.saved():
                if w.dense is not None and same_memory(w.dense, storage, impl.array):
                    expected = w.inplace_version_snapshot
                    valid = expected == w.dense.inplace_version
                    savers.append(SaverFact(thing.op_name(), w.name, line_of_node(thing), expected, valid))
        elif issubclass(type(thing), TensorBase) and thing is not tensor and getattr(thing, "impl", None) is not None:
            if same_memory(thing.impl, storage, impl.array):
                aliases.append(AliasFact(thing.impl.meta.shape, thing.impl.meta.dtype.name, alias_kind(thing, tensor)))
    return InplaceHistory(impl.inplace_version, writes, savers, aliases)


def alias_kind(other: TensorBase, tensor: TensorBase) -> str:
    """How another tensor came to share the memory."""
    view = other._view
    if view is not None and view.chain:
        steps = " -> ".join(step.op.name for step in view.chain)
        return f"a view of {'it' if view.base is tensor else 'the same base'} ({steps})"
    if tensor._view is not None and tensor._view.base is other:
        return "its base"
    return "an alias without history (detach)" if other._stop_gradient else "an alias"
