import paddle
from paddle.autograd import PyLayer


class Round(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return paddle.round(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Reverse(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -grad


x = paddle.rand([4]) * 3.0
x.stop_gradient = False
Reverse.apply(Round.apply(x) * 2.0).sum().backward()
