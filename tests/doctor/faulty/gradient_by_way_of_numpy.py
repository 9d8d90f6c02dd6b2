# expect: none-grad
# fix: to_tensor
# The values go through NumPy, the history does not.
import numpy as np
import paddle

encoder, head = paddle.nn.Linear(4, 4), paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=encoder.parameters() + head.parameters())
feature = encoder(paddle.rand([3, 4]))
clipped = np.clip(feature.numpy(), -1, 1)  # cause
loss = head(paddle.to_tensor(clipped)).mean()
loss.backward()
optimizer.step()
