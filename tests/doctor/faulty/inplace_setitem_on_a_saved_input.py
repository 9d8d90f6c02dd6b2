# expect: inplace
# fix: clone
# The product saves both factors.
import paddle

x = paddle.rand([4])
x.stop_gradient = False
a = x * 2.0
b = a * a
a[0] = 0.0  # cause
b.sum().backward()
