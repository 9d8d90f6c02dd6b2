"""What inspection keeps of lines, tensors and values: plain facts that hold no tensor alive."""

import itertools
import os
import sys
import sysconfig
import weakref
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

import ml_dtypes
import numpy as np

from wherry.autograd.history import requires_grad
from wherry.autograd.structures import GradNodeBase
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor

_node_numbers: Final = itertools.count(1)
_INSTALLED: Final = (
    "<",
    *{sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
)
_ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Line:
    """A place in the user's program; resolved to file and line only when someone asks."""

    __slots__ = ("code", "lasti")

    def __init__(self, code: CodeType | None, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    @property
    def file(self) -> str:
        """The file's name as Python has it; empty where the place is not known."""
        return "" if self.code is None else self.code.co_filename

    @property
    def line(self) -> int:
        """The line number, from 1; 0 where the place is not known."""
        return where.line_of(self.code, self.lasti)

    @property
    def function(self) -> str:
        """The qualified name of the function around it."""
        return "" if self.code is None else self.code.co_qualname

    @property
    def text(self) -> str:
        """The source line, stripped; empty where there is none."""
        import linecache

        return linecache.getline(self.file, self.line).strip() if self.code is not None else ""

    def __str__(self) -> str:
        return where.describe(self.code, self.lasti)

    def __repr__(self) -> str:
        return f"Line({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and self.code is other.code and self.line == other.line

    def __hash__(self) -> int:
        return hash((id(self.code), self.line))


NOWHERE: Final = Line(None, 0)


# Folders whose functions are layers 2 to 5, and files above them that only pass on.
_ENGINE: Final = ("core", "dispatch", "infermeta", "autograd", "inspect", "kernels", "grads", "_C_ops.py")


def here() -> Line:
    """The user's current line."""
    frame = where.user_frame()
    return Line(frame.f_code, frame.f_lasti)


def stack() -> list[Line]:
    """The user's frames, innermost first, those of the package left out."""
    frame: Any = sys._getframe(1)
    lines = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_ROOT, "<frozen")):
            lines.append(Line(code, frame.f_lasti))
        frame = frame.f_back
    return lines


def api_function() -> str:
    """The innermost public function of this package on the stack, as "name (file:line)"; empty for an operator of Tensor."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if not name.startswith(_ROOT):
            return ""
        part = name[len(_ROOT) :].split(os.sep, 1)[0]
        if part not in _ENGINE and not code.co_name.startswith("_"):
            return f"{code.co_qualname} ({name}:{code.co_firstlineno})"
        frame = frame.f_back
    return ""


def own_line(lines: list[Line] | None = None) -> Line:
    """The innermost place in the user's own program: outside this package, the standard library and installed packages.

    The innermost place of all where there is no such place. lines: the frames to choose from, innermost first; the current ones by default.
    """
    lines = stack() if lines is None else lines
    return next((line for line in lines if is_own(line.file)), lines[0] if lines else NOWHERE)


def is_own(file: str) -> bool:
    """Whether a file is part of the user's program."""
    return not file.startswith(_INSTALLED) or file.startswith("<ipython")


def is_package_file(file: str) -> bool:
    """Whether a file is part of this package."""
    return file.startswith(_ROOT)


def function_place(function: Any) -> Line:
    """Where a user's function (or the class of a callable object) is defined."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return Line(code, 0)


def line_of_node(node: GradNodeBase | None) -> Line:
    """The forward line of a node."""
    return NOWHERE if node is None else Line(node.code, node.lasti)


@dataclass(slots=True)
class Statistics:
    """Of the finite elements of an array (of their magnitudes where complex): min, max, mean; the Euclidean norm; counts of the others."""

    minimum: float
    maximum: float
    mean: float
    norm: float
    nan: int
    inf: int
    size: int

    @property
    def finite(self) -> bool:
        """Whether every element is."""
        return self.nan == 0 and self.inf == 0

    def __str__(self) -> str:
        if self.size == 0:
            return "no elements"
        bad = (f", {self.nan} nan" if self.nan else "") + (f", {self.inf} inf" if self.inf else "")
        return f"min {self.minimum:.4g}, max {self.maximum:.4g}, mean {self.mean:.4g}, norm {self.norm:.4g}{bad}"


def statistics(array: Any) -> Statistics:
    """The Statistics of an array of any dtype."""
    values = np.asarray(array)
    size = int(values.size)
    if values.dtype in (ml_dtypes.bfloat16, np.float16):
        values = values.astype(np.float32)
    if values.dtype.kind == "c":
        nan, inf = int(np.isnan(values).sum()), int((np.isinf(values) & ~np.isnan(values)).sum())
        values = np.abs(values)
    elif values.dtype.kind == "f":
        nan, inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    else:
        nan = inf = 0
        values = values.astype(np.float64)
    if nan or inf:
        values = values[np.isfinite(values)]
    if values.size == 0:
        return Statistics(0.0, 0.0, 0.0, 0.0, nan, inf, size)
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64, copy=False)
        norm = float(np.sqrt(np.vdot(wide, wide)))
        return Statistics(float(wide.min()), float(wide.max()), float(wide.mean()), norm, nan, inf, size)


@dataclass(slots=True)
class TensorFact:
    """A tensor at one moment. `number` stays with the Tensor object, `storage` with the memory behind it."""

    number: int
    storage: int
    shape: tuple[int, ...]
    dtype: str
    stop_gradient: bool
    name: str | None
    version: int
    nbytes: int
    node: int
    statistics: Statistics | None = None

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}" + (f" {self.name!r}" if self.name else "")


class Numbers:
    """Lasting numbers for Tensors, memory and nodes, without keeping any of them alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Any]] = {}
        self._next = 1

    def of(self, thing: Any) -> int:
        """The number of a weakly referable object; new for one that was not seen."""
        found = self._known.get(id(thing))
        if found is not None and found[1]() is thing:
            return found[0]
        number = self._next
        self._next += 1
        key = id(thing)
        self._known[key] = (number, weakref.ref(thing, lambda _, key=key, number=number: self._forget(key, number)))
        return number

    def _forget(self, key: int, number: int) -> None:
        found = self._known.get(key)
        if found is not None and found[0] == number:
            del self._known[key]

    def of_memory(self, dense: DenseTensor) -> int:
        """The number of the array that owns a DenseTensor's memory."""
        return self.of(owner_of(dense.array))

    def of_node(self, node: GradNodeBase | None) -> int:
        """A node's number; 0 for None."""
        if node is None:
            return 0
        if node.serial == 0:
            node.serial = next(_node_numbers)
        return node.serial


def owner_of(array: Any) -> Any:
    """The array at the end of the chain of bases: the one whose life is the memory's."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def fact_of(tensor: Any, numbers: Numbers, with_statistics: bool) -> TensorFact:
    """What there is to say about a Tensor now."""
    impl = tensor.impl
    state = tensor._state
    return TensorFact(
        number=numbers.of(tensor),
        storage=numbers.of_memory(impl),
        shape=impl.meta.shape,
        dtype=impl.meta.dtype.name,
        stop_gradient=not requires_grad(tensor),
        name=None if state is None else state.name,
        version=impl.inplace_version,
        nbytes=int(impl.array.nbytes),
        node=numbers.of_node(tensor._grad_node),
        statistics=statistics(impl.array) if with_statistics else None,
    )


def array_of(grad: Any) -> Any:
    """The array of a gradient in either form (DenseTensor in a plain pass, Tensor under create_graph)."""
    return grad.array if isinstance(grad, DenseTensor) else grad.impl.array
