"""Public products of matrices and vectors, where Paddle's signature is not the entry's."""

import math
from typing import Any

from wherry import _C_ops
from wherry.api.creation import assign
from wherry.core.einsum import explicit
from wherry.tensor.tensor import Tensor

__all__ = ["baddbmm", "baddbmm_", "einsum", "ger", "inner", "mm", "outer", "tensordot", "vander", "vecdot"]
METHODS = ["baddbmm", "baddbmm_", "ger", "inner", "mm", "outer", "tensordot", "vander"]


def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """Matrix product, as `matmul` without its transposes. Source: paddle.mm."""
    return _C_ops.matmul(input, mat2, False, False)


def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Sums of products over the last axes of x and y, whose sizes must agree; a tensor of one element multiplies.

    Shape x.shape[:-1] + y.shape[:-1]. Source: paddle.inner.
    """
    if x.size == 1 or y.size == 1:
        return _C_ops.multiply(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"expected the last sizes of x and y to be equal, received shapes {list(x.shape)} and {list(y.shape)}"
        )
    rows = _C_ops.reshape(x, [math.prod(x.shape[:-1]), x.shape[-1]])
    columns = _C_ops.reshape(y, [math.prod(y.shape[:-1]), y.shape[-1]])
    product = _C_ops.matmul(rows, columns, False, True)
    return _C_ops.reshape(product, list(x.shape[:-1]) + list(y.shape[:-1]))


def outer(x: Tensor, y: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Products of every element of x with every one of y, both taken flat: shape [x.size, y.size].

    Source: paddle.outer.
    """
    product = _C_ops.multiply(_C_ops.reshape(x, [x.size, 1]), _C_ops.reshape(y, [1, y.size]))
    return product if out is None else assign(product, out)


def ger(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The same as `outer`, for vectors. Source: paddle.ger."""
    return outer(x, y)


def vecdot(x: Tensor, y: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Sum of conj(x) * y along an axis; shapes broadcast. Source: paddle.vecdot."""
    left = _C_ops.conj(x) if x.dtype.is_complex else x
    return _C_ops.sum(_C_ops.multiply(left, y), [axis], None, False)


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sum of products of the operands, by an equation of letters for their axes, as "bij,bjk->bik".

    Spaces count for nothing; `...` stands for leading axes that broadcast; a letter that comes twice in a term takes
    the diagonal; without `->` the output has, in alphabetical order, the letters that come once. Raises ValueError for
    an equation that does not fit, TypeError for operands of different dtypes. Source: paddle.einsum.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        raise TypeError(f"expected an equation as text, received {type(equation).__name__}")
    return _C_ops.einsum(list(operands), explicit(equation, tuple(len(o.shape) for o in operands)))


def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """Sums of products over pairs of axes of x and y.

    `axes`: a number n (the last n of x with the first n of y), one list for both, or two lists, the shorter filled up
    from the longer. Shape: what is left of x, then of y. Raises ValueError where paired sizes differ. Source:
    paddle.tensordot.
    """
    left, right = _paired_axes(axes, x.ndim)
    xs, ys = list(x.shape), list(y.shape)
    left = [axis % x.ndim for axis in left]
    right = [axis % y.ndim for axis in right]
    for a, b in zip(left, right):
        # Sizes of 1 broadcast, as in Paddle: the other is summed first.
        if xs[a] != ys[b]:
            if xs[a] == 1:
                y = _C_ops.sum(y, [b], None, True)
            elif ys[b] == 1:
                x = _C_ops.sum(x, [a], None, True)
            else:
                raise ValueError(f"expected equal sizes in axis {a} of x and {b} of y, received shapes {xs} and {ys}")
            xs, ys = list(x.shape), list(y.shape)
    free_x = [i for i in range(x.ndim) if i not in left]
    free_y = [i for i in range(y.ndim) if i not in right]
    depth = math.prod(xs[i] for i in left)
    rows = _C_ops.reshape(_C_ops.transpose(x, free_x + left), [math.prod(xs[i] for i in free_x), depth])
    columns = _C_ops.reshape(_C_ops.transpose(y, right + free_y), [depth, math.prod(ys[i] for i in free_y)])
    return _C_ops.reshape(_C_ops.matmul(rows, columns), [xs[i] for i in free_x] + [ys[i] for i in free_y])


def _paired_axes(axes: Any, ndim: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"expected axes >= 0, received {axes}")
        return list(range(ndim - axes, ndim)), list(range(axes))
    lists = [a.tolist() if isinstance(a, Tensor) else a for a in axes]
    if not lists or isinstance(lists[0], int):
        return list(lists), list(lists)
    left = list(lists[0])
    right = list(lists[1]) if len(lists) > 1 else list(left)
    if len(left) < len(right):
        left += right[len(left) :]
    else:
        right += left[len(right) :]
    return left, right


def baddbmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """beta * input + alpha * bmm(x, y); input broadcasts to the product's shape. Source: paddle.baddbmm."""
    product = _C_ops.bmm(x, y)
    return _C_ops.add(input * beta, product if alpha == 1.0 else product * alpha)


def baddbmm_(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """`baddbmm` that overwrites input. Source: paddle.baddbmm_."""
    input[...] = baddbmm(input, x, y, beta, alpha)
    return input


def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """Matrix whose columns are the powers n - 1 to 0 (or, increasing, 0 to n - 1) of the vector x; square without n.

    Raises ValueError for x of other than one dimension or a negative n. Source: paddle.vander.
    """
    if x.ndim != 1:
        raise ValueError(f"expected x of 1 dimension, received shape {list(x.shape)}")
    count = x.shape[0] if n is None else n
    if count < 0:
        raise ValueError(f"expected n >= 0, received {n}")
    if count == 0:
        return _C_ops.full([x.shape[0], 0], 0, x.dtype)
    columns = [_C_ops.full_like(x, 1)]
    for _ in range(count - 1):
        columns.append(_C_ops.multiply(columns[-1], x))
    return _C_ops.stack(columns if increasing else columns[::-1], 1)
