"""InferMeta of the Fourier transforms."""

from typing import Final

from wherry.core.meta import Meta
from wherry.core.sizes import c2r_size
from wherry.infermeta.common import canonical_axes, complex_dtype, real_dtype
from wherry.infermeta.registry import infer_meta

NORMALIZATIONS: Final = ("backward", "ortho", "forward")


def _axes(x: Meta, axes: tuple[int, ...], normalization: str) -> tuple[int, ...]:
    if normalization not in NORMALIZATIONS:
        raise ValueError(f"expected a norm of {list(NORMALIZATIONS)}, received {normalization!r}")
    if x.ndim == 0:
        raise ValueError("expected a tensor of 1 dimension or more, received a 0-D one; reshape it to [1] first")
    if not axes:
        raise ValueError("expected at least one axis to transform, received none")
    return canonical_axes(axes, x.ndim, "axes")


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return shape[:axis] + (size,) + shape[axis + 1 :]


@infer_meta("FFTC2CInferMeta")
def fft_c2c(x: Meta, axes: tuple[int, ...], normalization: str, forward: bool) -> Meta:
    """x's meta."""
    _axes(x, axes, normalization)
    return x


@infer_meta("FFTR2CInferMeta")
def fft_r2c(x: Meta, axes: tuple[int, ...], normalization: str, forward: bool, onesided: bool) -> Meta:
    """Complex; the last of the axes halved where one-sided."""
    last = _axes(x, axes, normalization)[-1]
    out = x.with_dtype(complex_dtype(x.dtype))
    return out.with_shape(_resized(x.shape, last, x.shape[last] // 2 + 1)) if onesided else out


@infer_meta("FFTC2RInferMeta")
def fft_c2r(x: Meta, axes: tuple[int, ...], normalization: str, forward: bool, last_dim_size: int) -> Meta:
    """Real; the last of the axes has last_dim_size, or where that is 0 twice the frequencies above 0."""
    last = _axes(x, axes, normalization)[-1]
    size = c2r_size(x.shape[last], last_dim_size)
    if x.size and x.shape[last] != size // 2 + 1:
        raise ValueError(
            f"expected {size // 2 + 1} frequencies for an output of size {size}, received {x.shape[last]} in axis {last} "
            f"of shape {list(x.shape)}; crop or pad the spectrum first"
        )
    return x.with_shape(_resized(x.shape, last, size)).with_dtype(real_dtype(x.dtype))


@infer_meta("FFTResizeInferMeta")
def fft_resize(x: Meta, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Meta:
    """The sizes in these axes."""
    shape = x.shape
    for axis, size in zip(canonical_axes(axes, x.ndim, "axes"), sizes):
        shape = _resized(shape, axis, size)
    return x.with_shape(shape)
