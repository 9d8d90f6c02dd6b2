"""Numeric slopes: how L moves along one direction, from each side, and whether finite differences can say so at all.

Six step sizes, each an eighth of the one before, show more than one: one-sided slopes that tend to one value (a smooth point), to two
(a kink), grow without bound (sqrt at 0), or values that do not come together (a jump); and slopes that tend to nothing, which is
numeric noise. Limits are extrapolated from three neighbouring steps (Aitken's delta-squared process), and the triple is taken at which
the extrapolation has settled best: that is the balance of truncation and rounding.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.problem import GradcheckError, Problem, Settings

# Step sizes in units of eps.
STEPS: Final = (4096.0, 512.0, 64.0, 8.0, 1.0, 0.125)
# How far points close by lie, in units of eps, and how many of them are looked at.
_FAR: Final = 16.0
_NEAR: Final = 2.0
_ORDERS: Final = 24
_ROUNDING: Final = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Move:
    """A direction: one element (its flat index) of a checked input, or a whole array. `scale` is the length of a unit step."""

    which: int
    index: int | None
    step: Any
    scale: float

    def applied(self, arrays: list[Any], t: float) -> list[Any]:
        """The point moved by t; elements that do not move keep their bits."""
        array = np.array(arrays[self.which])
        places = self.step != 0 if self.index is None else self.index
        flat = array if self.index is None else array.reshape(-1)
        if not np.iscomplexobj(array):
            flat[places] += t * (self.step[places] if self.index is None else self.step)
        else:
            # Each part by itself: adding 0.0 to a part that is -0.0 would take it to the other side of a branch cut.
            for part in ("real", "imag"):
                step = getattr(self.step, part)
                places = step != 0 if self.index is None else self.index
                if self.index is None or step != 0:
                    getattr(flat, part)[places] += t * (step[places] if self.index is None else step)
        return [*arrays[: self.which], array, *arrays[self.which + 1 :]]

    def slope_of(self, gradient: Any) -> float:
        """The slope of L along the direction that a gradient says, for a unit step."""
        if self.index is not None:
            value = gradient.reshape(-1)[self.index]
            return float(value.imag if np.iscomplexobj(self.step) else value.real)
        used = self.step != 0
        return float(np.sum(np.conj(gradient[used]) * self.step[used]).real / self.scale)


def element_moves(problem: Problem, which: int, index: int) -> list[Move]:
    """The directions of an element: one, or two where it is complex; steps grow with its size."""
    value = problem.arrays[which].reshape(-1)[index]
    scale = max(1.0, float(abs(value)))
    if np.iscomplexobj(problem.arrays[which]):
        return [Move(which, index, scale, scale), Move(which, index, 1j * scale, scale)]
    return [Move(which, index, scale, scale)]


@dataclass(frozen=True)
class Slope:
    """How L moves along a direction at a point.

    kind: "smooth", "kink", "infinite" (a one-sided slope grows without bound), "jump", "undefined" (fn is finite on neither side)
    or "unsettled" (the step sizes do not agree). low, high: a gradient is right between them; they are the same at a smooth point.
    left, right: the slopes on the two sides; NaN where fn is not defined. uncertainty: what is known of the error. columns: the terms
    of L that move at all; lefts, rights: the slopes of each.
    """

    kind: str
    low: float
    high: float
    left: float
    right: float
    uncertainty: float
    columns: Any
    lefts: Any
    rights: Any
    # Whether fn jumps on both sides: its value there is nobody's neighbour, and neither is its slope.
    isolated: bool = False
    # Where some terms stay exactly the same over small steps, as numbers of few digits do: the slope over the largest step, and the doubt.
    coarse: tuple[float, float] | None = None

    def verdict(self, analytic: float, settings: Settings) -> str:
        """ "right", "wrong", or "unsettled" where the numbers cannot tell."""
        if self.kind in ("unsettled", "undefined"):
            return "unsettled"
        if not np.isfinite(analytic):
            if self.kind == "jump":
                # No gradient is right there, so no number is wrong.
                return "unsettled"
            # The sign of an infinite value is that of a zero, which may be -0.0.
            return "right" if np.isinf(analytic) and self.kind == "infinite" else "wrong"
        below, above = self.low - analytic, analytic - self.high
        excess = max(below, above)
        bound = self.low if below > above else self.high
        if self.kind == "jump" and (self.isolated or np.isinf(bound)) and excess > settings.tolerance(0.0):
            return "unsettled"
        if excess <= settings.tolerance(bound if np.isfinite(bound) else 0.0):
            return "right"
        if np.isfinite(bound) and excess <= settings.tolerance(bound) + 3.0 * self.uncertainty:
            return "unsettled"
        if self.coarse is not None and abs(analytic - self.coarse[0]) <= settings.tolerance(analytic) + self.coarse[1]:
            return "unsettled"
        return "wrong"


def safe_terms(problem: Problem, move: Move, t: float) -> Any:
    """The terms of L at a moved point; None where fn raises or is not finite. Raises GradcheckError where its outputs are others."""
    try:
        terms = problem.terms(move.applied(problem.arrays, t))
    except GradcheckError:
        raise
    except Exception:
        return None
    return terms if bool(np.all(np.isfinite(terms))) else None


def extrapolated(values: Any, noise: Any, j: int) -> tuple[Any, Any, Any]:
    """From rows j to j + 2 of a sequence: its limit, the ratio by which its changes shrink, and by how much it is still moving."""
    before, after = values[j + 1] - values[j], values[j + 2] - values[j + 1]
    quiet = np.abs(after) <= noise[j + 2]
    shrinks = ~quiet & (np.abs(after) < 0.95 * np.abs(before))
    ratio = np.divide(after, before, out=np.zeros_like(after), where=shrinks)
    return values[j + 2] + after * ratio / (1.0 - ratio), ratio, np.where(quiet | shrinks, 0.0, np.abs(after))


def strayed(values: Any, steps: Any, estimate: Any, ratio: Any, j: int) -> Any:
    """By how much fn's values stray, at steps smaller than those of rows j to j + 2, from where these say that the slopes go."""
    expected = values[j + 2]
    most = np.zeros_like(expected)
    for i in range(j + 3, len(values)):
        expected = estimate + (expected - estimate) * ratio
        most = np.maximum(most, np.abs(values[i] - expected) * steps[i])
    return most


def limit(values: Any, noise: Any, steps: Any, settings: Settings) -> tuple[Any, Any]:
    """What each column of a sequence of slopes (a row for each step size) tends to, and by how much that may be off.

    noise: what rounding does to each. What fn itself adds to it shows at smaller steps, where it strays; small steps that happen to agree
    do not take that back.
    """
    estimates: list[Any] = []
    doubts: list[Any] = []
    shown = np.zeros(values.shape[1])
    own_noise: Any = shown
    for j in range(len(values) - 2):
        estimate, ratio, moving = extrapolated(values, noise, j)
        if j + 3 < len(values):
            own_noise = strayed(values, steps, estimate, ratio, j)
        change = estimate - (estimates[-1] if estimates else values[j + 2])
        doubt = noise[j + 2] + np.maximum(own_noise, shown) / steps[j + 2] + moving + np.abs(change)
        estimates.append(estimate)
        doubts.append(doubt)
        shown = np.where(doubt <= 0.5 * settings.tolerance(estimate), np.maximum(own_noise, shown), shown)
    best = np.argmin(np.stack(doubts), axis=0)
    columns = np.arange(values.shape[1])
    return np.stack(estimates)[best, columns], np.stack(doubts)[best, columns]


@dataclass
class Side:
    """One side of a point: for each term its slope, the doubt about it, and whether its value jumps or its slope is unbounded."""

    slopes: Any
    doubts: Any
    jumps: Any
    unbounded: Any


def side_of(center: Any, rows: Any, steps: Any, sign: float, rounding: Any, settings: Settings) -> Side:
    """One side from the terms at steps of falling size; sign: 1 to the right, -1 to the left."""
    differences = rows - center
    values = sign * differences / steps[:, None]
    noise = rounding / steps[:, None]
    last, third = differences[-1], differences[-3]
    large = np.abs(last) > np.maximum(50.0 * rounding, 1e-7 * np.maximum(1.0, np.abs(center)))
    jumps = large & (np.abs(last) >= 0.9 * np.abs(third)) & (last * third > 0)
    changes = np.diff(values, axis=0)[-3:]
    # By a factor from 1 (a logarithm) to less than the 8 of a jump, which here would be rounding.
    sizes = np.abs(changes)
    grows = ((sizes[1:] >= 0.95 * sizes[:-1]) & (sizes[1:] <= 7.0 * sizes[:-1])).all(axis=0)
    grows &= (changes > 0).all(axis=0) | (changes < 0).all(axis=0)
    unbounded = ~jumps & grows & (np.abs(changes[-1]) > 20.0 * noise[-1]) & (np.abs(values[-1]) > np.abs(values[-3]))
    slopes, doubts = limit(values, noise, steps, settings)
    if bool(jumps.any()):
        # Beyond the jump: slopes between neighbouring steps.
        gaps = (steps[:-1] - steps[1:])[:, None]
        beyond = limit(sign * (rows[:-1] - rows[1:]) / gaps, rounding / gaps, gaps[:, 0], settings)
        slopes, doubts = np.where(jumps, beyond[0], slopes), np.where(jumps, beyond[1], doubts)
    slopes = np.where(unbounded, np.where(values[-1] > 0, np.inf, -np.inf), slopes)
    return Side(slopes, np.where(unbounded, 0.0, doubts), jumps, unbounded)


def measure(problem: Problem, center: Any, move: Move, settings: Settings) -> Slope:
    """The slope of L along a direction."""
    sides: list[Any] = []
    for sign in (1.0, -1.0):
        rows: list[Any] = []
        for step in reversed(STEPS):
            terms = safe_terms(problem, move, sign * step * settings.eps)
            if terms is None:
                break
            rows.append(terms)
        # A side on which only the largest steps leave the domain is known by the others.
        sides.append(np.stack(rows[::-1]) if len(rows) >= 4 else None)
    known = [s for s in sides if s is not None]
    if not known:
        nothing = np.zeros(0)
        return Slope("undefined", np.nan, np.nan, np.nan, np.nan, np.inf, nothing, nothing, nothing)
    columns = np.flatnonzero(np.any([np.any(s != center, axis=0) for s in known], axis=0))
    largest = np.max([np.max(np.abs(s[:, columns]), axis=0, initial=0.0) for s in known], axis=0)
    rounding = _ROUNDING * np.maximum(largest, np.abs(center[columns]))
    found: list[Any] = []
    for sign, rows_of in zip((1.0, -1.0), sides):
        if rows_of is None:
            found.append(None)
            continue
        steps = settings.eps * move.scale * np.array(STEPS[-len(rows_of) :])
        found.append(side_of(center[columns], rows_of[:, columns], steps, sign, rounding, settings))
    if found[0] is None or found[1] is None:
        return one_sided(found, columns, settings)
    count = min(len(sides[0]), len(sides[1]))
    steps = settings.eps * move.scale * np.array(STEPS[-count:])[:, None]
    values = (sides[0][-count:, columns] - sides[1][-count:, columns]) / (2.0 * steps)
    central = limit(values, rounding / steps, steps[:, 0], settings)
    slope = two_sided(found[1], found[0], central, columns, settings)
    stairs = np.any([np.any(s[-3:, columns] == s[-4:-1, columns], axis=0) for s in sides], axis=0)
    if not bool(stairs.any()):
        return slope
    doubt = 2.0 * float(np.sum(np.abs(values[0] - values[1])[stairs]))
    return replace(slope, coarse=(float(np.sum(np.where(stairs, values[0], central[0]))), doubt))


def one_sided(found: list[Any], columns: Any, settings: Settings) -> Slope:
    """The slope where fn is defined on one side only."""
    side = found[0] if found[1] is None else found[1]
    slopes, doubts = side.slopes, side.doubts
    total = float(np.sum(slopes))
    kind = kind_of(side.jumps, side.unbounded, np.zeros(slopes.shape, bool), doubts > 0.5 * settings.tolerance(slopes))
    kind = "unsettled" if np.isnan(total) else kind
    nothing = np.full(slopes.shape, np.nan)
    if found[1] is None:
        return Slope(kind, total, total, np.nan, total, float(np.sum(doubts)), columns, nothing, slopes)
    return Slope(kind, total, total, total, np.nan, float(np.sum(doubts)), columns, slopes, nothing)


def two_sided(left: Side, right: Side, central: tuple[Any, Any], columns: Any, settings: Settings) -> Slope:
    """The slope where fn is defined on both sides."""
    middle, middle_doubt = central
    before, after = left.slopes, right.slopes
    doubt = left.doubts + right.doubts
    jumps, unbounded = left.jumps | right.jumps, left.unbounded | right.unbounded
    with np.errstate(invalid="ignore"):
        tolerance = settings.tolerance(np.where(unbounded, 0.0, np.maximum(np.abs(before), np.abs(after))))
        apart = (np.abs(after - before) > tolerance + 4.0 * doubt) & (doubt <= 0.5 * tolerance)
    two = jumps | unbounded | apart
    lefts, rights = np.where(two, before, middle), np.where(two, after, middle)
    doubts = np.where(two, doubt, middle_doubt)
    unsettled = doubts > 0.5 * np.where(two, tolerance, settings.tolerance(middle))
    with np.errstate(invalid="ignore"):
        low, high = float(np.sum(np.minimum(lefts, rights))), float(np.sum(np.maximum(lefts, rights)))
        sums = float(np.sum(lefts)), float(np.sum(rights))
    kind = kind_of(jumps, unbounded, apart, unsettled)
    if kind == "unsettled" or np.isnan(low) or np.isnan(high):
        # Slopes that grow without bound in opposite directions have no sum.
        kind, low = "unsettled", float(np.sum(middle))
        high, sums, doubts = low, (low, low), np.maximum(middle_doubt, np.where(np.isfinite(doubts), doubts, 0.0))
    isolated = bool(np.any(left.jumps & right.jumps))
    return Slope(kind, low, high, *sums, float(np.sum(doubts)), columns, lefts, rights, isolated)


def kind_of(jumps: Any, unbounded: Any, apart: Any, unsettled: Any) -> str:
    """What a point is called."""
    for name, mask in (("unsettled", unsettled), ("jump", jumps), ("infinite", unbounded), ("kink", apart)):
        if bool(np.any(mask)):
            return name
    return "smooth"


def hidden_noise(center: Any, slope: Slope, move: Move, settings: Settings) -> Any:
    """For each term of L that does not move the slope that its size may hide from finite differences; 0 where all are small."""
    noise = _ROUNDING * np.abs(center) / (STEPS[0] * settings.eps * move.scale)
    noise[slope.columns] = 0.0
    return noise if float(np.sum(noise)) > settings.atol else np.zeros_like(noise)


def points_close_by(problem: Problem, move: Move, reach: float) -> list[list[Any]]:
    """The point with its ties broken in many ways: along the order of the elements, against it, for what moves, against it, at random."""
    rng = np.random.default_rng(problem.seed + 5)
    found: list[list[Any]] = []
    for k in range(_ORDERS):
        arrays: list[Any] = []
        for which, array in enumerate(problem.arrays):
            order = np.linspace(-1.0, 1.0, array.size).reshape(array.shape) if array.size > 1 else np.zeros(array.shape)
            shift = order if k == 0 else -order if k == 1 else np.asarray(rng.uniform(-1.0, 1.0, array.shape))
            if move.index is not None and which == move.which and 2 <= k < 6:
                shift.reshape(-1)[move.index] = 2.0 if k % 2 else -2.0
            arrays.append(array + reach * np.maximum(1.0, np.abs(array)) * shift)
        found.append(arrays)
    return found


def range_close_by(problem: Problem, move: Move, reach: float) -> tuple[Any, Any] | None:
    """The least and the largest slope of each term at points within reach; None where fn is not finite at one of them."""
    found: list[Any] = []
    t = reach / 64.0
    for arrays in points_close_by(problem, move, reach):
        try:
            up, down = (problem.terms(move.applied(arrays, s)) for s in (t, -t))
        except Exception:
            return None
        found.append((up - down) / (2.0 * t * move.scale))
    slopes = np.stack(found)
    return (slopes.min(axis=0), slopes.max(axis=0)) if bool(np.isfinite(slopes).all()) else None


def with_slopes_close_by(problem: Problem, move: Move, slope: Slope, settings: Settings) -> Slope:
    """The slope with the bounds of its terms widened by slopes at points close by, where these do not come together as the points do.

    The middle element of a sort moves at a tie as if it were smooth, and yet each way to break the tie has a slope of its own: the
    generalised gradient (Clarke) is what lies between those.
    """
    far = range_close_by(problem, move, _FAR * settings.eps)
    near = range_close_by(problem, move, _NEAR * settings.eps)
    if far is None or near is None:
        return slope
    lows = np.zeros(len(problem.weights()))
    highs = np.zeros(len(problem.weights()))
    lows[slope.columns] = np.fmin(slope.lefts, slope.rights)
    highs[slope.columns] = np.fmax(slope.lefts, slope.rights)
    spread = far[1] - far[0]
    several = (spread > 0.1 * settings.tolerance(np.maximum(np.abs(far[0]), np.abs(far[1])))) & (
        near[1] - near[0] > 0.7 * spread
    )
    lows, highs = np.where(several, np.minimum(lows, far[0]), lows), np.where(several, np.maximum(highs, far[1]), highs)
    columns = np.flatnonzero((lows != 0) | (highs != 0))
    low, high = float(np.sum(lows)), float(np.sum(highs))
    kind = "kink" if bool(several.any()) else slope.kind
    return replace(
        slope,
        kind=kind,
        low=low,
        high=high,
        left=low,
        right=high,
        columns=columns,
        lefts=lows[columns],
        rights=highs[columns],
    )
