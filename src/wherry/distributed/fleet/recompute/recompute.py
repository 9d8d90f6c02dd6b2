"""recompute: keep only the inputs of a function, and run it again when backward needs what it saved."""

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wherry.autograd import PyLayer, saved_tensors_hooks
from wherry.autograd.modes import enable_grad
from wherry.autograd.run import backward
from wherry.autograd.structures import TensorBase
from wherry.core.generator import get_rng_state, set_rng_state
from wherry.core.state import amp_state, set_amp_state


class Surroundings:
    """What a run of a function depends on besides its arguments: auto_cast, and the random states where they are to be kept."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self._amp = amp_state()
        self._random = (get_rng_state(), np.random.get_state(), random.getstate()) if preserve_rng_state else None

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """The surroundings as they were, recording on; afterwards those of now."""
        now = Surroundings(self._random is not None)
        self._restore()
        try:
            with enable_grad():
                yield
        finally:
            now._restore()

    def _restore(self) -> None:
        set_amp_state(self._amp)
        if self._random is not None:
            own, of_numpy, of_python = self._random
            set_rng_state(own)
            np.random.set_state(of_numpy)
            random.setstate(of_python)


def tensors_in(value: Any) -> list[Any]:
    """The Tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, TensorBase):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, (list, tuple)) else []


class Hole:
    """Stands where a tensor was taken out of a structure."""


def replaced(value: Any, following: Iterator[Any], kind: Any = TensorBase) -> Any:
    """The same structure with its Tensors (or Holes) taken from an iterator."""
    if isinstance(value, kind):
        return next(following)
    if isinstance(value, dict):
        return {k: replaced(v, following, kind) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[replaced(v, following, kind) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(v, following, kind) for v in value)
    return value


class RecomputeFunction(PyLayer):
    """The reentrant form: forward unrecorded, backward runs the function recorded and backward through that."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], preserve: bool, structure: Any, form: Any, *tensors: Any
    ) -> Any:
        """Run the function on its arguments (`structure` with its Holes filled); keep those and nothing else. `form` gets the result with Holes."""
        ctx.save_for_backward(*tensors)
        ctx.function, ctx.structure = function, structure
        ctx.surroundings = Surroundings(preserve)
        args, kwargs = replaced(structure, iter(tensors), Hole)
        result = function(*args, **kwargs)
        outputs = tensors_in(result)
        if not outputs:
            raise ValueError(
                f"recompute: expected a function that returns Tensors, received {type(result).__name__} from it"
            )
        form.append(replaced(result, (Hole() for _ in outputs)))
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again and go back through it; gradients of its parameters are added to their `.grad`."""
        inputs = []
        for tensor, needs in zip(ctx.saved_tensor(), ctx.needs_input_grad):
            copy = tensor.detach()
            copy.stop_gradient = not needs
            inputs.append(copy)
        with ctx.surroundings.again():
            args, kwargs = replaced(ctx.structure, iter(inputs), Hole)
            outputs = tensors_in(ctx.function(*args, **kwargs))
        if len(outputs) != len(grads):
            raise RuntimeError(
                f"recompute: expected {len(grads)} Tensors when the function ran again, as in forward, received {len(outputs)}"
            )
        pairs = [(o, g) for o, g in zip(outputs, grads) if not o.stop_gradient]
        if pairs:
            backward([o for o, _ in pairs], [g for _, g in pairs])
        return tuple(None if t.stop_gradient else t.grad for t in inputs)


def recompute_reentrant(
    function: Callable[..., Any], preserve: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """By a PyLayer; `function` is run without recording in forward."""
    tensors = tensors_in((args, kwargs))
    structure = replaced((args, kwargs), (Hole() for _ in tensors))
    form: list[Any] = []
    outputs = RecomputeFunction.apply(function, preserve, structure, form, *tensors)
    return replaced(form[0], iter(outputs), Hole)


class Recomputed:
    """The saved tensors of one run of a function, computed again when the first of them is asked for."""

    def __init__(self, function: Callable[..., Any], surroundings: Surroundings, args: Any, kwargs: Any) -> None:
        self._call = (function, args, kwargs)
        self._surroundings = surroundings
        self._count = 0
        self._again: dict[int, Any] = {}

    def pack(self, tensor: Any) -> int:
        """Keep a number instead of the tensor."""
        self._count += 1
        return self._count - 1

    def unpack(self, number: int) -> Any:
        """The tensor of that number; runs the function again unless an earlier one's run still has it."""
        if number not in self._again:
            self._run()
        return self._again.pop(number)

    def _run(self) -> None:
        function, args, kwargs = self._call
        found: list[Any] = []

        def keep(tensor: Any) -> int:
            found.append(tensor.detach())
            return len(found) - 1

        def refuse(number: int) -> Any:
            raise RuntimeError(
                "recompute: backward through the second run of a function is not possible; run backward on its first result"
            )

        with self._surroundings.again(), saved_tensors_hooks(keep, refuse):
            function(*args, **kwargs)
        if len(found) != self._count:
            raise RuntimeError(
                f"recompute: expected {self._count} tensors to be saved when {getattr(function, '__qualname__', type(function).__qualname__)} ran again, "
                f"as in forward, received {len(found)}: it must do the same both times (no counters, no random branches)"
            )
        self._again = dict(enumerate(found))


def recompute(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """function(*args, **kwargs), whose intermediate results are not kept for backward but computed again there.

    preserve_rng_state (keyword, True): the second run sees the random states of the first, so that dropout drops the same elements.
    use_reentrant (keyword, True): by a PyLayer, which needs an input with stop_gradient=False; False: by saved_tensors_hooks, which does not. Tensors in
    nested lists, tuples and dictionaries count as inputs. Warns where no input needs a gradient. Raises RuntimeError where the second run saves something else
    than the first. Source: paddle.distributed.fleet.utils.recompute.
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    reentrant = kwargs.pop("use_reentrant", True)
    offload = kwargs.pop("offload_indices", None)
    if offload:
        raise NotImplementedError("recompute: the argument 'offload_indices' is not supported")
    if not callable(function):
        raise TypeError(f"recompute: expected a function or Layer, received {type(function).__name__}")
    if reentrant:
        if all(t.stop_gradient for t in tensors_in((args, kwargs))):
            warnings.warn(
                "recompute: none of the inputs needs a gradient, so none will come to the parameters inside; set stop_gradient=False on an input, or "
                "pass use_reentrant=False",
                stacklevel=2,
            )
        return recompute_reentrant(function, preserve, args, kwargs)
    again = Recomputed(function, Surroundings(preserve), args, kwargs)
    with saved_tensors_hooks(again.pack, again.unpack):
        return function(*args, **kwargs)


def recompute_sequential(ctx: dict[str, Any], functions: Any, *args: Any, **kwargs: Any) -> Any:
    """Layers one after another in segments, each but the last recomputed.

    ctx: "segments" (int, 1) and "preserve_rng_state" (bool, True). functions: a Sequential or a sequence of functions of one argument.
    Source: paddle.incubate.distributed.fleet.recompute_sequential.
    """
    segments = ctx.get("segments", 1)
    preserve = ctx.get("preserve_rng_state", True)
    layers: Sequence[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if isinstance(segments, bool) or not isinstance(segments, int) or not 1 <= segments <= max(len(layers), 1):
        raise ValueError(f"recompute_sequential: expected 1 to {len(layers)} segments, received {segments!r}")
    size = len(layers) // segments

    def part(begin: int, end: int) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            result = layers[begin](*values, **named)
            for layer in layers[begin + 1 : end]:
                result = layer(result)
            return result

        return run

    if segments == 1:
        return part(0, len(layers))(*args, **kwargs)
    value = recompute(part(0, size), *args, preserve_rng_state=preserve, **kwargs)
    for begin in range(size, size * (segments - 1), size):
        value = recompute(part(begin, begin + size), value, preserve_rng_state=preserve)
    return part(size * (segments - 1), len(layers))(value)
