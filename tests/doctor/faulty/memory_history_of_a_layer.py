# expect: leak
# fix: detach
# The layer remembers its outputs for a plot, graphs included.
import paddle
from paddle import nn


class Remembering(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.history = []

    def forward(self, x):
        out = self.linear(x)
        self.history.append(out)  # cause
        return out


net = Remembering()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for _ in range(8):
    net(paddle.rand([3, 4])).square().mean().backward()
    optimizer.step()
    optimizer.clear_grad()
