"""InferMeta of gather, scatter and their kin."""

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.common import canonical_axis
from wherry.infermeta.registry import infer_meta


def check_index(index: Meta, name: str = "index") -> None:
    """Refuse an index that is not of an integer dtype."""
    if not index.dtype.is_integer:
        raise TypeError(f"expected {name} of an integer dtype, received {index.dtype.name}")


def check_dtype(x: Meta, value: Meta, name: str) -> None:
    """Refuse a value of another dtype than x's."""
    if value.dtype is not x.dtype:
        raise TypeError(f"expected {name} of the dtype {x.dtype.name} of x, received {value.dtype.name}; cast it first")


def index_axis(x: Meta, axis: int) -> int:
    """The axis that an index runs along, counted from the front; a 0-D tensor has none."""
    if x.ndim == 0:
        raise ValueError(f"expected a tensor of at least one dimension, received a 0-D tensor (axis {axis})")
    return canonical_axis(axis, x.ndim)


def index_count(index: Meta, name: str = "index") -> int:
    """Number of elements of a 1-D index; one of shape [n, 1] counts as 1-D."""
    check_index(index, name)
    if index.ndim == 1 or (index.ndim == 2 and index.shape[1] == 1):
        return index.shape[0]
    raise ValueError(f"expected a 1-D {name}, received shape {list(index.shape)}")


@infer_meta("GatherInferMeta")
def gather(x: Meta, index: Meta, axis: int) -> Meta:
    """The axis's size becomes that of the index; a 0-D index drops the axis."""
    axis = index_axis(x, axis)
    middle: tuple[int, ...] = ()
    if index.ndim > 0:
        middle = (index_count(index),)
    check_index(index)
    return x.with_shape(x.shape[:axis] + middle + x.shape[axis + 1 :])


@infer_meta("GatherGradInferMeta")
def gather_grad(grad: Meta, index: Meta, axis: int, shape: tuple[int, ...]) -> Meta:
    """The shape that was gathered from."""
    return grad.with_shape(shape)


@infer_meta("IndexSelectInferMeta")
def index_select(x: Meta, index: Meta, axis: int) -> Meta:
    """The axis's size becomes that of the index."""
    axis = index_axis(x, axis)
    return x.with_shape(x.shape[:axis] + (index_count(index),) + x.shape[axis + 1 :])


def depth_of(shape: tuple[int, ...], index: Meta) -> int:
    """How many axes the last dimension of the index of gather_nd and scatter_nd names."""
    check_index(index)
    if index.ndim == 0:
        raise ValueError("expected an index of at least one dimension, received a 0-D index")
    if index.shape[-1] > len(shape):
        raise ValueError(
            f"expected a last dimension of index of at most {len(shape)}, the dimensions of a tensor of shape {list(shape)}, "
            f"received index of shape {list(index.shape)}"
        )
    return index.shape[-1]


@infer_meta("GatherNdInferMeta")
def gather_nd(x: Meta, index: Meta) -> Meta:
    """The index's shape without its last dimension, then the axes of x that it does not name."""
    return x.with_shape(index.shape[:-1] + x.shape[depth_of(x.shape, index) :])


@infer_meta("ScatterNdAddInferMeta")
def scatter_nd_add(x: Meta, index: Meta, updates: Meta) -> Meta:
    """x's meta; updates have the shape that gather_nd gives."""
    expected = index.shape[:-1] + x.shape[depth_of(x.shape, index) :]
    check_dtype(x, updates, "updates")
    if updates.shape != expected:
        raise ValueError(
            f"expected updates of shape {list(expected)} for x of shape {list(x.shape)} and index of shape {list(index.shape)}, "
            f"received {list(updates.shape)}"
        )
    return x


@infer_meta("ScatterInferMeta")
def scatter(x: Meta, index: Meta, updates: Meta, overwrite: bool) -> Meta:
    """x's meta; updates have a row for each entry of the index."""
    check_dtype(x, updates, "updates")
    index_axis(x, 0)
    if index.ndim == 0:
        check_index(index)
        expected = x.shape[1:]
        fits = updates.shape in (expected, (1,) + expected)
    else:
        expected = (index_count(index),) + x.shape[1:]
        fits = updates.ndim == x.ndim and updates.shape[1:] == expected[1:] and updates.shape[0] >= expected[0]
    if not fits:
        raise ValueError(
            f"expected updates of shape {list(expected)} for x of shape {list(x.shape)} and index of shape {list(index.shape)}, "
            f"received {list(updates.shape)}"
        )
    return x


@infer_meta("ScatterGradInferMeta")
def scatter_grad(grad: Meta, index: Meta, shape: tuple[int, ...]) -> Meta:
    """The shape of the updates."""
    return grad.with_shape(shape)


@infer_meta("IndexAddInferMeta")
def index_add(x: Meta, index: Meta, add_value: Meta, axis: int) -> Meta:
    """x's meta; the value has x's shape but for the axis, where it has at least the index's size."""
    axis = index_axis(x, axis)
    size = index_count(index)
    check_dtype(x, add_value, "value")
    expected = x.shape[:axis] + (size,) + x.shape[axis + 1 :]
    if (
        add_value.ndim != x.ndim
        or any(a != b for i, (a, b) in enumerate(zip(add_value.shape, expected)) if i != axis)
        or add_value.shape[axis] < size
    ):
        raise ValueError(
            f"expected a value of shape {list(expected)} for x of shape {list(x.shape)} and an index of {size} along axis {axis}, "
            f"received {list(add_value.shape)}"
        )
    return x


@infer_meta("IndexSampleInferMeta")
def index_sample(x: Meta, index: Meta) -> Meta:
    """The index's shape."""
    check_index(index)
    if x.ndim != 2 or index.ndim != 2 or x.shape[0] != index.shape[0]:
        raise ValueError(
            f"expected x and index of two dimensions with one number of rows, received {list(x.shape)} and {list(index.shape)}"
        )
    return x.with_shape(index.shape)


@infer_meta("TakeInferMeta")
def take(x: Meta, index: Meta, mode: str) -> Meta:
    """The index's shape."""
    check_index(index)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"expected the mode raise, wrap or clip, received {mode!r}")
    return x.with_shape(index.shape)


@infer_meta("TakeGradInferMeta")
def take_grad(grad: Meta, index: Meta, mode: str, shape: tuple[int, ...]) -> Meta:
    """The shape that was taken from."""
    return grad.with_shape(shape)


def check_along(x: Meta, indices: Meta, axis: int) -> None:
    """Refuse indices along an axis that do not fit into x."""
    check_index(indices, "indices")
    axis = index_axis(x, axis)
    if indices.ndim != x.ndim:
        raise ValueError(
            f"expected indices of {x.ndim} dimensions, as arr of shape {list(x.shape)} has, received {list(indices.shape)}"
        )
    for i, (dim, limit) in enumerate(zip(indices.shape, x.shape)):
        if i != axis and dim > limit:
            raise ValueError(
                f"expected indices no larger than arr of shape {list(x.shape)} but along axis {axis}, received "
                f"{list(indices.shape)}: {dim} > {limit} at axis {i}"
            )


@infer_meta("TakeAlongAxisInferMeta")
def take_along_axis(arr: Meta, indices: Meta, axis: int) -> Meta:
    """The shape of the indices."""
    check_along(arr, indices, axis)
    return arr.with_shape(indices.shape)


REDUCES = ("assign", "add", "mul", "multiply", "mean", "amax", "amin")


@infer_meta("PutAlongAxisInferMeta")
def put_along_axis(arr: Meta, indices: Meta, values: Meta, axis: int, reduce: str, include_self: bool) -> Meta:
    """arr's meta; there is a value for each of the indices."""
    check_along(arr, indices, axis)
    check_dtype(arr, values, "values")
    if reduce not in REDUCES:
        raise ValueError(f"expected reduce to be one of {list(REDUCES)}, received {reduce!r}")
    if values.ndim != indices.ndim or any(v < i for v, i in zip(values.shape, indices.shape)):
        raise ValueError(
            f"expected values at least as large as indices of shape {list(indices.shape)}, received {list(values.shape)}"
        )
    return arr


@infer_meta("PutAlongAxisGradInferMeta")
def put_along_axis_grad(grad: Meta, indices: Meta, axis: int) -> Meta:
    """The shape of the indices."""
    return grad.with_shape(indices.shape)


@infer_meta("PutAlongAxisOrderInferMeta")
def put_along_axis_order(indices: Meta, shape: tuple[int, ...], axis: int) -> tuple[Meta, Meta, Meta]:
    """Two lists of positions and a mask, as long as there are indices."""
    flat = indices.with_shape((indices.size,))
    return flat.with_dtype(dt.int64), flat.with_dtype(dt.int64), flat.with_dtype(dt.bool_)


@infer_meta("PutAlongAxisCountInferMeta")
def put_along_axis_count(arr: Meta, indices: Meta, axis: int, include_self: bool) -> Meta:
    """arr's meta."""
    return arr
