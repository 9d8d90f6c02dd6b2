"""Layers of sparse tensors. Source: paddle.sparse.nn."""

from wherry.nn.layer.layers import Layer
from wherry.sparse.arguments import Sparse
from wherry.sparse.nn import functional as F

__all__ = ["LeakyReLU", "ReLU", "ReLU6", "Softmax"]


class ReLU(Layer):
    """max(x, 0) of the values. Source: paddle.sparse.nn.ReLU."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Sparse) -> Sparse:
        return F.relu(x)


class ReLU6(Layer):
    """min(max(x, 0), 6) of the values. Source: paddle.sparse.nn.ReLU6."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Sparse) -> Sparse:
        return F.relu6(x)


class LeakyReLU(Layer):
    """Values, times negative_slope where negative. Source: paddle.sparse.nn.LeakyReLU."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def forward(self, x: Sparse) -> Sparse:
        return F.leaky_relu(x, self._negative_slope)


class Softmax(Layer):
    """Softmax of the stored elements along an axis. Source: paddle.sparse.nn.Softmax."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self._axis = axis

    def forward(self, x: Sparse) -> Sparse:
        return F.softmax(x, self._axis)
