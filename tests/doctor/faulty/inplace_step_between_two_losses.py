# expect: inplace
# fix:
# The second loss was computed with the weights from before the step.
import paddle

body, head = paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=body.parameters() + head.parameters())
feature = body(paddle.rand([3, 4]))
first, second = head(feature).mean(), head(feature).square().mean()
first.backward(retain_graph=True)
optimizer.step()  # cause
second.backward()
