"""InferMeta of linear algebra."""

from wherry.core.meta import Meta
from wherry.infermeta.common import broadcast_shapes
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
