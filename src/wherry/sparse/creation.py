"""Sparse tensors from positions and values. Source: paddle.sparse.creation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.arguments import DTypeLike, dtype_of
from wherry.api.creation import to_tensor
from wherry.api.sparse_tensor import SparseCooTensor, SparseCsrTensor, SparseTensor
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor"]

_INDEX_DTYPES = (dt.int8, dt.int16, dt.int32, dt.int64)


def _index(data: Any, place: Any, name: str, function: str, ndim: int) -> Tensor:
    tensor = data if isinstance(data, Tensor) else to_tensor(data, None, place, True)
    if tensor.ndim != ndim:
        raise ValueError(f"{function}: expected {name} of {ndim} dimensions, received shape {list(tensor.shape)}")
    if tensor.dtype not in _INDEX_DTYPES:
        raise TypeError(
            f"{function}: expected {name} of int8, int16, int32 or int64, received {tensor.dtype.name}; cast it"
        )
    return tensor


def _valued(data: Any, dtype: DTypeLike | None, place: Any, stop_gradient: bool) -> Tensor:
    """The values: with stop_gradient without history; a leaf that wants no gradient is made one that does, as in Paddle."""
    if isinstance(data, SparseTensor):
        raise TypeError(f"expected dense values, received a {type(data).__name__}; use .values()")
    if not isinstance(data, Tensor):
        return to_tensor(data, dtype, place, stop_gradient)
    wanted = dtype_of(dtype)
    values = data if wanted is None or wanted is data.dtype else _C_ops.cast(data, wanted)
    if stop_gradient:
        return values.detach()
    if values.stop_gradient:
        values.stop_gradient = False
    return values


def _check_inside(positions: Any, length: int, name: str, function: str) -> None:
    if positions.size and not (positions.min() >= 0 and positions.max() < length):
        bad = positions[(positions < 0) | (positions >= length)][0]
        raise IndexError(f"{function}: expected {name} in [0, {length}), received {int(bad)}")


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseCooTensor:
    """A sparse tensor by coordinates.

    indices: [sparse dimensions, n] of integers. values: [n, dense dimensions...]. shape: the smallest that holds all by default.
    dtype: of the values. What has the same coordinates counts as added up. Raises ValueError for shapes that do not fit, TypeError for
    indices that are not integers, IndexError for one outside the shape. Source: paddle.sparse.sparse_coo_tensor.
    """
    function = "sparse_coo_tensor"
    index = _index(indices, place, "indices", function, 2)
    elements = _valued(values, dtype, place, stop_gradient)
    sparse, count = index.shape
    if elements.ndim == 0 or elements.shape[0] != count:
        raise ValueError(f"{function}: expected values for {count} indices, received shape {list(elements.shape)}")
    positions = index.numpy().astype(np.int64)
    dense = list(elements.shape[1:])
    if shape is None:
        if not count:
            raise ValueError(f"{function}: expected shape for a tensor without elements, received None")
        dims = [int(row.max()) + 1 for row in positions] + dense
    else:
        dims = [int(n) for n in shape]
    if len(dims) != sparse + len(dense) or dims[sparse:] != dense:
        raise ValueError(
            f"{function}: expected a shape of {sparse} dimensions for indices and then {dense} as values have, received {dims}"
        )
    for axis, row in enumerate(positions):
        _check_inside(row, dims[axis], f"indices of axis {axis}", function)
    return SparseCooTensor(index, elements, dims)


def _inferred(crows: Any, cols: Any, function: str) -> list[int]:
    batches = int((crows[:-1] > crows[1:]).sum()) + 1
    if crows.size % batches or not cols.size:
        raise ValueError(f"{function}: expected shape, as crows and cols do not tell it, received None")
    matrix = [crows.size // batches - 1, int(cols.max()) + 1]
    return matrix if batches == 1 else [batches, *matrix]


def sparse_csr_tensor(
    crows: Any,
    cols: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseCsrTensor:
    """A sparse matrix, or a batch of them, by compressed rows.

    crows: where the elements of each row begin, and where the last ends ([rows + 1], for a batch one after the other). cols, values:
    [n]. shape: two or three dimensions, the smallest by default. Raises ValueError for shapes or crows that do not fit, TypeError for
    positions that are not integers, IndexError for a column outside. Source: paddle.sparse.sparse_csr_tensor.
    """
    function = "sparse_csr_tensor"
    starts = _index(crows, place, "crows", function, 1)
    columns = _index(cols, place, "cols", function, 1)
    elements = _valued(values, dtype, place, stop_gradient)
    if elements.ndim != 1 or elements.shape[0] != columns.shape[0]:
        raise ValueError(
            f"{function}: expected one value for each of {columns.shape[0]} cols, received shape {list(elements.shape)}"
        )
    begin, column = starts.numpy().astype(np.int64), columns.numpy().astype(np.int64)
    dims = _inferred(begin, column, function) if shape is None else [int(n) for n in shape]
    if len(dims) not in (2, 3):
        raise ValueError(f"{function}: expected a shape of two or three dimensions, received {dims}")
    batches, rows = (dims[0] if len(dims) == 3 else 1), dims[-2]
    if begin.size != batches * (rows + 1):
        raise ValueError(
            f"{function}: expected crows of {batches * (rows + 1)} elements for shape {dims}, received {begin.size}"
        )
    table = begin.reshape(batches, rows + 1)
    if table[:, 0].any() or (np.diff(table, axis=1) < 0).any() or table[:, -1].sum() != column.size:
        raise ValueError(
            f"{function}: expected crows that begin with 0, do not fall and end with the number of elements ({column.size} in all), "
            f"received {begin.tolist()}"
        )
    _check_inside(column, dims[-1], "cols", function)
    return SparseCsrTensor(starts, columns, elements, dims)
