"""Analytic slopes beside numeric ones, element by element or along random directions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.entries import Finding, entries
from wherry.autograd.gradcheck.problem import Problem, Settings
from wherry.autograd.gradcheck.slopes import (
    Move,
    Slope,
    element_moves,
    hidden_noise,
    measure,
    safe_terms,
    with_slopes_close_by,
)

# How many wrong elements of an input are looked into.
SHOWN: Final = 5
# How many elements with an infinite or NaN gradient are looked into, beside a random direction.
_LOOKED_INTO: Final = 8
_ROUNDING: Final = 8.0 * float(np.finfo(np.float64).eps)


@dataclass
class Comparison:
    """Findings at one point by verdict (the right ones only where the point is not smooth).

    count: how many elements of an input are wrong, those not looked into included. compared: of how many elements and directions.
    """

    wrong: list[Finding] = field(default_factory=list)
    unsettled: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    count: dict[int, int] = field(default_factory=dict)
    compared: int = 0

    def add(self, finding: Finding) -> None:
        """File a finding under its verdict."""
        self.compared += 1
        if finding.verdict == "right":
            if finding.kind != "smooth":
                self.notes.append(finding)
        elif finding.verdict == "unsettled":
            self.unsettled.append(finding)
        else:
            self.wrong.append(finding)
            self.count[finding.which] = self.count.get(finding.which, 0) + 1


def quick(problem: Problem, center: Any, move: Move, analytic: float, settings: Settings) -> tuple[str, Slope | None]:
    """A central difference at one step: "right", or "bent" where it agrees but something speaks for a kink, or "off"."""
    eps = settings.eps
    up = safe_terms(problem, move, eps)
    down = safe_terms(problem, move, -eps)
    if up is None or down is None:
        return "off", None
    changed = np.flatnonzero((up != center) | (down != center))
    up, down, middle = up[changed], down[changed], center[changed]
    parts = (up - down) / (2.0 * eps * move.scale)
    slope = float(np.sum(parts))
    tolerance = settings.tolerance(slope)
    bend = np.abs(up - 2.0 * middle + down) / (eps * move.scale)
    rounding = _ROUNDING * np.abs(middle) / (eps * move.scale)
    bent = bool(np.any(bend > 10.0 * tolerance + 10.0 * rounding))
    agrees = bool(abs(slope - analytic) <= tolerance)
    return "off" if not agrees else "bent" if bent else "right", Slope(
        "smooth", slope, slope, slope, slope, 0.0, changed, parts, parts
    )


def looked_at(
    problem: Problem, center: Any, moves: list[Move], gradient: Any, settings: Settings
) -> tuple[list[Slope], str]:
    """The slopes along the directions of an element, and the verdict on all of them."""
    slopes: list[Slope] = []
    verdicts: list[str] = []
    analytic = [move.slope_of(gradient) for move in moves]
    for move, expected in zip(moves, analytic):
        verdict, slope = quick(problem, center, move, expected, settings)
        if slope is None or verdict != "right":
            closer = measure(problem, center, move, settings)
            now = closer.verdict(expected, settings)
            # Noise that looks like a bend takes nothing from an agreement.
            if verdict != "bent" or now != "unsettled" or slope is None:
                verdict, slope = now, closer
            else:
                verdict = "right"
        if verdict == "wrong" and np.isfinite(expected) and slope.kind != "jump":
            wider = with_slopes_close_by(problem, move, slope, settings)
            if wider.verdict(expected, settings) == "right":
                verdict, slope = "right", wider
        slopes.append(slope)
        verdicts.append(verdict)
    is_complex = np.iscomplexobj(gradient)
    if is_complex and not np.isfinite(analytic).all() and any(s.kind == "infinite" for s in slopes):
        # A complex gradient that is infinite has parts that mean nothing (inf - inf).
        return slopes, "right"
    return slopes, next((v for v in ("wrong", "unsettled") if v in verdicts), "right")


def element(problem: Problem, center: Any, which: int, flat: int, gradient: Any, settings: Settings) -> Finding:
    """Compare one element."""
    array = problem.arrays[which]
    index = tuple([int(i) for i in np.unravel_index(flat, array.shape)])
    moves = element_moves(problem, which, flat)
    slopes, verdict = looked_at(problem, center, moves, gradient, settings)
    found = Finding(which, index, array[index], gradient[index], tuple(slopes), verdict)
    if verdict == "wrong" and bool(np.isfinite(gradient[index])):
        noise = np.max([hidden_noise(center, slope, move, settings) for slope, move in zip(slopes, moves)], axis=0)
        if bool(noise.any()) and not stands_out(problem, found, noise, settings):
            return replace(found, verdict="unsettled")
    return found


def stands_out(problem: Problem, found: Finding, noise: Any, settings: Settings) -> bool:
    """Whether a single output shows a difference that is no rounding: large outputs do not hide what happens in small ones."""
    try:
        single = entries(problem, problem.record(), found, settings, noise)
    except Exception:
        return True
    return any(e.excess > 1.0 for e in single)


def compare_elements(
    problem: Problem, center: Any, gradients: list[Any], settings: Settings, chosen: Iterable[tuple[int, int]]
) -> Comparison:
    """Compare elements, each given as checked input and flat index."""
    result = Comparison()
    for which, flat in chosen:
        if result.count.get(which, 0) >= SHOWN:
            moves = element_moves(problem, which, flat)
            found = [quick(problem, center, m, m.slope_of(gradients[which]), settings)[0] for m in moves]
            result.count[which] += "off" in found
        else:
            result.add(element(problem, center, which, flat, gradients[which], settings))
    return result


def every_element(problem: Problem) -> Iterable[tuple[int, int]]:
    """All elements of all checked inputs."""
    return ((which, flat) for which, array in enumerate(problem.arrays) for flat in range(array.size))


def compare_directions(
    problem: Problem, center: Any, gradients: list[Any], settings: Settings, which_ones: Iterable[int]
) -> Comparison:
    """Compare along one random direction of each of these inputs; a disagreement is followed down to an element."""
    result = Comparison()
    rng = np.random.default_rng(settings.seed + 2)
    for which in which_ones:
        array, gradient = problem.arrays[which], gradients[which]
        if array.size == 0:
            continue
        finite = np.isfinite(gradient)
        for flat in np.flatnonzero(~finite.reshape(-1))[:_LOOKED_INTO]:
            result.add(element(problem, center, which, int(flat), gradient, settings))
        if not bool(finite.any()):
            continue
        move = random_direction(which, array, finite, rng)
        slopes, verdict = looked_at(problem, center, [move], gradient, settings)
        if verdict == "wrong":
            flat = worst_element(problem, move, gradient, settings)
            found = element(problem, center, which, flat, gradient, settings)
            if found.verdict == "wrong":
                result.add(found)
                continue
            if bool(hidden_noise(center, slopes[0], move, settings).any()):
                verdict = "unsettled"
        result.add(Finding(which, None, None, move.slope_of(gradient), tuple(slopes), verdict))
    return result


def random_direction(which: int, array: Any, moving: Any, rng: Any) -> Move:
    """A random direction over the elements that are to move, which grows with their size."""
    step = rng.standard_normal(array.shape)
    if np.iscomplexobj(array):
        step = step + 1j * rng.standard_normal(array.shape)
    step = np.asarray(np.where(moving, step * np.maximum(1.0, np.abs(array)), 0.0))
    return Move(which, None, step, float(np.max(np.abs(step))))


def worst_element(problem: Problem, move: Move, gradient: Any, settings: Settings) -> int:
    """The flat index of an element that does not agree, by halving the direction: the errors of its halves add up to its own."""
    left = np.flatnonzero(move.step)
    while len(left) > 1:
        errors: list[float] = []
        halves = left[: len(left) // 2], left[len(left) // 2 :]
        for half in halves:
            step = np.zeros_like(move.step)
            step.reshape(-1)[half] = move.step.reshape(-1)[half]
            part = Move(move.which, None, step, move.scale)
            up = safe_terms(problem, part, settings.eps)
            down = safe_terms(problem, part, -settings.eps)
            if up is None or down is None:
                errors.append(0.0)
                continue
            numeric = float(np.sum(up - down)) / (2.0 * settings.eps * part.scale)
            errors.append(abs(numeric - part.slope_of(gradient)))
        left = halves[0] if errors[0] >= errors[1] else halves[1]
    return int(left[0])
