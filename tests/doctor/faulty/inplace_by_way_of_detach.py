# expect: inplace
# fix: clone
# detach shares the memory.
import paddle

x = paddle.rand([4])
x.stop_gradient = False
y = paddle.sigmoid(x)
for_the_log = y.detach()
for_the_log.scale_(100.0)  # cause
y.sum().backward()
