# expect: custom-backward
# fix: save_for_backward
import paddle
from paddle.autograd import PyLayer


class Exponential(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.out = paddle.exp(x)  # cause
        return ctx.out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.out


x = paddle.rand([4])
x.stop_gradient = False
Exponential.apply(x).sum().backward()
