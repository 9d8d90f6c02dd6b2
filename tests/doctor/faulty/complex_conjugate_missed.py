# expect: custom-backward
# fix: conj
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Square(PyLayer):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensor()
        return grad * 2 * z  # cause


z = paddle.to_tensor(np.array([1 + 2j, 3 - 1j], "complex64"), stop_gradient=False)
Square.apply(z).abs().sum().backward()
