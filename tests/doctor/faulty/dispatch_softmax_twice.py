# expect: double-softmax
# fix: raw scores
# cross_entropy applies softmax itself.
import paddle
import paddle.nn.functional as F
from paddle import nn


class Classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        return F.softmax(self.out(x))  # cause


net = Classifier()
loss = F.cross_entropy(net(paddle.rand([4, 4])), paddle.to_tensor([0, 2, 1, 1]))
loss.backward()
