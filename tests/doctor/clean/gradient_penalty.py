import paddle

net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for _ in range(5):
    x = paddle.rand([3, 4])
    x.stop_gradient = False
    (slope,) = paddle.grad(net(x).sum(), x, create_graph=True)
    loss = (slope.square().sum(-1) - 1.0).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
