"""Short-time Fourier transforms. Source: paddle.signal."""

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.tensor.tensor import Tensor

__all__ = ["istft", "stft"]


def _positive(value: int, name: str, function: str) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{function}: expected {name} to be a positive integer, received {value!r}")


def _end(axis: int, function: str) -> None:
    if axis not in (0, -1):
        raise ValueError(f"{function}: expected axis 0 or -1, received {axis!r}")


def frame(x: Tensor, frame_length: int, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """Overlapping windows of a signal, one every `hop_length` elements.

    axis: -1 takes [..., length] to [..., frame_length, frames], 0 takes [length, ...] to [frames, frame_length, ...]. Raises ValueError for
    a frame longer than the signal, lengths that are not positive, or another axis. Source: paddle.signal.frame.
    """
    _end(axis, "frame")
    _positive(frame_length, "frame_length", "frame")
    _positive(hop_length, "hop_length", "frame")
    if x.ndim == 0 or frame_length > x.shape[axis]:
        raise ValueError(
            f"frame: expected frame_length of at most the signal's length, received {frame_length} for {list(x.shape)}"
        )
    last = x.ndim - 1
    windows = _C_ops.tensor_unfold(x, last if axis == -1 else 0, frame_length, hop_length)
    if axis == -1:
        order = (*range(last), last + 1, last)
    else:
        order = (0, last + 1, *range(1, last + 1))
    return _C_ops.assign(_C_ops.transpose(windows, order))


def overlap_add(x: Tensor, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """A signal put together from windows that lie `hop_length` elements apart and add up where they overlap.

    axis: -1 takes [..., frame_length, frames] to [..., length], 0 takes [frames, frame_length, ...] to [length, ...]. Raises ValueError for
    fewer than two dimensions, a hop longer than the windows, or another axis. Source: paddle.signal.overlap_add.
    """
    _end(axis, "overlap_add")
    _positive(hop_length, "hop_length", "overlap_add")
    if x.ndim < 2:
        raise ValueError(f"overlap_add: expected at least two dimensions, received shape {list(x.shape)}")
    last = x.ndim - 1
    frame_length, frames = (x.shape[-2], x.shape[-1]) if axis == -1 else (x.shape[1], x.shape[0])
    if hop_length > frame_length:
        raise ValueError(
            f"overlap_add: expected hop_length of at most the frame's {frame_length}, received {hop_length}"
        )
    length = (frames - 1) * hop_length + frame_length if frames else 0
    if axis == -1:
        windows = _C_ops.transpose(x, (*range(last - 1), last, last - 1))
        place, shape = last - 1, (*x.shape[:-2], length)
    else:
        windows = _C_ops.transpose(x, (0, *range(2, last + 1), 1))
        place, shape = 0, (length, *x.shape[2:])
    return _C_ops.tensor_unfold_grad(windows, place, frame_length, hop_length, shape)


def _window(window: Tensor | None, win_length: int, n_fft: int, dtype: dt.DataType, function: str) -> Tensor:
    """The window, with zeros on both sides up to n_fft."""
    if not 0 < win_length <= n_fft:
        raise ValueError(f"{function}: expected win_length in (0, n_fft = {n_fft}], received {win_length}")
    if window is None:
        window = _C_ops.full((win_length,), 1.0, dtype)
    elif list(window.shape) != [win_length]:
        raise ValueError(f"{function}: expected a window of shape [{win_length}], received {list(window.shape)}")
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    return _C_ops.pad(window, (left, n_fft - win_length - left), 0.0)


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Fourier transforms of overlapping windows of signals, [signal, frequency, frame].

    x: [length] or [signals, length], real or complex. n_fft: the size of each transform. hop_length: from window to window (default
    n_fft // 4). window: a factor for each of win_length elements (default: n_fft ones), in the middle of the n_fft. center: x is padded with
    n_fft // 2 elements on both sides, by `pad_mode` "reflect" or "constant", so that windows are centred. normalized: divided by the root of
    n_fft. onesided: the n_fft // 2 + 1 frequencies from 0 up (the default for real x). Raises ValueError for arguments that do not fit.
    Source: paddle.signal.stft.
    """
    if x.ndim not in (1, 2):
        raise ValueError(f"stft: expected one or two dimensions, received shape {list(x.shape)}")
    if not x.dtype.is_differentiable:
        x = _C_ops.cast(x, dt.float32)
    signals = _C_ops.unsqueeze(x, (0,)) if x.ndim == 1 else x
    hop_length = n_fft // 4 if hop_length is None else hop_length
    if not 0 < n_fft <= x.shape[-1]:
        raise ValueError(f"stft: expected n_fft in (0, {x.shape[-1]}], the signal's length, received {n_fft}")
    if hop_length <= 0:
        raise ValueError(f"stft: expected hop_length > 0, received {hop_length}")
    window = _window(window, n_fft if win_length is None else win_length, n_fft, x.dtype, "stft")
    if center:
        signals = _padded(signals, n_fft // 2, pad_mode)
    frames = _C_ops.tensor_unfold(signals, 1, n_fft, hop_length)
    frames = _C_ops.multiply(frames, window)
    is_complex = frames.dtype.is_complex
    if is_complex and onesided:
        raise ValueError("stft: expected onesided=False for a complex signal or window, received True")
    norm = "ortho" if normalized else "backward"
    if is_complex:
        out = _C_ops.fft_c2c(frames, (-1,), norm, True)
    else:
        out = _C_ops.fft_r2c(frames, (-1,), norm, True, onesided is None or onesided)
    out = _C_ops.transpose(out, (0, 2, 1))
    return _C_ops.squeeze(out, (0,)) if x.ndim == 1 else out


def _padded(signals: Tensor, count: int, pad_mode: str) -> Tensor:
    if pad_mode not in ("reflect", "constant"):
        raise ValueError(f"stft: expected pad_mode 'reflect' or 'constant', received {pad_mode!r}")
    if pad_mode == "constant" or count == 0:
        return _C_ops.pad(signals, (0, 0, count, count), 0.0)
    length = signals.shape[-1]
    if count >= length:
        raise ValueError(
            f"stft: expected a signal longer than n_fft // 2 = {count} to reflect, received length {length}; "
            "use pad_mode='constant' or center=False"
        )
    # Reflected about the first and the last element.
    left = _C_ops.flip(_C_ops.slice(signals, (1,), (1,), (count + 1,)), (1,))
    right = _C_ops.flip(_C_ops.slice(signals, (1,), (length - count - 1,), (length - 1,)), (1,))
    return _C_ops.concat([left, signals, right], 1)


def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> Tensor:
    """The signals whose `stft` is x: by overlapping windows, divided by the sum of the squares of the window.

    x: complex, [frequency, frame] or [signals, frequency, frame]; other arguments as those of `stft`. length: how many elements are
    returned. return_complex: complex signals, with onesided=False. Raises ValueError for arguments that do not fit, and where the windows
    leave elements out (their squares add up to less than 1e-11). Source: paddle.signal.istft.
    """
    if not x.dtype.is_complex:
        raise TypeError(f"istft: expected a complex tensor, received {x.dtype.name}")
    if x.ndim not in (2, 3) or x.size == 0:
        raise ValueError(
            f"istft: expected two or three dimensions and at least one element, received shape {list(x.shape)}"
        )
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    window = _window(window, win_length, n_fft, dt.float32 if x.dtype is dt.complex64 else dt.float64, "istft")
    if not 0 < hop_length <= win_length:
        raise ValueError(f"istft: expected hop_length in (0, win_length = {win_length}], received {hop_length}")
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != expected:
        raise ValueError(
            f"istft: expected {expected} frequencies (onesided={onesided}), received shape {list(x.shape)}"
        )
    if return_complex and onesided:
        raise ValueError("istft: expected onesided=False with return_complex=True, received True")
    if window.dtype.is_complex and not return_complex:
        raise ValueError("istft: expected a real window, received a complex one; pass return_complex=True")
    spectra = _C_ops.transpose(_C_ops.unsqueeze(x, (0,)) if x.ndim == 2 else x, (0, 2, 1))
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = _C_ops.fft_c2c(spectra, (-1,), norm, False)
    else:
        half = _C_ops.slice(spectra, (2,), (0,), (n_fft // 2 + 1,))
        frames = _C_ops.fft_c2r(half, (-1,), norm, False, n_fft)
    count = x.shape[-1]
    frames = _C_ops.multiply(frames, window)
    total = (count - 1) * hop_length + n_fft
    out = _C_ops.tensor_unfold_grad(frames, 1, n_fft, hop_length, (frames.shape[0], total))
    squares = _C_ops.expand(_C_ops.square(window), (count, n_fft))
    envelope = _C_ops.tensor_unfold_grad(squares, 0, n_fft, hop_length, (total,))
    start = n_fft // 2 if center else 0
    end = total - start if length is None else min(start + length, total)
    out = _C_ops.slice(out, (1,), (start,), (end,))
    envelope = _C_ops.slice(envelope, (0,), (start,), (end,))
    least = _C_ops.abs(envelope)
    if envelope.size and float(_C_ops.min(least, (), False)) < 1e-11:
        raise ValueError(
            "istft: expected windows whose squares add up to more than 1e-11 everywhere, received some that leave elements "
            "out; use a smaller hop_length or another window"
        )
    out = _C_ops.divide(out, envelope)
    return _C_ops.squeeze(out, (0,)) if x.ndim == 2 else out
