"""Functions of two sparse tensors of one shape. Source: paddle.sparse.binary."""

import math
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.api.sparse_tensor import SparseCooTensor, SparseTensor, coo_at, gathered_sum, taken
from wherry.core import dtype as dt
from wherry.sparse.arguments import Sparse, as_kind_of, coordinates, sparse_of
from wherry.tensor.tensor import Tensor

__all__ = ["add", "divide", "is_same_shape", "mask_as", "multiply", "subtract"]


def _checked(x: Any, y: Any, function: str) -> tuple[SparseCooTensor, SparseCooTensor]:
    sparse_of(x, function)
    sparse_of(y, function, "y")
    if type(x) is not type(y):
        raise TypeError(
            f"sparse.{function}: expected x and y of one kind, received {type(x).__name__} and {type(y).__name__}; convert one "
            "with to_sparse_coo or to_sparse_csr"
        )
    first, second = coordinates(x), coordinates(y)
    if first.shape != second.shape or first.sparse_dim() != second.sparse_dim():
        raise ValueError(
            f"sparse.{function}: expected x and y of one shape and as many sparse dimensions, received {list(x.shape)} with "
            f"{first.sparse_dim()} and {list(y.shape)} with {second.sparse_dim()}"
        )
    return first, second


def _aligned(x: SparseCooTensor, y: SparseCooTensor, everywhere: bool) -> tuple[Any, Tensor, Tensor]:
    """Sorted places, and both tensors' values there (zeros where one has none); everywhere: all places of the sparse dimensions."""
    first, second = x.linear(), y.linear()
    if everywhere:
        places = np.arange(math.prod(x.shape[: x.sparse_dim()]))
        return places, gathered_sum(x.values(), first, places.size), gathered_sum(y.values(), second, places.size)
    places = np.union1d(first, second)
    at = [np.searchsorted(places, p) for p in (first, second)]
    return places, gathered_sum(x.values(), at[0], places.size), gathered_sum(y.values(), at[1], places.size)


def _combined(x: Any, y: Any, operation: Any, function: str, everywhere: bool = False) -> Any:
    first, second = _checked(x, y, function)
    places, a, b = _aligned(first, second, everywhere)
    return as_kind_of(coo_at(places, operation(a, b), x.shape, first.indices()), x)


def add(x: Sparse, y: Sparse, name: str | None = None) -> Sparse:
    """x + y, stored where either is.

    Raises TypeError for different kinds, ValueError for different shapes. Source: paddle.sparse.add.
    """
    return _combined(x, y, _C_ops.add, "add")  # type: ignore[no-any-return]


def subtract(x: Sparse, y: Sparse, name: str | None = None) -> Sparse:
    """x - y, stored where either is.

    Raises TypeError for different kinds, ValueError for different shapes. Source: paddle.sparse.subtract.
    """
    return _combined(x, y, _C_ops.subtract, "subtract")  # type: ignore[no-any-return]


def multiply(x: Sparse, y: Sparse | float, name: str | None = None) -> Sparse:
    """x * y, stored where either is; y may be a number.

    Raises TypeError for different kinds, ValueError for different shapes. Source: paddle.sparse.multiply.
    """
    if isinstance(y, (int, float)):
        return sparse_of(x, "multiply").with_values(_C_ops.scale(x.values(), float(y), 0.0, True))  # type: ignore[no-any-return]
    return _combined(x, y, _C_ops.multiply, "multiply")  # type: ignore[no-any-return]


def _quotient(a: Tensor, b: Tensor) -> Tensor:
    if not (a.dtype.is_floating or a.dtype.is_complex):
        a = _C_ops.cast(a, dt.float32)
    if not (b.dtype.is_floating or b.dtype.is_complex):
        b = _C_ops.cast(b, dt.float32)
    return _C_ops.divide(a, b)


def divide(x: Sparse, y: Sparse | float, name: str | None = None) -> Sparse:
    """x / y, stored everywhere, as 0 / 0 is not a number; y may be a number, and then where x is. Integers become float32.

    Raises TypeError for different kinds, ValueError for different shapes. Source: paddle.sparse.divide.
    """
    if isinstance(y, (int, float)):
        values = sparse_of(x, "divide").values()
        return x.with_values(
            _quotient(values, _C_ops.full((), y, dt.float32 if values.dtype.is_integer else values.dtype))
        )  # type: ignore[no-any-return]
    return _combined(x, y, _quotient, "divide", everywhere=True)  # type: ignore[no-any-return]


def is_same_shape(x: Any, y: Any) -> bool:
    """Whether two tensors, dense or sparse, have the same shape. Source: paddle.sparse.is_same_shape."""
    return list(x.shape) == list(y.shape)


def mask_as(x: Tensor, mask: Sparse, name: str | None = None) -> Sparse:
    """The elements of a dense x at the positions of mask, zeros too.

    Raises TypeError for a sparse x, ValueError for different shapes. Source: paddle.sparse.mask_as.
    """
    sparse_of(mask, "mask_as", "mask")
    if isinstance(x, SparseTensor):
        raise TypeError(f"sparse.mask_as: expected a dense x, received {type(x).__name__}; use to_dense")
    if list(x.shape) != list(mask.shape):
        raise ValueError(
            f"sparse.mask_as: expected x and mask of one shape, received {list(x.shape)} and {list(mask.shape)}"
        )
    where = coordinates(mask)
    sparse = where.sparse_dim()
    flat = _C_ops.reshape(x, (math.prod(x.shape[:sparse]), *x.shape[sparse:]))
    return mask.with_values(taken(flat, where.linear()))
