"""Windows. Source: paddle.audio.functional.window."""

from typing import Any

from wherry.api.creation import to_tensor
from wherry.tensor.tensor import Tensor

# name: how many parameters it must have.
_WINDOWS = {
    "bartlett": 0,
    "blackman": 0,
    "bohman": 0,
    "cosine": 0,
    "exponential": 0,
    "gaussian": 1,
    "general_cosine": 1,
    "general_gaussian": 2,
    "general_hamming": 1,
    "hamming": 0,
    "hann": 0,
    "kaiser": 1,
    "nuttall": 0,
    "taylor": 0,
    "triang": 0,
    "tukey": 0,
}


def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: str = "float64") -> Tensor:
    """A window of a name, or of a tuple of name and parameters, of `win_length` elements.

    Names: bartlett, blackman, bohman, cosine, exponential (center, tau), gaussian (std), general_cosine (weights), general_gaussian
    (p, sig), general_hamming (alpha), hamming, hann, kaiser (beta), nuttall, taylor (nbar, sll, norm), triang, tukey (alpha). fftbins: one
    period of a periodic window; else symmetric. Raises ValueError for another name, missing parameters or a negative length. Source:
    paddle.audio.functional.get_window.
    """
    if not isinstance(window, (str, tuple)) or not window:
        raise ValueError(f"expected window to be a name or a tuple of name and parameters, received {window!r}")
    name, parameters = (window, ()) if isinstance(window, str) else (window[0], window[1:])
    if name not in _WINDOWS:
        raise ValueError(f"expected window to be one of {', '.join(_WINDOWS)}, received {name!r}")
    if len(parameters) < _WINDOWS[name]:
        raise ValueError(f"expected a tuple of {name!r} and {_WINDOWS[name]} parameters, received {window!r}")
    if int(win_length) != win_length or win_length < 0:
        raise ValueError(f"expected win_length to be an integer of at least 0, received {win_length!r}")
    from scipy.signal import windows

    values = getattr(windows, name)(int(win_length), *parameters, sym=not fftbins)
    return to_tensor(values, dtype=dtype)
