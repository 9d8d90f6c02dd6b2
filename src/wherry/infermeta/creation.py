"""InferMeta of operations that make tensors, of random ones too."""

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.core.meta import Meta
from wherry.core.sizes import arange_length, diagonal_length
from wherry.infermeta.common import broadcast_shapes, canonical_axes
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


@infer_meta("ArangeInferMeta")
def arange(start: complex, end: complex, step: complex, dtype: DataType | None) -> Meta:
    """As many elements as steps fit below `end`; raises ValueError for a step of zero."""
    dtype = dt.float32 if dtype is None else dtype
    return Meta((arange_length(start, end, step, dtype),), dtype)


@infer_meta("LinspaceInferMeta")
def linspace(start: complex, stop: complex, num: int, dtype: DataType | None) -> Meta:
    """`num` elements; raises ValueError where it is negative."""
    if num < 0:
        raise ValueError(f"expected num >= 0, received {num}")
    return Meta((int(num),), dt.float32 if dtype is None else dtype)


@infer_meta("LogspaceInferMeta")
def logspace(start: complex, stop: complex, num: int, base: complex, dtype: DataType | None) -> Meta:
    """`num` elements; raises ValueError where it is negative."""
    return linspace(start, stop, num, dtype)


@infer_meta("EyeInferMeta")
def eye(num_rows: int, num_columns: int, dtype: DataType | None) -> Meta:
    """num_rows by num_columns; a negative num_columns means as many as rows."""
    if num_rows < 0:
        raise ValueError(f"expected num_rows >= 0, received {num_rows}")
    columns = num_rows if num_columns < 0 else num_columns
    return Meta((int(num_rows), int(columns)), dt.float32 if dtype is None else dtype)


@infer_meta("TrilTriuInferMeta")
def tril_triu(x: Meta, diagonal: int) -> Meta:
    """x's meta; raises ValueError below two dimensions."""
    if x.ndim < 2:
        raise ValueError(f"expected a tensor of 2 dimensions or more, received shape {list(x.shape)}")
    return x


@infer_meta("DiagInferMeta")
def diag(x: Meta, offset: int, padding_value: float) -> Meta:
    """A matrix for a vector (a 0-D tensor is one of one element), the diagonal's length for a matrix."""
    if x.ndim <= 1:
        size = (x.shape[0] if x.ndim else 1) + abs(offset)
        return x.with_shape((size, size))
    if x.ndim == 2:
        return x.with_shape((diagonal_length(x.shape[0], x.shape[1], offset),))
    raise ValueError(
        f"expected a tensor of 1 or 2 dimensions, received shape {list(x.shape)}; see diagonal and diag_embed for more"
    )


@infer_meta("TriangleIndicesInferMeta")
def triangle_indices(rows: int, cols: int, offset: int, dtype: DataType | None) -> Meta:
    """Two rows of as many indices as the triangle has; only the kernel counts them."""
    if rows < 0 or cols < 0:
        raise ValueError(f"expected rows and columns >= 0, received {rows} and {cols}")
    return Meta((2, -1), dt.int64 if dtype is None else dtype)


@infer_meta("CreateRandomInferMeta")
def create_random(shape: tuple[int, ...], dtype: DataType | None) -> Meta:
    """The shape asked for; float32 where no dtype is given, and only a dtype that has fractions."""
    meta = create(shape, dtype)
    if not meta.dtype.is_differentiable:
        raise TypeError(f"expected a floating or complex dtype, received {meta.dtype.name}")
    return meta


@infer_meta("RandintInferMeta")
def randint(low: int, high: int, shape: tuple[int, ...], dtype: DataType | None) -> Meta:
    """The shape asked for; raises ValueError where [low, high) is empty."""
    if low >= high:
        raise ValueError(f"expected low < high, received low {low} and high {high}")
    return Meta(checked_shape(shape), dt.int64 if dtype is None else dtype)


@infer_meta("RandpermInferMeta")
def randperm(n: int, dtype: DataType | None) -> Meta:
    """n numbers; raises ValueError for a negative n."""
    if n < 0:
        raise ValueError(f"expected n >= 0, received {n}")
    return Meta((n,), dt.int64 if dtype is None else dtype)


@infer_meta("MultinomialInferMeta")
def multinomial(x: Meta, num_samples: int, replacement: bool) -> Meta:
    """x's shape with num_samples in place of the last size, int64; raises ValueError for too many or no samples."""
    if x.ndim not in (1, 2):
        raise ValueError(f"expected probabilities of 1 or 2 dimensions, received shape {list(x.shape)}")
    if num_samples < 1:
        raise ValueError(f"expected num_samples >= 1, received {num_samples}")
    if not replacement and num_samples > x.shape[-1]:
        raise ValueError(
            f"expected num_samples <= {x.shape[-1]}, the number of categories, received {num_samples}; "
            "pass replacement=True to draw a category more than once"
        )
    return Meta(x.shape[:-1] + (int(num_samples),), dt.int64)


@infer_meta("BinomialInferMeta")
def binomial(count: Meta, prob: Meta) -> Meta:
    """Broadcast shape, int64."""
    return Meta(broadcast_shapes(count.shape, prob.shape), dt.int64)


@infer_meta("DiagGradInferMeta")
def diag_grad(out_grad: Meta, shape: tuple[int, ...], offset: int) -> Meta:
    """The shape of what the diagonal was made of or taken from."""
    return out_grad.with_shape(shape)


@infer_meta("UniformInplaceInferMeta")
def uniform_inplace(x: Meta, min: float, max: float, seed: int) -> Meta:
    """x's meta; raises ValueError for an empty interval."""
    if min >= max:
        raise ValueError(f"expected min < max, received min {min} and max {max}")
    return x


@infer_meta("ExponentialInplaceInferMeta")
def exponential_inplace(x: Meta, lam: float) -> Meta:
    """x's meta; raises ValueError for a rate of 0 or less."""
    if not lam > 0.0:
        raise ValueError(f"expected lam > 0, received {lam}")
    return x


@infer_meta("BernoulliInplaceInferMeta")
def bernoulli_inplace(x: Meta, p: float) -> Meta:
    """x's meta; raises ValueError for a probability outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"expected a probability in [0, 1], received {p}")
    return x


@infer_meta("DiagEmbedInferMeta")
def diag_embed(input: Meta, offset: int, dim1: int, dim2: int) -> Meta:
    """One axis more, two of them as long as the vectors and the offset."""
    if input.ndim < 1:
        raise ValueError("expected a tensor of 1 dimension or more, received a 0-D one")
    axes = sorted(canonical_axes((dim1, dim2), input.ndim + 1, "dim1 and dim2"))
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for axis in axes:
        shape.insert(axis, size)
    return input.with_shape(tuple(shape))


@infer_meta("RandintInplaceInferMeta")
def randint_inplace(x: Meta, low: int, high: int) -> Meta:
    """x's meta; raises ValueError where [low, high) is empty."""
    if low >= high:
        raise ValueError(f"expected low < high, received low {low} and high {high}")
    return x
