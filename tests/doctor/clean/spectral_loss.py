import paddle

signal = paddle.rand([16])
signal.stop_gradient = False
for _ in range(4):
    spectrum = paddle.fft.rfft(signal)
    loss = (spectrum * spectrum.conj()).real().mean() + spectrum.abs().mean()
    loss.backward()
    with paddle.no_grad():
        signal.set_value(signal - 0.1 * signal.grad)
    signal.clear_grad()
