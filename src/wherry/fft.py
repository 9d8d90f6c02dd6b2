"""Fourier transforms. Source: paddle.fft."""

from collections.abc import Sequence

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dtype import convert_dtype
from wherry.infermeta.common import complex_dtype
from wherry.infermeta.fft import NORMALIZATIONS
from wherry.tensor.tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def fft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Discrete Fourier transform along one axis.

    `n` crops the axis or pads it with zeros first. `norm` says which direction is divided by the size: "backward" (the
    inverse), "forward", or "ortho" (both, by its root). A real x is taken as complex; integers count as the default
    float. Complex output of x's shape (n in the axis). Raises ValueError for an axis, n or norm that cannot be. Source:
    paddle.fft.fft.
    """
    return _to_complex(x, _sizes(n), (axis,), norm, True)


def ifft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Inverse of `fft`, with the same arguments. Source: paddle.fft.ifft."""
    return _to_complex(x, _sizes(n), (axis,), norm, False)


def rfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Transform of a real signal along one axis: the n // 2 + 1 frequencies from 0 up, the rest being their conjugates.

    Arguments as for `fft`. Raises TypeError for a complex x. Source: paddle.fft.rfft.
    """
    return _real_to_complex(x, _sizes(n), (axis,), norm, True)


def irfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Inverse of `rfft`: the real signal of `n` values (2 * (size - 1) where n is None) with these frequencies.

    Arguments as for `fft`. Source: paddle.fft.irfft.
    """
    return _complex_to_real(x, _sizes(n), (axis,), norm, False)


def hfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Transform of a signal that is conjugate symmetric around 0, given by its first half: real, of `n` values.

    Arguments as for `irfft`. Source: paddle.fft.hfft.
    """
    return _complex_to_real(x, _sizes(n), (axis,), norm, True)


def ihfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None) -> Tensor:
    """Inverse of `hfft`: the first half of the conjugate symmetric signal whose transform is the real x.

    Arguments as for `rfft`. Source: paddle.fft.ihfft.
    """
    return _real_to_complex(x, _sizes(n), (axis,), norm, False)


def fftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """Discrete Fourier transform along several axes (all, or the last len(s)).

    `s` crops the axes or pads them with zeros first. `norm` as for `fft`. Raises ValueError where s and axes differ in
    length, or an axis comes twice. Source: paddle.fft.fftn.
    """
    return _to_complex(x, s, axes, norm, True)


def ifftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """Inverse of `fftn`, with the same arguments. Source: paddle.fft.ifftn."""
    return _to_complex(x, s, axes, norm, False)


def rfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`rfft` along the last of the axes, then `fft` along the others; arguments as for `fftn`.

    Source: paddle.fft.rfftn.
    """
    return _real_to_complex(x, s, axes, norm, True)


def irfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """Inverse of `rfftn`; `s` holds the sizes of the real signal. Source: paddle.fft.irfftn."""
    return _complex_to_real(x, s, axes, norm, False)


def hfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`hfft` along the last of the axes after `fft` along the others; arguments as for `irfftn`.

    Source: paddle.fft.hfftn.
    """
    return _complex_to_real(x, s, axes, norm, True)


def ihfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """Inverse of `hfftn`; arguments as for `rfftn`. Source: paddle.fft.ihfftn."""
    return _real_to_complex(x, s, axes, norm, False)


def fft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`fftn` along two axes. Source: paddle.fft.fft2."""
    return _to_complex(x, s, _two(x, s, axes), norm, True)


def ifft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`ifftn` along two axes. Source: paddle.fft.ifft2."""
    return _to_complex(x, s, _two(x, s, axes), norm, False)


def rfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`rfftn` along two axes. Source: paddle.fft.rfft2."""
    return _real_to_complex(x, s, _two(x, s, axes), norm, True)


def irfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`irfftn` along two axes. Source: paddle.fft.irfft2."""
    return _complex_to_real(x, s, _two(x, s, axes), norm, False)


def hfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`hfftn` along two axes. Source: paddle.fft.hfft2."""
    return _complex_to_real(x, s, _two(x, s, axes), norm, True)


def ihfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
) -> Tensor:
    """`ihfftn` along two axes. Source: paddle.fft.ihfft2."""
    return _real_to_complex(x, s, _two(x, s, axes), norm, False)


def fftfreq(n: int, d: float = 1.0, dtype: object = None, name: str | None = None) -> Tensor:
    """The n frequencies of `fft` in its order, for samples `d` apart: 0 and up, then the negative ones.

    The default float unless dtype is another floating one. Raises ValueError where n < 1 or d is 0. Source:
    paddle.fft.fftfreq.
    """
    _check_spacing(n, d)
    index = _C_ops.arange(0, n, 1, dt.float64)
    half = (n + 1) // 2
    wrapped = index - (index >= half).astype("float64") * n
    return (wrapped * (1.0 / (n * d))).astype(_frequency_dtype(dtype))


def rfftfreq(n: int, d: float = 1.0, dtype: object = None, name: str | None = None) -> Tensor:
    """The n // 2 + 1 frequencies of `rfft`, for samples `d` apart.

    The default float unless dtype is another floating one. Raises ValueError where n < 1 or d is 0. Source:
    paddle.fft.rfftfreq.
    """
    _check_spacing(n, d)
    index = _C_ops.arange(0, n // 2 + 1, 1, dt.float64)
    return (index * (1.0 / (n * d))).astype(_frequency_dtype(dtype))


def fftshift(x: Tensor, axes: Sequence[int] | int | None = None, name: str | None = None) -> Tensor:
    """Roll the axes (all where None) so that frequency 0 stands in the middle. Source: paddle.fft.fftshift."""
    return _shifted(x, axes, False)


def ifftshift(x: Tensor, axes: Sequence[int] | int | None = None, name: str | None = None) -> Tensor:
    """Undo `fftshift`. Source: paddle.fft.ifftshift."""
    return _shifted(x, axes, True)


def _shifted(x: Tensor, axes: Sequence[int] | int | None, back: bool) -> Tensor:
    shape = x.shape
    if axes is None:
        axes = range(len(shape))
    elif isinstance(axes, int):
        axes = (axes,)
    shifts = [-(shape[axis] // 2) if back else shape[axis] // 2 for axis in axes]
    return _C_ops.roll(x, shifts, list(axes))


def _check_spacing(n: int, d: float) -> None:
    if n < 1 or d == 0:
        raise ValueError(f"expected n >= 1 and d other than 0, received n {n} and d {d}")


def _frequency_dtype(dtype: object) -> dt.DataType:
    if dtype is None:
        return get_default()
    found = convert_dtype(dtype)
    return found if found.is_floating else get_default()


def _sizes(n: int | None) -> tuple[int] | None:
    return None if n is None else (n,)


def _two(x: Tensor, s: Sequence[int] | None, axes: Sequence[int]) -> Sequence[int]:
    if x.ndim < 2:
        raise ValueError(f"expected a tensor of 2 dimensions or more, received shape {list(x.shape)}")
    if axes is None:
        axes = (-2, -1)
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise ValueError(f"expected axes of 2 integers, received {axes!r}")
    if s is not None and len(s) != 2:
        raise ValueError(f"expected s of 2 integers, received {s!r}")
    return axes


def _axes_and_sizes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The axes counted from the front and the sizes asked for, checked; None where no size is asked for."""
    if norm not in NORMALIZATIONS:
        raise ValueError(f"expected a norm of {list(NORMALIZATIONS)}, received {norm!r}")
    ndim = x.ndim
    if s is not None:
        if isinstance(s, int) or any(not isinstance(size, int) or size < 1 for size in s):
            raise ValueError(f"expected sizes that are integers >= 1, received {s!r}")
        s = tuple(s)
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    elif isinstance(axes, int):
        raise ValueError(f"expected a sequence of axes, received {axes}; write [{axes}]")
    if s is not None and len(s) != len(axes):
        raise ValueError(f"expected as many sizes as axes, received {len(s)} sizes and {len(axes)} axes")
    if len(axes) == 0 or ndim == 0:
        raise ValueError(f"expected at least one axis to transform, received {list(axes)} of shape {list(x.shape)}")
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(f"expected axes in [{-ndim}, {ndim}) for shape {list(x.shape)}, received {axis}")
    return tuple(axis % ndim for axis in axes), s


def _resize(x: Tensor, axes: tuple[int, ...], sizes: tuple[int, ...] | None) -> Tensor:
    if sizes is None or all(x.shape[axis] == size for axis, size in zip(axes, sizes)):
        return x
    return _C_ops.fft_resize(x, axes, sizes)


def _floating(x: Tensor) -> Tensor:
    return x.astype(get_default()) if x.dtype.is_integer or x.dtype.is_bool else x


def _to_complex(x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool) -> Tensor:
    where, sizes = _axes_and_sizes(x, s, axes, norm)
    x = _resize(_floating(x), where, sizes)
    if x.dtype.is_complex:
        return _C_ops.fft_c2c(x, where, norm, forward)
    return _C_ops.fft_r2c(x, where, norm, forward, False)


def _real_to_complex(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool
) -> Tensor:
    if x.dtype.is_complex:
        raise TypeError(f"expected a real tensor, received {x.dtype.name}; use fft, ifft or their like")
    where, sizes = _axes_and_sizes(x, s, axes, norm)
    return _C_ops.fft_r2c(_resize(_floating(x), where, sizes), where, norm, forward, True)


def _complex_to_real(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool
) -> Tensor:
    where, sizes = _axes_and_sizes(x, s, axes, norm)
    x = _floating(x)
    if not x.dtype.is_complex:
        x = x.astype(complex_dtype(x.dtype))
    last = 0 if sizes is None else sizes[-1]
    spectrum = None if sizes is None else sizes[:-1] + (sizes[-1] // 2 + 1,)
    return _C_ops.fft_c2r(_resize(x, where, spectrum), where, norm, forward, last)
