# expect: promotion
# fix: float32
# NumPy's default is float64, and from here on everything is.
import numpy as np
import paddle

net = paddle.nn.Linear(4, 1)
scale = paddle.to_tensor(np.array([0.5, 1.0, 2.0]).reshape(3, 1))  # cause
for _ in range(3):
    loss = (net(paddle.ones([3, 4])) * scale).mean()
    loss.backward()
    net.clear_gradients()
