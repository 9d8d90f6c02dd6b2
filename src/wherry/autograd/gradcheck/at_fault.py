"""Which call of fn is at fault: the calls of one run are checked one by one, each at its own inputs."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.calls import Cut, Place, Recorder, SeenCall
from wherry.autograd.gradcheck.comparison import Comparison, compare_directions, compare_elements, every_element
from wherry.autograd.gradcheck.gradient_of import second_order
from wherry.autograd.gradcheck.problem import GradcheckError, Problem, Settings, output_list, tensor_over
from wherry.autograd.gradcheck.report import finding_text
from wherry.autograd.history import REGISTRY, grad_node_of
from wherry.autograd.run import on_the_way
from wherry.autograd.structures import RETAIN_GRAD, GradNodeBase, TensorBase
from wherry.core.observer import observing
from wherry.core.where import definition, describe, is_users

# Up to so many elements of a call's inputs each is compared; beyond it a random direction is followed to an element.
_ALL_ELEMENTS: Final = 64
# How many calls a message shows, and how many cuts.
_SHOWN: Final = 3
_SHOWN_CUTS: Final = 5


@dataclass
class FaultyCall:
    """A call whose own gradient is wrong: the operation, the user's line, and the numbers in words."""

    operation: str
    line: Place
    order: int
    details: list[str]

    def text(self) -> str:
        """The call in a message."""
        what = "" if self.order == 1 else "the second derivative of "
        lines = [f"most likely at fault: {what}{self.operation} at {self.line}"]
        if self.line.source:
            lines.append(f"    {self.line.source}")
        lines += [f"  {detail}" for detail in self.details]
        derivative = users_derivative(self.operation)
        return "\n".join([*lines, f"  its derivative is defined at {derivative}"] if derivative else lines)


def users_derivative(operation: str) -> str:
    """Where the derivative of an operation is defined, where that is in the user's code."""
    op = REGISTRY.ops.get(operation)
    for rule in [op.joint_rule, *op.rules] if op is not None else []:
        if rule is not None:
            code = definition(rule.function)[1]
            if code is not None and is_users(code):
                return describe(code, 0)
    return ""


@dataclass
class Diagnosis:
    """What checking the calls one by one gave."""

    calls: list[FaultyCall] = field(default_factory=list)
    checked: int = 0
    # Calls on the way that could not be checked, each with the reason.
    unchecked: list[str] = field(default_factory=list)
    # Calls that are right but stand at a kink or jump; calls through which a gradient of 0 turns to NaN; calls of few digits.
    kinks: list[str] = field(default_factory=list)
    infinite: list[str] = field(default_factory=list)
    narrow: list[str] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    no_path: list[str] = field(default_factory=list)

    @property
    def only_kinks(self) -> bool:
        """Whether every call is right and some stand at kinks: their subgradients need not add up to one of the whole."""
        return not self.calls and not self.hooks and not self.infinite and bool(self.kinks)

    def text(self) -> str:
        """The diagnosis as the end of a message."""
        if self.calls:
            lines = [call.text() for call in self.calls[:_SHOWN]]
            if len(self.calls) > _SHOWN:
                lines.append(f"  ... and {len(self.calls) - _SHOWN} more calls")
            return "\n".join(lines)
        lines = [
            f"  each recorded call of fn is right on its own ({self.checked} checked)"
            if self.checked
            else "  no recorded call of fn can be checked"
        ]
        lines += [f"  not checked: {text}" for text in self.unchecked[:_SHOWN_CUTS]]
        lines += [f"  no path leads from the outputs back to {label}" for label in self.no_path]
        for cut in [c for c in self.cuts if c.reaches is not False][:_SHOWN_CUTS]:
            lines.append(f"  a path is cut by {cut.what} at {cut.line}")
            if cut.line.source:
                lines.append(f"      {cut.line.source}")
        lines += [f"  a hook may change gradients: {text}" for text in self.hooks[:_SHOWN_CUTS]]
        lines += [f"  {text}" for text in self.infinite[:_SHOWN_CUTS]]
        if self.kinks:
            lines.append(
                "  at a kink, where each takes a slope of its own, and these need not make one of fn: "
                + "; ".join(self.kinks[:_SHOWN_CUTS])
            )
        return "\n".join(lines)


def recorded_run(fn: Any, problem: Problem) -> tuple[Recorder, list[TensorBase], list[TensorBase]]:
    """Run fn under a Recorder: it, the leaves and the outputs."""
    leaves = problem.leaves()
    recorder = Recorder(leaves)
    arguments = problem.arguments(leaves)
    with observing(recorder):
        from_fn = fn(*arguments)
    outputs = [o for _, o in output_list(from_fn, problem.function)]
    recorder.finish(outputs)
    return recorder, leaves, outputs


def diagnose(problem: Problem, first: Problem, wrong: set[int], settings: Settings) -> Diagnosis:
    """Check the calls of fn one by one.

    problem: what failed; first: the same for gradcheck, the problem of the first order for gradgradcheck. wrong: the checked inputs
    whose gradient is wrong.
    """
    result = Diagnosis()
    orders = (1,) if problem is first else (1, 2)
    try:
        recorder, leaves, outputs = recorded_run(first.fn, first)
        way = path(leaves, outputs)
        for call in recorder.calls:
            if way.intersection(call.nodes):
                check_call(call, orders, settings, result)
        if problem is not first:
            recorder, leaves, outputs = recorded_run(problem.fn, problem)
            way = path(leaves, outputs)
    except Exception:
        # fn that fails when it is watched; what was found so far stands.
        return result
    result.hooks = hooks_on(way)
    result.cuts = [cut for cut in recorder.cuts if cut.inputs & wrong and matters(cut)]
    result.no_path = [problem.labels[k] for k in sorted(wrong) if grad_node_of(leaves[k]) not in way]
    return result


def matters(cut: Cut) -> bool:
    """Whether the value of what was cut off depends on the checked inputs at all (that of full_like does not)."""
    if cut.call is None:
        return True
    leaves = [t for _, t in cut.call.leaves()]
    with np.errstate(all="ignore"):
        moved = [tensor_over(np.asarray(t.impl.array * 1.01 + 0.01), False) for t in leaves]
        try:
            found = [cut.call.again(*tensors) for tensors in (leaves, moved)]
        except Exception:
            return True
    one, other = ([np.array(o.impl.array) for _, o in output_list(f, "gradcheck")] for f in found)
    return not all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(one, other))


def path(leaves: list[TensorBase], outputs: list[TensorBase]) -> set[GradNodeBase]:
    """The nodes between outputs and leaves."""
    roots = [n for n in (grad_node_of(o) for o in outputs) if n is not None]
    targets = {n for n in (grad_node_of(leaf) for leaf in leaves) if n is not None}
    return on_the_way(roots, targets)


def hooks_on(way: set[GradNodeBase]) -> list[str]:
    """The user's hooks on nodes."""
    found: list[str] = []
    for node in way:
        for hook in node.hooks or []:
            if hook.kind != RETAIN_GRAD:
                name = getattr(hook.function, "__qualname__", type(hook.function).__qualname__)
                found.append(f"{name} on the result of {node.op_name()} at {node.forward_line()}")
    return sorted(found)


def check_call(call: SeenCall, orders: tuple[int, ...], settings: Settings, result: Diagnosis) -> None:
    """Check one call and note what it is."""
    where_it_is = f"{call.operation} at {call.line}"
    narrow = [d for d in call.dtypes if d in ("float32", "complex64", "float16", "bfloat16")]
    if narrow:
        result.narrow.append(f"{where_it_is} computes in {narrow[0]}")
    if not call.finite:
        result.infinite.append(f"{where_it_is} gives nan or inf, and a gradient of 0 that meets it becomes nan")
    for order in orders:
        try:
            found, problem, text = own_check(call, order, settings)
        except Exception as error:
            result.unchecked.append(
                f"{where_it_is} ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"
            )
            return
        if found is None and not text:
            return
        if found is None:
            result.unchecked.append(f"{where_it_is} ({text})")
            return
        if found.wrong:
            recording = problem.record()
            details = [finding_text(problem, recording, f, settings) for f in found.wrong[:_SHOWN]]
            result.calls.append(FaultyCall(call.operation, call.line, order, details))
            return
        kinds = {f.kind for f in found.notes + found.unsettled}
        if "infinite" in kinds and order == 1:
            result.infinite.append(
                f"{where_it_is} has an unbounded slope, and a gradient of 0 that meets it becomes nan"
            )
        if kinds & {"kink", "jump"}:
            result.kinks.append(where_it_is)
    result.checked += 1


def own_check(call: SeenCall, order: int, settings: Settings) -> tuple[Comparison | None, Any, str]:
    """Compare the gradient of one call; None and the reason where that is not possible (no reason: its results are not finite)."""
    leaves = call.leaves()
    names = [label for label, _ in leaves]
    problem: Problem | None = Problem(settings.function, call.again, [t for _, t in leaves], settings.seed, names)
    if problem is not None and order == 2:
        problem = second_order(problem, None)
    if problem is None:
        return Comparison(), None, ""
    center = problem.terms(problem.arrays)
    if not bool(np.isfinite(center).all()):
        return None, problem, ""
    if not np.array_equal(center, problem.terms(problem.arrays)):
        return None, problem, "it is random"
    gradients = problem.record().gradients(problem.cotangents)
    if sum(a.size for a in problem.arrays) <= _ALL_ELEMENTS:
        found = compare_elements(problem, center, gradients, settings, every_element(problem))
    else:
        found = compare_directions(problem, center, gradients, settings, range(len(problem.arrays)))
    return found, problem, ""


def first_difference(problem: Problem) -> str:
    """The first call that gives another result from the same inputs in a second run; empty where none does."""
    try:
        runs = [recorded_run(problem.fn, problem)[0].calls for _ in range(2)]
    except GradcheckError:
        return ""
    for one, other in zip(*runs):
        if one.operation != other.operation:
            return ""
        if not all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(one.outputs, other.outputs)):
            source = f"\n      {one.line.source}" if one.line.source else ""
            return f"\n  the first call that gives another result: {one.operation} at {one.line}{source}"
    return ""
