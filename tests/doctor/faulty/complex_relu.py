# expect: error
# fix:
# Complex numbers have no order, so there is no relu of them.
import paddle

spectrum = paddle.fft.fft(paddle.rand([16]))
print(paddle.nn.functional.relu(spectrum))  # cause
