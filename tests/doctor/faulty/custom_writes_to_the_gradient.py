# expect: custom-backward
# fix: new tensors
import paddle
from paddle.autograd import PyLayer


class Double(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, grad):
        return grad.scale_(2.0)  # cause


x = paddle.rand([4])
x.stop_gradient = False
y = x * 1.0
(Double.apply(y) * y).sum().backward()
