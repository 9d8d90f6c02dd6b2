"""Gradients against finite differences: `gradcheck` for the first order, `gradgradcheck` for the second.

The outputs are reduced to one real number L = Re(sum(conj(v) * output)) with a random v for each output. The gradient that backward
gives for an input z is then dL/dRe(z) + i dL/dIm(z), and both parts are compared with central differences: of a complex
input the real and the imaginary part are moved separately, so a rule that is right in one Wirtinger direction only does not pass.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck_edges import at_kink, check_edges
from wherry.autograd.gradcheck_faults import likely_fault
from wherry.autograd.history import new_tensor, requires_grad
from wherry.autograd.run import grad, tensor_list
from wherry.autograd.structures import TensorBase
from wherry.core import dtype as dt
from wherry.core.dense_tensor import dense_from_array
from wherry.core.state import set_grad_enabled_flag

# How many of the wrong elements a message shows.
_SHOWN: Final = 5
# How many disagreeing elements are looked at for being at a kink.
_LOOKED_AT: Final = 256


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences."""


class EdgeError(GradcheckError):
    """One that agrees at the given inputs, but not at an edge."""


def tensor_over(array: Any, stop_gradient: bool) -> TensorBase:
    """A new leaf over an array."""
    tensor = new_tensor(dense_from_array(array))
    tensor._stop_gradient = stop_gradient
    return tensor


def output_list(result: Any, function: str) -> list[TensorBase]:
    """What fn returned as a flat list of tensors; raises TypeError for anything else."""
    if isinstance(result, TensorBase):
        return [result]
    if not isinstance(result, (list, tuple)):
        raise TypeError(
            f"{function}: expected fn to return a Tensor or a list of Tensors, received {type(result).__name__}"
        )
    found: list[TensorBase] = []
    for item in result:
        if item is not None:
            found += output_list(item, function)
    return found


class Problem:
    """A function, the inputs it is checked at, and which of them are checked."""

    def __init__(self, function: str, fn: Any, inputs: Any, rng: Any) -> None:
        if isinstance(inputs, TensorBase) or not isinstance(inputs, (list, tuple)):
            inputs = (inputs,)
        self.function: Final = function
        self.fn: Final[Any] = fn
        self.inputs: Final[list[Any]] = list(inputs)
        # Positions of the inputs that are checked, and their values.
        self.checked: Final[list[int]] = []
        self.arrays: Final[list[Any]] = []
        for i, value in enumerate(self.inputs):
            if not isinstance(value, TensorBase) or not requires_grad(value):
                continue
            dtype = value.impl.meta.dtype
            if dtype is not dt.float64 and dtype is not dt.complex128:
                raise ValueError(
                    f"{function}: expected inputs of dtype float64 or complex128 (finite differences need the digits), received "
                    f"{dtype.name} at position {i}; cast it, or set its stop_gradient=True to leave it out"
                )
            self.checked.append(i)
            self.arrays.append(np.array(value.impl.array, order="C"))
        if not self.checked:
            raise ValueError(f"{function}: expected at least one input Tensor with stop_gradient=False, received none")
        # The gradient each output starts from; None for an output that has none.
        self.cotangents: Final[list[Any]] = []
        for output in self.outputs(self.leaves()):
            self.cotangents.append(random_like(output, rng) if output.impl.meta.dtype.is_differentiable else None)

    def leaves(self) -> list[TensorBase]:
        """New leaves at the point of the check."""
        return [tensor_over(np.array(a), False) for a in self.arrays]

    def outputs(self, leaves: list[TensorBase]) -> list[TensorBase]:
        """fn's outputs for these values of the checked inputs."""
        arguments = list(self.inputs)
        for i, leaf in zip(self.checked, leaves):
            arguments[i] = leaf
        return output_list(self.fn(*arguments), self.function)

    def value(self, arrays: list[Any]) -> float:
        """L at other values of the checked inputs."""
        total = 0.0
        outputs = self.outputs([tensor_over(a, False) for a in arrays])
        if len(outputs) != len(self.cotangents):
            raise GradcheckError(
                f"{self.function}: fn returned {len(self.cotangents)} tensors at first and {len(outputs)} for inputs close by"
            )
        for output, v in zip(outputs, self.cotangents):
            if v is not None:
                total += float(np.sum(np.conj(v) * output.impl.array).real)
        return total

    def gradients(self) -> list[Any]:
        """The gradient of L by backward, an array for each checked input (zeros where the outputs do not depend on it)."""
        leaves = self.leaves()
        outputs: list[TensorBase] = []
        seeds: list[TensorBase] = []
        for output, v in zip(self.outputs(leaves), self.cotangents):
            if v is not None and requires_grad(output):
                outputs.append(output)
                seeds.append(tensor_over(np.array(v), True))
        found: list[Any] = [None] * len(leaves)
        if outputs:
            found = grad(outputs, leaves, seeds, allow_unused=True)
        results: list[Any] = []
        for k, (leaf, gradient) in enumerate(zip(leaves, found)):
            if gradient is None:
                results.append(np.zeros_like(leaf.impl.array))
                continue
            if gradient.impl.meta != leaf.impl.meta:
                raise GradcheckError(
                    f"{self.function}: input {self.checked[k]} is {leaf.impl.meta}, but its gradient is {gradient.impl.meta}"
                )
            results.append(np.array(gradient.impl.array))
        return results


def random_like(output: TensorBase, rng: Any) -> Any:
    """A random gradient for an output: no element close to 0, so that none is left out."""
    meta = output.impl.meta
    array = rng.uniform(0.5, 1.5, meta.shape) * rng.choice([-1.0, 1.0], meta.shape)
    if meta.dtype.is_complex:
        array = array + 1j * rng.uniform(0.5, 1.5, meta.shape) * rng.choice([-1.0, 1.0], meta.shape)
    return np.asarray(array).astype(meta.dtype.numpy)


def slope(problem: Problem, which: int, index: int, step: complex, eps: float) -> float:
    """The central difference of L when element `index` of checked input `which` moves along `step` (1 or i)."""
    arrays = [np.array(a) for a in problem.arrays]
    moved = arrays[which].reshape(-1)
    if not np.iscomplexobj(moved):
        step = step.real
    start = moved[index]
    moved[index] = start + eps * step
    up = problem.value([np.array(a) for a in arrays])
    moved[index] = start - eps * step
    down = problem.value(arrays)
    return (up - down) / (2.0 * eps)


def numeric_gradient(problem: Problem, which: int, eps: float) -> Any:
    """dL/dRe + i dL/dIm of every element of a checked input, by central differences."""
    array = problem.arrays[which]
    result = np.zeros(array.size, array.dtype)
    for index in range(array.size):
        if np.iscomplexobj(array):
            result[index] = complex(slope(problem, which, index, 1, eps), slope(problem, which, index, 1j, eps))
        else:
            result[index] = slope(problem, which, index, 1, eps)
    return result.reshape(array.shape)


def close(analytic: Any, numeric: Any, atol: float, rtol: float) -> Any:
    """Elementwise agreement, part by part; NaN never agrees."""
    found = np.asarray(analytic)
    expected = np.asarray(numeric)
    limit = atol + rtol * np.abs(expected)
    return (np.abs(found.real - expected.real) <= limit) & (np.abs(found.imag - expected.imag) <= limit)


def disagreement(problem: Problem, which: int, analytic: Any, numeric: Any, right: Any, notes: dict[int, str]) -> str:
    """The message for an input whose gradient is wrong."""
    position = problem.checked[which]
    array = problem.arrays[which]
    wrong = [tuple([int(k) for k in index]) for index in np.argwhere(~np.asarray(right))]
    text = (
        f"{problem.function}: the gradient of input {position} ({array.dtype.name}, shape {list(array.shape)}) does not agree with finite "
        f"differences in {len(wrong)} of {array.size} elements"
    )
    for index in wrong[:_SHOWN]:
        text += f"\n  input {position}, element {list(index)} = {array[index]}: analytic {analytic[index]}, numeric {numeric[index]}"
        note = notes.get(int(np.ravel_multi_index(index, array.shape)) if index else 0)
        text += f"\n    {note}" if note else ""
    return text + ("\n  ..." if len(wrong) > _SHOWN else "")


def check_elements(problem: Problem, analytic: list[Any], eps: float, atol: float, rtol: float) -> None:
    """Compare every element of every checked input."""
    for which in range(len(problem.arrays)):
        numeric = numeric_gradient(problem, which, eps)
        right = np.array(close(analytic[which], numeric, atol, rtol))
        notes: dict[int, str] = {}
        for index in np.flatnonzero(~right.reshape(-1)).tolist()[:_LOOKED_AT]:
            verdict = kink_at(problem, which, index, analytic[which], eps, atol, rtol)
            if verdict == "subgradient":
                right.reshape(-1)[index] = True
            elif verdict:
                notes[index] = verdict
        if not bool(np.all(right)):
            raise GradcheckError(disagreement(problem, which, analytic[which], numeric, right, notes))


def kink_at(problem: Problem, which: int, index: int, analytic: Any, eps: float, atol: float, rtol: float) -> str:
    """What kind of point a disagreeing element is at (gradcheck_edges.at_kink), its real and imaginary part together."""
    value = np.asarray(analytic).reshape(-1)[index]
    steps = ((1 + 0j, value.real), (1j, value.imag)) if np.iscomplexobj(analytic) else ((1 + 0j, value),)
    verdicts = []
    for step, found in steps:
        numeric = slope(problem, which, index, step, eps)
        if not bool(close(found, numeric, atol, rtol)):
            verdicts.append(at_kink(problem, which, index, step, eps, float(found), atol, rtol))
    return next((v for v in verdicts if v != "subgradient"), "subgradient")


def check_direction(problem: Problem, analytic: list[Any], eps: float, atol: float, rtol: float, rng: Any) -> None:
    """Compare the slope along one random direction, an input at a time (so that the message can name it)."""
    for which, array in enumerate(problem.arrays):
        if array.size == 0:
            continue
        direction = rng.standard_normal(array.shape)
        if np.iscomplexobj(array):
            direction = direction + 1j * rng.standard_normal(array.shape)
        direction = np.asarray(direction / max(1.0, float(np.max(np.abs(direction)))), array.dtype)
        up = [np.array(a) for a in problem.arrays]
        down = [np.array(a) for a in problem.arrays]
        up[which] = array + eps * direction
        down[which] = array - eps * direction
        numeric = (problem.value(up) - problem.value(down)) / (2.0 * eps)
        found = float(np.sum(np.conj(analytic[which]) * direction).real)
        if not bool(close(found, numeric, atol, rtol)):
            raise GradcheckError(
                f"{problem.function}: the gradient of input {problem.checked[which]} ({array.dtype.name}, shape {list(array.shape)}) does "
                f"not agree with finite differences along a random direction: analytic {found}, numeric {numeric}. "
                "Call it with fast_mode=False to see which element"
            )


def check_repeatable(problem: Problem, analytic: list[Any], nondet_tol: float) -> None:
    """fn and its backward give the same again, else finite differences mean nothing."""
    value = problem.value([np.array(a) for a in problem.arrays])
    if not np.isfinite(value):
        raise GradcheckError(
            f"{problem.function}: fn gives {value} at the inputs of the check; expected a point where the outputs are finite"
        )
    if value != problem.value([np.array(a) for a in problem.arrays]):
        raise GradcheckError(
            f"{problem.function}: fn gives another value for the same inputs each time it is called; expected a deterministic function "
            "(seed random numbers inside fn)"
        )
    for which, again in enumerate(problem.gradients()):
        difference = np.abs(again - analytic[which])
        if difference.size and not bool(np.all((difference <= nondet_tol) | ~np.isfinite(difference))):
            raise GradcheckError(
                f"{problem.function}: the gradient of input {problem.checked[which]} differs by {float(np.nanmax(difference))} between two "
                f"runs of backward; expected at most nondet_tol={nondet_tol}"
            )


def run_check(
    problem: Problem, rng: Any, eps: float, atol: float, rtol: float, nondet_tol: float, fast: bool, edges: bool
) -> None:
    """The steps of a check; raises GradcheckError at the first that fails."""
    analytic = problem.gradients()
    check_repeatable(problem, analytic, nondet_tol)
    if fast:
        check_direction(problem, analytic, eps, atol, rtol, rng)
    else:
        check_elements(problem, analytic, eps, atol, rtol)
    if edges:
        text = check_edges(problem, rng, eps, atol, rtol)
        if text:
            raise EdgeError(
                f"{problem.function}: the gradient agrees with finite differences at the given inputs, but not {text}\n"
                "Pass edges=False to check the given inputs alone"
            )


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
    edges: bool = True,
    seed: int = 0,
) -> bool:
    """Check the gradients of a function against finite differences, at the given inputs and at edges near them.

    fn: called as fn(*inputs), returns a Tensor or a (nested) list of Tensors of any shapes; outputs that are not floating or complex are
    ignored. inputs: a Tensor or a list; those with stop_gradient=False are checked and must be float64 or complex128, anything
    else is passed on as it is. eps: the step. atol, rtol: an
    element is right where |analytic - numeric| <= atol + rtol * |numeric|, for the real and the imaginary part. nondet_tol: by how
    much two runs of backward may differ. fast_mode: compare along one random direction for each input instead of element by
    element. At a kink (a corner or tie) any value between the slopes of the two sides is right. edges: check again with some of the elements 0.0,
    with -0.0, with all elements equal, with large values of both signs and, for complex inputs, conjugated; edges at which fn raises or is not
    finite are skipped. seed: of the random cotangents and directions. raise_exception=False returns False instead of raising.

    Raises GradcheckError that names input, element, analytic and numeric value, and the operation of fn (with the user's line) that is wrong by itself; ValueError for inputs that cannot be checked,
    TypeError for an fn that returns something else than tensors.
    """
    settings = Settings(eps, atol, rtol, nondet_tol, fast_mode, edges, seed)
    return checked("gradcheck", fn, inputs, settings, raise_exception)


class Settings:
    """How a check is made; see gradcheck."""

    def __init__(
        self, eps: float, atol: float, rtol: float, nondet_tol: float, fast_mode: bool, edges: bool, seed: int
    ) -> None:
        self.eps: Final = eps
        self.atol: Final = atol
        self.rtol: Final = rtol
        self.nondet_tol: Final = nondet_tol
        self.fast_mode: Final = fast_mode
        self.edges: Final = edges
        self.seed: Final = seed

    def run(self, problem: Problem, rng: Any) -> None:
        """The check; raises GradcheckError."""
        run_check(problem, rng, self.eps, self.atol, self.rtol, self.nondet_tol, self.fast_mode, self.edges)

    def alone(self, fn: Any, inputs: list[Any]) -> None:
        """The same check of one call at its own inputs."""
        rng = np.random.default_rng(self.seed)
        single = Settings(self.eps, self.atol, self.rtol, self.nondet_tol, False, False, self.seed)
        single.run(Problem("gradcheck", fn, inputs, rng), rng)


def checked(function: str, fn: Any, inputs: Any, settings: Settings, raise_exception: bool) -> bool:
    """gradcheck under the name of the function that was called; gradients are recorded whatever the caller's mode is."""
    rng = np.random.default_rng(settings.seed)
    before = set_grad_enabled_flag(True)
    problem: Problem | None = None
    try:
        problem = Problem(function, fn, inputs, rng)
        settings.run(problem, rng)
    except GradcheckError as error:
        if not raise_exception:
            return False
        # The calls are looked at where the given inputs are, and in fn itself, not in its gradient.
        known = problem is None or function != "gradcheck" or isinstance(error, EdgeError)
        fault = "" if known or problem is None else fault_of(problem, settings)
        if fault:
            error.args = (f"{error}\n{fault}",)
        raise
    finally:
        set_grad_enabled_flag(before)
    return True


def fault_of(problem: Problem, settings: Settings) -> str:
    """Which call of the function is most likely at fault."""
    arguments = list(problem.inputs)
    for i, leaf in zip(problem.checked, problem.leaves()):
        arguments[i] = leaf
    return likely_fault(problem.fn, arguments, settings.alone)


class GradientOf:
    """The gradient of a function as a function of the inputs and of the gradients of its outputs."""

    def __init__(self, fn: Any, count: int, wanted: list[int], positions: list[int]) -> None:
        self.fn: Final[Any] = fn
        # How many of the arguments are fn's; the others are the outputs' gradients.
        self.count: Final = count
        # Which of fn's inputs gradients are taken of, and which of its outputs they start from.
        self.wanted: Final = wanted
        self.positions: Final = positions

    def __call__(self, *arguments: Any) -> Any:
        inputs = arguments[: self.count]
        everything = output_list(self.fn(*inputs), "gradgradcheck")
        outputs = [everything[i] for i in self.positions]
        wanted = [inputs[i] for i in self.wanted]
        return [
            g
            for g in grad(outputs, wanted, list(arguments[self.count :]), create_graph=True, allow_unused=True)
            if g is not None
        ]


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    grad_outputs: Sequence[Any] | Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
    edges: bool = True,
    seed: int = 0,
) -> bool:
    """Check the second derivatives of a function: gradcheck of its gradient, as a function of inputs and output gradients.

    grad_outputs: the point at which the outputs' gradients are taken, one for each output that needs a gradient; random by
    default. The other arguments, what it returns and raises are gradcheck's; in messages the output gradients count as inputs
    after fn's own.
    """
    rng = np.random.default_rng(seed + 1)
    before = set_grad_enabled_flag(True)
    try:
        problem = Problem("gradgradcheck", fn, inputs, rng)
        leaves = problem.leaves()
        positions: list[int] = []
        seeds: list[Any] = []
        for i, output in enumerate(problem.outputs(leaves)):
            if problem.cotangents[i] is not None and requires_grad(output):
                positions.append(i)
                seeds.append(tensor_over(problem.cotangents[i], False))
    finally:
        set_grad_enabled_flag(before)
    if not positions:
        # Nothing depends on the inputs: the gradient is zero everywhere, and so is its own.
        return True
    if grad_outputs is not None:
        given = tensor_list(grad_outputs, "gradgradcheck", "grad_outputs")
        if len(given) != len(positions):
            raise ValueError(
                f"gradgradcheck: expected {len(positions)} tensors in 'grad_outputs', one for each output that needs a gradient, "
                f"received {len(given)}"
            )
        seeds = [tensor_over(np.array(t.impl.array), False) for t in given]
    arguments = list(problem.inputs)
    for i, leaf in zip(problem.checked, leaves):
        arguments[i] = leaf
    gradient = GradientOf(fn, len(arguments), problem.checked, positions)
    settings = Settings(eps, atol, rtol, nondet_tol, fast_mode, edges, seed)
    return checked("gradgradcheck", gradient, arguments + seeds, settings, raise_exception)
