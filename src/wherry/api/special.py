"""Special functions whose signature differs from the entry's, or that are made of others. Source: paddle.tensor.math."""

import math

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = ["logit", "logit_", "multigammaln", "multigammaln_", "stanh"]
METHODS = __all__


def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """log(x / (1 - x)), element by element; x is brought into [eps, 1 - eps] first.

    Shape of x. Floating dtypes; integers give float32. Without eps NaN outside [0, 1]; the gradient of an element that eps moves is 0.
    Source: paddle.logit.
    """
    return _C_ops.logit(x, 0.0 if eps is None else float(eps))


def logit_(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """In-place `logit`: the result is written to x. Source: paddle.logit_."""
    return _C_ops.logit_(x, 0.0 if eps is None else float(eps))


def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """scale_b * tanh(scale_a * x), element by element.

    Shape of x. Floating and complex dtypes; integers give float32. Source: paddle.stanh.
    """
    if not x.dtype.is_differentiable:
        x = _C_ops.cast(x, "float32")
    return _C_ops.scale(_C_ops.tanh(_C_ops.scale(x, scale_a)), scale_b)


def multigammaln(x: Tensor, p: int, name: str | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p, element by element.

    Shape of x; floating dtypes, above (p - 1) / 2. Raises ValueError for p < 1. Source: paddle.multigammaln.
    """
    if p < 1:
        raise ValueError(f"multigammaln: expected p of at least 1, received {p}")
    if not x.dtype.is_floating:
        raise TypeError(f"multigammaln: expected a floating tensor, received {x.dtype.name}; cast it")
    total = _C_ops.lgamma(x)
    for j in range(1, p):
        total = _C_ops.add(total, _C_ops.lgamma(_C_ops.scale(x, 1.0, -0.5 * j)))
    return _C_ops.scale(total, 1.0, 0.25 * p * (p - 1) * math.log(math.pi))


def multigammaln_(x: Tensor, p: int, name: str | None = None) -> Tensor:
    """In-place `multigammaln`: the result is written to x. Source: paddle.multigammaln_."""
    # From a copy: what is written to may not be what the derivative needs.
    x[...] = multigammaln(_C_ops.assign(x), p)
    return x
