"""Distances between rows. Source: paddle.tensor.linalg, paddle.nn.functional.distance."""

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.infermeta.common import broadcast_shapes
from wherry.tensor.tensor import Tensor

__all__ = ["cdist", "pdist"]
METHODS = ["cdist"]

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def cdist(
    x: Tensor,
    y: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
    name: str | None = None,
) -> Tensor:
    """The p-norms of the differences between each row of x and each row of y.

    x: [..., m, size], y: [..., n, size]; the result is [..., m, n], the axes before broadcast. Floating tensors; p >= 0 may be infinite.
    compute_mode: whether Euclidean distances are taken by a matrix product, which needs less memory and loses digits of small distances;
    "..._if_necessary" does for more than 25 rows. The gradient at distance 0 is 0. Raises ValueError for shapes, p or a mode that do not fit.
    Source: paddle.cdist.
    """
    if compute_mode not in _MODES:
        raise ValueError(f"cdist: expected compute_mode to be one of {', '.join(_MODES)}, received {compute_mode!r}")
    for tensor, which in ((x, "x"), (y, "y")):
        if not tensor.dtype.is_floating:
            raise TypeError(f"cdist: expected a floating tensor for {which}, received {tensor.dtype.name}; cast it")
        if tensor.ndim < 2:
            raise ValueError(
                f"cdist: expected at least two dimensions for {which}, received shape {list(tensor.shape)}"
            )
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"cdist: expected rows of one length, received shapes {list(x.shape)} and {list(y.shape)}")
    if not p >= 0:
        raise ValueError(f"cdist: expected p of at least 0, received {p}")
    rows, others = x.shape[-2], y.shape[-2]
    if rows == 0 or others == 0 or x.shape[-1] == 0:
        lead = broadcast_shapes(x.impl.meta.shape[:-2], y.impl.meta.shape[:-2])
        return _C_ops.full((*lead, rows, others), 0.0, x.dtype)
    by_product = compute_mode == _MODES[1] or (compute_mode == _MODES[0] and (rows > 25 or others > 25))
    if p == 2.0 and by_product:
        return _euclidean(x, y)
    differences = _C_ops.subtract(_C_ops.unsqueeze(x, (-2,)), _C_ops.unsqueeze(y, (-3,)))
    return _C_ops.p_norm(differences, float(p), (-1,), False)


def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    """By |x|^2 + |y|^2 - 2 x y."""
    own = _C_ops.sum(_C_ops.square(x), (-1,), None, True)
    other = _C_ops.unsqueeze(_C_ops.sum(_C_ops.square(y), (-1,), None, False), (-2,))
    squares = _C_ops.add(_C_ops.add(_C_ops.scale(_C_ops.matmul(x, y, False, True), -2.0), other), own)
    # The root has no derivative at 0; rounding may even leave less.
    there = _C_ops.greater_than(squares, _C_ops.full((), 0.0, squares.dtype))
    root = _C_ops.sqrt(_C_ops.where(there, squares, _C_ops.full((), 1.0, squares.dtype)))
    return _C_ops.where(there, root, _C_ops.full((), 0.0, squares.dtype))


def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """The p-norms of the differences between each two rows of a matrix, those of the first row first.

    x: [n, size], floating; the result has n (n - 1) / 2 elements. The gradient at distance 0 is 0. Raises ValueError for another number of
    dimensions. Source: paddle.pdist.
    """
    if x.ndim != 2:
        raise ValueError(f"pdist: expected two dimensions, received shape {list(x.shape)}")
    if not x.dtype.is_floating:
        raise TypeError(f"pdist: expected a floating tensor, received {x.dtype.name}; cast it")
    pairs = _C_ops.triu_indices(x.shape[0], x.shape[0], 1, dt.int64)
    first, second = _C_ops.unbind(pairs, 0)
    return _C_ops.p_norm(
        _C_ops.subtract(_C_ops.gather(x, first, 0), _C_ops.gather(x, second, 0)), float(p), (-1,), False
    )
