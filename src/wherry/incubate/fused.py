"""Functions that Paddle computes in one kernel. Source: paddle.incubate.operators."""

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["identity_loss", "softmax_mask_fuse", "softmax_mask_fuse_upper_triangle"]


def softmax_mask_fuse(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """Softmax of x + mask along the last axis; they broadcast, and the mask has no gradient. Source: paddle.incubate.softmax_mask_fuse."""
    total = _C_ops.add(x, mask.detach())
    return _C_ops.softmax(total, -1) if total.size else total


def softmax_mask_fuse_upper_triangle(x: Tensor) -> Tensor:
    """Softmax along the last axis of each matrix's lower triangle and diagonal, 0 above it.

    x: [..., rows, columns], floating. Source: paddle.incubate.softmax_mask_fuse_upper_triangle.
    """
    above = _C_ops.triu(_C_ops.full(tuple(x.shape[-2:]), 1.0, "float32"), 1)
    masked = _C_ops.masked_fill(x, _C_ops.cast(above, "bool"), float("-inf"))
    return _C_ops.softmax(masked, -1)


def identity_loss(x: Tensor, reduction: str | int = "none") -> Tensor:
    """The end of a loss: its "sum" (0), "mean" (1), or itself ("none", 2). Raises TypeError for another reduction.

    Source: paddle.incubate.identity_loss.
    """
    chosen = {"sum": 0, "mean": 1, "none": 2}.get(reduction.lower()) if isinstance(reduction, str) else reduction
    if chosen not in (0, 1, 2):
        raise TypeError(f"identity_loss: expected reduction 'sum', 'mean' or 'none', received {reduction!r}")
    if chosen == 2:
        return _C_ops.assign(x)
    return _C_ops.sum(x, (), None, False) if chosen == 0 else _C_ops.mean(x, (), False)
