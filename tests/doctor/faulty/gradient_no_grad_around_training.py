# expect: none-grad
# fix: no_grad
# The block that was meant for evaluation holds the forward pass of training.
import paddle

encoder, head = paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=encoder.parameters() + head.parameters())
x = paddle.rand([3, 4])
with paddle.no_grad():  # cause
    feature = encoder(x)
loss = head(feature).mean()
loss.backward()
optimizer.step()
