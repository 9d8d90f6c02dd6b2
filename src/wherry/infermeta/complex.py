"""InferMeta of operations on complex numbers."""

from wherry.core.meta import Meta
from wherry.infermeta.common import broadcast_shapes, complex_dtype, real_dtype
from wherry.infermeta.registry import infer_meta


@infer_meta("ComplexInferMeta")
def complex(real: Meta, imag: Meta) -> Meta:
    """Broadcast shape, the complex dtype of the parts."""
    return real.with_shape(broadcast_shapes(real.shape, imag.shape)).with_dtype(complex_dtype(real.dtype))


@infer_meta("AngleInferMeta")
def angle(x: Meta) -> Meta:
    """x's shape, the dtype of the real part."""
    return x.with_dtype(real_dtype(x.dtype))


@infer_meta("AsComplexInferMeta")
def as_complex(x: Meta) -> Meta:
    """Without the last axis, which must hold the two parts."""
    if x.ndim < 1 or x.shape[-1] != 2:
        raise ValueError(f"expected a last axis of size 2 (real and imaginary part), received shape {list(x.shape)}")
    return x.with_shape(x.shape[:-1]).with_dtype(complex_dtype(x.dtype))


@infer_meta("AsRealInferMeta")
def as_real(x: Meta) -> Meta:
    """With a last axis for the two parts."""
    return x.with_shape(x.shape + (2,)).with_dtype(real_dtype(x.dtype))
