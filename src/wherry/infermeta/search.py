"""InferMeta of searching and sorting."""

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.reduction import reduced_shape
from wherry.infermeta.registry import infer_meta


def index_dtype(dtype: DataType | None) -> DataType:
    """The dtype of indices; refuses anything but int32 and int64."""
    if dtype is None:
        return dt.int64
    if dtype is not dt.int32 and dtype is not dt.int64:
        raise ValueError(f"expected dtype int32 or int64 for indices, received {dtype.name}")
    return dtype


@infer_meta("ArgMinMaxInferMeta")
def arg_extremum(x: Meta, axis: int, keepdims: bool, flatten: bool, dtype: DataType | None) -> Meta:
    """The reduced shape, of indices."""
    axes = () if flatten else (canonical_axis(axis, x.ndim),)
    shape = reduced_shape(x.shape, axes, keepdims)
    out = Meta(shape, index_dtype(dtype))
    if x.size == 0 and out.size:
        raise ValueError(f"expected at least one element to choose from, received shape {list(x.shape)}")
    if x.dtype.is_complex:
        raise TypeError(f"expected a dtype with an order, received {x.dtype.name}")
    return out


@infer_meta("ArgsortInferMeta")
def argsort(x: Meta, axis: int, descending: bool, stable: bool) -> tuple[Meta, Meta]:
    """Values and indices of x's shape."""
    canonical_axis(axis, x.ndim)
    if x.dtype.is_complex:
        raise TypeError(f"expected a dtype with an order, received {x.dtype.name}")
    return x, x.with_dtype(dt.int64)


@infer_meta("TopKInferMeta")
def topk(x: Meta, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Meta, Meta]:
    """k elements along the axis."""
    axis = canonical_axis(axis, x.ndim)
    length = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= length:
        raise ValueError(
            f"expected k in [1, {length}], the length of axis {axis} of shape {list(x.shape)}, received {k}"
        )
    shape = x.shape[:axis] + (k,) + x.shape[axis + 1 :] if x.ndim else ()
    out = x.with_shape(shape)
    return out, out.with_dtype(dt.int64)


@infer_meta("CumExtremumInferMeta")
def cum_extremum(x: Meta, axis: int, dtype: DataType | None) -> tuple[Meta, Meta]:
    """Values and indices of x's shape."""
    canonical_axis(axis, x.ndim)
    return x, x.with_dtype(index_dtype(dtype))


@infer_meta("NonZeroInferMeta")
def nonzero(condition: Meta) -> Meta:
    """As many rows as there are elements that are not zero, a column for each axis."""
    if condition.ndim == 0:
        raise ValueError("expected a tensor of at least one dimension, received a 0-D tensor")
    return Meta((-1, condition.ndim), dt.int64)


@infer_meta("MaskedSelectInferMeta")
def masked_select(x: Meta, mask: Meta) -> Meta:
    """As many elements as the mask selects."""
    if mask.dtype is not dt.bool_:
        raise TypeError(f"expected a bool mask, received {mask.dtype.name}")
    if x.shape != mask.shape:
        raise ValueError(f"expected a mask of x's shape {list(x.shape)}, received {list(mask.shape)}")
    return Meta((-1,), x.dtype)


@infer_meta("MaskedSpreadInferMeta")
def masked_spread(mask: Meta, values: Meta) -> Meta:
    """The mask's shape."""
    return Meta(mask.shape, values.dtype)


@infer_meta("UniqueInferMeta")
def unique(
    x: Meta,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: tuple[int, ...],
    dtype: DataType | None,
) -> tuple[Meta, Meta, Meta, Meta]:
    """Only the kernel knows how many there are."""
    out = _unique_out(x, axis)
    index = Meta((-1,), index_dtype(dtype))
    return out, index, index, index


@infer_meta("UniqueConsecutiveInferMeta")
def unique_consecutive(x: Meta, axis: tuple[int, ...], dtype: DataType | None) -> tuple[Meta, Meta, Meta]:
    """Only the kernel knows how many there are."""
    index = Meta((-1,), index_dtype(dtype))
    return _unique_out(x, axis), index, index


def _unique_out(x: Meta, axis: tuple[int, ...]) -> Meta:
    if not axis:
        return Meta((-1,), x.dtype)
    if len(axis) > 1:
        raise ValueError(f"expected one axis, received {list(axis)}")
    place = canonical_axis(axis[0], x.ndim)
    return Meta(x.shape[:place] + (-1,) + x.shape[place + 1 :], x.dtype)


@infer_meta("SearchsortedInferMeta")
def searchsorted(sorted_sequence: Meta, values: Meta, out_int32: bool, right: bool) -> Meta:
    """The values' shape, of indices."""
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            f"expected values with the leading axes {list(sorted_sequence.shape[:-1])} of sorted_sequence, received "
            f"{list(values.shape)}"
        )
    if sorted_sequence.dtype is not values.dtype:
        raise TypeError(f"expected one dtype, received {sorted_sequence.dtype.name} and {values.dtype.name}")
    return Meta(values.shape, dt.int32 if out_int32 else dt.int64)


@infer_meta("BincountInferMeta")
def bincount(x: Meta, weights: Meta | None, minlength: int) -> Meta:
    """Only the kernel knows the largest value."""
    if x.ndim != 1 or not x.dtype.is_integer:
        raise ValueError(f"expected a 1-D tensor of integers, received {x}")
    if minlength < 0:
        raise ValueError(f"expected minlength of at least 0, received {minlength}")
    if weights is not None and weights.shape != x.shape:
        raise ValueError(f"expected weights of x's shape {list(x.shape)}, received {list(weights.shape)}")
    return Meta((-1,), dt.int64 if weights is None else dt.float64 if weights.dtype is dt.float64 else dt.float32)


@infer_meta("OneHotInferMeta")
def one_hot(x: Meta, num_classes: int) -> Meta:
    """A new last axis of num_classes, float32."""
    if not x.dtype.is_integer:
        raise TypeError(f"expected integer classes, received {x.dtype.name}")
    if num_classes < 1:
        raise ValueError(f"expected num_classes of at least 1, received {num_classes}")
    return Meta((*x.shape, num_classes), dt.float32)
