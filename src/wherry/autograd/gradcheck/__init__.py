"""Gradients against finite differences: `gradcheck` for the first order, `gradgradcheck` for the second.

problem.py reduces the outputs to one number, slopes.py finds how it moves, comparison.py sets that beside what backward gives,
entries.py does so for single outputs, points.py chooses further points, check.py is the order of the steps, calls.py and at_fault.py
find the call whose own gradient is wrong, report.py writes messages.
"""

from collections.abc import Callable, Sequence
from typing import Any

from wherry.autograd.gradcheck.check import Check, GradcheckResult
from wherry.autograd.gradcheck.gradient_of import second_order
from wherry.autograd.gradcheck.problem import GradcheckError, Problem, Settings, tensor_over
from wherry.autograd.run import tensor_list
from wherry.core.observer import unobserved
from wherry.core.state import set_grad_enabled_flag

__all__ = ["GradcheckError", "GradcheckResult", "gradcheck", "gradgradcheck", "tensor_over"]


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
    edges: bool = True,
    seed: int = 0,
) -> GradcheckResult:
    """Check the gradients of a function against finite differences, at the given inputs and at further points.

    fn: called as fn(*inputs); returns a Tensor or a nested list, tuple or dict of Tensors of any shapes. Outputs that are not floating
    or complex are ignored, and so are those that a PyLayer marked as non-differentiable. inputs: a Tensor or a list of arguments;
    tensors with stop_gradient=False, in lists and dicts too, are checked and must be float64 or complex128; anything else is passed on
    as it is. Inputs are copied, so that a tensor whose elements share memory (expand) is checked as an ordinary one. eps: the step, in
    units of max(1, |element|). atol, rtol: an element is right where |analytic - numeric| <= atol + rtol * |numeric|, for the real and
    the imaginary part. nondet_tol: by how much two runs may differ. check_undefined_grad: check that a backward takes missing output
    gradients for zeros, where fn has several outputs. fast_mode: compare along one random direction for each input instead of element
    by element. edges: go on to further points: zeros of both signs, equal elements, large values of both signs, for complex inputs
    conjugates and both sides of the negative real axis, memory with gaps, no elements. Points at which fn raises or is not finite are
    skipped. seed: of what is random.

    At a kink (a corner, a tie) any value between the one-sided slopes, or between the slopes close by, is right, and the result notes
    it; at a jump any value between the slopes on its two sides; where a slope is unbounded (sqrt at 0) an infinite value. NaN is never
    right. Returns a GradcheckResult: true, with the points that were checked, those that were skipped and why, and notes of kinks. With
    raise_exception=False a result that is false, with the error.

    Raises GradcheckError: for a wrong gradient it names input, element, output, analytic and numeric value, and the call of fn whose own
    gradient is wrong, with the user's line; it says so where fn is random, writes to its inputs, or is too noisy for finite differences.
    Raises ValueError for inputs and outputs that cannot be checked, TypeError for an fn that returns something else than tensors.
    Source: torch.autograd.gradcheck.
    """
    settings = Settings(eps, atol, rtol, nondet_tol, fast_mode, seed, "gradcheck")

    def run() -> GradcheckResult:
        problem = Problem("gradcheck", fn, inputs, seed)
        return checked(Check(problem, problem, settings), check_undefined_grad, edges, len(problem.arrays))

    return guarded(run, raise_exception)


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
    check_undefined_grad: bool = True,
    fast_mode: bool = False,
    edges: bool = True,
    seed: int = 0,
) -> GradcheckResult:
    """Check the second derivatives of a function: gradcheck of its gradient, as a function of inputs and output gradients.

    grad_outputs: the point at which the outputs' gradients are taken, one for each output that needs a gradient, of its shape and
    dtype; random by default. Further points move fn's inputs, not the output gradients. The other arguments, what it returns and
    raises are gradcheck's. Source: torch.autograd.gradgradcheck.
    """
    settings = Settings(eps, atol, rtol, nondet_tol, fast_mode, seed, "gradgradcheck")

    def run() -> GradcheckResult:
        first = Problem("gradgradcheck", fn, inputs, seed)
        given = None if grad_outputs is None else tensor_list(grad_outputs, "gradgradcheck", "grad_outputs")
        problem = second_order(first, given)
        if problem is None:
            # Nothing depends on the inputs: the gradient is zero everywhere, and so is its own.
            return GradcheckResult(["the given inputs"])
        return checked(Check(problem, first, settings), check_undefined_grad, edges, len(first.arrays))

    return guarded(run, raise_exception)


def checked(check: Check, check_undefined_grad: bool, edges: bool, count: int) -> GradcheckResult:
    """The steps of a check, and its result."""
    check.given_point(check_undefined_grad)
    if edges:
        check.further(count)
        check.other_memory(count)
    return check.result


def guarded(run: Callable[[], GradcheckResult], raise_exception: bool) -> GradcheckResult:
    """Run a check: gradients are recorded whatever the caller's mode is, and observers of the caller are told nothing."""
    before = set_grad_enabled_flag(True)
    try:
        with unobserved():
            return run()
    except GradcheckError as error:
        if raise_exception:
            raise
        return GradcheckResult(error=error)
    finally:
        set_grad_enabled_flag(before)
