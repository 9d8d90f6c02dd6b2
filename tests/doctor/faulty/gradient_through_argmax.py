# expect: none-grad
# fix: softmax
# argmax has no derivative; the embedding of its result is all that learns.
import paddle

scorer = paddle.nn.Linear(4, 5)
table = paddle.nn.Embedding(5, 3)
optimizer = paddle.optimizer.SGD(0.1, parameters=scorer.parameters() + table.parameters())
choice = scorer(paddle.rand([2, 4])).argmax(-1)  # cause
loss = table(choice).square().mean()
loss.backward()
optimizer.step()
