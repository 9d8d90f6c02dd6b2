"""InferMeta of operations that make tensors."""

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.infermeta.registry import infer_meta


def checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape; raises ValueError for a negative size."""
    for dim in shape:
        if dim < 0:
            raise ValueError(f"expected a shape of sizes >= 0, received {list(shape)}; give a size in place of {dim}")
    return shape


@infer_meta("CreateInferMeta")
def create(shape: tuple[int, ...], dtype: DataType | None) -> Meta:
    """The shape asked for; float32 where no dtype is given."""
    return Meta(checked_shape(shape), dt.float32 if dtype is None else dtype)


@infer_meta("CreateLikeInferMeta")
def create_like(x: Meta, dtype: DataType | None) -> Meta:
    """x's shape, and its dtype where none is given."""
    return x if dtype is None else x.with_dtype(dtype)
