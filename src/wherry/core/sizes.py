"""Sizes that both InferMeta and a kernel work out from the same arguments."""

import math
from typing import Any

from wherry.core.dtype import DataType


def arange_length(start: Any, end: Any, step: Any, dtype: DataType) -> int:
    """Number of elements of arange; for an integer dtype the three numbers are cut to integers first.

    Raises ValueError for a step of zero and for infinite or NaN bounds.
    """
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not math.isfinite(value):
            raise ValueError(f"expected a finite {name}, received {value}")
    if dtype.is_integer:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise ValueError(
            "expected a step other than 0 (for an integer dtype, after cutting it to an integer), received 0"
        )
    if dtype.is_integer:
        count: int = -((start - end) // step)
    else:
        count = math.ceil((end - start) / step)
    return max(0, count)


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """Number of elements of a matrix's diagonal."""
    return max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))


def c2r_size(frequencies: int, last_dim_size: int) -> int:
    """The size of a real signal with that many frequencies: as given, or where that is 0 the even one."""
    return last_dim_size if last_dim_size > 0 else max(0, 2 * (frequencies - 1))


def cross_axis(shape: tuple[int, ...], axis: int) -> int:
    """The axis of size 3 that a cross product runs along; 9 stands for the first one. Raises ValueError for another size."""
    ndim = len(shape)
    if axis == 9 and ndim < 10:
        if 3 not in shape:
            raise ValueError(f"expected an axis of size 3 for a cross product, received shape {list(shape)}")
        return shape.index(3)
    if not -ndim <= axis < ndim:
        raise ValueError(f"expected axis in [{-ndim}, {ndim}) for shape {list(shape)}, received {axis}")
    if shape[axis] != 3:
        raise ValueError(
            f"expected size 3 in axis {axis} for a cross product, received {shape[axis]} in shape {list(shape)}"
        )
    return axis % ndim
