# expect: complex
# fix: real
# A complex number has no order; backward takes its real part.
import paddle

signal = paddle.rand([16])
signal.stop_gradient = False
spectrum = paddle.fft.fft(signal)
loss = (spectrum * spectrum).mean()
loss.backward()  # cause
