# expect: inplace
# fix:
# The bias is reset between forward and backward.
import paddle

net = paddle.nn.Linear(4, 1)
loss = net(paddle.rand([3, 4])).square().mean()
with paddle.no_grad():
    net.bias.fill_(0.5)  # cause
loss.backward()
