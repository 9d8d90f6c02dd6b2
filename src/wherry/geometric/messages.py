"""Messages along the edges of a graph. Source: paddle.geometric.message_passing."""

from typing import Any

from wherry import _C_ops
from wherry.api.arguments import axis_of
from wherry.geometric.segments import gathered, index_row
from wherry.tensor.tensor import Tensor

_REDUCTIONS = ("sum", "mean", "max", "min")
_MESSAGES = ("add", "sub", "mul", "div")


def _one_of(value: Any, names: tuple[str, ...], argument: str, function: str) -> None:
    if value not in names:
        raise ValueError(f"{function}: expected {argument} to be one of {', '.join(names)}, received {value!r}")


def _edges(src_index: Tensor, dst_index: Tensor, function: str) -> tuple[Tensor, Tensor]:
    source, target = index_row(src_index, "src_index"), index_row(dst_index, "dst_index")
    if source.shape != target.shape:
        raise ValueError(
            f"{function}: expected src_index and dst_index of one length, received {source.shape[0]} and {target.shape[0]}"
        )
    return source, target


def _received(messages: Tensor, target: Tensor, rows: int, reduce_op: str, out_size: Any, function: str) -> Tensor:
    """Messages put together at the nodes they go to."""
    size = 0 if out_size is None else axis_of(out_size, "out_size")
    count = size if size > 0 else rows
    if target.size:
        low, high = int(_C_ops.min(target, (), False)), int(_C_ops.max(target, (), False))
        if low < 0 or high >= count:
            raise IndexError(
                f"{function}: expected dst_index in [0, {count}), received {low} to {high}; give a larger out_size"
            )
    return gathered(messages, target, count, reduce_op)


def _at(x: Tensor, index: Tensor, name: str, function: str) -> Tensor:
    """The rows of an index, checked."""
    if index.size:
        low, high = int(_C_ops.min(index, (), False)), int(_C_ops.max(index, (), False))
        if low < 0 or high >= x.shape[0]:
            raise IndexError(f"{function}: expected {name} in [0, {x.shape[0]}), received {low} to {high}")
    return _C_ops.gather(x, index, 0)


def send_u_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    reduce_op: str = "sum",
    out_size: int | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Each edge carries the row of x at its source; the rows that arrive at a node make a row of the result, 0 where none does.

    src_index, dst_index: int32 or int64, one number for each edge. reduce_op: "sum", "mean", "max" or "min". out_size: how many rows the
    result has (default, and for 0 or less: as many as x). Raises IndexError for a number outside. Source: paddle.geometric.send_u_recv.
    """
    _one_of(reduce_op, _REDUCTIONS, "reduce_op", "send_u_recv")
    source, target = _edges(src_index, dst_index, "send_u_recv")
    return _received(_at(x, source, "src_index", "send_u_recv"), target, x.shape[0], reduce_op, out_size, "send_u_recv")


def _met(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of as many dimensions, at least two."""
    ndim = max(x.ndim, y.ndim, 2)
    return _with_dimensions(x, ndim), _with_dimensions(y, ndim)


def _with_dimensions(x: Tensor, ndim: int) -> Tensor:
    if x.ndim == ndim:
        return x
    # A vector is a column; other rows get axes in front of theirs.
    after = (1,) * (ndim - 1) if x.ndim == 1 else (1,) * (ndim - x.ndim) + tuple(x.shape[1:])
    return _C_ops.reshape(x, (x.shape[0], *after))


def _message(x: Tensor, y: Tensor, message_op: str, function: str) -> Tensor:
    if x.dtype is not y.dtype:
        raise ValueError(
            f"{function}: expected x and y of one dtype, received {x.dtype.name} and {y.dtype.name}; cast one"
        )
    if message_op == "div":
        if not x.dtype.is_differentiable:
            raise TypeError(f"{function}: expected floating tensors for 'div', received {x.dtype.name}; cast them")
        # Paddle's guard against zeros.
        return _C_ops.multiply(x, _C_ops.reciprocal(_C_ops.scale(y, 1.0, 1e-12)))
    return {"add": _C_ops.add, "sub": _C_ops.subtract, "mul": _C_ops.multiply}[message_op](x, y)


def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: int | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """As `send_u_recv`, with the message of an edge made of the row of x at its source and its own row of y.

    message_op: "add", "sub", "mul" or "div" (by y + 1e-12); rows broadcast. Source: paddle.geometric.send_ue_recv.
    """
    _one_of(message_op, _MESSAGES, "message_op", "send_ue_recv")
    _one_of(reduce_op, _REDUCTIONS, "reduce_op", "send_ue_recv")
    source, target = _edges(src_index, dst_index, "send_ue_recv")
    if y.ndim == 0 or y.shape[0] != source.shape[0]:
        raise ValueError(
            f"send_ue_recv: expected a row of y for each of the {source.shape[0]} edges, received {list(y.shape)}"
        )
    left, right = _met(x, y)
    messages = _message(_at(left, source, "src_index", "send_ue_recv"), right, message_op, "send_ue_recv")
    return _received(messages, target, x.shape[0], reduce_op, out_size, "send_ue_recv")


def send_uv(
    x: Tensor, y: Tensor, src_index: Tensor, dst_index: Tensor, message_op: str = "add", name: str | None = None
) -> Tensor:
    """For each edge the row of x at its source with the row of y at its end: a row of the result.

    message_op: "add", "sub", "mul" or "div" (by y + 1e-12); rows broadcast. Raises IndexError for a number outside. Source:
    paddle.geometric.send_uv.
    """
    _one_of(message_op, _MESSAGES, "message_op", "send_uv")
    source, target = _edges(src_index, dst_index, "send_uv")
    left, right = _met(x, y)
    return _message(
        _at(left, source, "src_index", "send_uv"), _at(right, target, "dst_index", "send_uv"), message_op, "send_uv"
    )
