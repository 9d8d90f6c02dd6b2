import paddle
from paddle import nn

net = nn.Sequential(
    nn.Conv2D(1, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(64, 5)
)
optimizer = paddle.optimizer.Momentum(0.01, parameters=net.parameters(), weight_decay=1e-4)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(paddle.rand([4, 1, 8, 8])), paddle.randint(0, 5, [4]))
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
