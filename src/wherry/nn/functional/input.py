"""Embedding and one-hot. Source: paddle.nn.functional.input."""

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["embedding", "one_hot"]


def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Tensor:
    """A row of the weight for each index.

    x: integers of any shape; weight: [rows, width]. padding_idx: this index gives zeros and its row no gradient (negative ones count from
    the end). sparse: has no effect on values; gradients are dense. Raises IndexError for an index outside the rows,
    NotImplementedError for max_norm and scale_grad_by_freq. Source: paddle.nn.functional.embedding.
    """
    if max_norm is not None:
        raise NotImplementedError("embedding: the argument 'max_norm' is not supported")
    if scale_grad_by_freq:
        raise NotImplementedError("embedding: the argument 'scale_grad_by_freq' is not supported")
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -rows <= padding_idx < rows:
            raise ValueError(f"embedding: expected padding_idx in [{-rows}, {rows}), received {padding_idx}")
        padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    return _C_ops.embedding(x, weight, padding_idx)


def one_hot(x: Tensor, num_classes: int, name: str | None = None) -> Tensor:
    """1.0 at the class of each element, along a new last axis of num_classes; num_classes=-1 takes the largest class.

    Raises TypeError for x that is not integers, ValueError for a class outside the range. Source: paddle.nn.functional.one_hot.
    """
    count = int(num_classes)
    if count == -1:
        count = int(_C_ops.max(x, (), False)) + 1
    return _C_ops.one_hot(x, count)
