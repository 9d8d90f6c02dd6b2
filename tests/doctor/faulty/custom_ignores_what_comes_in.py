# expect: custom-backward
# fix: Derive
import paddle
from paddle.autograd import PyLayer


class Scale(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 3.0

    @staticmethod
    def backward(ctx, grad):
        return paddle.full_like(grad, 3.0)  # cause


x = paddle.rand([4])
x.stop_gradient = False
(Scale.apply(x) * paddle.arange(4).astype("float32")).sum().backward()
