# expect: custom-backward
# fix: shape
import paddle
from paddle.autograd import PyLayer


class AddBias(PyLayer):
    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, grad):
        return grad, grad  # cause


x, bias = paddle.rand([5, 3]), paddle.rand([3])
x.stop_gradient = bias.stop_gradient = False
AddBias.apply(x, bias).sum().backward()
