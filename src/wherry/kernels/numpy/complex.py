"""Kernels on complex numbers."""

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import ALL, COMPLEX, FLOAT, kernel, register
from wherry.kernels.numpy.common import Array


@kernel("complex", (dt.float32, dt.float64))
def complex(real: Array, imag: Array) -> Array:
    """real + i imag, written part by part so that infinities and NaN stay where they are."""
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real = real
    out.imag = imag
    return out


@kernel("real", COMPLEX)
def real(x: Array) -> Array:
    """A view of the real part."""
    return x.real


@kernel("imag", COMPLEX)
def imag(x: Array) -> Array:
    """A view of the imaginary part."""
    return x.imag


@kernel("conj", tuple(d for d in ALL if not d.is_complex))
def conj_of_real(x: Array) -> Array:
    """A copy."""
    return np.array(x)


register("conj", np.conjugate, COMPLEX, out=True)


@kernel("angle", COMPLEX)
def angle(x: Array) -> Array:
    """atan2 of the parts."""
    return np.arctan2(x.imag, x.real)


@kernel("angle", FLOAT)
def angle_of_real(x: Array) -> Array:
    """0 or pi; NaN stays."""
    pi = np.asarray(np.pi, x.dtype)
    return np.where(x < 0, pi, np.where(np.isnan(x), x, np.zeros((), x.dtype)))


@kernel("as_complex", (dt.float32, dt.float64))
def as_complex(x: Array) -> Array:
    """The pairs read as complex numbers: a view where the two of each lie side by side."""
    if x.size and x.strides[-1] != x.itemsize:
        x = np.array(x, order="C")
    return x.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0]


@kernel("as_real", COMPLEX)
def as_real(x: Array) -> Array:
    """A view of the numbers as pairs."""
    return x[..., np.newaxis].view(x.real.dtype)
