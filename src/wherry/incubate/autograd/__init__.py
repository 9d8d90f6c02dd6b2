"""paddle.incubate.autograd: derivatives of functions."""

from wherry.incubate.autograd.functional import Hessian, Jacobian, jvp, vjp
from wherry.incubate.autograd.primitives import disable_prim, enable_prim, forward_grad, grad, prim_enabled

__all__ = ["Hessian", "Jacobian", "disable_prim", "enable_prim", "forward_grad", "grad", "jvp", "prim_enabled", "vjp"]
