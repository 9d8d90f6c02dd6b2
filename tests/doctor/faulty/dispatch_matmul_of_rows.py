# expect: error
# fix: transpose
# Weights are stored [in, out]; the transpose is missing.
import paddle

x = paddle.rand([8, 4])
w = paddle.rand([3, 4])
print(paddle.matmul(x, w))  # cause
