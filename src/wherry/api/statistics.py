"""Quantiles, histograms and what occurs in a tensor. Source: paddle.tensor.stat, paddle.tensor.linalg, paddle.tensor.search."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import AxisLike, axes_of, axis_of, refuse_out
from wherry.api.creation import to_tensor
from wherry.core import dtype as dt
from wherry.infermeta.common import canonical_axes
from wherry.tensor.tensor import Tensor

__all__ = [
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "isin",
    "mode",
    "nanmedian",
    "nanquantile",
    "quantile",
]
METHODS = __all__

_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _together(x: Tensor, axis: Any) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """x with the reduced axes joined into a last one, and the result's shapes without and with them."""
    shape = x.impl.meta.shape
    axes = canonical_axes(axes_of(axis), x.ndim) or tuple(range(x.ndim))
    if not shape:
        return _C_ops.reshape(x, (1,)), (), ()
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rest = tuple(shape[i] for i in kept)
    moved = x if kept + axes == tuple(range(x.ndim)) else _C_ops.transpose(x, kept + axes)
    flat = _C_ops.reshape(moved, (*rest, math.prod(shape[i] for i in axes)))
    return flat, rest, tuple(1 if i in axes else size for i, size in enumerate(shape))


def nanmedian(
    x: Tensor, axis: AxisLike = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Any:
    """Median over the axes of the elements that are not NaN; NaN where there are none.

    mode "avg" is the mean of the two in the middle (rounded towards zero for integers), "min" the lower of them, and with an axis given as
    an integer its place too (-1 where all are NaN). Raises ValueError for an empty list of axes or another mode. Source: paddle.nanmedian.
    """
    if mode not in ("avg", "min"):
        raise ValueError(f"nanmedian: expected mode 'avg' or 'min', received {mode!r}")
    if isinstance(axis, (list, tuple)) and not axis:
        raise ValueError("nanmedian: expected at least one axis, received an empty list")
    if x.dtype.is_complex or x.dtype.is_bool:
        raise TypeError(f"nanmedian: expected real numbers, received {x.dtype.name}")
    flat, rest, kept = _together(x, axis)
    shape = kept if keepdim else rest
    places = _C_ops.full(shape, -1, dt.int64)
    if flat.shape[-1] == 0:
        result = _C_ops.full(shape, math.nan if x.dtype.is_floating else 0, x.dtype)
    else:
        result, places = _middle(flat, shape, mode)
    if mode == "min" and axis is not None and not isinstance(axis, (list, tuple)):
        return result, places
    return result


def _middle(flat: Tensor, shape: tuple[int, ...], mode: str) -> tuple[Tensor, Tensor]:
    # NaN sorts last, so the elements that count are the first ones.
    values, order = _C_ops.argsort(flat, -1, False, True)
    there = _C_ops.logical_not(_C_ops.isnan(flat)) if flat.dtype.is_floating else _C_ops.full_like(flat, True, dt.bool_)
    count = _C_ops.sum(_C_ops.cast(there, dt.int64), (-1,), None, True)
    two = _C_ops.full((), 2, dt.int64)
    last = _C_ops.maximum(_C_ops.scale(count, 1, -1), _C_ops.full((), 0, dt.int64))
    at = _C_ops.floor_divide(last, two)
    median = _C_ops.take_along_axis(values, at, -1)
    if mode == "avg":
        upper_at = _C_ops.subtract(last, at)
        upper = _C_ops.take_along_axis(values, upper_at, -1)
        if flat.dtype.is_floating:
            # The same element twice is itself: halves of the largest numbers would add up exactly, but those of the smallest would not.
            mean = _C_ops.scale(_C_ops.add(median, upper), 0.5)
            median = _C_ops.where(_C_ops.equal(at, upper_at), median, mean)
        else:
            median = _C_ops.trunc_divide(_C_ops.add(median, upper), _C_ops.full((), 2, flat.dtype))
    none = _C_ops.equal(count, _C_ops.full((), 0, dt.int64))
    if flat.dtype.is_floating:
        # A constant, through which no gradient goes to the NaN it would be taken from.
        median = _C_ops.where(none, _C_ops.full((), math.nan, flat.dtype), median)
    places = _C_ops.where(none, _C_ops.full((), -1, dt.int64), _C_ops.take_along_axis(order, at, -1))
    return _C_ops.reshape(median, shape), _C_ops.reshape(places, shape)


def _fractions(q: Any) -> list[float]:
    """The quantiles asked for as numbers in [0, 1]."""
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise ValueError(f"expected q of at most one dimension, received shape {list(q.shape)}")
        q = q.tolist()
    found = list(q) if isinstance(q, (list, tuple)) else [q]
    if not found:
        raise ValueError("expected at least one number in q, received none")
    for number in found:
        if not isinstance(number, (int, float, Tensor)):
            raise TypeError(
                f"expected q to be a number, a list of numbers or a Tensor, received {type(number).__name__}"
            )
    found = [float(number) for number in found]
    if not all(0.0 <= number <= 1.0 for number in found):
        raise ValueError(f"expected q in [0, 1], received {found}")
    return found


def _quantile(x: Tensor, q: Any, axis: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    fractions = _fractions(q)
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"expected interpolation to be one of {', '.join(_INTERPOLATIONS)}, received {interpolation!r}"
        )
    if not x.dtype.is_floating:
        raise TypeError(f"expected a floating tensor, received {x.dtype.name}; cast it")
    flat, rest, kept = _together(x, axis)
    shape = kept if keepdim else rest
    if flat.shape[-1] == 0:
        return _C_ops.full((len(fractions), *shape) if len(fractions) > 1 else shape, math.nan, x.dtype)
    values, _ = _C_ops.argsort(flat, -1, False, True)
    missing = _C_ops.isnan(flat)
    count = _C_ops.sum(_C_ops.cast(_C_ops.logical_not(missing), x.dtype), (-1,), None, True)
    last = _C_ops.maximum(_C_ops.scale(count, 1.0, -1.0), _C_ops.full((), 0.0, x.dtype))
    # All quantiles at once: their places are [..., quantiles].
    places = _C_ops.multiply(last, to_tensor(fractions, dtype=x.dtype))
    if not ignore_nan:
        # A NaN is last, and a row with one gives it for every quantile.
        spoiled = _C_ops.any(missing, (-1,), True)
        places = _C_ops.where(spoiled, _C_ops.full((), float(flat.shape[-1] - 1), x.dtype), places)
    found = _interpolated(values, places, interpolation)
    if len(fractions) == 1:
        return _C_ops.reshape(found, shape)
    ndim = found.ndim
    return _C_ops.reshape(_C_ops.transpose(found, (ndim - 1, *range(ndim - 1))), (len(fractions), *shape))


def _interpolated(values: Tensor, places: Tensor, interpolation: str) -> Tensor:
    """Elements of the sorted last axis at places between whole numbers."""

    def at(whole: Tensor) -> Tensor:
        return _C_ops.take_along_axis(values, _C_ops.cast(whole, dt.int64), -1)

    if interpolation == "nearest":
        return at(_C_ops.round(places, 0))
    floor = _C_ops.floor(places)
    if interpolation == "lower":
        return at(floor)
    upper = at(_C_ops.ceil(places))
    if interpolation == "higher":
        return upper
    lower = at(floor)
    if interpolation == "midpoint":
        return _C_ops.scale(_C_ops.add(lower, upper), 0.5)
    between = _C_ops.lerp(lower, upper, _C_ops.subtract(places, floor))
    # Between two of the same infinity lies that infinity, not their difference.
    return _C_ops.where(_C_ops.logical_and(_C_ops.isinf(lower), _C_ops.equal(lower, upper)), lower, between)


def quantile(
    x: Tensor,
    q: float | Sequence[float] | Tensor,
    axis: int | list[int] | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Quantiles over the axes; NaN where there is one, or where there is nothing.

    q: a number in [0, 1], or several in a list or 1-D tensor, which make a new first axis. interpolation: "linear", "lower", "higher",
    "nearest" or "midpoint", between the two elements beside the place. Floating x. Raises ValueError for another q, interpolation or
    axis. Source: paddle.quantile.
    """
    refuse_out(out)
    return _quantile(x, q, axis, keepdim, interpolation, False)


def nanquantile(
    x: Tensor,
    q: float | Sequence[float] | Tensor,
    axis: list[int] | int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not NaN; NaN where there are none. Source: paddle.nanquantile."""
    return _quantile(x, q, axis, keepdim, interpolation, True)


def mode(x: Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The most frequent element along an axis, of several the smallest, and its last place (int64).

    Real dtypes; NaN equals nothing. The gradient goes to that place. Raises ValueError for an axis that x has not or that has no elements.
    Source: paddle.mode.
    """
    return _C_ops.mode(x, axis_of(axis), keepdim)


def isin(
    x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False, name: str | None = None
) -> Tensor:
    """Whether each element of x occurs in `test_x` (or, with `invert`, does not).

    Shape of x, bool; NaN occurs nowhere. The dtypes promote by Paddle's rules. `assume_unique` promises that neither holds an element twice;
    the result does not depend on it. Source: paddle.isin.
    """
    found = _C_ops.isin(x, test_x)
    return _C_ops.logical_not(found) if invert else found


def histogram(
    input: Tensor,
    bins: int = 100,
    min: float = 0.0,
    max: float = 0.0,
    weight: Tensor | None = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """How many elements fall into each of `bins` equal intervals from `min` to `max`; all of them with 0 and 0.

    The last interval holds its upper end; elements outside and NaN are left out. int64, or float32 with `weight` (what each element counts,
    of input's shape and dtype) or `density` (scaled to an integral of 1). Has no gradient. Raises ValueError for bins < 1, max < min, or
    a range that is not finite. Source: paddle.histogram.
    """
    return _C_ops.histogram(input, weight, bins, float(min), float(max), density)


def histogram_bin_edges(
    input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0, name: str | None = None
) -> Tensor:
    """The bins + 1 ends of equal intervals from `min` to `max`, or of all elements with 0 and 0; float32.

    A range of one number is widened by 0.5 to both sides. Raises ValueError for bins < 1, max < min, or no elements to take the range from.
    Source: paddle.histogram_bin_edges.
    """
    if bins < 1:
        raise ValueError(f"histogram_bin_edges: expected bins of at least 1, received {bins}")
    if max < min:
        raise ValueError(f"histogram_bin_edges: expected max >= min, received min = {min} and max = {max}")
    if min == 0 and max == 0:
        if input.size == 0:
            raise ValueError("histogram_bin_edges: expected elements or a range, received neither")
        min, max = _C_ops.min(input, (), False).item(), _C_ops.max(input, (), False).item()
    if min == max:
        min, max = min - 0.5, max + 0.5
    return _C_ops.linspace(float(min), float(max), bins + 1, dt.float32)


def histogramdd(
    x: Tensor,
    bins: Any = 10,
    ranges: Sequence[float] | None = None,
    density: bool = False,
    weights: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Histogram of points in several dimensions: counts in x's dtype, and the edges along each.

    x: [..., dimensions], float32 or float64. bins: how many, for all dimensions or for each, or a list of 1-D tensors of edges in x's dtype.
    ranges: lower and upper end for each dimension in turn (default: of the points). weights: what each point counts, [...]. density: divided
    by the sum and by the volumes. Has no gradient. Raises ValueError for arguments that do not fit x. Source: paddle.histogramdd.
    """
    if x.dtype is not dt.float32 and x.dtype is not dt.float64:
        raise TypeError(f"histogramdd: expected float32 or float64, received {x.dtype.name}")
    if x.ndim < 2:
        raise ValueError(f"histogramdd: expected at least two dimensions, received shape {list(x.shape)}")
    dimensions = x.shape[-1]
    points = _C_ops.reshape(x, (math.prod(x.shape[:-1]), dimensions)).detach()
    if weights is not None:
        if list(weights.shape) != list(x.shape[:-1]) or weights.dtype is not x.dtype:
            raise ValueError(
                f"histogramdd: expected weights of shape {list(x.shape[:-1])} and dtype {x.dtype.name}, received "
                f"{list(weights.shape)}, {weights.dtype.name}"
            )
        weights = _C_ops.reshape(weights, (points.shape[0],)).detach()
    edges = _edges(points, bins, ranges)
    fixed = [edge.detach() for edge in edges]
    shape = tuple(edge.shape[0] - 1 for edge in fixed)
    counts = _C_ops.reshape(_counts(points, fixed, shape, weights), shape)
    if density:
        counts = _C_ops.divide(counts, _C_ops.sum(counts, (), None, False))
        for axis, edge in enumerate(fixed):
            widths = _between(edge)
            counts = _C_ops.divide(
                counts, _C_ops.reshape(widths, tuple(-1 if i == axis else 1 for i in range(dimensions)))
            )
    return counts, fixed


def _between(edge: Tensor) -> Tensor:
    length = edge.shape[0]
    return _C_ops.subtract(_C_ops.slice(edge, (0,), (1,), (length,)), _C_ops.slice(edge, (0,), (0,), (length - 1,)))


def _edges(points: Tensor, bins: Any, ranges: Any) -> list[Tensor]:
    """The edges along each dimension."""
    dimensions = points.shape[-1]
    numbers = [bins] * dimensions if isinstance(bins, int) else bins
    if isinstance(numbers, Tensor) or not isinstance(numbers, (list, tuple)) or len(numbers) != dimensions:
        raise ValueError(
            f"histogramdd: expected bins to be an integer, or a list of {dimensions} integers or Tensors, received {bins!r}"
        )
    if all(isinstance(number, Tensor) for number in numbers):
        for edge in numbers:
            if edge.ndim != 1 or edge.shape[0] < 2 or edge.dtype is not points.dtype:
                raise ValueError(
                    f"histogramdd: expected edges in a 1-D tensor of at least 2 and dtype {points.dtype.name}, received "
                    f"{list(edge.shape)}, {edge.dtype.name}"
                )
        return list(numbers)
    if not all(isinstance(number, int) and number >= 1 for number in numbers):
        raise ValueError(f"histogramdd: expected bins of at least 1, received {bins!r}")
    if ranges is not None and len(ranges) != 2 * dimensions:
        raise ValueError(f"histogramdd: expected {2 * dimensions} numbers in ranges, received {len(ranges)}")
    if ranges is None:
        if points.size == 0:
            raise ValueError("histogramdd: expected points or ranges, received neither")
        ends = [_C_ops.min(points, (0,), False).tolist(), _C_ops.max(points, (0,), False).tolist()]
        ranges = [end for pair in zip(*ends) for end in pair]
    if not all(math.isfinite(end) for end in ranges):
        raise ValueError(f"histogramdd: expected finite ranges, received {list(ranges)}")
    return [
        _C_ops.linspace(float(ranges[2 * i]), float(ranges[2 * i + 1]), number + 1, points.dtype)
        for i, number in enumerate(numbers)
    ]


def _counts(points: Tensor, edges: list[Tensor], shape: tuple[int, ...], weights: Tensor | None) -> Tensor:
    """How many points (or what weight) each cell holds, in row-major order."""
    cells = _C_ops.full((points.shape[0],), 0, dt.int64)
    inside = _C_ops.full((points.shape[0],), True, dt.bool_)
    for axis, (edge, size) in enumerate(zip(edges, shape)):
        column = _C_ops.reshape(_C_ops.slice(points, (1,), (axis,), (axis + 1,)), (-1,))
        low, high = (_C_ops.slice(edge, (0,), (i,), (i + 1,)) for i in (0, size))
        place = _C_ops.scale(_C_ops.searchsorted(edge, column, False, True), 1, -1)
        # The last interval holds its upper end.
        place = _C_ops.where(_C_ops.equal(column, high), _C_ops.full((), size - 1, dt.int64), place)
        within = _C_ops.logical_and(_C_ops.greater_equal(column, low), _C_ops.less_equal(column, high))
        inside = _C_ops.logical_and(inside, within)
        cells = _C_ops.add(_C_ops.scale(cells, size), place)
    cells = _C_ops.masked_select(cells, inside)
    if weights is not None:
        weights = _C_ops.masked_select(weights, inside)
    return _C_ops.cast(_C_ops.bincount(cells, weights, math.prod(shape)), points.dtype)
