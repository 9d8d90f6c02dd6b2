"""Activations and attention of sparse tensors. Source: paddle.sparse.nn.functional."""

from wherry.sparse.nn.functional.activation import leaky_relu, relu, relu6, softmax
from wherry.sparse.nn.functional.attention import attention

__all__ = ["attention", "leaky_relu", "relu", "relu6", "softmax"]
