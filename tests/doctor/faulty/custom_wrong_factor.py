# expect: custom-backward
# fix: Derive
import paddle
from paddle.autograd import PyLayer


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 2 * x * x  # cause


x = paddle.rand([4])
x.stop_gradient = False
Cube.apply(x).sum().backward()
