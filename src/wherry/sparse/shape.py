"""Other shapes of sparse tensors, and their sums. Source: paddle.sparse.unary."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.arguments import AxisLike, DTypeLike, axes_of, dtype_of
from wherry.api.sparse_tensor import (
    SparseCooTensor,
    SparseCsrTensor,
    coordinates_of,
    gathered_sum,
    index_tensor,
    linear_index,
    taken,
)
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.infermeta.common import canonical_axis
from wherry.sparse.arguments import Sparse, as_kind_of, coordinates, sparse_of

__all__ = ["reshape", "slice", "sum", "transpose"]


def transpose(x: Sparse, perm: Sequence[int], name: str | None = None) -> Sparse:
    """The dimensions in another order; sparse dimensions stay before dense ones.

    Raises ValueError for a perm that is not an order of the dimensions or mixes the two. Source: paddle.sparse.transpose.
    """
    coo = coordinates(sparse_of(x, "transpose"))
    order = [canonical_axis(int(p), x.ndim) for p in perm]
    sparse = coo.sparse_dim()
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(
            f"sparse.transpose: expected perm to be an order of {x.ndim} dimensions, received {list(perm)}"
        )
    if any(p >= sparse for p in order[:sparse]):
        raise ValueError(
            f"sparse.transpose: expected the {sparse} sparse dimensions to stay first, received perm {list(perm)}"
        )
    indices = index_tensor(coo.positions()[order[:sparse]], coo.indices().dtype)
    values = coo.values()
    if order[sparse:] != list(range(sparse, x.ndim)):
        values = _C_ops.transpose(values, (0, *[p - sparse + 1 for p in order[sparse:]]))
    out = SparseCooTensor(indices, values, [x.shape[p] for p in order], coo.is_coalesced() and order == sorted(order))
    return as_kind_of(out, x)  # type: ignore[no-any-return]


def _new_shape(x: Any, shape: Sequence[int], dense: list[int]) -> list[int]:
    old = list(x.shape)
    dims = [int(n) for n in shape]
    for i, n in enumerate(dims):
        if n == 0 and i < len(old):
            dims[i] = old[i]
    if dims.count(-1) > 1 or any(n < -1 for n in dims):
        raise ValueError(f"sparse.reshape: expected at most one -1 and no other negative, received {list(shape)}")
    if -1 in dims:
        known = math.prod(n for n in dims if n != -1)
        dims[dims.index(-1)] = math.prod(old) // known if known else 0
    if math.prod(dims) != math.prod(old):
        raise ValueError(f"sparse.reshape: expected a shape of {math.prod(old)} elements, received {list(shape)}")
    if dense and dims[-len(dense) :] != dense:
        raise ValueError(f"sparse.reshape: expected a shape that ends in the dense dimensions {dense}, received {dims}")
    return dims


def reshape(x: Sparse, shape: Sequence[int], name: str | None = None) -> Sparse:
    """The same elements in another shape; dense dimensions stay as they are.

    shape: -1 is what is left (once), 0 the dimension of x at that place. Raises ValueError for a shape that does not fit.
    Source: paddle.sparse.reshape.
    """
    coo = coordinates(sparse_of(x, "reshape"))
    dense = list(x.shape[coo.sparse_dim() :])
    dims = _new_shape(x, shape, dense)
    positions = coordinates_of(coo.linear(), dims[: len(dims) - len(dense)])
    out = SparseCooTensor(index_tensor(positions, coo.indices().dtype), coo.values(), dims, coo.is_coalesced())
    return as_kind_of(out, x)  # type: ignore[no-any-return]


def slice(x: Sparse, axes: Any, starts: Any, ends: Any, name: str | None = None) -> Sparse:
    """x[starts:ends] along axes; negative places count from the end, and places outside are the nearest inside.

    axes, starts, ends: lists of integers, or integer tensors. Raises ValueError for lists of different lengths or an axis that x has
    not. Source: paddle.sparse.slice.
    """
    coo = coordinates(sparse_of(x, "slice"))
    lists = [axes_of(a, n) for a, n in ((axes, "axes"), (starts, "starts"), (ends, "ends"))]
    if len({len(a) for a in lists}) != 1:
        raise ValueError(f"sparse.slice: expected axes, starts and ends of one length, received {lists}")
    bounds = [[0, n] for n in x.shape]
    for axis, start, end in zip(*lists):
        place = canonical_axis(axis, x.ndim)
        length = x.shape[place]
        low, high = (min(max(v + length if v < 0 else v, 0), length) for v in (start, end))
        bounds[place] = [low, max(low, high)]
    sparse = coo.sparse_dim()
    positions = coo.positions()
    low = np.array([b[0] for b in bounds[:sparse]])[:, None]
    high = np.array([b[1] for b in bounds[:sparse]])[:, None]
    kept = np.flatnonzero(((positions >= low) & (positions < high)).all(0))
    values = taken(coo.values(), kept)
    for axis, (first, last) in enumerate(bounds[sparse:], 1):
        if (first, last) != (0, values.shape[axis]):
            values = _C_ops.slice(values, (axis,), (first,), (last,))
    indices = index_tensor(positions[:, kept] - low, coo.indices().dtype)
    out = SparseCooTensor(indices, values, [b - a for a, b in bounds], coo.is_coalesced())
    return as_kind_of(out, x)  # type: ignore[no-any-return]


def _sum_dtype(x: Any, dtype: DTypeLike | None) -> DataType:
    wanted = dtype_of(dtype)
    if wanted is not None:
        return wanted
    return dt.int64 if x.dtype.is_bool or x.dtype is dt.int32 else x.dtype


def sum(
    x: Sparse, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdim: bool = False, name: str | None = None
) -> Sparse:
    """Sums along axes, as a sparse tensor; over all of them its shape is [1], or all ones with keepdim.

    Compressed rows are summed over all, to [1, 1], or along the last axis, which stays with length 1 as they need it. dtype: that of
    the sums; by default bool and int32 give int64. Raises NotImplementedError for another axis of compressed rows, ValueError for an
    axis that x has not. Source: paddle.sparse.sum.
    """
    sparse_of(x, "sum")
    axes = sorted({canonical_axis(a, x.ndim) for a in axes_of(axis)}) or list(range(x.ndim))
    wanted = _sum_dtype(x, dtype)
    values = x.values() if x.dtype is wanted else _C_ops.cast(x.values(), wanted)
    if isinstance(x, SparseCsrTensor):
        everything = len(axes) == x.ndim
        if not everything and axes != [x.ndim - 1]:
            raise NotImplementedError(
                f"sparse.sum: the argument 'axis' of compressed rows is supported as None or -1 only, received {axis}; use to_sparse_coo"
            )
        out = _summed(coordinates(x.with_values(values)), axes, True)
        return (reshape(out, [1, 1]) if everything else out).to_sparse_csr()  # type: ignore[union-attr]
    return _summed(x.with_values(values), axes, keepdim)


def _summed(x: SparseCooTensor, axes: list[int], keepdim: bool) -> SparseCooTensor:
    sparse = x.sparse_dim()
    inner = tuple(a - sparse + 1 for a in axes if a >= sparse)
    values = _C_ops.sum(x.values(), inner, None, keepdim) if inner else x.values()
    left = [a for a in range(sparse) if a not in axes]
    lengths = [x.shape[a] for a in left]
    places, inverse = np.unique(linear_index(x.positions()[left], lengths), return_inverse=True)
    values = gathered_sum(values, inverse, places.size)
    coordinate = dict(zip(left, coordinates_of(places, lengths)))
    shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
    if keepdim:
        rows = [coordinate.get(a, np.zeros(places.size, np.int64)) for a in range(sparse)]
    else:
        shape = [n for a, n in enumerate(x.shape) if a not in axes]
        rows = [coordinate[a] for a in left]
        if not rows:
            # A sparse tensor has at least one sparse dimension.
            rows, shape = [np.zeros(places.size, np.int64)], [1, *shape]
    return SparseCooTensor(index_tensor(np.stack(rows), x.indices().dtype), values, shape, True)
