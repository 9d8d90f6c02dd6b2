"""Where gradients fail: kinks, jumps, and the points beside the given one at which rules break (zeros, ties, large values)."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

# A function's slope on either side must agree at two step sizes to count as a slope.
_STEPS: Final = (1.0, 0.125)
# Of inputs with more elements than this, so many elements, chosen at random, are looked at at each edge.
_MOST_ELEMENTS: Final = 12
_LARGE: Final = 300.0
# How many points close to a kink are looked at where its two slopes do not settle the matter.
_NEARBY: Final = 150


def one_sided(problem: Any, which: int, index: int, step: complex, eps: float) -> list[tuple[float, float]]:
    """(left slope, right slope) of L at each of the step sizes when an element moves along `step`."""
    center = problem.value([np.array(a) for a in problem.arrays])
    found = []
    for scale in _STEPS:
        h = eps * scale
        slopes = []
        for sign in (-1.0, 1.0):
            arrays = [np.array(a) for a in problem.arrays]
            moved = arrays[which].reshape(-1)
            moved[index] += sign * h * (step if np.iscomplexobj(moved) else step.real)
            slopes.append(sign * (problem.value(arrays) - center) / h)
        found.append((slopes[0], slopes[1]))
    return found


def at_kink(
    problem: Any, which: int, index: int, step: complex, eps: float, found: float, atol: float, rtol: float
) -> str:
    """What an element is at which the central difference disagrees: "subgradient" (a kink, and the value between its slopes), a sentence, or ""."""
    (left, right), (left_near, right_near) = one_sided(problem, which, index, step, eps)
    if not all(np.isfinite(v) for v in (left, right, left_near, right_near)):
        return ""
    scale = max(abs(left), abs(right))
    tolerance = atol + 10 * rtol * scale

    def steady(a: float, b: float) -> bool:
        return abs(a - b) <= tolerance

    if steady(left, left_near) and steady(right, right_near):
        if abs(left - right) <= tolerance:
            return ""
        low, high = min(left, right), max(left, right)
        if low - tolerance <= found <= high + tolerance:
            return "subgradient"
        return f"the point is a kink (slopes {left:.6g} and {right:.6g}), and the analytic value {found:.6g} lies outside of them"
    if max(abs(left_near), abs(right_near)) > 4.0 * scale and scale > 1.0:
        # The slope grows as the step shrinks: a jump, or an infinite slope.
        low, high = min(left_near, right_near), max(left_near, right_near)
        if not np.isfinite(found) or low - tolerance <= found <= high + tolerance:
            return "subgradient"
        return f"the function jumps or is infinitely steep at this point (slopes {left_near:.6g} and {right_near:.6g} as the step shrinks)"
    return ""


def edge_points(arrays: list[Any], rng: Any) -> Iterator[tuple[str, list[Any]]]:
    """The arrays of a check moved to edges, each with its name; those that would not differ from the given point are left out."""
    zero = [np.array(a) for a in arrays]
    for a in zero:
        a[rng.random(a.shape) < 0.5] = 0.0
    yield "zeros", zero
    yield "negative zeros", [minus_zeros(a) for a in zero]
    if any(a.size > 1 for a in arrays):
        yield "ties", [np.full_like(a, a.reshape(-1)[0]) if a.size else np.array(a) for a in arrays]
    for name, factor in (("large values", _LARGE), ("large negative values", -_LARGE)):
        yield name, [(np.abs(a) + 1.0) * factor + 0 * a for a in arrays]
    if any(np.iscomplexobj(a) for a in arrays):
        yield "conjugates", [np.conj(a) for a in arrays]


def minus_zeros(array: Any) -> Any:
    """The array with -0.0 for each 0.0."""
    result = np.array(array)
    if np.iscomplexobj(result):
        result[result == 0] = complex(-0.0, -0.0)
    else:
        result[result == 0] = -0.0
    return result


def chosen_elements(size: int, rng: Any) -> list[int]:
    """Which elements of an input are looked at at an edge."""
    if size <= _MOST_ELEMENTS:
        return list(range(size))
    return sorted(int(i) for i in rng.choice(size, _MOST_ELEMENTS, replace=False))


def check_edges(problem: Any, rng: Any, eps: float, atol: float, rtol: float) -> str:
    """A sentence on the first edge at which the gradient is wrong; empty where all are right.

    Edges at which fn raises or is not finite are skipped. At a kink any value between the slopes is right; an infinite one is where the slope is.
    """
    given = [np.array(a) for a in problem.arrays]
    try:
        for name, arrays in edge_points(given, rng):
            for target, array in zip(range(len(given)), arrays):
                problem.arrays[target] = array
            text = check_edge(problem, rng, eps, atol, rtol)
            if text:
                return f"at {name}: {text}"
    finally:
        for i, array in enumerate(given):
            problem.arrays[i] = array
    return ""


def check_edge(problem: Any, rng: Any, eps: float, atol: float, rtol: float) -> str:
    """check_edges at one point."""
    try:
        with np.errstate(all="ignore"):
            center = problem.value([np.array(a) for a in problem.arrays])
            if not np.isfinite(center):
                return ""
            analytic = problem.gradients()
    except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError):
        return ""
    for which, array in enumerate(problem.arrays):
        for index in chosen_elements(array.size, rng):
            h = eps * max(1.0, float(np.abs(array.reshape(-1)[index])))
            for step in (1 + 0j, 1j) if np.iscomplexobj(array) else (1 + 0j,):
                value = analytic[which].reshape(-1)[index]
                found = float(value.real if step == 1 else value.imag)
                text = check_point(problem, which, index, step, h, found, center, atol, rtol)
                if text:
                    place = tuple(int(k) for k in np.unravel_index(index, array.shape))
                    return f"input {problem.checked[which]}, element {list(place)} = {array.reshape(-1)[index]}: {text}"
    return ""


def near_other_pieces(
    problem: Any, which: int, index: int, step: complex, h: float, found: float, tolerance: float
) -> bool:
    """Whether a value lies between the slopes at points close by, where ties are broken in various ways (the generalised gradient of Clarke)."""
    rng = np.random.default_rng(index)
    given = [np.array(a) for a in problem.arrays]
    slopes = []
    try:
        for _ in range(_NEARBY):
            for i, array in enumerate(given):
                problem.arrays[i] = array + 100 * h * rng.uniform(-1, 1, array.shape).astype(array.real.dtype)
            slopes += list(one_sided(problem, which, index, step, h)[0])
    finally:
        for i, array in enumerate(given):
            problem.arrays[i] = array
    return min(slopes) - tolerance <= found <= max(slopes) + tolerance


def check_point(
    problem: Any, which: int, index: int, step: complex, h: float, found: float, center: float, atol: float, rtol: float
) -> str:
    """One element at an edge, moved along 1 or i."""
    try:
        (left, right), (left_near, right_near) = one_sided(problem, which, index, step, h)
    except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError):
        return ""
    slopes = (left, right, left_near, right_near)
    if not all(np.isfinite(s) for s in slopes):
        # One side is outside the domain.
        return ""
    noise = 1e-14 * (1.0 + abs(center)) / (h * _STEPS[1])
    tolerance = 10 * atol + 20 * rtol * max(abs(s) for s in slopes) + 8 * noise
    steady = abs(left - left_near) <= tolerance and abs(right - right_near) <= tolerance
    low, high = min(slopes), max(slopes)
    if low - tolerance <= found <= high + tolerance:
        return ""
    if not steady:
        # The slope is not settled at this step size, or infinite; no verdict.
        return ""
    if not np.isfinite(found):
        return f"analytic {found}, though the function is finite with slopes {left:.6g} and {right:.6g}"
    if abs(left - right) > tolerance and near_other_pieces(problem, which, index, step, h, found, tolerance):
        return ""
    kind = "a kink with slopes" if abs(left - right) > tolerance else "slope"
    return f"analytic {found:.8g}, numeric {kind} {left:.8g}" + (f" and {right:.8g}" if "kink" in kind else "")
