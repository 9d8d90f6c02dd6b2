"""wherry.fft against SciPy: every function, norm and size; dtypes; refusals; gradients through the public functions."""

from typing import Any

import numpy as np
import pytest
import scipy.fft

import wherry as paddle
from wherry import fft

RNG = np.random.default_rng(5)
REAL = RNG.standard_normal((3, 4, 6))
COMPLEX = REAL + 1j * RNG.standard_normal((3, 4, 6))
NORMS = ("backward", "ortho", "forward")


def _input(name: str) -> Any:
    return (
        REAL if name.lstrip("i").startswith("rfft") and not name.startswith("ir") or name.startswith("ih") else COMPLEX
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name: str, norm: str) -> None:
    x = _input(name)
    for n in (None, 1, 3, 4, 9):
        for axis in (-1, 0, 1):
            if n is None and name in ("irfft", "hfft") and x.shape[axis] == 1:
                continue
            ours = getattr(fft, name)(paddle.to_tensor(x), n, axis, norm).numpy()
            np.testing.assert_allclose(ours, getattr(scipy.fft, name)(x, n, axis, norm), atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_several_axes(name: str, norm: str) -> None:
    x = _input(name)
    t = paddle.to_tensor(x)
    for s, axes in ((None, None), ((2, 5), None), (None, (2, 0)), ((5, 3), (-1, 1)), ((2, 5, 8), None)):
        ours = getattr(fft, name + "n")(t, s, axes, norm).numpy()
        np.testing.assert_allclose(ours, getattr(scipy.fft, name + "n")(x, s, axes, norm), atol=1e-12)
    for s, axes in ((None, (-2, -1)), ((3, 7), (0, 2))):
        ours = getattr(fft, name + "2")(t, s, axes, norm).numpy()
        np.testing.assert_allclose(ours, getattr(scipy.fft, name + "2")(x, s, axes, norm), atol=1e-12)


def test_real_inputs_of_complex_functions() -> None:
    np.testing.assert_allclose(fft.fft(paddle.to_tensor(REAL)).numpy(), scipy.fft.fft(REAL), atol=1e-12)
    np.testing.assert_allclose(fft.irfft(paddle.to_tensor(REAL)).numpy(), scipy.fft.irfft(REAL), atol=1e-12)
    ones = paddle.to_tensor([1, 2, 3])
    assert fft.fft(ones).dtype == paddle.complex64
    assert fft.rfft(ones).dtype == paddle.complex64
    assert fft.irfft(ones).dtype == paddle.float32
    assert fft.hfft(paddle.ones([3], "float64")).dtype == paddle.float64


def test_single_precision_stays() -> None:
    x = paddle.to_tensor(COMPLEX.astype("complex64"))
    assert fft.fft(x).dtype == paddle.complex64
    assert fft.irfft(x).dtype == paddle.float32
    assert fft.rfft(x.real()).dtype == paddle.complex64


def test_there_and_back() -> None:
    x = paddle.to_tensor(REAL)
    for n in (5, 6):
        cut = paddle.to_tensor(REAL[..., :n].copy())
        np.testing.assert_allclose(fft.irfft(fft.rfft(cut), n).numpy(), cut.numpy(), atol=1e-12)
    np.testing.assert_allclose(fft.ifftn(fft.fftn(x)).real().numpy(), REAL, atol=1e-12)


def test_frequencies_and_shifts() -> None:
    for n in (1, 2, 5, 6):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5, "float64").numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(fft.rfftfreq(n, 0.5, "float64").numpy(), np.fft.rfftfreq(n, 0.5))
    assert fft.fftfreq(4).dtype == paddle.float32
    t = paddle.to_tensor(REAL)
    for axes in (None, 0, (1, 2), [-1]):
        np.testing.assert_array_equal(fft.fftshift(t, axes).numpy(), np.fft.fftshift(REAL, axes))
        np.testing.assert_array_equal(fft.ifftshift(t, axes).numpy(), np.fft.ifftshift(REAL, axes))
    for n, d in ((0, 1.0), (3, 0.0)):
        with pytest.raises(ValueError, match="expected n >= 1"):
            fft.fftfreq(n, d)


@pytest.mark.parametrize(("n", "size"), [(None, 5), (None, 6), (4, 6), (9, 6), (3, 5)])
def test_gradient_of_the_power_spectrum(n: int | None, size: int) -> None:
    """By Parseval's theorem the gradient of sum |rfft(x)|^2, every frequency counted as often as it stands for, is 2 n x."""
    x = paddle.to_tensor(RNG.standard_normal(size), stop_gradient=False)
    spectrum = fft.rfft(x, n)
    length = size if n is None else n
    weight = np.full(length // 2 + 1, 2.0)
    weight[0] = 1.0
    if length % 2 == 0:
        weight[-1] = 1.0
    power = (spectrum.real() ** 2 + spectrum.imag() ** 2) * paddle.to_tensor(weight)
    power.sum().backward()
    expected = 2.0 * length * x.numpy()
    expected[length:] = 0.0
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-10)


def test_empty_inputs() -> None:
    assert fft.fft(paddle.zeros([0, 4])).shape == [0, 4]
    assert fft.rfft(paddle.zeros([2, 0])).shape == [2, 1]
    x = paddle.zeros([0, 4])
    x.stop_gradient = False
    fft.rfft(x).real().sum().backward()
    assert x.grad.shape == [0, 4]


def test_refusals() -> None:
    t = paddle.to_tensor(REAL)
    z = paddle.to_tensor(COMPLEX)
    for call in (
        lambda: fft.fft(t, norm="foo"),
        lambda: fft.fft(t, axis=3),
        lambda: fft.fft(t, n=0),
        lambda: fft.fft(paddle.to_tensor(1.0)),
        lambda: fft.fftn(t, s=(2,), axes=(0, 1)),
        lambda: fft.fftn(t, axes=(0, 0)),
        lambda: fft.fftn(t, axes=-1),  # type: ignore[arg-type]
        lambda: fft.fft2(t, axes=(0, 1, 2)),
        lambda: fft.fft2(t[0, 0]),
    ):
        with pytest.raises(ValueError, match="expected"):
            call()
    for call in (lambda: fft.rfft(z), lambda: fft.ihfftn(z)):
        with pytest.raises(TypeError, match="real"):
            call()
