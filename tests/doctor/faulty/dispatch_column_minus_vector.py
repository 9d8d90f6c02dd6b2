# expect: broadcast
# fix: squeeze
# The network gives [N, 1], the targets are [N]: the difference is [N, N].
import paddle

net = paddle.nn.Linear(4, 1)
target = paddle.rand([6])
for _ in range(2):
    prediction = net(paddle.rand([6, 4]))
    loss = paddle.mean((prediction - target) ** 2)  # cause
    loss.backward()
    net.clear_gradients()
