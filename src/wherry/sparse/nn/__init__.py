"""Functions of networks of sparse tensors. Source: paddle.sparse.nn."""

from wherry.sparse.nn import functional
from wherry.sparse.nn.layer import LeakyReLU, ReLU, ReLU6, Softmax

__all__ = ["LeakyReLU", "ReLU", "ReLU6", "Softmax", "functional"]
