"""The further points of a check: zeros of both signs, ties, large values, conjugates. Gradients fail there rather than elsewhere."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.comparison import Comparison, compare_directions, compare_elements, every_element
from wherry.autograd.gradcheck.problem import Problem, Settings

# Up to this many elements each is compared; beyond it a few, and a random direction.
_ALL_ELEMENTS: Final = 16
_SOME_ELEMENTS: Final = 4
_LARGE: Final = 1e3
# Where fn is not finite at large values (exp), the tails are tried here.
_LESS_LARGE: Final = 30.0


def further_points(problem: Problem, count: int) -> Iterator[tuple[str, list[list[Any]]]]:
    """Names, and arrays for the checked inputs, of which the first `count` are moved; several are tried in turn.

    Every point changes values only: shapes and dtypes stay.
    """
    rng = np.random.default_rng(problem.seed + 3)
    given = problem.arrays
    chosen = [some_places(a, rng) for a in given[:count]]
    rest = given[count:]

    def placed(value: Any) -> list[Any]:
        return [
            np.where(m, value(a) if callable(value) else value, a).astype(a.dtype) for a, m in zip(given, chosen)
        ] + rest

    yield "0.0 in some places", [placed(0.0)]
    yield "-0.0 in some places", [placed(negative_zero)]
    yield "zeros everywhere", [[np.zeros_like(a) for a in given[:count]] + rest]
    if 1 < count <= 4:
        for k in range(count):
            name = f"zeros everywhere in {problem.labels[k]}"
            yield name, [[np.zeros_like(a) if i == k else a for i, a in enumerate(given)]]
    first = next((a.reshape(-1)[0] for a in given[:count] if a.size), 0.0)
    yield "all elements equal", [[equal_to(a, first) for a in given[:count]] + rest]
    yield "large positive values in some places", [placed(_LARGE), placed(_LESS_LARGE)]
    yield "large negative values in some places", [placed(-_LARGE), placed(-_LESS_LARGE)]
    if any_complex(given[:count]):
        yield "conjugates", [[np.conj(a) for a in given[:count]] + rest]
        yield "the negative real axis, from above", [[on_axis(a, 0.0) for a in given[:count]] + rest]
        yield "the negative real axis, from below", [[on_axis(a, -0.0) for a in given[:count]] + rest]


def any_complex(arrays: list[Any]) -> bool:
    """Whether one of the arrays is complex."""
    return any(np.iscomplexobj(a) for a in arrays)


def some_places(array: Any, rng: Any) -> Any:
    """Half of the places of an array, chosen at random; of one place that."""
    mask = np.zeros(array.size, bool)
    mask[rng.permutation(array.size)[: (array.size + 1) // 2]] = True
    return mask.reshape(array.shape)


def negative_zero(array: Any) -> Any:
    """-0.0 in an array's dtype."""
    return np.asarray(complex(-0.0, -0.0) if np.iscomplexobj(array) else -0.0)


def equal_to(array: Any, value: Any) -> Any:
    """An array of one value; of a complex one the real part where the array is real."""
    return np.full_like(array, value if np.iscomplexobj(array) else np.real(value))


def on_axis(array: Any, imaginary: float) -> Any:
    """A complex array moved to the negative real axis; a real one as it is."""
    if not np.iscomplexobj(array):
        return array
    moved = np.empty_like(array)
    moved.real, moved.imag = -np.abs(array), imaginary
    return moved


def differs(a: list[Any], b: list[Any]) -> bool:
    """Whether two points differ in a bit (zeros of different sign do)."""
    return any(x.tobytes() != y.tobytes() for x, y in zip(a, b))


def compare_at(
    problem: Problem, center: Any, gradients: list[Any], before: list[Any], settings: Settings
) -> Comparison:
    """Compare at a further point: every element of small inputs; of large ones some that were changed, and a random direction."""
    if sum(a.size for a in problem.arrays) <= _ALL_ELEMENTS:
        return compare_elements(problem, center, gradients, settings, every_element(problem))
    rng = np.random.default_rng(settings.seed + 4)
    chosen: list[tuple[int, int]] = []
    for which, (array, old) in enumerate(zip(problem.arrays, before)):
        changed = np.flatnonzero((array != old) | (np.signbit(array.real) != np.signbit(old.real)))
        if changed.size:
            chosen += [(which, int(i)) for i in rng.permutation(changed)[:_SOME_ELEMENTS]]
    found = compare_elements(problem, center, gradients, settings, chosen)
    along = compare_directions(problem, center, gradients, settings, range(len(problem.arrays)))
    for finding in along.wrong + along.unsettled + along.notes:
        if all(f.which != finding.which or f.index != finding.index for f in found.wrong):
            found.add(finding)
    return found
