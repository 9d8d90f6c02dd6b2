"""Which operation is at fault when a gradient is wrong: the calls of the function are checked one by one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wherry.autograd.ad_func import ad_func
from wherry.autograd.history import new_tensor, requires_grad
from wherry.autograd.structures import TensorBase
from wherry.core import where
from wherry.core.dense_tensor import dense_from_array
from wherry.core.observer import Observer, observing, unobserved
from wherry.core.state import set_grad_enabled_flag

# Calls that are looked at, and elements of an input above which a call is left out.
_MOST_CALLS = 2000
_LARGEST = 4096


@dataclass
class SeenCall:
    """A call with copies of its inputs: all that is needed to make it again."""

    name: str
    again: Any
    inputs: list[TensorBase]
    line: str


@dataclass
class Watcher(Observer):
    """Notes the calls that take part in a gradient, and the places where the history was left behind."""

    calls: list[SeenCall] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)
    _inside: int = 0

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if self._inside or len(self.calls) >= _MOST_CALLS or not op.has_grad or op.name.endswith("_"):
            return
        flat: list[TensorBase] = []
        copied = tuple(copies(v, flat) for v in inputs)
        if flat and all(t.impl.array.size <= _LARGEST for t in flat):
            self.calls.append(SeenCall(op.name, OpAgain(op, copied, attrs), flat, where.user_line()))

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        self._inside += 1
        if self._inside > 1 or len(self.calls) >= _MOST_CALLS:
            return
        flat: list[TensorBase] = []
        copied = tuple(copies(v, flat) for v in args)
        named = {k: copies(v, flat) for k, v in kwargs.items()}
        if flat and all(t.impl.array.size <= _LARGEST for t in flat):
            self.calls.append(SeenCall(layer.__qualname__, LayerAgain(layer, copied, named), flat, where.user_line()))

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        self._inside -= 1

    def custom_failed(self, layer: Any, context: Any, error: BaseException) -> None:
        self._inside -= 1

    def detached(self, source: Any, result: Any) -> None:
        if requires_grad(source) and not self._inside:
            self.cuts.append(f"detach() at {where.user_line()}")

    def numpy_taken(self, tensor: Any) -> None:
        if requires_grad(tensor) and not self._inside:
            self.cuts.append(f"numpy() at {where.user_line()}")

    def tensor_created(self, tensor: Any, data: Any) -> None:
        if isinstance(data, TensorBase) and requires_grad(data) and not self._inside:
            self.cuts.append(f"to_tensor() of a tensor at {where.user_line()}")

    def mode_changed(self, name: str, enabled: bool) -> None:
        if not enabled and not self._inside:
            self.cuts.append(f"{name} at {where.user_line()}")


def copies(value: Any, found: list[TensorBase]) -> Any:
    """Copies of a Tensor or a list of them; those that need a gradient become leaves and are added to `found`."""
    if isinstance(value, TensorBase):
        copy = new_tensor(dense_from_array(np.array(value.impl.array)))
        wants = requires_grad(value) and value.impl.meta.dtype.name in ("float64", "complex128")
        copy._stop_gradient = not wants
        if wants:
            found.append(copy)
        return copy
    if isinstance(value, list):
        return [copies(v, found) for v in value]
    return value


@dataclass
class OpAgain:
    """Makes the call of an operation again, with other values of the inputs that are checked."""

    op: Any
    inputs: tuple[Any, ...]
    attrs: tuple[Any, ...]

    def __call__(self, *tensors: Any) -> Any:
        following = iter(tensors)
        return ad_func(self.op, tuple(filled(v, following) for v in self.inputs), self.attrs)


@dataclass
class LayerAgain:
    """Makes the call of a PyLayer again."""

    layer: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, *tensors: Any) -> Any:
        following = iter(tensors)
        args = [filled(v, following) for v in self.args]
        return self.layer.apply(*args, **{k: filled(v, following) for k, v in self.kwargs.items()})


def filled(value: Any, following: Any) -> Any:
    """The structure with the leaves taken from an iterator."""
    if isinstance(value, TensorBase):
        return value if value._stop_gradient else next(following)
    return [filled(v, following) for v in value] if isinstance(value, list) else value


def likely_fault(fn: Any, inputs: list[Any], check: Any) -> str:
    """A sentence on which call of fn is at fault: the first whose own gradient is wrong; or where the history is cut.

    check: called with (function, tensors), raises where the function's gradient is wrong. Random calls (dropout) are left out by it.
    """
    watcher = Watcher()
    before = set_grad_enabled_flag(True)
    try:
        with observing(watcher):
            fn(*inputs)
        with unobserved():
            for call in watcher.calls:
                wrong = first_line(check, call)
                if wrong:
                    return f"most likely at fault: {call.name} at {call.line}: alone, {wrong}"
    except Exception:
        return ""
    finally:
        set_grad_enabled_flag(before)
    if watcher.cuts:
        shown = "; ".join(dict.fromkeys(watcher.cuts[:5]))
        return f"every operation alone is right; the history is left behind by {shown}"
    return "every operation alone is right; look for values that are changed outside of recorded operations"


def first_line(check: Any, call: SeenCall) -> str:
    """What is wrong with a call's own gradient, in one line; empty where it is right or cannot be checked."""
    from wherry.autograd.gradcheck import GradcheckError

    try:
        check(call.again, call.inputs)
    except GradcheckError as error:
        lines = str(error).split("\n")
        if "deterministic" in lines[0] or "finite at" in lines[0]:
            return ""
        return lines[1].strip() if len(lines) > 1 else lines[0]
    except Exception:
        return ""
    return ""
