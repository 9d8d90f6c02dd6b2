# expect: stale-grad
# fix: clear_grad
# Each step uses the sum of all gradients so far.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
for _ in range(4):
    loss = net(paddle.rand([3, 4])).square().mean()
    loss.backward()
    optimizer.step()  # cause
