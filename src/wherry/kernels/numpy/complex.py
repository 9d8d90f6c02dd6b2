"""Kernels on complex numbers."""

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import ALL, COMPLEX, kernel, register
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
    """A copy of the real part."""
    return np.array(x.real)


@kernel("imag", COMPLEX)
def imag(x: Array) -> Array:
    """A copy of the imaginary part."""
    return np.array(x.imag)


@kernel("conj", tuple(d for d in ALL if not d.is_complex))
def conj_of_real(x: Array) -> Array:
    """A copy."""
    return np.array(x)


register("conj", np.conjugate, COMPLEX, out=True)
