# expect: error
# fix: astype
# Counts are integers, weights floating: Paddle has no promotion for the two.
import paddle

counts = paddle.to_tensor([3, 1, 2])
weights = paddle.rand([3])
print((counts * weights).sum())  # cause
