# expect: custom-backward
# fix: one for each
import paddle
from paddle.autograd import PyLayer


class Product(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensor()
        return grad * y  # cause


x, y = paddle.rand([4]), paddle.rand([4])
x.stop_gradient = y.stop_gradient = False
Product.apply(x, y).sum().backward()
