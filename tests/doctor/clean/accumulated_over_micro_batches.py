import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for _ in range(4):
    for _ in range(3):
        loss = net(paddle.rand([2, 4])).square().mean() / 3
        loss.backward()
    optimizer.step()
    optimizer.clear_grad()
