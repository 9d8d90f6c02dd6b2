import paddle

body, first, second = (paddle.nn.Linear(4, 4) for _ in range(3))
parameters = [p for layer in (body, first, second) for p in layer.parameters()]
optimizer = paddle.optimizer.SGD(0.1, parameters=parameters)
for _ in range(4):
    feature = paddle.tanh(body(paddle.rand([3, 4])))
    first(feature).mean().backward(retain_graph=True)
    second(feature).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
