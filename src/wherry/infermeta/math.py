"""InferMeta of the element-wise operations beyond the common ones."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.common import broadcast_shapes, complex_dtype
from wherry.infermeta.registry import infer_meta


@infer_meta("FloatInferMeta")
def floating(x: Meta, *attributes: object) -> Meta:
    """The same meta; integers and bool become float32."""
    return x if x.dtype.is_differentiable else x.with_dtype(dt.float32)


@infer_meta("PolygammaInferMeta")
def polygamma(x: Meta, n: int) -> Meta:
    """`floating`, with a check of the order."""
    if n < 0:
        raise ValueError(f"expected n >= 0, the order of the derivative, received {n}")
    return x if x.dtype.is_differentiable else x.with_dtype(dt.float32)


@infer_meta("DivideInferMeta")
def divide(x: Meta, y: Meta) -> Meta:
    """Broadcast shape; integers and bool become float32."""
    shape = x.shape if x.shape == y.shape else broadcast_shapes(x.shape, y.shape)
    if x.dtype.is_differentiable:
        return x.with_shape(shape)
    return Meta(shape, dt.float32)


@infer_meta("Atan2InferMeta")
def atan2(x: Meta, y: Meta) -> Meta:
    """Broadcast shape; integers and bool become float64."""
    return Meta(broadcast_shapes(x.shape, y.shape), x.dtype if x.dtype.is_differentiable else dt.float64)


@infer_meta("PowInferMeta")
def pow(x: Meta, y: complex) -> Meta:
    """The same meta; a complex exponent makes it complex, one with a fraction (or a bool base) floating."""
    if isinstance(y, complex):
        return x.with_dtype(complex_dtype(x.dtype))
    if x.dtype.is_bool or (x.dtype.is_integer and not is_whole(y)):
        return x.with_dtype(dt.float32)
    return x


def is_whole(y: float) -> bool:
    """Whether a number is an integer."""
    return isinstance(y, int) or y.is_integer()


@infer_meta("ClipInferMeta")
def clip(x: Meta, min: float, max: float) -> Meta:
    """The same meta, where the bounds are in order."""
    if isinstance(min, complex) or isinstance(max, complex):
        raise TypeError(f"expected real numbers for min and max, received {min} and {max}")
    if not min <= max:
        raise ValueError(f"expected min <= max, received min = {min} and max = {max}")
    return x


@infer_meta("LerpInferMeta")
def lerp(x: Meta, y: Meta, weight: Meta) -> Meta:
    """The shape to which all three broadcast."""
    return x.with_shape(broadcast_shapes(broadcast_shapes(x.shape, y.shape), weight.shape))


@infer_meta("EqualAllInferMeta")
def equal_all(x: Meta, y: Meta) -> Meta:
    """0-D bool, whatever the shapes."""
    return Meta((), dt.bool_)


@infer_meta("AllcloseInferMeta")
def allclose(x: Meta, y: Meta, *attributes: object) -> Meta:
    """0-D bool; the shapes must broadcast."""
    broadcast_shapes(x.shape, y.shape)
    return Meta((), dt.bool_)


@infer_meta("BitwiseInferMeta")
def bitwise(x: Meta, y: Meta, *attributes: object) -> Meta:
    """Broadcast shape of two tensors of one integer dtype (or bool)."""
    for name, meta in (("x", x), ("y", y)):
        if meta.dtype.is_differentiable:
            raise TypeError(
                f"expected an integer dtype (or bool) for {name}, received {meta.dtype.name}; "
                "bits of floating tensors do not combine"
            )
    if x.dtype is not y.dtype:
        raise ValueError(
            f"expected tensors of one dtype, received x: {x.dtype.name} and y: {y.dtype.name}; cast one of them"
        )
    return x.with_shape(broadcast_shapes(x.shape, y.shape))


@infer_meta("CastInferMeta")
def cast(x: Meta, dtype: dt.DataType | None) -> Meta:
    """The same shape in the dtype given."""
    if dtype is None:
        raise TypeError("expected a dtype to cast to, received None")
    return x.with_dtype(dtype)


@infer_meta("WhereInferMeta")
def where(condition: Meta, x: Meta, y: Meta) -> Meta:
    """The shape to which all three broadcast, x's dtype."""
    if not condition.dtype.is_bool:
        raise ValueError(
            f"expected a bool tensor for condition, received {condition.dtype.name}; compare it with something first"
        )
    if x.dtype is not y.dtype:
        raise ValueError(f"expected x and y of one dtype, received {x.dtype.name} and {y.dtype.name}; cast one of them")
    shape = x.shape if x.shape == y.shape else broadcast_shapes(x.shape, y.shape)
    return x.with_shape(shape if shape == condition.shape else broadcast_shapes(condition.shape, shape))


@infer_meta("MaskedFillInferMeta")
def masked_fill(x: Meta, mask: Meta, value: complex) -> Meta:
    """The shape to which x and the mask broadcast, x's dtype."""
    if not mask.dtype.is_bool:
        raise ValueError(f"expected a bool tensor for mask, received {mask.dtype.name}; cast it with .astype('bool')")
    if isinstance(value, complex) and not x.dtype.is_complex:
        raise ValueError(f"expected a real value for a tensor of dtype {x.dtype.name}, received {value}")
    return x.with_shape(broadcast_shapes(x.shape, mask.shape))
