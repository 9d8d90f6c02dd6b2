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
    norm = ops.reshape(ops.p_norm(x, 2.0, (), False), shape)
    clipped = ops.greater_than(norm, max_norm)
    # Where x is not clipped its norm may be zero: divide by one instead.
    safe = ops.where(clipped, norm, 1.0)
    unit = ops.divide(x, safe)
    along = ops.reshape(ops.sum(ops.multiply(unit, out_grad), (), None, False), shape)
    turned = ops.multiply(
        ops.divide(ops.full_like(safe, max_norm), safe), ops.subtract(out_grad, ops.multiply(along, unit))
    )
    return ops.where(ops.expand(clipped, x_meta.shape), turned, out_grad)
