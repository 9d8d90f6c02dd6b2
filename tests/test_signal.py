"""Frames, short-time Fourier transforms and windows: values of SciPy and NumPy, round trips, gradients, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.signal import windows

import wherry as paddle
from wherry import signal
from wherry.autograd import gradcheck, gradgradcheck

WAVE = np.random.default_rng(3).standard_normal((2, 20))
HANN = paddle.to_tensor(windows.hann(6, sym=False) + 0.1)


def stft(x: np.ndarray, window: np.ndarray, n_fft: int, hop: int, onesided: bool = True) -> np.ndarray:
    """Frame by frame."""
    frames = range(0, x.shape[-1] - n_fft + 1, hop)
    transform = np.fft.rfft if onesided else np.fft.fft
    return np.stack([transform(x[..., i : i + n_fft] * window) for i in frames], -1)


@pytest.mark.parametrize("axis", [-1, 0])
def test_frames_and_their_sum(axis: int) -> None:
    x = paddle.arange(8, dtype="float64")
    frames = signal.frame(x, 4, 2, axis)
    expected = np.array([[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]])
    np.testing.assert_array_equal(frames.numpy(), expected.T if axis else expected)
    np.testing.assert_array_equal(signal.overlap_add(frames, 2, axis).numpy(), [0, 1, 4, 6, 8, 10, 6, 7])
    batch = signal.frame(paddle.arange(12).reshape([2, 6] if axis else [6, 2]), 3, 2, axis)
    assert batch.shape == ([2, 3, 2] if axis else [2, 3, 2])
    assert signal.overlap_add(batch, 2, axis).shape == ([2, 5] if axis else [5, 2])


def test_transforms_equal_those_of_the_frames() -> None:
    x = paddle.to_tensor(WAVE)
    plain = signal.stft(x, 8, 3, center=False)
    np.testing.assert_allclose(plain.numpy(), stft(WAVE, np.ones(8), 8, 3), atol=1e-12)
    window = np.pad(HANN.numpy(), (1, 1))
    padded = np.pad(WAVE, ((0, 0), (4, 4)), mode="reflect")
    found = signal.stft(x, 8, win_length=6, window=HANN, normalized=True)
    np.testing.assert_allclose(found.numpy(), stft(padded, window, 8, 2) / np.sqrt(8), atol=1e-12)
    zeros = np.pad(WAVE[0], 4)
    found = signal.stft(x[0], 8, pad_mode="constant", onesided=False)
    np.testing.assert_allclose(found.numpy(), stft(zeros, np.ones(8), 8, 2, False), atol=1e-12)
    wave = WAVE + 1j * WAVE[::-1]
    found = signal.stft(paddle.to_tensor(wave), 5, 2, center=False)
    np.testing.assert_allclose(found.numpy(), stft(wave, np.ones(5), 5, 2, False), atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window": HANN, "win_length": 6, "hop_length": 2},
        {"normalized": True, "onesided": False},
        {"n_fft": 7, "hop_length": 1},
    ],
)
def test_inverse_transforms_give_the_signal_back(options: dict[str, Any]) -> None:
    options = {"n_fft": 8, **options}
    found = signal.istft(signal.stft(paddle.to_tensor(WAVE), **options), **options, length=20).numpy()
    np.testing.assert_allclose(found, WAVE, atol=1e-12)


def test_inverse_of_complex_signals() -> None:
    wave = paddle.to_tensor(WAVE + 1j * WAVE[::-1])
    options: dict[str, Any] = {"n_fft": 4, "hop_length": 2, "onesided": False, "center": False}
    found = signal.istft(signal.stft(wave, **options), **options, return_complex=True)
    np.testing.assert_allclose(found.numpy(), wave.numpy(), atol=1e-12)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "frame": lambda x: signal.frame(x, 4, 3),
    "frame, first axis": lambda x: signal.frame(x, 2, 1, 0),
    "overlap_add": lambda x: signal.overlap_add(x.reshape([2, 5, 4]), 2),
    "stft": lambda x: signal.stft(x, 6, window=HANN),
    "istft": lambda x: signal.istft(paddle.complex(x.reshape([1, 5, 8])[:, :, :4], x.reshape([1, 5, 8])[:, :, 4:]), 8),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    x = paddle.to_tensor(WAVE, stop_gradient=False)
    assert gradcheck(FUNCTIONS[name], (x,), edges=False)
    assert gradgradcheck(FUNCTIONS[name], (x,), edges=False)


def test_the_window_has_a_gradient() -> None:
    window = paddle.to_tensor(HANN.numpy(), stop_gradient=False)
    assert gradcheck(lambda w: signal.stft(paddle.to_tensor(WAVE), 6, window=w), (window,), edges=False)


@pytest.mark.parametrize(
    "name",
    ["bartlett", "blackman", "bohman", "cosine", "hamming", "hann", "nuttall", "taylor", "triang", "tukey"]
    + [("gaussian", 7), ("general_gaussian", 1, 7), ("kaiser", 14.0), ("exponential", None, 2.0), ("tukey", 0.3)],
)
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_equal_their_definitions(name: Any, periodic: bool) -> None:
    word, parameters = (name, ()) if isinstance(name, str) else (name[0], name[1:])
    length = 9
    whole = getattr(windows, word)(length + periodic, *parameters)
    found = paddle.audio.functional.get_window(name, length, periodic)
    assert found.dtype is paddle.float64
    np.testing.assert_allclose(found.numpy(), whole[:length], rtol=1e-12, atol=1e-15)
    assert paddle.audio.functional.get_window(name, 1, dtype="float32").numpy().tolist() == [1.0]


def test_a_hann_window() -> None:
    found = paddle.audio.functional.get_window("hann", 4)
    np.testing.assert_allclose(found.numpy(), [0.0, 0.5, 1.0, 0.5], atol=1e-15)


X = paddle.to_tensor(WAVE)
SPECTRA = signal.stft(X, 8)
WINDOW = paddle.audio.functional.get_window
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "long frame": (lambda: signal.frame(X, 21, 1), ValueError, "received 21"),
    "frame axis": (lambda: signal.frame(X, 2, 1, 1), ValueError, "axis 0 or -1, received 1"),
    "hop of a frame": (lambda: signal.frame(X, 2, 0), ValueError, "hop_length to be a positive integer"),
    "long hop": (lambda: signal.overlap_add(X, 3), ValueError, "at most the frame's 2, received 3"),
    "n_fft": (lambda: signal.stft(X, 21), ValueError, r"n_fft in \(0, 20\]"),
    "pad_mode": (lambda: signal.stft(X, 4, pad_mode="x"), ValueError, "received 'x'"),
    "window": (lambda: signal.stft(X, 4, window=HANN), ValueError, r"window of shape \[4\], received \[6\]"),
    "win_length": (lambda: signal.stft(X, 4, win_length=5), ValueError, r"win_length in \(0, n_fft = 4\]"),
    "onesided": (lambda: signal.stft(SPECTRA[0], 4, onesided=True), ValueError, "onesided=False for a complex"),
    "real spectra": (lambda: signal.istft(X, 4), TypeError, "complex tensor, received float64"),
    "frequencies": (lambda: signal.istft(SPECTRA, 4), ValueError, "expected 3 frequencies"),
    "gaps": (
        lambda: signal.istft(SPECTRA, 8, window=paddle.zeros([8], dtype="float64")),
        ValueError,
        "1e-11 everywhere",
    ),
    "window name": (lambda: WINDOW("x", 4), ValueError, "received 'x'"),
    "window parameters": (lambda: WINDOW("kaiser", 4), ValueError, "a tuple of 'kaiser' and 1 parameters"),
    "window length": (lambda: WINDOW("hann", -1), ValueError, "received -1"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, error, message = REFUSALS[name]
    with pytest.raises(error, match=message):
        call()
