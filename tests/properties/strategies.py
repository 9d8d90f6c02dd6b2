"""What the properties draw: arrays of any shape and layout, axes that fit, and the tensors over them."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wherry as paddle
from wherry.tensor.tensor import tensor_from_array

FLOATS = ("float32", "float64")
INTS = ("uint8", "int8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")

_EXAMPLES = os.environ.get("WHERRY_EXAMPLES")


def examples(count: int) -> Callable[[Any], Any]:
    """Settings of a property: `count` fixed examples, or as many random ones as WHERRY_EXAMPLES says."""
    return settings(
        max_examples=int(_EXAMPLES) if _EXAMPLES else count,
        derandomize=not _EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def elements(dtype: str, special: bool) -> st.SearchStrategy[Any]:
    """Numbers of a dtype: moderate, or with infinities, NaN, zeros of both signs and extremes."""
    kind = np.dtype(dtype)
    width = 32 if dtype in ("float32", "complex64") else 64
    if kind.kind == "b":
        return st.booleans()
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return st.integers(int(bounds.min), int(bounds.max)) if special else st.integers(max(int(bounds.min), -9), 9)
    if kind.kind == "c":
        part = elements("float32" if width == 32 else "float64", special)
        return st.builds(complex, part, part)
    if special:
        return st.one_of(st.floats(width=width), st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]))
    return st.floats(-8.0, 8.0, width=width)


def shapes(least: int = 0, most: int = 4, side: int = 4, smallest: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return (
        hnp.array_shapes(min_dims=least, max_dims=most, min_side=smallest, max_side=side)
        if least or most
        else st.just(())
    )


@st.composite
def arrays(
    draw: Any,
    dtypes: tuple[str, ...] = FLOATS,
    shape: Any = None,
    special: bool = False,
    least: int = 0,
    smallest: int = 0,
    side: int = 4,
) -> Any:
    """An array of one of the dtypes, in one of several layouts."""
    dtype = draw(st.sampled_from(dtypes))
    if shape is None:
        shape = draw(shapes(least, 4, side, smallest))
    array = draw(hnp.arrays(dtype, shape, elements=elements(dtype, special)))
    return draw(layouts(array))


@st.composite
def layouts(draw: Any, array: Any) -> Any:
    """The same values with other strides: turned around, from a transposed array, with gaps, or as they are."""
    for axis in range(array.ndim):
        kind = draw(st.sampled_from(("", "", "reversed", "gaps")))
        if kind == "reversed":
            array = np.flip(np.flip(array, axis).copy(), axis)
        elif kind == "gaps":
            wide = np.repeat(array, 2, axis)
            array = wide[(slice(None),) * axis + (slice(None, None, 2),)]
    if array.ndim > 1 and draw(st.booleans()):
        order = draw(st.permutations(range(array.ndim)))
        array = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    return array


def tensor(array: Any) -> paddle.Tensor:
    """A tensor over this very array, strides and all."""
    return tensor_from_array(array)


def axes_of(array: Any) -> st.SearchStrategy[Any]:
    """None, an axis of either sign, or a list of different ones."""
    count = array.ndim
    if count == 0:
        return st.sampled_from([None, 0, -1])
    one = st.integers(-count, count - 1)
    several = st.lists(one, min_size=1, max_size=count, unique_by=lambda a: a % count)
    return st.one_of(st.none(), one, several)


def axis_of(array: Any) -> st.SearchStrategy[int]:
    """One axis of either sign."""
    return st.integers(-array.ndim, array.ndim - 1)


def numpy_axes(axes: Any, array: Any) -> Any:
    """The same for NumPy: a tuple; a 0-D array has no axis 0."""
    if axes is None or array.ndim == 0:
        return None
    return tuple(axes) if isinstance(axes, list) else axes


def same(found: paddle.Tensor, expected: Any, tolerance: float = 0.0) -> None:
    """Values and shape are those of the array: exactly, or but for rounding."""
    expected = np.asarray(expected)
    assert tuple(found.shape) == expected.shape, (found.shape, expected.shape)
    values = found.numpy()
    if tolerance:
        # Where a result cancels, what is left of its rounding is as large as its terms' are.
        scale = np.nanmax(np.abs(expected[np.isfinite(expected)]), initial=1.0) if expected.size else 1.0
        np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance * float(scale))
    else:
        np.testing.assert_array_equal(values, expected)


def precision(array: Any) -> float:
    """How far results of a dtype may be apart."""
    return 2e-5 if array.dtype in (np.float32, np.complex64) else 1e-11
