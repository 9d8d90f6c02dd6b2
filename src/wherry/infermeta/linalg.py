"""InferMeta of linear algebra."""

from wherry.core.einsum import label_sizes, split
from wherry.core.meta import Meta
from wherry.core.sizes import cross_axis
from wherry.infermeta.common import broadcast_shapes, canonical_axes
from wherry.infermeta.registry import infer_meta


@infer_meta("MatmulInferMeta")
def matmul(x: Meta, y: Meta, transpose_x: bool, transpose_y: bool) -> Meta:
    """Batch axes broadcast, then rows of x and columns of y; the axis a 1-D input lacks is left out."""
    xs, ys = x.shape, y.shape
    nx, ny = x.ndim, y.ndim
    if nx == 0 or ny == 0:
        raise ValueError(
            f"expected x and y of 1 dimension or more, received shapes {list(xs)} and {list(ys)}; multiply a scalar with *"
        )
    if nx == 1:
        rows: tuple[int, ...] = ()
        inner_x = xs[0]
    elif transpose_x:
        rows, inner_x = xs[-1:], xs[-2]
    else:
        rows, inner_x = xs[-2:-1], xs[-1]
    if ny == 1:
        columns: tuple[int, ...] = ()
        inner_y = ys[0]
    elif transpose_y:
        columns, inner_y = ys[-2:-1], ys[-1]
    else:
        columns, inner_y = ys[-1:], ys[-2]
    if inner_x != inner_y:
        raise ValueError(
            f"expected the inner sizes of x and y to be equal, received {inner_x} and {inner_y}: x {list(xs)}"
            f"{' transposed' if transpose_x else ''}, y {list(ys)}{' transposed' if transpose_y else ''}"
        )
    if nx <= 2 and ny <= 2:
        return x.with_shape(rows + columns)
    return x.with_shape(broadcast_shapes(xs[:-2], ys[:-2]) + rows + columns)


@infer_meta("BmmInferMeta")
def bmm(x: Meta, y: Meta) -> Meta:
    """As many products of matrices as both batches have."""
    xs, ys = x.shape, y.shape
    if len(xs) != 3 or len(ys) != 3:
        raise ValueError(
            f"expected x and y of 3 dimensions, received shapes {list(xs)} and {list(ys)}; matmul takes others"
        )
    if xs[0] != ys[0]:
        raise ValueError(f"expected equal batch sizes, received {xs[0]} and {ys[0]}; matmul broadcasts them")
    if xs[2] != ys[1]:
        raise ValueError(
            f"expected the inner sizes to be equal, received {xs[2]} and {ys[1]}: x {list(xs)}, y {list(ys)}"
        )
    return x.with_shape((xs[0], xs[1], ys[2]))


@infer_meta("MvInferMeta")
def mv(x: Meta, vec: Meta) -> Meta:
    """The rows of the matrix."""
    if x.ndim != 2 or vec.ndim != 1 or x.shape[1] != vec.shape[0]:
        raise ValueError(
            f"expected a matrix and a vector of as many elements as it has columns, received shapes {list(x.shape)} and "
            f"{list(vec.shape)}"
        )
    return x.with_shape((x.shape[0],))


@infer_meta("DotInferMeta")
def dot(x: Meta, y: Meta) -> Meta:
    """Without the last axis; both shapes must be the same, of 1 or 2 dimensions."""
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise ValueError(
            f"expected two vectors (or two matrices, row by row) of one shape, received {list(x.shape)} and {list(y.shape)}"
        )
    return x.with_shape(x.shape[:-1])


@infer_meta("AddmmInferMeta")
def addmm(input: Meta, x: Meta, y: Meta, beta: float, alpha: float) -> Meta:
    """The product's meta, to which input must broadcast."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise ValueError(
            f"expected matrices x and y with equal inner sizes, received shapes {list(x.shape)} and {list(y.shape)}"
        )
    out = (x.shape[0], y.shape[1])
    if input.ndim > 2 or broadcast_shapes(input.shape, out) != out:
        raise ValueError(f"expected an input that broadcasts to {list(out)}, received shape {list(input.shape)}")
    return x.with_shape(out)


@infer_meta("KronInferMeta")
def kron(x: Meta, y: Meta) -> Meta:
    """Sizes multiplied axis by axis, counted from the last."""
    ndim = max(x.ndim, y.ndim)
    xs = (1,) * (ndim - x.ndim) + x.shape
    ys = (1,) * (ndim - y.ndim) + y.shape
    return x.with_shape(tuple(a * b for a, b in zip(xs, ys)))


@infer_meta("EinsumInferMeta")
def einsum(x: list[Meta], equation: str) -> Meta:
    """The sizes of the output's labels."""
    terms, out = split(equation)
    for i, operand in enumerate(x):
        if operand.dtype is not x[0].dtype:
            raise TypeError(
                f"expected operands of one dtype, received {x[0].dtype.name} and, for operand {i}, {operand.dtype.name}"
            )
    sizes = label_sizes(terms, [operand.shape for operand in x])
    return x[0].with_shape(tuple(sizes[label] for label in out))


@infer_meta("TraceInferMeta")
def trace(x: Meta, offset: int, axis1: int, axis2: int) -> Meta:
    """Without the two axes."""
    if x.ndim < 2:
        raise ValueError(f"expected a tensor of 2 dimensions or more, received shape {list(x.shape)}")
    gone = canonical_axes((axis1, axis2), x.ndim, "axis1 and axis2")
    return x.with_shape(tuple(size for i, size in enumerate(x.shape) if i not in gone))


@infer_meta("TraceGradInferMeta")
def trace_grad(out_grad: Meta, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Meta:
    """The shape of what the trace was taken of."""
    return out_grad.with_shape(shape)


@infer_meta("CrossInferMeta")
def cross(x: Meta, y: Meta, axis: int) -> Meta:
    """Broadcast shape; the axis must be of size 3 in both. 9 stands for the first axis of size 3."""
    shape = broadcast_shapes(x.shape, y.shape)
    cross_axis(shape, axis)
    return x.with_shape(shape)
