"""Histograms, frequencies and choices among tensors."""

import numpy as np

from wherry.dispatch.kernel_factory import ALL, REAL, kernel
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.scatter import in_bounds


def _comparable(x: Array) -> Array:
    """float16 and bfloat16 as float32: the order is the same and NumPy sorts it."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


@kernel("isin", ALL)
def isin(x: Array, test_x: Array) -> Array:
    """Whether each element occurs."""
    return np.asarray(np.isin(_comparable(x), _comparable(test_x)))


@kernel("mode", REAL)
def mode(x: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    """Runs of equal elements in sorted order; of the longest runs the first."""
    if x.ndim == 0:
        return np.array(x), np.zeros((), np.int64)
    rows = np.moveaxis(_comparable(x), axis, -1)
    length = rows.shape[-1]
    if rows.size == 0:
        values = np.zeros(rows.shape[:-1] + (1,), x.dtype)
        indices = np.zeros(values.shape, np.int64)
    else:
        order = np.argsort(rows, axis=-1, kind="stable")
        ordered = np.take_along_axis(rows, order, -1)
        begins = np.ones(rows.shape, np.bool_)
        begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        places = np.arange(length)
        so_far = places - np.maximum.accumulate(np.where(begins, places, 0), axis=-1)
        # How long the run is, seen from its end; the first of the maxima ends the run of the smallest value.
        end = np.argmax(so_far, axis=-1)[..., None]
        indices = np.take_along_axis(order, end, -1)
        values = np.take_along_axis(np.moveaxis(x, axis, -1), indices, -1)
    if not keepdim:
        return values[..., 0], indices[..., 0]
    return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)


@kernel("histogram", REAL)
def histogram(input: Array, weight: Array | None, bins: int, min: float, max: float, density: bool) -> Array:
    """Counts or weights in equal intervals."""
    values = _comparable(input).reshape(-1)
    there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(values.shape, np.bool_)
    if min == 0.0 and max == 0.0 and there.any():
        min, max = float(values[there].min()), float(values[there].max())
        if not np.isfinite(max - min):
            raise ValueError(f"expected finite elements, or a range given by min and max, received {min} to {max}")
    if min == max:
        min, max = min - 1.0, max + 1.0
    there &= (values >= min) & (values <= max)
    kept = values[there]
    number = kept.dtype.type if kept.dtype.kind == "f" else np.float64
    places = (kept - number(min)) * number(bins) / number(max - min)
    found = np.minimum(places.astype(np.int64), bins - 1)
    weights = None if weight is None else weight.reshape(-1)[there].astype(np.float64)
    counts = np.bincount(found, weights, bins)
    if density:
        width = (max - min) / bins
        counts = counts / (counts.sum() * width)
    return counts.astype(np.float32 if density or weight is not None else np.int64)


@kernel("multiplex", ALL)
def multiplex(inputs: list[Array], index: Array) -> Array:
    """Row by row from the input that is named."""
    chosen = in_bounds(index, len(inputs), 0, negative=False).reshape(-1)
    out = np.empty((chosen.size,) + inputs[0].shape[1:], inputs[0].dtype)
    for position, array in enumerate(inputs):
        rows = np.flatnonzero(chosen == position)
        out[rows] = array[rows]
    return out
