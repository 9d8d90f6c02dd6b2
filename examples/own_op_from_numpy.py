"""An operation of your own from NumPy functions: forward, derivative, second derivative; then checked."""

import numpy as np

import wherry as paddle
from wherry import library
from wherry.autograd import gradcheck, gradgradcheck


@library.custom_op(inplace=True)
def cube(x, scale: float = 1.0):
    """scale * x^3, element by element."""
    return scale * x**3


@cube.grad
def cube_grad(x, scale, out_grad):
    return 3 * scale * x**2 * out_grad


@cube_grad.grad
def cube_double_grad(x, scale, out_grad, x_grad_grad):
    return 6 * scale * x * out_grad * x_grad_grad, 3 * scale * x**2 * x_grad_grad


if __name__ == "__main__":
    x = paddle.to_tensor([1.0, -2.0, 0.5], dtype="float64", stop_gradient=False)
    y = cube(x, scale=2.0)
    y.sum().backward()
    print("cube:", y.tolist(), "gradient:", x.grad.tolist())
    assert x.grad.tolist() == [6.0, 24.0, 1.5]
    assert gradcheck(cube, x)
    assert gradgradcheck(cube, x)
    with paddle.amp.auto_cast(custom_white_list=["cube"], dtype="bfloat16"):
        print("under auto_cast:", cube(paddle.ones([2])).dtype)
    half = np.float16(1.5)
    print("float16:", cube(paddle.to_tensor([half])).tolist())
