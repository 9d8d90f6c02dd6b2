# expect: custom-backward
# fix:
import numpy as np
import paddle
from paddle.autograd import PyLayer


class Turn(PyLayer):
    @staticmethod
    def forward(ctx, z):
        return z * 1j

    @staticmethod
    def backward(ctx, grad):
        turned = grad * -1j
        return paddle.complex(turned.real(), paddle.zeros_like(turned.real()))  # cause


z = paddle.to_tensor(np.array([1 + 2j, 3 - 1j], "complex64"), stop_gradient=False)
Turn.apply(z).abs().sum().backward()
