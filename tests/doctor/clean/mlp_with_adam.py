import paddle
from paddle import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
total = 0.0
for _ in range(8):
    loss = nn.functional.cross_entropy(net(paddle.rand([6, 4])), paddle.randint(0, 3, [6]))
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    total += loss.item()
net.eval()
with paddle.no_grad():
    print(total, net(paddle.rand([2, 4])).argmax(-1).shape)
