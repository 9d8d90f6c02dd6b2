"""PyLayers: their backward against finite differences of their forward, and what they do to the tensors they are handed."""

import contextlib
import io
from types import CodeType
from typing import Any

import numpy as np

from wherry.autograd.gradcheck import GradcheckError, gradcheck, tensor_over
from wherry.autograd.structures import TensorBase
from wherry.core.observer import unobserved
from wherry.inspect.facts import Line, function_place, own_line
from wherry.inspect.findings import Check
from wherry.inspect.wirtinger import check_complex

# Inputs above this many elements are not checked: finite differences would take long.
_LARGEST = 20_000


class CustomBackwardCheck(Check):
    """Reports PyLayers whose backward is not the derivative of their forward, that write to the gradient they get, or keep tensors on ctx.

    Each class is checked once, at the end, with the inputs of its first call in float64 or complex128. A forward whose derivative is zero almost
    everywhere (rounding, signs) or that returns its input is taken to have a backward of its own on purpose.
    """

    kind = "custom-backward"

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[Any, tuple[Line, tuple[Any, ...], dict[str, Any]]] = {}
        # The writes since a PyLayer's node or its last hook: which tensor, where; None outside of such a node.
        self._writes: list[tuple[Any, Line]] | None = None

    def custom_started(self, layer: Any, context: Any, inputs: list[Any], args: tuple[Any, ...], kwargs: Any) -> None:
        if layer in self._first or sum(t.impl.array.size for t in inputs) > _LARGEST:
            return
        self._first[layer] = (own_line(), tuple(widened(a) for a in args), {k: widened(v) for k, v in kwargs.items()})

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        kept = [name for name, value in vars(context).items() if name[0] != "_" and isinstance(value, TensorBase)]
        if kept:
            self.report(
                "warning",
                line_mentioning(layer.forward, f".{kept[0]} ="),
                f"{layer.__qualname__}.forward keeps a tensor as ctx.{kept[0]}: it is not checked for in-place changes, and an output kept "
                "this way is never freed without the collector",
                "Use ctx.save_for_backward(...) and ctx.saved_tensor().",
                [(self._first[layer][0] if layer in self._first else own_line(), "applied here")],
            )

    def node_started(self, engine: Any, node: Any, grads: list[Any]) -> None:
        self._writes = [] if hasattr(node, "layer") else None

    def hook_called(self, engine: Any, node: Any, hook: Any, before: Any, after: Any) -> None:
        if self._writes:
            self._writes = []

    def written(self, tensor: Any, name: str) -> None:
        if self._writes is not None:
            self._writes.append((tensor, own_line()))

    def custom_backward(self, node: Any, grads: list[Any], returned: Any) -> None:
        storages = [g.impl.storage for g in grads if g is not None and g.impl.storage is not None]
        for tensor, line in self._writes or ():
            if any(tensor.impl.storage is s for s in storages):
                self.report(
                    "warning",
                    line,
                    f"{node.op_name()}.backward writes to the gradient that it was given, which is a copy here; elsewhere other nodes may "
                    "still need it",
                    "Compute with new tensors: grad * 2 instead of grad.scale_(2).",
                )
                break
        self._writes = None

    def failed(self, error: BaseException) -> None:
        places = getattr(error, "wherry_places", None)
        if places and getattr(error, "wherry_kind", "") == self.kind:
            lines = [(Line(code, lasti), role) for role, code, lasti in places]
            fix = "Return one gradient for each tensor that forward took, of that tensor's shape, or None."
            self.report("error", only_return(places[0][1]), str(error), fix, lines[1:])
        # What a program that ended in its middle did is not checked further.
        self._first.clear()

    def finish(self, variables: dict[str, Any]) -> None:
        with unobserved(), contextlib.redirect_stdout(io.StringIO()):
            for layer, (line, args, kwargs) in self._first.items():
                with contextlib.suppress(Exception):
                    self._check(layer, line, args, kwargs)
        self._first.clear()

    def _check(self, layer: Any, line: Line, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, TensorBase) and not a._stop_gradient]
        if not tensors:
            return

        def call(*values: Any) -> Any:
            following = iter(values)

            def next_or(a: Any) -> Any:
                return next(following) if any(a is t for t in tensors) else a

            result = layer.apply(*[next_or(a) for a in args], **{k: next_or(v) for k, v in kwargs.items()})
            # An input that comes back unchanged has a backward of its own on purpose.
            return result

        if deliberate(call, tensors):
            return
        try:
            gradcheck(call, tensors, **GRADCHECK)
            return
        except GradcheckError as error:
            # The call at fault is the one that is checked.
            text = str(error).split("\nmost likely at fault", 1)[0]
        if any(word in text for word in ("deterministic", "differs by", "kink", "discontin")):
            return
        fix = "Derive it again from forward; wherry.autograd.gradcheck shows every element."
        if any(t.impl.meta.dtype.is_complex for t in tensors):
            verdicts = [c.verdict for c in check_complex(call, tensors)]
            missed = [v for v in verdicts if v not in ("right", "wrong")]
            if missed:
                text = f"{missed[0]}: {text}"
                fix = "Multiply the incoming gradient by the conjugate of the derivative: grad * conj(f'(z))."
        self.report(
            "error",
            only_return(layer.backward),
            f"{layer.__qualname__}.backward is not the derivative of its forward: {text}",
            fix,
            [(line, "applied here")],
        )


GRADCHECK: dict[str, Any] = {"atol": 1e-4}


def widened(value: Any) -> Any:
    """A leaf with a copy of a tensor in float64 or complex128; anything else as it is."""
    if not isinstance(value, TensorBase) or not value.impl.meta.dtype.is_differentiable:
        return tensor_over(np.array(value.impl.array), True) if isinstance(value, TensorBase) else value
    wide = np.complex128 if value.impl.meta.dtype.is_complex else np.float64
    return tensor_over(np.array(value.impl.array).astype(wide), value._stop_gradient)


def deliberate(call: Any, tensors: list[Any]) -> bool:
    """Whether forward is the identity, or constant around its inputs: its backward is then an estimate made on purpose."""
    first = call(*tensors)
    outputs = [o for o in (first if isinstance(first, (tuple, list)) else [first]) if isinstance(o, TensorBase)]
    if len(outputs) == len(tensors) and all(
        o.impl.shape == t.impl.shape and np.array_equal(o.impl.array, t.impl.array) for o, t in zip(outputs, tensors)
    ):
        return True
    rng = np.random.default_rng(0)
    moved = [tensor_over(t.impl.array + 1e-6 * rng.standard_normal(t.impl.shape), False) for t in tensors]
    second = call(*moved)
    others = [o for o in (second if isinstance(second, (tuple, list)) else [second]) if isinstance(o, TensorBase)]
    return all(np.array_equal(a.impl.array, b.impl.array) for a, b in zip(outputs, others))


def only_return(function: Any) -> Line:
    """The return statement of a function (or code object), where there is just one; else where its definition begins."""
    import ast
    import inspect
    import textwrap

    place = Line(function, 0) if isinstance(function, CodeType) else function_place(function)
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        lines, start = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        returns = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Return)]
        if len(returns) == 1:
            return LineAt(place, start + returns[0] - 1)
        definition = next(n.lineno for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
        return LineAt(place, start + definition - 1)
    return place


def line_mentioning(function: Any, text: str) -> Line:
    """The first line of a function that has a text in it; its definition where none has."""
    import inspect

    place = function_place(function)
    with contextlib.suppress(OSError, TypeError):
        lines, start = inspect.getsourcelines(function)
        for offset, source in enumerate(lines):
            if text in source or text.replace(" =", "=") in source:
                return LineAt(place, start + offset)
    return place


class LineAt(Line):
    """A given line in the file of another place."""

    __slots__ = ("_line",)

    def __init__(self, place: Line, line: int) -> None:
        super().__init__(place.code, place.lasti)
        self._line = line

    @property
    def line(self) -> int:
        return self._line
