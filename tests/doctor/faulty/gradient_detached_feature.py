# expect: none-grad
# fix: detach
# The encoder is meant to learn too, but its output is detached.
import paddle

encoder, head = paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=encoder.parameters() + head.parameters())
for _ in range(2):
    feature = paddle.tanh(encoder(paddle.rand([3, 4])))
    score = head(feature.detach())  # cause
    score.mean().backward()
    optimizer.step()
    optimizer.clear_grad()
