"""Linear maps fused with a bias and an activation. Source: paddle.incubate.nn.functional.fused_matmul_bias."""

import math

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["fused_linear", "fused_linear_activation", "fused_matmul_bias"]


def _product_and_bias(
    x: Tensor, y: Tensor, bias: Tensor, transpose_x: bool, transpose_y: bool, function: str
) -> Tensor:
    if y.ndim != 2 or bias.ndim != 1 or x.ndim < 2:
        raise ValueError(
            f"{function}: with a bias expected x of at least two dimensions, a matrix y and a vector bias, received shapes "
            f"{list(x.shape)}, {list(y.shape)}, {list(bias.shape)}"
        )
    columns = y.shape[0] if transpose_y else y.shape[1]
    if bias.shape[0] != columns:
        raise ValueError(f"{function}: expected a bias of {columns} elements, received {bias.shape[0]}")
    if transpose_x and x.ndim > 2:
        # The fused operation takes all axes but the first as one: [k, ...] gives [..., columns].
        flat = _C_ops.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
        out = _C_ops.add(_C_ops.matmul(flat, y, True, transpose_y), bias)
        return _C_ops.reshape(out, (*x.shape[1:], columns))
    return _C_ops.add(_C_ops.matmul(x, y, transpose_x, transpose_y), bias)


def fused_matmul_bias(
    x: Tensor,
    y: Tensor,
    bias: Tensor | None = None,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Tensor:
    """x @ y + bias.

    With a bias, y is a matrix and bias a vector, and transpose_x takes all axes of x but the first as one; without, it is `matmul`.
    Raises ValueError for shapes that do not fit. Source: paddle.incubate.nn.functional.fused_matmul_bias.
    """
    if bias is None:
        return _C_ops.matmul(x, y, transpose_x, transpose_y)
    return _product_and_bias(x, y, bias, transpose_x, transpose_y, "fused_matmul_bias")


def fused_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, transpose_weight: bool = False, name: str | None = None
) -> Tensor:
    """x @ weight + bias; transpose_weight: x @ weight^T + bias.

    Raises ValueError for shapes that do not fit. Source: paddle.incubate.nn.functional.fused_linear.
    """
    return fused_matmul_bias(x, weight, bias, False, transpose_weight, name)


def fused_linear_activation(
    x: Tensor,
    y: Tensor,
    bias: Tensor,
    trans_x: bool = False,
    trans_y: bool = False,
    activation: str | None = None,
) -> Tensor:
    """activation(x @ y + bias), activation being None, "relu" or "gelu" (by the tanh formula, as the fused kernel has it).

    Raises ValueError for another activation, no bias, or shapes that do not fit.
    Source: paddle.incubate.nn.functional.fused_linear_activation.
    """
    if activation not in (None, "none", "relu", "gelu"):
        raise ValueError(
            f"fused_linear_activation: expected activation None, 'relu' or 'gelu', received {activation!r}"
        )
    if bias is None:
        raise ValueError("fused_linear_activation: expected a bias, received None; use fused_linear without one")
    out = _product_and_bias(x, y, bias, trans_x, trans_y, "fused_linear_activation")
    if activation == "relu":
        return _C_ops.relu(out)
    return _C_ops.gelu(out, True) if activation == "gelu" else out
