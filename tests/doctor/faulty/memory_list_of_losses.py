# expect: leak
# fix: item
# Every loss keeps its whole graph.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
losses = []
for _ in range(8):
    loss = net(paddle.rand([3, 4])).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(loss)  # cause
print(sum(float(loss) for loss in losses))
