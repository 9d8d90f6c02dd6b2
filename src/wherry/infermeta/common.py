"""InferMeta functions and checks that every family uses."""

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


def broadcast_shapes(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape both broadcast to; raises ValueError that names both shapes and the sizes that clash."""
    if x == y:
        return x
    ndim = max(len(x), len(y))
    left = (1,) * (ndim - len(x)) + x
    right = (1,) * (ndim - len(y)) + y
    dims = []
    for axis, (a, b) in enumerate(zip(left, right)):
        if a != b and a != 1 and b != 1:
            raise ValueError(
                f"expected shapes that broadcast together, received {list(x)} and {list(y)}: "
                f"sizes {a} and {b} differ at axis {axis - ndim} and neither is 1"
            )
        dims.append(b if a == 1 else a)
    return tuple(dims)


def canonical_axis(axis: int, ndim: int, name: str = "axis") -> int:
    """The axis counted from the front; raises ValueError outside [-ndim, ndim). A 0-D tensor accepts 0 and -1."""
    bound = ndim if ndim > 0 else 1
    if not -bound <= axis < bound:
        raise ValueError(f"expected {name} in [{-bound}, {bound}) for a tensor of {ndim} dimensions, received {axis}")
    return axis + bound if axis < 0 else axis


def canonical_axes(axes: tuple[int, ...], ndim: int, name: str = "axis") -> tuple[int, ...]:
    """`canonical_axis` of each; raises ValueError for one named twice."""
    result = tuple(canonical_axis(axis, ndim, name) for axis in axes)
    if len(set(result)) != len(result):
        raise ValueError(f"expected different axes in {name}, received {list(axes)}")
    return result


def real_dtype(dtype: DataType) -> DataType:
    """The dtype of the real part: float32 for complex64, float64 for complex128, else the dtype itself."""
    if dtype is dt.complex64:
        return dt.float32
    if dtype is dt.complex128:
        return dt.float64
    return dtype


def complex_dtype(dtype: DataType) -> DataType:
    """The complex dtype that holds values of this floating dtype."""
    if dtype.is_complex:
        return dtype
    return dt.complex128 if dtype is dt.float64 else dt.complex64


@infer_meta("UnchangedInferMeta")
def unchanged(x: Meta, *attributes: object) -> Meta:
    """The first input's meta."""
    return x


@infer_meta("ElementwiseInferMeta")
def elementwise(x: Meta, y: Meta, *attributes: object) -> Meta:
    """Broadcast shape, the first input's dtype (promotion has made them equal)."""
    if x.shape == y.shape:
        return x
    return x.with_shape(broadcast_shapes(x.shape, y.shape))


@infer_meta("CompareInferMeta")
def compare(x: Meta, y: Meta, *attributes: object) -> Meta:
    """Broadcast shape, bool."""
    return Meta(broadcast_shapes(x.shape, y.shape), dt.bool_)


@infer_meta("IsfiniteInferMeta")
def isfinite(x: Meta, *attributes: object) -> Meta:
    """The same shape, bool."""
    return x.with_dtype(dt.bool_)


@infer_meta("RealAndImagInferMeta")
def real_and_imag(x: Meta, *attributes: object) -> Meta:
    """The same shape, the dtype of the real part."""
    return x.with_dtype(real_dtype(x.dtype))
