"""Products of sparse matrices: work in proportion to the stored elements. Source: paddle.sparse.binary and multiary."""

import math
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.sparse_tensor import (
    SparseCooTensor,
    SparseCsrTensor,
    SparseTensor,
    coo_at,
    gathered_sum,
    linear_index,
    taken,
)
from wherry.sparse.arguments import Sparse, as_kind_of, coordinates, sparse_of
from wherry.sparse.binary import add, multiply
from wherry.tensor.tensor import Tensor

__all__ = ["addmm", "masked_matmul", "matmul", "mv"]


def _matrix(x: Any, function: str, name: str) -> SparseCooTensor:
    """By coordinates, if all dimensions are sparse and there are at least two."""
    coo = coordinates(sparse_of(x, function, name))
    if coo.ndim < 2 or coo.dense_dim():
        raise ValueError(
            f"sparse.{function}: expected {name} of at least two dimensions, all sparse, received shape {list(x.shape)} with "
            f"{coo.dense_dim()} dense dimensions"
        )
    return coo


def _check_shapes(x: Any, y: Any, function: str) -> None:
    if y.ndim != x.ndim or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"sparse.{function}: expected x [*, m, k] and y [*, k, n], received {list(x.shape)} and {list(y.shape)}"
        )


def _rows_and_inner(x: SparseCooTensor) -> tuple[Any, Any]:
    """For each element its row, and its column as a row of the other factor, both counted through the batch."""
    positions = x.positions()
    batch = linear_index(positions[:-2], x.shape[:-2])
    return batch * x.shape[-2] + positions[-2], batch * x.shape[-1] + positions[-1]


def _times_dense(x: SparseCooTensor, y: Tensor) -> Tensor:
    rows, inner = _rows_and_inner(x)
    columns = y.shape[-1]
    flat = _C_ops.reshape(y, (math.prod(y.shape[:-1]), columns))
    terms = _C_ops.multiply(_C_ops.unsqueeze(x.values(), (1,)), taken(flat, inner))
    out = gathered_sum(terms, rows, math.prod(x.shape[:-1]))
    return _C_ops.reshape(out, (*x.shape[:-1], columns))


def _times_sparse(x: SparseCooTensor, y: SparseCooTensor) -> SparseCooTensor:
    rows, inner = _rows_and_inner(x)
    other, _ = _rows_and_inner(y)
    order = np.argsort(other, kind="stable")
    starts = np.searchsorted(other[order], inner)
    counts = np.searchsorted(other[order], inner, side="right") - starts
    # Each element of x meets all elements of y in the row that its column names.
    left = np.repeat(np.arange(inner.size), counts)
    within = np.arange(left.size) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(starts, counts) + within]
    places, inverse = np.unique(rows[left] * y.shape[-1] + y.positions()[-1][right], return_inverse=True)
    terms = _C_ops.multiply(taken(x.values(), left), taken(y.values(), right))
    return coo_at(places, gathered_sum(terms, inverse, places.size), [*x.shape[:-1], y.shape[-1]], x.indices())


def matmul(x: Sparse, y: Sparse | Tensor, name: str | None = None) -> Sparse | Tensor:
    """x @ y of a sparse x [*, m, k]: dense for a dense y [*, k, n], sparse of x's kind for a sparse y of that kind.

    Raises ValueError for shapes that do not fit (batches do not broadcast), TypeError for different kinds.
    Source: paddle.sparse.matmul.
    """
    first = _matrix(x, "matmul", "x")
    if not isinstance(y, SparseTensor):
        _check_shapes(x, y, "matmul")
        return _times_dense(first, y)
    if type(x) is not type(y):
        raise TypeError(
            f"sparse.matmul: expected x and y of one kind, received {type(x).__name__} and {type(y).__name__}; convert one with "
            "to_sparse_coo or to_sparse_csr"
        )
    _check_shapes(x, y, "matmul")
    return as_kind_of(_times_sparse(first, _matrix(y, "matmul", "y")), x)  # type: ignore[no-any-return]


def mv(x: Sparse, vec: Tensor, name: str | None = None) -> Tensor:
    """x @ vec of a sparse matrix [m, n] and a dense vector [n].

    Raises ValueError for shapes that do not fit. Source: paddle.sparse.mv.
    """
    matrix = _matrix(x, "mv", "x")
    if x.ndim != 2 or vec.ndim != 1 or vec.shape[0] != x.shape[1]:
        raise ValueError(f"sparse.mv: expected x [m, n] and vec [n], received {list(x.shape)} and {list(vec.shape)}")
    return _C_ops.squeeze(_times_dense(matrix, _C_ops.unsqueeze(vec, (1,))), (1,))


def masked_matmul(x: Tensor, y: Tensor, mask: Sparse, name: str | None = None) -> Sparse:
    """The elements of x @ y at the positions of mask, for dense x [*, m, k] and y [*, k, n]; only those are computed.

    Raises ValueError for shapes that do not fit. Source: paddle.sparse.masked_matmul.
    """
    where = _matrix(mask, "masked_matmul", "mask")
    _check_shapes(x, y, "masked_matmul")
    expected = [*x.shape[:-1], y.shape[-1]]
    if list(mask.shape) != expected:
        raise ValueError(f"sparse.masked_matmul: expected mask of shape {expected}, received {list(mask.shape)}")
    rows, columns = _rows_and_inner(where)
    left = _C_ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    turned = _C_ops.transpose(y, (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2))
    right = _C_ops.reshape(turned, (math.prod(turned.shape[:-1]), turned.shape[-1]))
    products = _C_ops.multiply(taken(left, rows), taken(right, columns))
    return mask.with_values(_C_ops.sum(products, (1,), None, False))


def addmm(
    input: Sparse | Tensor,
    x: Sparse,
    y: Sparse | Tensor,
    beta: float = 1.0,
    alpha: float = 1.0,
    name: str | None = None,
) -> Sparse | Tensor:
    """alpha * x @ y + beta * input, input being of the kind that x @ y has.

    Raises ValueError for shapes that do not fit, TypeError for different kinds. Source: paddle.sparse.addmm.
    """
    product: Any = matmul(x, y)
    if isinstance(product, (SparseCooTensor, SparseCsrTensor)):
        return add(multiply(product, float(alpha)), multiply(sparse_of(input, "addmm", "input"), float(beta)))
    if isinstance(input, SparseTensor) or input.shape != product.shape:
        raise ValueError(
            f"sparse.addmm: expected a dense input of shape {list(product.shape)}, received {type(input).__name__} of shape "
            f"{list(input.shape)}"
        )
    return _C_ops.add(_C_ops.scale(product, float(alpha), 0.0, True), _C_ops.scale(input, float(beta), 0.0, True))
