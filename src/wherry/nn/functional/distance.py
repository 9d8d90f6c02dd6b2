"""Distances. Source: paddle.nn.functional.distance."""

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["pairwise_distance"]


def pairwise_distance(
    x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """The p-norm of x - y + epsilon over the last axis; x and y broadcast.

    p: any real number, or plus or minus infinity. Source: paddle.nn.functional.pairwise_distance.
    """
    difference = _C_ops.subtract(x, y)
    if epsilon != 0.0:
        difference = _C_ops.scale(difference, 1.0, epsilon, True)
    return _C_ops.p_norm(difference, float(p), (-1,), keepdim)
