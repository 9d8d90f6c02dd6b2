# expect: leak
# fix:
# A cache that is never emptied.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
cache = {}
for step in range(8):
    out = net(paddle.rand([3, 4]))
    cache[step] = out  # cause
    out.square().mean().backward()
    optimizer.step()
    optimizer.clear_grad()
