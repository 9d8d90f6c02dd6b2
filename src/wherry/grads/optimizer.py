"""Derivative rules of gradient clipping's norms."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value


def squared_l2_norm_grad(ops: Ops, x: Value, x_meta: Meta, out_grad: Value) -> Value:
    """2 * out_grad * x: for complex x the gradient dL/dRe + i dL/dIm is the same."""
    scale = ops.cast(ops.scale(out_grad, 2.0), x_meta.dtype)
    return ops.multiply(ops.expand(ops.reshape(scale, (1,) * x_meta.ndim), x_meta.shape), x)


def clip_by_norm_grad(ops: Ops, x: Value, x_meta: Meta, out_grad: Value, max_norm: float) -> Value:
    """out_grad scaled, less its part along x, where x is clipped: with n = |x|, (max_norm / n) * (g - x (x . g) / n^2)."""
    shape = (1,) * x_meta.ndim
    squares = ops.cast(ops.squared_l2_norm(x), x_meta.dtype)
    inner = ops.reshape(ops.sum(ops.multiply(x, out_grad), (), None, False), (1,))
    clipped = ops.greater_than(squares, ops.full((1,), max_norm * max_norm, x_meta.dtype))
    # Where x is not clipped its norm may be zero: divide by one instead.
    safe = ops.where(clipped, squares, ops.full((1,), 1.0, x_meta.dtype))
    along = ops.reshape(ops.divide(inner, safe), shape)
    factor = ops.reshape(ops.divide(ops.full((1,), max_norm, x_meta.dtype), ops.sqrt(safe)), shape)
    turned = ops.multiply(factor, ops.subtract(out_grad, ops.multiply(along, x)))
    mask = ops.expand(ops.reshape(clipped, shape), x_meta.shape)
    return ops.where(mask, turned, out_grad)
