"""InferMeta of reductions, and the arithmetic of reduced shapes that kernels and rules share."""

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axes, canonical_axis, real_dtype
from wherry.infermeta.registry import infer_meta


def reduced_shape(shape: tuple[int, ...], axis: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape after a reduction over these axes, over all where `axis` is empty."""
    ndim = len(shape)
    if not axis:
        return (1,) * ndim if keepdim else ()
    axes = canonical_axes(axis, ndim)
    if ndim == 0:
        return ()
    if keepdim:
        return tuple([1 if i in axes else dim for i, dim in enumerate(shape)])
    return tuple([dim for i, dim in enumerate(shape) if i not in axes])


def reduced_count(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    """How many elements fall into one of the result."""
    count = 1
    if not axis:
        for dim in shape:
            count *= dim
    elif shape:
        for a in axis:
            count *= shape[a]
    return count


def kept_shape(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The reduced shape with sizes of 1 where axes were: it broadcasts against the input's."""
    return reduced_shape(shape, axis, True)


def sum_dtype(dtype: DataType) -> DataType:
    """The dtype that a sum or product has by default: int64 for bool and int32, else the input's."""
    return dt.int64 if dtype is dt.int32 or dtype is dt.bool_ else dtype


@infer_meta("SumInferMeta")
def sum(x: Meta, axis: tuple[int, ...], dtype: DataType | None, keepdim: bool) -> Meta:
    """Reduced shape; the dtype asked for, else int64 for bool and int32 and x's own for the others."""
    return Meta(reduced_shape(x.shape, axis, keepdim), sum_dtype(x.dtype) if dtype is None else dtype)


@infer_meta("ReduceInferMeta")
def reduce(x: Meta, axis: tuple[int, ...], keepdim: bool) -> Meta:
    """Reduced shape, x's dtype."""
    return x.with_shape(reduced_shape(x.shape, axis, keepdim))


@infer_meta("NonEmptyReduceInferMeta")
def non_empty_reduce(x: Meta, axis: tuple[int, ...], keepdim: bool) -> Meta:
    """Reduced shape, x's dtype; refuses a reduction over nothing that has a result."""
    out = x.with_shape(reduced_shape(x.shape, axis, keepdim))
    if out.size and not reduced_count(x.shape, axis):
        raise ValueError(f"expected at least one element to choose from, received shape {list(x.shape)}")
    return out


@infer_meta("ProdInferMeta")
def prod(x: Meta, axis: tuple[int, ...], keepdim: bool) -> Meta:
    """Reduced shape; int64 for bool and int32, x's own dtype for the others."""
    return Meta(reduced_shape(x.shape, axis, keepdim), sum_dtype(x.dtype))


@infer_meta("ReduceToBoolInferMeta")
def reduce_to_bool(x: Meta, axis: tuple[int, ...], keepdim: bool) -> Meta:
    """Reduced shape, bool."""
    return Meta(reduced_shape(x.shape, axis, keepdim), dt.bool_)


@infer_meta("PNormInferMeta")
def p_norm(x: Meta, porder: float, axis: tuple[int, ...], keepdim: bool) -> Meta:
    """Reduced shape, the dtype of the real part."""
    return Meta(reduced_shape(x.shape, axis, keepdim), real_dtype(x.dtype))


@infer_meta("CumInferMeta")
def cumulative(x: Meta, axis: int, *attributes: object) -> Meta:
    """x's meta; int64 for bool and int32."""
    canonical_axis(axis, x.ndim)
    return x.with_dtype(sum_dtype(x.dtype))


@infer_meta("LinearScanInferMeta")
def linear_scan(a: Meta, b: Meta, reverse: bool) -> Meta:
    """The common shape of both."""
    if a.shape != b.shape or a.ndim == 0:
        raise ValueError(
            f"expected two tensors of one shape with at least one axis, received {list(a.shape)}, {list(b.shape)}"
        )
    return b
