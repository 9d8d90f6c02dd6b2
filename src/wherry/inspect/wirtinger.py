"""`check_complex`: both Wirtinger derivatives of a function by finite differences, beside the gradient that backward holds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wherry.autograd.gradcheck import tensor_over
from wherry.autograd.history import requires_grad
from wherry.autograd.run import grad
from wherry.autograd.structures import TensorBase
from wherry.core.state import set_grad_enabled_flag


@dataclass
class ComplexCheck:
    """What `check_complex` found for one input.

    dz, dzbar: the Wirtinger derivatives dL/dz and dL/d(conjugate z) of the real number L, by finite differences. expected: the gradient that
    should be held, dL/dRe + i dL/dIm = 2 dL/d(conjugate z). held: what backward gives. verdict: "right", "conjugate missed" (held is its
    conjugate), "real part dropped", "imaginary part dropped" or "wrong". holomorphic: whether dL/dz belongs to an output that
    does not depend on the conjugate of z; None where the function has several outputs or a real one.
    """

    position: int
    dz: Any
    dzbar: Any
    expected: Any
    held: Any
    verdict: str
    holomorphic: bool | None

    def __bool__(self) -> bool:
        return self.verdict == "right"

    def __str__(self) -> str:
        lines = [f"input {self.position}: {self.verdict}"]
        if self.holomorphic is not None:
            lines.append(
                f"  the function {'does not depend' if self.holomorphic else 'depends'} on the conjugate of the input"
            )
        index = tuple(
            int(i) for i in np.unravel_index(int(np.argmax(np.abs(self.held - self.expected))), self.held.shape)
        )
        lines += [
            f"  at element {list(index)}:",
            f"    dL/dz              = {self.dz[index]:.6g}",
            f"    dL/d(conjugate z)  = {self.dzbar[index]:.6g}",
            f"    expected gradient  = {self.expected[index]:.6g}   (dL/dRe + i dL/dIm = 2 dL/d(conjugate z))",
            f"    held by backward   = {self.held[index]:.6g}",
        ]
        advice = ADVICE.get(self.verdict)
        return "\n".join(lines + ([f"  {advice}"] if advice else []))


ADVICE = {
    "conjugate missed": "backward gives the conjugate of the gradient: for a holomorphic f it should return grad * conj(f'(z)).",
    "imaginary part dropped": "backward gives only the real part: look for real(), astype or a real buffer on the way.",
    "real part dropped": "backward gives only the imaginary part.",
    "wrong": "backward's number is neither the gradient nor its conjugate; gradcheck names the operation at fault.",
}


def check_complex(
    fn: Callable[..., Any], inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, seed: int = 0
) -> "ComplexChecks":
    """Compare the gradient of a function with both Wirtinger derivatives by finite differences.

    fn: called as fn(*inputs), returns a Tensor; a complex or non-scalar one is reduced to the real number L = Re(sum(conj(v) * output)) with a
    random v (seed). inputs: a Tensor or a list; those of dtype complex128 or float64 with stop_gradient=False are checked. eps: the step.
    atol, rtol: as in gradcheck. Raises TypeError or ValueError for inputs that cannot be checked.
    """
    tensors = [inputs] if isinstance(inputs, TensorBase) else list(inputs)
    checked = [
        i
        for i, t in enumerate(tensors)
        if isinstance(t, TensorBase) and requires_grad(t) and t.impl.meta.dtype.name in ("complex128", "float64")
    ]
    if not checked:
        raise ValueError(
            "check_complex: expected an input of dtype complex128 (or float64) with stop_gradient=False, received none; "
            "cast it: finite differences need the digits"
        )
    rng = np.random.default_rng(seed)
    before = set_grad_enabled_flag(True)
    try:
        return ComplexChecks([one_input(fn, tensors, i, eps, atol, rtol, rng) for i in checked])
    finally:
        set_grad_enabled_flag(before)


class ComplexChecks(list[ComplexCheck]):
    """A ComplexCheck for each input; true where all are right."""

    def __bool__(self) -> bool:
        return all(self)

    def __str__(self) -> str:
        return "\n".join(str(c) for c in self)


def one_input(
    fn: Callable[..., Any], tensors: list[Any], i: int, eps: float, atol: float, rtol: float, rng: Any
) -> ComplexCheck:
    """The check of one input, the others held fixed."""
    point = np.array(tensors[i].impl.array)

    def output(array: Any) -> Any:
        leaf = tensor_over(np.array(array), False)
        arguments = [leaf if k == i else t for k, t in enumerate(tensors)]
        result = fn(*arguments)
        if not isinstance(result, TensorBase):
            raise TypeError(f"check_complex: expected fn to return a Tensor, received {type(result).__name__}")
        return leaf, result

    def along(index: int, step: complex) -> Any:
        moved = [np.array(point) for _ in range(2)]
        for array, sign in zip(moved, (1, -1)):
            flat = array.reshape(-1)
            flat[index] += sign * eps * (step if np.iscomplexobj(array) else step.real)
        up, down = (np.array(output(a)[1].impl.array) for a in moved)
        return (up - down) / (2 * eps)

    meta = output(point)[1].impl.meta
    by_re = [along(k, 1 + 0j) for k in range(point.size)]
    by_im = [along(k, 1j) if np.iscomplexobj(point) else np.zeros(meta.shape) for k in range(point.size)]
    holomorphic = None
    if np.iscomplexobj(point) and meta.dtype.is_complex:
        holomorphic = all(np.allclose(re + 1j * im, 0, atol=1e-4) for re, im in zip(by_re, by_im))

    def compared(v: Any) -> tuple[Any, Any]:
        """What backward holds for L = Re(sum(conj(v) * output)), and what it should."""
        leaf, result = output(point)
        seeds = [tensor_over(np.asarray(v, meta.dtype.numpy), True)]
        found = grad([result], [leaf], seeds, allow_unused=True)[0] if requires_grad(result) else None
        held = np.zeros_like(point) if found is None else np.array(found.impl.array)
        slopes = [np.array([np.sum(np.conj(v) * d).real for d in by]).reshape(point.shape) for by in (by_re, by_im)]
        return held + 0j, slopes[0] + 1j * slopes[1]

    v = rng.uniform(0.5, 1.5, meta.shape) * rng.choice([-1.0, 1.0], meta.shape)
    full = v + 1j * rng.uniform(0.5, 1.5, meta.shape) if meta.dtype.is_complex else v
    held, expected = compared(full)
    verdict = judged(held, expected, np.iscomplexobj(point), atol, rtol)
    if verdict == "wrong":
        # A conjugate that was missed shows by itself only where the output's gradient is real.
        held, expected = compared(v)
        verdict = judged(held, expected, np.iscomplexobj(point), atol, rtol)
        verdict = "wrong" if verdict == "right" else verdict
    return ComplexCheck(i, np.conj(expected) / 2, expected / 2, expected, held, verdict, holomorphic)


def judged(held: Any, expected: Any, is_complex: bool, atol: float, rtol: float) -> str:
    """What is wrong with a gradient, by what it equals instead."""

    def same(other: Any) -> bool:
        return bool(np.all(np.abs(held - other) <= atol + rtol * np.abs(expected)))

    if same(expected if is_complex else expected.real):
        return "right"
    if same(np.conj(expected)):
        return "conjugate missed"
    if same(expected.real + 0j):
        return "imaginary part dropped"
    if same(1j * expected.imag):
        return "real part dropped"
    return "wrong"
