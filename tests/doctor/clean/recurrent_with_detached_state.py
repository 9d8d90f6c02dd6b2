import paddle

cell = paddle.nn.Linear(6, 4)
optimizer = paddle.optimizer.SGD(0.1, parameters=cell.parameters())
state = paddle.zeros([2, 4])
for _ in range(6):
    outputs = []
    for _ in range(3):
        state = paddle.tanh(cell(paddle.concat([paddle.rand([2, 2]), state], -1)))
        outputs.append(state)
    paddle.stack(outputs).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
    state = state.detach()
