"""What is found at an element, and the derivatives of single outputs by it."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.problem import Problem, Recording, Settings
from wherry.autograd.gradcheck.slopes import Slope

# How many outputs are tried for the one that shows the difference best.
_TRIED: Final = 64


@dataclass(frozen=True)
class Finding:
    """An element (or, index None, a direction) with what was found there; verdict: "right", "wrong" or "unsettled"."""

    which: int
    index: tuple[int, ...] | None
    value: Any
    analytic: Any
    slopes: tuple[Slope, ...]
    verdict: str

    @property
    def kind(self) -> str:
        """The least smooth kind of its slopes."""
        kinds = [s.kind for s in self.slopes]
        return next(k for k in ("undefined", "unsettled", "jump", "infinite", "kink", "smooth") if k in kinds)


@dataclass(frozen=True)
class Entry:
    """The derivative of one output number by one input element: plain numbers that can be checked by hand."""

    output: str
    analytic: Any
    left: Any
    right: Any
    kind: str
    # By how much analytic and numeric differ, in units of what may be.
    excess: float


def combined(parts: list[float], is_complex: bool) -> Any:
    """One number from the slopes along 1 and i."""
    return complex(*parts) if is_complex else parts[0]


def part_excess(analytic: float, left: float, right: float, settings: Settings, noise: float) -> float:
    """How far a number lies outside of two slopes, in units of the tolerance and what rounding adds to it."""
    if not np.isfinite(analytic):
        return 0.0 if analytic in (left, right) else np.inf
    known = [s for s in (left, right) if not np.isnan(s)] or [np.nan]
    outside = max(min(known) - analytic, analytic - max(known), 0.0)
    return float(outside / (noise + settings.tolerance(0.0 if np.isinf(known).any() else max(np.abs(known)))))


def entry_of(
    problem: Problem, recording: Recording, finding: Finding, column: int, settings: Settings, noise: Any = None
) -> Entry:
    """The derivative of the output number that a term of L comes from, by a finding's element; noise: of the slopes of all terms."""
    j, flat, unit = problem.place(column)
    seeds: list[Any] = [None if v is None else np.zeros_like(v) for v in problem.cotangents]
    seeds[j].reshape(-1)[flat] = unit
    analytic = recording.gradients(seeds)[finding.which][finding.index]
    weight = float(problem.weights()[column])
    sides = [column_sides(s, column, weight) for s in finding.slopes]
    is_complex = len(sides) == 2
    parts = [analytic.real, analytic.imag] if is_complex else [analytic]
    least = 0.0 if noise is None else float(noise[column] / abs(weight))
    excesses = [part_excess(float(a), left, right, settings, least) for a, (left, right) in zip(parts, sides)]
    worst = int(np.argmax(excesses))
    left, right = (combined([s[k] for s in sides], is_complex) for k in (0, 1))
    index = tuple([int(i) for i in np.unravel_index(flat, problem.metas[j].shape)])
    name = problem.output_labels[j] + (str(list(index)) if index else "")
    part = (" (real part)" if unit == 1.0 else " (imaginary part)") if problem.metas[j].dtype.is_complex else ""
    kind = finding.slopes[worst].kind
    kind = "smooth" if kind != "jump" and all(same(s) for s in sides) else kind
    return Entry(name + part, analytic, left, right, kind, excesses[worst])


def entries(
    problem: Problem, recording: Recording, finding: Finding, settings: Settings, noise: Any = None
) -> list[Entry]:
    """The derivatives of single outputs by a finding's element, for those outputs that move with it or are said to."""
    moving = [int(c) for c in np.unique(np.concatenate([s.columns for s in finding.slopes]))]
    others = [c for c in range(min(len(problem.weights()), 4 * _TRIED)) if c not in moving]
    columns = moving[:_TRIED] + others[:_TRIED]
    return [entry_of(problem, recording, finding, column, settings, noise) for column in columns]


def same(sides: tuple[float, float]) -> bool:
    """Whether two slopes are one."""
    return sides[0] == sides[1]


def column_sides(slope: Any, column: int, weight: float) -> tuple[float, float]:
    """The slopes of one term on both sides, without its weight."""
    at = np.flatnonzero(slope.columns == column)
    if not at.size:
        return 0.0, 0.0
    return float(slope.lefts[at[0]] / weight), float(slope.rights[at[0]] / weight)
