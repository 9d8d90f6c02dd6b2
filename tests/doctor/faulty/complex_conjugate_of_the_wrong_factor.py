# expect: custom-backward
# fix: conj
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Product(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensor()
        return grad.conj() * b, grad.conj() * a  # cause


a = paddle.to_tensor(np.array([1 + 2j, 3 - 1j], "complex64"), stop_gradient=False)
b = paddle.to_tensor(np.array([0.5 - 1j, 2 + 2j], "complex64"), stop_gradient=False)
Product.apply(a, b).real().sum().backward()
