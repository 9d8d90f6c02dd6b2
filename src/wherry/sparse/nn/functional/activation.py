"""Activations of sparse tensors. Source: paddle.sparse.nn.functional."""

import numpy as np

from wherry import _C_ops
from wherry.api.sparse_tensor import SparseCooTensor, SparseCsrTensor, gathered_sum, linear_index, taken
from wherry.infermeta.common import canonical_axis
from wherry.sparse.arguments import Sparse, coordinates, sparse_of
from wherry.sparse.unary import on_values
from wherry.tensor.tensor import Tensor

__all__ = ["leaky_relu", "relu", "relu6", "softmax"]


def relu(x: Sparse, name: str | None = None) -> Sparse:
    """max(x, 0) of the values. Source: paddle.sparse.nn.functional.relu."""
    return on_values(x, _C_ops.relu, "nn.functional.relu")  # type: ignore[no-any-return]


def relu6(x: Sparse, name: str | None = None) -> Sparse:
    """min(max(x, 0), 6) of the values. Source: paddle.sparse.nn.functional.relu6."""
    return on_values(x, _C_ops.relu6, "nn.functional.relu6")  # type: ignore[no-any-return]


def leaky_relu(x: Sparse, negative_slope: float = 0.01, name: str | None = None) -> Sparse:
    """Values, times negative_slope where negative. Source: paddle.sparse.nn.functional.leaky_relu."""
    return on_values(x, lambda v: _C_ops.leaky_relu(v, negative_slope), "nn.functional.leaky_relu")  # type: ignore[no-any-return]


def softmax(x: Sparse, axis: int = -1, name: str | None = None) -> Sparse:
    """exp(value) over its sum along the axis; what is not stored counts as minus infinity.

    Raises NotImplementedError for an axis of compressed rows other than the last, ValueError for one that x has not.
    Source: paddle.sparse.nn.functional.softmax.
    """
    sparse_of(x, "nn.functional.softmax")
    place = canonical_axis(axis, x.ndim)
    if isinstance(x, SparseCsrTensor) and place != x.ndim - 1:
        raise NotImplementedError(
            f"sparse.nn.functional.softmax: the argument 'axis' of compressed rows is supported as -1 only, received {axis}; use "
            "to_sparse_coo"
        )
    if isinstance(x, SparseCooTensor):
        x = x.coalesce()
    coo = coordinates(x)
    sparse = coo.sparse_dim()
    if place >= sparse:
        return x.with_values(_C_ops.softmax(x.values(), place - sparse + 1))
    others = [a for a in range(sparse) if a != place]
    group = linear_index(coo.positions()[others], [x.shape[a] for a in others])
    return x.with_values(softmax_of_groups(x.values(), group))


def softmax_of_groups(values: Tensor, group: np.ndarray) -> Tensor:
    """Softmax among the values of each group, along the first axis."""
    _, inverse, counts = np.unique(group, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    held = values.detach().numpy()
    starts = np.cumsum(counts) - counts
    # The shift cancels, so it needs no gradient; it only keeps exp finite.
    largest = np.maximum.reduceat(held[order], starts, axis=0) if counts.size else held
    shift = Tensor(largest[inverse].astype(held.dtype), dtype=values.dtype)
    grown = _C_ops.exp(_C_ops.subtract(values, shift))
    total = gathered_sum(grown, inverse, counts.size)
    return _C_ops.divide(grown, taken(total, inverse))
