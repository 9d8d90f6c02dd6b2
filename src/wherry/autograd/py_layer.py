"""paddle.autograd.py_layer: where Paddle keeps PyLayer."""

from wherry.autograd.pylayer import PyLayer, PyLayerContext, once_differentiable

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]
