"""An operation of your own from an entry in Paddle's YAML, with kernels registered beside it."""

import numpy as np

import wherry as paddle
from wherry import library
from wherry.autograd import gradcheck

ops = library.load_ops("""
- op : stanh_like
  args : (Tensor x, float scale_a=0.67f, float scale_b=1.7159f)
  output : Tensor(out)
  infer_meta :
    func : UnchangedInferMeta
    param : [x]
  kernel :
    func : stanh_like
  inplace : (x -> out)
  backward : stanh_like_grad

- backward_op : stanh_like_grad
  forward : stanh_like (Tensor x, float scale_a, float scale_b) -> Tensor(out)
  args : (Tensor x, Tensor out_grad, float scale_a, float scale_b)
  output : Tensor(x_grad)
  infer_meta :
    func : UnchangedInferMeta
    param : [x]
  kernel :
    func : stanh_like_grad
""")


@library.kernel("stanh_like", ("float32", "float64"))
def stanh_like(x, scale_a, scale_b):
    return scale_b * np.tanh(scale_a * x)


@library.kernel("stanh_like_grad", ("float32", "float64"))
def stanh_like_grad(x, out_grad, scale_a, scale_b):
    return out_grad * scale_a * scale_b * (1 - np.tanh(scale_a * x) ** 2)


if __name__ == "__main__":
    x = paddle.to_tensor([-1.0, 0.0, 2.0], dtype="float64", stop_gradient=False)
    y = ops.stanh_like(x)
    y.sum().backward()
    print("stanh_like:", y.numpy().round(4), "gradient:", x.grad.numpy().round(4))
    assert gradcheck(ops.stanh_like, x)
    z = x.detach().clone()
    ops.stanh_like_(z)
    assert z.tolist() == y.tolist()
