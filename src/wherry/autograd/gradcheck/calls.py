"""The calls of one run of fn, with all that is needed to make each again, and the places where history is left behind."""

import inspect
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from wherry.autograd.ad_func import ad_func
from wherry.autograd.gradcheck.problem import replaced, tensor_over, tensors_in
from wherry.autograd.history import requires_grad
from wherry.autograd.structures import GradNodeBase, TensorBase
from wherry.core import where
from wherry.core.observer import Observer
from wherry.core.state import is_grad_enabled

# Of a run with more calls the first are kept.
_MOST_CALLS: Final = 2000


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    code: Any
    lasti: int

    def __str__(self) -> str:
        return where.describe(self.code, self.lasti)

    @property
    def source(self) -> str:
        """The line's text; empty where there is none."""
        return (
            ""
            if self.code is None
            else linecache.getline(self.code.co_filename, where.line_of(self.code, self.lasti)).strip()
        )


def here() -> Place:
    """The user's current line."""
    frame = where.user_frame()
    return Place(frame.f_code, frame.f_lasti)


@dataclass
class SeenCall:
    """A call: operation or PyLayer, line, copies of its arguments, and the nodes it made.

    arguments: with copies in place of the tensors; those that needed a gradient are leaves. backward_of: the node in whose backward
    it happened, where that was recorded too.
    """

    operation: str
    line: Place
    function: Any
    arguments: list[Any]
    names: list[str]
    backward_of: str = ""
    nodes: list[GradNodeBase] = field(default_factory=list)
    # The dtypes of the outputs, and whether all of them are finite.
    dtypes: list[str] = field(default_factory=list)
    finite: bool = True
    outputs: list[Any] = field(default_factory=list)

    def leaves(self) -> list[tuple[str, TensorBase]]:
        """The tensors that needed a gradient, with their names."""
        found: list[tuple[str, TensorBase]] = []
        for name, argument in zip(self.names, self.arguments):
            found += [(label, t) for label, t in tensors_in(argument, name) if not t._stop_gradient]
        return found

    def again(self, *tensors: Any) -> Any:
        """The call's outputs for other values of the leaves."""
        following = iter(tensors)
        every = iter(
            [
                t if t._stop_gradient else next(following)
                for argument in self.arguments
                for _, t in tensors_in(argument, "")
            ]
        )
        return self.function([replaced(argument, every) for argument in self.arguments])


@dataclass
class Cut:
    """A place where a result that depends on the checked inputs left the graph."""

    what: str
    line: Place
    # Which checked inputs it depends on, and whether the outputs of fn depend on it (None: not known).
    inputs: set[int]
    reaches: bool | None = None
    # The call that has no derivative, where that is the reason.
    call: SeenCall | None = None


def copy_of(tensor: TensorBase) -> TensorBase:
    """A copy in float64 or complex128 where the dtype has a gradient; a leaf where the tensor needs one."""
    array = np.array(tensor.impl.array)
    dtype = tensor.impl.meta.dtype
    if dtype.is_differentiable:
        array = array.astype(np.complex128 if dtype.is_complex else np.float64)
    return tensor_over(array, not (requires_grad(tensor) and dtype.is_differentiable))


def copies_in(value: Any) -> Any:
    """A value with copies of its tensors."""
    return replaced(value, iter([copy_of(t) for _, t in tensors_in(value, "")]))


class CallOp:
    """Makes the call of an operation from its inputs, in layer 3's form."""

    def __init__(self, op: Any, attrs: tuple[Any, ...]) -> None:
        self.op: Final = op
        self.attrs: Final = attrs

    def __call__(self, inputs: list[Any]) -> Any:
        return ad_func(self.op, tuple(inputs), self.attrs)


class CallLayer:
    """Makes the call of a PyLayer from its arguments, positional ones first."""

    def __init__(self, layer: Any, count: int, keywords: list[str]) -> None:
        self.layer: Final = layer
        self.count: Final = count
        self.keywords: Final = keywords

    def __call__(self, arguments: list[Any]) -> Any:
        result = self.layer.apply(*arguments[: self.count], **dict(zip(self.keywords, arguments[self.count :])))
        # Plain values that forward returns beside tensors are the user's own affair.
        if isinstance(result, (list, tuple)):
            return [r for r in result if isinstance(r, (TensorBase, list, tuple))]
        return result


def parameter_names(layer: Any, count: int) -> list[str]:
    """What forward calls its positional arguments."""
    try:
        names = [p.name for p in inspect.signature(layer.forward).parameters.values() if p.kind != p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        names = []
    names = names[1:]
    return [names[i] if i < len(names) else f"argument {i}" for i in range(count)]


class Recorder(Observer):
    """Keeps the calls of the block it is entered for, and follows what depends on the checked inputs."""

    def __init__(self, leaves: Sequence[TensorBase]) -> None:
        self.calls: Final[list[SeenCall]] = []
        self.cuts: Final[list[Cut]] = []
        self._open: Final[list[SeenCall]] = []
        # How many PyLayers are running: what happens inside of them is theirs.
        self._inside = 0
        self._node = ""
        # What depends on which checked inputs (k >= 0) and on which cuts (-1 - k), by identity of memory; `_alive` keeps identities unique.
        self._labels: Final[dict[int, frozenset[int]]] = {}
        self._alive: Final[list[Any]] = []
        for k, leaf in enumerate(leaves):
            self._mark(leaf, frozenset([k]))

    def labels(self, tensor: TensorBase) -> frozenset[int]:
        """What a tensor depends on."""
        found: frozenset[int] = frozenset()
        for key in (tensor.impl, tensor.impl.storage):
            if key is not None:
                found |= self._labels.get(id(key), frozenset())
        return found

    def _mark(self, tensor: TensorBase, labels: frozenset[int]) -> None:
        for key in (tensor.impl, tensor.impl.storage):
            if key is not None and labels:
                self._alive.append(key)
                self._labels[id(key)] = self._labels.get(id(key), frozenset()) | labels

    def _cut(self, what: str, labels: frozenset[int], results: Iterator[TensorBase] | Sequence[TensorBase]) -> None:
        """Note a cut, and let what comes out of it carry its mark."""
        inputs = {k for k in labels if k >= 0}
        if not inputs:
            return
        self.cuts.append(Cut(what, here(), inputs))
        for result in results:
            self._mark(result, labels | {-len(self.cuts)})

    def finish(self, outputs: Sequence[TensorBase]) -> None:
        """Find out which cuts the outputs of fn depend on."""
        reached = frozenset().union(*[self.labels(o) for o in outputs]) if outputs else frozenset()
        for k, cut in enumerate(self.cuts):
            if cut.reaches is None and cut.what != "numpy()":
                cut.reaches = -1 - k in reached

    # Operations.

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if self._inside:
            return
        call = SeenCall(
            op.name + ("_" if inplace and not op.name.endswith("_") else ""),
            here(),
            CallOp(op, attrs),
            [],
            list(op.inputs),
        )
        call.backward_of = self._node
        call.arguments = [copies_in(v) for v in inputs]
        call.outputs = [(t, requires_grad(t)) for v in inputs for _, t in tensors_in(v, "")]
        self._open.append(call)

    def call_prepared(self, op: Any, inputs: tuple[Any, ...]) -> None:
        if not self._inside and self._open:
            self._open[-1].arguments = [copies_in(v) for v in inputs]

    def call_failed(self, op: Any, error: BaseException) -> None:
        if not self._inside and self._open:
            self._open.pop()

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        if self._inside or not self._open:
            return
        call = self._open.pop()
        given, call.outputs = call.outputs, []
        results = [t for v in outputs for _, t in tensors_in(v, "")]
        self._finished(call, results)
        labels = frozenset().union(*[self.labels(t) for t, _ in given]) if given else frozenset()
        for result in results:
            self._mark(result, labels)
        lost = [(t, needed) for t, needed in given if needed and any(k >= 0 for k in self.labels(t))]
        if not lost or not any(r.impl.meta.dtype.is_differentiable for r in results):
            return
        if not is_grad_enabled():
            self._cut(f"{call.operation} inside no_grad", labels, results)
        elif not any(requires_grad(r) for r in results):
            self._cut(f"{call.operation}, which has no derivative,", labels, results)
            self.cuts[-1].call = call

    def _finished(self, call: SeenCall, results: list[TensorBase]) -> None:
        """Keep a call with what it made."""
        for result in results:
            if result._grad_node is not None and requires_grad(result):
                call.nodes.append(result._grad_node)
            call.dtypes.append(result.impl.meta.dtype.name)
            if result.impl.meta.dtype.is_differentiable:
                array = np.asarray(result.impl.array)
                finite = np.isfinite(array if np.iscomplexobj(array) else array.astype(np.float64))
                call.finite = call.finite and bool(finite.all())
        call.outputs = [np.array(r.impl.array) for r in results]
        if len(self.calls) < _MOST_CALLS:
            self.calls.append(call)

    # PyLayers.

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        self._inside += 1
        if self._inside > 1:
            return
        function = CallLayer(layer, len(args), list(kwargs))
        names = parameter_names(layer, len(args)) + list(kwargs)
        call = SeenCall(f"{layer.__qualname__} (PyLayer)", here(), function, [], names, self._node)
        call.arguments = [copies_in(v) for v in (*args, *kwargs.values())]
        self._open.append(call)

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        self._inside -= 1
        if self._inside:
            return
        call = self._open.pop()
        results = [t for v in outputs for _, t in tensors_in(v, "")]
        self._finished(call, results)
        labels = frozenset().union(*[self.labels(t) for t in inputs]) if inputs else frozenset()
        for result in results:
            self._mark(result, labels)
        if any(requires_grad(t) for t in inputs) and not any(requires_grad(r) for r in results):
            self._cut(f"{call.operation}{'' if is_grad_enabled() else ' inside no_grad'}", labels, results)

    def custom_failed(self, layer: Any, context: Any, error: BaseException) -> None:
        self._inside -= 1
        if not self._inside:
            self._open.pop()

    # Where history is left behind.

    def detached(self, source: Any, result: Any) -> None:
        labels = self.labels(source)
        if requires_grad(source) and not self._inside:
            self._cut("detach()", labels, [result])
        self._mark(result, labels)

    def tensor_created(self, tensor: Any, data: Any) -> None:
        if isinstance(data, TensorBase) and not self._inside:
            self._cut("to_tensor() of a Tensor", self.labels(data), [tensor])

    def numpy_taken(self, tensor: Any) -> None:
        if requires_grad(tensor) and not self._inside:
            self._cut("numpy()", self.labels(tensor), [])

    def stop_gradient_set(self, tensor: Any, value: bool) -> None:
        if value and not self._inside:
            self._cut("stop_gradient = True", self.labels(tensor), [tensor])

    def written(self, tensor: Any, name: str) -> None:
        if not self._inside and not self._open and self.labels(tensor):
            self._cut(f"a write by {name}", self.labels(tensor), [tensor])

    # Backward passes inside of fn.

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        self._node = f"{node.op_name()} at {node.forward_line()}" if node.code is not None else ""

    def backward_finished(self, engine: Any, error: BaseException | None) -> None:
        self._node = ""
