# expect: wrong-axis
# fix: axis=-1
# Axis 0 is the batch; the probabilities of a class over all samples add up to one.
import paddle
import paddle.nn.functional as F

net = paddle.nn.Linear(4, 3)
label = paddle.to_tensor([0, 2, 1, 1])
scores = net(paddle.rand([4, 4]))
log_probability = F.log_softmax(scores, axis=0)  # cause
loss = F.nll_loss(log_probability, label)
loss.backward()
