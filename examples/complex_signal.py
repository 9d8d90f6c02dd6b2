"""Identify an unknown complex filter from what it does to signals, by gradient descent through the FFT.

    python examples/complex_signal.py [--steps N] [--seed N] [--quick]

A system turns x into y = h * x (circular convolution) plus noise. Only x and y are known; h, complex, is found by fitting.
"""

import argparse
import sys

import numpy as np
import paddle
from paddle import nn

TAPS = 12
LENGTH = 128
SIGNALS = 32
NOISE = 0.01


def system(random):
    """The filter to be found: decaying taps of random phase."""
    taps = np.exp(-0.3 * np.arange(TAPS)) * np.exp(2j * np.pi * random.random_sample(TAPS))
    return taps.astype("complex64")


def convolve(signals, taps):
    """Circular convolution, term by term, in NumPy: the reference that the fitted model knows nothing of."""
    return sum(tap * np.roll(signals, delay, axis=-1) for delay, tap in enumerate(taps)).astype("complex64")


def complex_noise(random, shape):
    return ((random.standard_normal(shape) + 1j * random.standard_normal(shape)) / np.sqrt(2)).astype("complex64")


class ComplexFilter(nn.Layer):
    """A filter of complex taps, held as two real parameters and applied in the frequency domain."""

    def __init__(self, taps):
        super().__init__()
        start = nn.initializer.Normal(0.0, 0.1)
        self.real = self.create_parameter([taps], default_initializer=start)
        self.imag = self.create_parameter([taps], default_initializer=start)

    def taps(self):
        return paddle.complex(self.real, self.imag)

    def forward(self, signals):
        response = paddle.fft.fft(self.taps(), n=signals.shape[-1])
        return paddle.fft.ifft(paddle.fft.fft(signals) * response)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=300, help="optimizer steps (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the system, the signals and the start (default: 0)")
    parser.add_argument("--quick", action="store_true", help="100 steps")
    options = parser.parse_args()
    steps = 100 if options.quick else options.steps

    paddle.seed(options.seed)
    random = np.random.RandomState(options.seed)
    true_taps = system(random)
    inputs = complex_noise(random, (SIGNALS, LENGTH))
    outputs = convolve(inputs, true_taps) + NOISE * complex_noise(random, (SIGNALS, LENGTH))
    x, y = paddle.to_tensor(inputs), paddle.to_tensor(outputs.astype("complex64"))

    model = ComplexFilter(TAPS)
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(0.05, T_max=steps)
    optimizer = paddle.optimizer.Adam(learning_rate=schedule, parameters=model.parameters())
    print(f"{SIGNALS} signals of {LENGTH} complex samples, {TAPS} complex taps, noise power {NOISE**2:.1e}")
    for step in range(1, steps + 1):
        error = model(x) - y
        loss = (error.real() ** 2 + error.imag() ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        if step % (steps // 10) == 0:
            print(f"step {step:4d}/{steps}  mean squared error {float(loss):.3e}")

    found = model.taps().numpy()
    print("  tap        true               found")
    for i, (t, f) in enumerate(zip(true_taps, found)):
        print(f"  {i:3d}  {t.real:+.4f}{t.imag:+.4f}j  {f.real:+.4f}{f.imag:+.4f}j")
    distance = np.linalg.norm(found - true_taps) / np.linalg.norm(true_taps)
    print(f"relative distance from the true filter {distance:.2e}")
    if distance > (0.1 if options.quick else 0.01):
        sys.exit("the filter was not recovered")


if __name__ == "__main__":
    main()
