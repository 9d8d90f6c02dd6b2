# expect: leak
# fix: item
# The running sum is a tensor, and its graph grows with every step.
import paddle


def train():
    net = paddle.nn.Linear(4, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    total = 0.0
    for _ in range(8):
        loss = net(paddle.rand([3, 4])).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total += loss  # cause
    print(float(total))


train()
