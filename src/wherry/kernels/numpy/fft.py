"""Fourier transforms, by NumPy's pocketfft (NumPy 1 computes in double precision, so results are cast back)."""

from typing import Final

import numpy as np

from wherry.core import dtype as dt
from wherry.core.sizes import c2r_size
from wherry.dispatch.kernel_factory import COMPLEX, FLOATING_OR_COMPLEX, kernel
from wherry.kernels.numpy.common import Array

REAL_PARTS: Final = (dt.float32, dt.float64)
# The normalisation of the inverse transform that has the same factor.
_MIRRORED: Final = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@kernel("fft_c2c", COMPLEX)
def fft_c2c(x: Array, axes: tuple[int, ...], normalization: str, forward: bool) -> Array:
    """Over several axes at once."""
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    function = np.fft.fftn if forward else np.fft.ifftn
    return np.asarray(function(x, axes=axes, norm=normalization)).astype(x.dtype, copy=False)


@kernel("fft_r2c", REAL_PARTS)
def fft_r2c(x: Array, axes: tuple[int, ...], normalization: str, forward: bool, onesided: bool) -> Array:
    """Real in the last axis, complex in the others. The inverse of a real signal is the conjugate of its transform."""
    last = axes[-1] % x.ndim
    dtype = np.result_type(x.dtype, np.complex64)
    if x.size == 0:
        half = x.shape[last] // 2 + 1 if onesided else x.shape[last]
        return np.zeros(x.shape[:last] + (half,) + x.shape[last + 1 :], dtype)
    norm = normalization if forward else _MIRRORED[normalization]
    out = np.fft.rfftn(x, axes=axes, norm=norm) if onesided else np.fft.fftn(x, axes=axes, norm=norm)
    out = out.astype(dtype, copy=False)
    return out if forward else np.conjugate(out, out=out)


@kernel("fft_c2r", COMPLEX)
def fft_c2r(x: Array, axes: tuple[int, ...], normalization: str, forward: bool, last_dim_size: int) -> Array:
    """The real signal whose one-sided spectrum in the last axis is x."""
    last = axes[-1] % x.ndim
    size = c2r_size(x.shape[last], last_dim_size)
    if x.size == 0 or size == 0:
        return np.zeros(x.shape[:last] + (size,) + x.shape[last + 1 :], x.real.dtype)
    sizes = tuple(x.shape[axis] for axis in axes[:-1]) + (size,)
    if forward:
        x, normalization = np.conjugate(x), _MIRRORED[normalization]
    return np.fft.irfftn(x, s=sizes, axes=axes, norm=normalization).astype(x.real.dtype, copy=False)


@kernel("fft_resize", FLOATING_OR_COMPLEX)
def fft_resize(x: Array, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Cropped or padded with zeros at the end of each axis."""
    shape = list(x.shape)
    kept = [slice(None)] * x.ndim
    for axis, size in zip(axes, sizes):
        kept[axis] = slice(min(size, shape[axis]))
        shape[axis] = size
    out = np.zeros(shape, x.dtype)
    index = tuple(kept)
    out[index] = x[index]
    return out


@kernel("fft_scale_doubled", COMPLEX)
def fft_scale_doubled(x: Array, axis: int, size: int, factor: float) -> Array:
    """Frequency 0, and size / 2 of an even size, stay."""
    out = np.array(x)
    moved = np.moveaxis(out, axis, -1)
    moved[..., 1 : (size + 1) // 2] *= factor
    return out
