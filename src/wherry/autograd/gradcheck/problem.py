"""What is checked: a function, the point, and the real number that its outputs are reduced to.

The outputs are reduced to L = Re(sum(conj(v) * output)) with a random v for each output. The gradient that backward gives for an input z
is then dL/dRe(z) + i dL/dIm(z). L is kept as the vector of its terms, one for each real number among the outputs, because whether a
point is a kink shows in single terms: in their sum two kinks can cancel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wherry.autograd.history import new_tensor, requires_grad
from wherry.autograd.run import grad
from wherry.autograd.structures import TensorBase
from wherry.core import dtype as dt
from wherry.core import where
from wherry.core.dense_tensor import DenseTensor, dense_from_array
from wherry.core.meta import Meta
from wherry.core.observer import Observer, observing


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences, or a function that cannot be checked by them.

    findings: what was found wrong, element by element. calls: the calls at fault, each with `operation` and `line`.
    """

    __module__ = "wherry.autograd"

    def __init__(self, text: str, findings: Sequence[Any] = (), calls: Sequence[Any] = ()) -> None:
        super().__init__(text)
        self.findings: Final = list(findings)
        self.calls: Final = list(calls)


@dataclass(frozen=True)
class Settings:
    """How a check compares: the step, the tolerances, and the seed of what is random."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    fast: bool
    seed: int
    # What the numbers of the check are called in messages.
    function: str

    def tolerance(self, slope: Any) -> Any:
        """By how much an analytic slope may differ from a numeric one."""
        return self.atol + self.rtol * np.abs(slope)


def tensor_over(array: Any, stop_gradient: bool) -> TensorBase:
    """A new leaf over an array."""
    tensor = new_tensor(dense_from_array(array))
    tensor._stop_gradient = stop_gradient
    return tensor


def tensors_in(value: Any, label: str) -> Iterator[tuple[str, TensorBase]]:
    """The tensors in a value, those in lists, tuples and dicts included, each with where it stands."""
    if isinstance(value, TensorBase):
        yield label, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors_in(item, f"{label}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{label}[{key!r}]")


def replaced(value: Any, following: Iterator[TensorBase]) -> Any:
    """The value with other tensors in the places that tensors_in names, in that order."""
    if isinstance(value, TensorBase):
        return next(following)
    if isinstance(value, (list, tuple)):
        items = [replaced(item, following) for item in value]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: replaced(item, following) for key, item in value.items()}
    return value


def output_list(result: Any, function: str, label: str = "output") -> list[tuple[str, TensorBase]]:
    """What fn returned as a flat list of tensors with their names; raises TypeError for anything else."""
    if isinstance(result, TensorBase):
        return [(label, result)]
    if isinstance(result, dict):
        pairs = [(f"{label}[{key!r}]", item) for key, item in result.items()]
    elif isinstance(result, (list, tuple)):
        pairs = [(f"{label} {i}" if label == "output" else f"{label}[{i}]", item) for i, item in enumerate(result)]
    else:
        raise TypeError(
            f"{function}: expected fn to return a Tensor or a list of Tensors, received {type(result).__name__}; numbers and arrays "
            "(float(x), x.item(), x.numpy()) have left the graph"
        )
    found: list[tuple[str, TensorBase]] = []
    for name, item in pairs:
        if item is not None:
            found += output_list(item, function, name)
    return found


class MarkedOutputs(Observer):
    """Collects the tensors that PyLayers say carry no gradient."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def custom_finished(self, layer: Any, context: Any, inputs: list[Any], outputs: list[Any]) -> None:
        self.tensors += context._non_differentiable


def random_like(meta: Meta, rng: Any) -> Any:
    """A random gradient for an output: no element close to 0, so that none is left out."""
    array = rng.uniform(0.5, 1.5, meta.shape) * rng.choice([-1.0, 1.0], meta.shape)
    if meta.dtype.is_complex:
        array = array + 1j * rng.uniform(0.5, 1.5, meta.shape) * rng.choice([-1.0, 1.0], meta.shape)
    return np.asarray(array).astype(meta.dtype.numpy)


def wide(meta: Meta) -> bool:
    """Whether a dtype has the digits that finite differences need."""
    return meta.dtype is dt.float64 or meta.dtype is dt.complex128


def wider_name(meta: Meta) -> str:
    """The dtype to cast to."""
    return "complex128" if meta.dtype.is_complex else "float64"


class Recording:
    """One recorded call of fn: its leaves and outputs, from which gradients can be taken any number of times."""

    def __init__(self, problem: "Problem", leaves: list[TensorBase], outputs: list[TensorBase]) -> None:
        self.problem: Final = problem
        self.leaves: Final = leaves
        self.outputs: Final = outputs

    def gradients(self, seeds: Sequence[Any]) -> list[Any]:
        """An array for each checked input: what backward gives from these gradients of the outputs (None: not seeded)."""
        chosen = [(o, s) for o, s in zip(self.outputs, seeds) if s is not None and requires_grad(o)]
        found: list[Any] = [None] * len(self.leaves)
        if chosen:
            tensors = [tensor_over(s, True) for _, s in chosen]
            found = grad([o for o, _ in chosen], self.leaves, tensors, retain_graph=True, allow_unused=True)
        results: list[Any] = []
        for k, (leaf, gradient) in enumerate(zip(self.leaves, found)):
            if gradient is None:
                results.append(np.zeros_like(self.problem.arrays[k]))
                continue
            if gradient.impl.meta != leaf.impl.meta:
                raise GradcheckError(
                    f"{self.problem.function}: {self.problem.labels[k]} is {leaf.impl.meta}, but its gradient is {gradient.impl.meta}"
                )
            results.append(np.array(gradient.impl.array))
        return results


class Problem:
    """A function, the inputs it is checked at, and which of them are checked.

    inputs: a Tensor or a list of arguments, in which tensors may stand in lists, tuples and dicts. names: of the arguments, for
    messages; results: of what fn returns. Raises ValueError for inputs that cannot be checked, TypeError for an fn that returns
    something else than tensors.
    """

    def __init__(
        self,
        function: str,
        fn: Any,
        inputs: Any,
        seed: int,
        names: Sequence[str] | None = None,
        results: Sequence[str] | None = None,
    ) -> None:
        if isinstance(inputs, (TensorBase, dict)) or not isinstance(inputs, (list, tuple)):
            inputs = (inputs,)
        self.function: Final = function
        self.fn: Final[Any] = fn
        self.seed: Final = seed
        self.inputs: Final[list[Any]] = list(inputs)
        self.names: Final = [f"input {i}" for i in range(len(self.inputs))] if names is None else list(names)
        self.results: Final = results
        self.labels: Final[list[str]] = []
        self.arrays: Final[list[Any]] = []
        # Every tensor of the inputs, and for each whether it is checked.
        self.tensors: Final[list[TensorBase]] = []
        self.is_checked: Final[list[bool]] = []
        for argument, name in zip(self.inputs, self.names):
            for label, tensor in tensors_in(argument, name):
                self._take(label, tensor)
        if not self.labels:
            raise ValueError(
                f"{function}: expected at least one input Tensor of dtype float64 or complex128 with stop_gradient=False, received none"
            )
        # Of each output: name, meta, and the gradient it starts from (None for an output that has none).
        self.output_labels: Final[list[str]] = []
        self.metas: Final[list[Meta]] = []
        self.cotangents: Final[list[Any]] = []
        # Outputs of a differentiable dtype that no gradient leaves, though nobody said so.
        self.dead: Final[list[str]] = []
        self._measure_outputs()

    def _take(self, label: str, tensor: TensorBase) -> None:
        """Note an input tensor, and whether it is checked."""
        meta = tensor.impl.meta
        checked = requires_grad(tensor) and meta.dtype.is_differentiable
        if checked and not wide(meta):
            raise ValueError(
                f"{self.function}: expected inputs of dtype float64 or complex128 (finite differences need the digits), received "
                f"{meta.dtype.name} at position {label.removeprefix('input ')}; cast it with .astype('{wider_name(meta)}'), or set its "
                "stop_gradient=True to leave it out"
            )
        self.tensors.append(tensor)
        self.is_checked.append(checked)
        if checked:
            self.labels.append(label)
            self.arrays.append(np.array(tensor.impl.array, order="C"))

    def _measure_outputs(self) -> None:
        """Call fn once: names, metas and random gradients of its outputs."""
        marked = MarkedOutputs()
        with observing(marked):
            found = output_list(self.fn(*self.arguments(self.leaves())), self.function)
        rng = np.random.default_rng(self.seed)
        for name, output in found:
            self._take_output(self._result_name(name), output, any(output is m for m in marked.tensors), rng)
        if all(v is None for v in self.cotangents):
            received = ", ".join(m.dtype.name for m in self.metas) or "no tensors"
            raise ValueError(
                f"{self.function}: expected fn to return at least one Tensor of a floating or complex dtype that carries a gradient, "
                f"received {received}"
            )

    def _take_output(self, label: str, output: TensorBase, marked: bool, rng: Any) -> None:
        """Note an output, and the random gradient it starts from."""
        meta = output.impl.meta
        self.output_labels.append(label)
        self.metas.append(meta)
        if marked or not meta.dtype.is_differentiable:
            self.cotangents.append(None)
            return
        if not wide(meta):
            raise ValueError(
                f"{self.function}: expected outputs of dtype float64 or complex128 (finite differences need the digits), received "
                f"{meta.dtype.name} in {label} of fn; compute in {wider_name(meta)} all the way"
            )
        self.cotangents.append(random_like(meta, rng))
        if not requires_grad(output):
            self.dead.append(label)

    def _result_name(self, label: str) -> str:
        """What an output is called in messages: "output 1" unless results have names."""
        if self.results is None:
            return label
        return self.results[int(label.removeprefix("output "))]

    def at(self, arrays: Sequence[Any]) -> "Problem":
        """The same problem at another point."""
        leaves = [tensor_over(np.array(a), False) for a in arrays]
        return Problem(self.function, self.fn, self.arguments(leaves), self.seed, self.names, self.results)

    def leaves(self) -> list[TensorBase]:
        """New leaves at the point of the check."""
        return [tensor_over(np.array(a), False) for a in self.arrays]

    def arguments(self, leaves: Sequence[TensorBase]) -> list[Any]:
        """fn's arguments with these tensors for the checked inputs."""
        checked = iter(leaves)
        following = iter([next(checked) if c else t for t, c in zip(self.tensors, self.is_checked)])
        return [replaced(argument, following) for argument in self.inputs]

    def checked_tensors(self, arguments: Sequence[Any]) -> list[TensorBase]:
        """The tensors of arguments that stand in the places of the checked inputs."""
        every = [t for argument in arguments for _, t in tensors_in(argument, "")]
        return [t for t, checked in zip(every, self.is_checked) if checked]

    def outputs(self, leaves: Sequence[TensorBase]) -> list[TensorBase]:
        """fn's outputs for these leaves; raises GradcheckError where they are not the ones it had at first."""
        found = [output for _, output in output_list(self.fn(*self.arguments(leaves)), self.function)]
        metas = [output.impl.meta for output in found]
        fits = len(metas) == len(self.metas) and all(
            v is None or a == b for v, a, b in zip(self.cotangents, metas, self.metas)
        )
        if not fits:
            raise GradcheckError(
                f"{self.function}: fn returned {listed(self.metas)} at first and {listed(metas)} for inputs close by; expected outputs "
                "whose number, shapes and dtypes do not depend on the values"
            )
        return found

    def terms(self, arrays: Sequence[Any]) -> Any:
        """The terms of L at other values of the checked inputs: a real vector."""
        return self.weighted(self.outputs([tensor_over(np.array(a), False) for a in arrays]))

    def weighted(self, outputs: Sequence[TensorBase]) -> Any:
        """The terms of L for outputs: real part before imaginary part for complex ones."""
        parts: list[Any] = []
        with np.errstate(all="ignore"):
            for output, v in zip(outputs, self.cotangents):
                if v is None:
                    continue
                array = np.asarray(output.impl.array)
                parts.append((v.real * array.real).reshape(-1))
                if np.iscomplexobj(array):
                    parts.append((v.imag * array.imag).reshape(-1))
        return np.concatenate(parts)

    def place(self, column: int) -> tuple[int, int, complex]:
        """Of a term of L: its output, the element there, and the output gradient that picks it out (1 or i)."""
        for j, v in enumerate(self.cotangents):
            if v is None:
                continue
            for unit in (1.0, 1j) if np.iscomplexobj(v) else (1.0,):
                if column < v.size:
                    return j, column, unit
                column -= v.size
        raise IndexError(f"L has no term {column}")

    def weights(self) -> Any:
        """What each term of L is multiplied by."""
        parts: list[Any] = []
        for v in self.cotangents:
            if v is not None:
                parts.append(v.real.reshape(-1))
                if np.iscomplexobj(v):
                    parts.append(v.imag.reshape(-1))
        return np.concatenate(parts)

    def record(self, strided: bool = False) -> Recording:
        """Call fn with new leaves (whose memory has gaps, where `strided`); raises GradcheckError where fn writes to them."""
        arrays = [spread(a) if strided else np.array(a) for a in self.arrays]
        leaves = [tensor_over(a, False) for a in arrays]
        kept = [leaf.impl for leaf in leaves]
        outputs = self.outputs(leaves)
        for label, impl, before in zip(self.labels, kept, self.arrays):
            if impl.inplace_version or not np.array_equal(impl.array, before, equal_nan=True):
                raise GradcheckError(
                    f"{self.function}: fn writes to {label}{written_by(impl)}; expected a function that leaves its inputs as they are: "
                    "write to a copy (x = x.clone())"
                )
        return Recording(self, leaves, outputs)


def written_by(impl: DenseTensor) -> str:
    """By what operation and where memory was written, as far as is known."""
    if impl.storage is None or not impl.storage.writes:
        return ""
    write = impl.storage.writes[0]
    return f" ({write.op} at {where.describe(write.code, write.lasti)})"


def spread(array: Any) -> Any:
    """The same values in memory with gaps between them."""
    whole = np.zeros((*array.shape, 2), array.dtype)
    whole[..., 0] = array
    return whole[..., 0]


def listed(metas: Sequence[Meta]) -> str:
    """Metas in a message."""
    return f"{len(metas)} tensors ({', '.join(str(m) for m in metas)})"
