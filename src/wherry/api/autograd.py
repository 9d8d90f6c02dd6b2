"""The autograd functions of the top-level namespace."""

from wherry.autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from wherry.autograd.run import grad

__all__ = ["enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
METHODS: tuple[str, ...] = ()
