# expect: inplace
# fix: after backward
# The gradient belongs to the old weights, the step is taken from the new ones.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
loss = net(paddle.rand([3, 4])).square().mean()
net.weight.set_value(paddle.zeros([4, 1]))  # cause
loss.backward()
optimizer.step()
