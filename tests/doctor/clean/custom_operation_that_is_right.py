import paddle
from paddle.autograd import PyLayer


class Softplus(PyLayer):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return paddle.log1p(paddle.exp(x * beta)) / beta

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * paddle.nn.functional.sigmoid(x * ctx.beta)


x = paddle.randn([5])
x.stop_gradient = False
for _ in range(3):
    Softplus.apply(x, 2.0).sum().backward()
    x.clear_grad()
