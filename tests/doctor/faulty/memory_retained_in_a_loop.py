# expect: retained-graph
# fix: retain_graph
# Nobody goes back through the graph a second time.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for _ in range(4):
    loss = net(paddle.rand([3, 4])).square().mean()
    loss.backward(retain_graph=True)  # cause
    optimizer.step()
    optimizer.clear_grad()
