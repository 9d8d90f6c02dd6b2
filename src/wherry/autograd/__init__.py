"""Autograd: the public names of paddle.autograd. The engine's own modules are beside this file."""

from wherry.autograd import py_layer
from wherry.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from wherry.autograd.jacobian import Hessian, Jacobian, hessian, jacobian
from wherry.autograd.modes import enable_grad, is_grad_enabled, no_grad, saved_tensors_hooks, set_grad_enabled
from wherry.autograd.pylayer import PyLayer, PyLayerContext
from wherry.autograd.run import backward, grad

# Paddle's other name of it.
Function = PyLayer

__all__ = [
    "Function",
    "GradcheckError",
    "Hessian",
    "Jacobian",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "py_layer",
    "saved_tensors_hooks",
    "set_grad_enabled",
]
