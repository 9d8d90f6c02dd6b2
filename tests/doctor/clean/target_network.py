import paddle

online, target = paddle.nn.Linear(4, 2), paddle.nn.Linear(4, 2)
target.set_state_dict(online.state_dict())
for p in target.parameters():
    p.stop_gradient = True
optimizer = paddle.optimizer.Adam(1e-3, parameters=online.parameters())
for _ in range(6):
    x = paddle.rand([3, 4])
    loss = (online(x) - target(x).detach()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    with paddle.no_grad():
        for slow, quick in zip(target.parameters(), online.parameters()):
            slow.set_value(0.9 * slow + 0.1 * quick)
