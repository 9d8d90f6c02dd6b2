# expect: inplace
# fix: out-of-place
# exp saves its output for backward.
import paddle

x = paddle.rand([4])
x.stop_gradient = False
y = paddle.exp(x)
y.add_(paddle.ones([4]))  # cause
y.sum().backward()
