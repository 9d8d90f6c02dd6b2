# expect: complex
# fix: abs
# A magnitude was meant; the cast keeps the real part alone.
import paddle

signal = paddle.rand([16])
signal.stop_gradient = False
spectrum = paddle.fft.fft(signal)
magnitude = spectrum.astype("float32")  # cause
magnitude.sum().backward()
