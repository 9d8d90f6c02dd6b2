"""Rotary position embedding. Source: paddle.incubate.nn.functional.fused_rotary_position_embedding."""

import math

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.incubate.nn.functional.precision import as_dtype, check_floating, computed_in
from wherry.tensor.tensor import Tensor

__all__ = ["fused_rotary_position_embedding"]

_NAME = "fused_rotary_position_embedding"


def rotated(x: Tensor, cos: Tensor, sin: Tensor, adjacent: bool) -> Tensor:
    """x * cos + partner * sin: the partner of an element is the other of its pair, negated for the first of the two.

    Pairs are neighbours on the last axis (adjacent) or the same places of its two halves.
    """
    width = x.shape[-1]
    if adjacent:
        pairs = _C_ops.reshape(x, (*x.shape[:-1], width // 2, 2))
        even, odd = _C_ops.split_with_num(pairs, 2, -1)
        partner = _C_ops.reshape(_C_ops.concat([_C_ops.neg(odd), even], -1), tuple(x.shape))
    else:
        first, second = _C_ops.split_with_num(x, 2, -1)
        partner = _C_ops.concat([_C_ops.neg(second), first], -1)
    return _C_ops.add(_C_ops.multiply(x, cos), _C_ops.multiply(partner, sin))


def _angles(length: int, width: int, base: float) -> tuple[Tensor, Tensor]:
    """Sine and cosine of position / base ** (2 * (i // 2) / width), each [length, width], in float64."""
    if not base > 0.0:
        raise ValueError(f"{_NAME}: expected a positive rotary_emb_base, received {base}")
    pair = _C_ops.floor(_C_ops.scale(_C_ops.arange(0, width, 1, dt.float64), 0.5, 0.0, True))
    frequency = _C_ops.exp(_C_ops.scale(pair, -2.0 * math.log(base) / max(width, 1), 0.0, True))
    position = _C_ops.arange(0, length, 1, dt.float64)
    angle = _C_ops.multiply(_C_ops.reshape(position, (length, 1)), _C_ops.reshape(frequency, (1, width)))
    return _C_ops.sin(angle), _C_ops.cos(angle)


def _table(table: Tensor, width: int, name: str) -> Tensor:
    """sin or cos as [positions, width]."""
    shape = list(table.shape)
    if table.ndim == 4 and shape[0] == 1 and shape[2] == 1:
        table = _C_ops.reshape(table, (shape[1], shape[3]))
    if table.ndim != 2 or table.shape[1] != width:
        raise ValueError(
            f"{_NAME}: expected {name} of shape [length, {width}] or [1, length, 1, {width}], received {shape}"
        )
    return table


def _checked(x: Tensor, q: Tensor, name: str) -> None:
    check_floating(x, _NAME)
    if x.ndim != 4 or x.shape[-1] % 2:
        raise ValueError(
            f"{_NAME}: expected {name} of shape [batch, length, heads, an even width], received {list(x.shape)}"
        )
    if x.shape[:2] != q.shape[:2] or x.shape[3] != q.shape[3]:
        raise ValueError(
            f"{_NAME}: expected {name} with q's batch, length and width, received {list(x.shape)} and {list(q.shape)}"
        )


def _at_positions(table: Tensor, position_ids: Tensor | None, q: Tensor, time_major: bool) -> Tensor:
    """The rows of a table for each place of q, in a shape that broadcasts to it."""
    batch, length = (q.shape[1], q.shape[0]) if time_major else (q.shape[0], q.shape[1])
    width = table.shape[1]
    if position_ids is None:
        if table.shape[0] < length:
            raise ValueError(f"{_NAME}: expected sin and cos of at least {length} positions, received {table.shape[0]}")
        rows = _C_ops.slice(table, (0,), (0,), (length,)) if table.shape[0] > length else table
        return _C_ops.reshape(rows, (length, 1, 1, width) if time_major else (1, length, 1, width))
    if list(position_ids.shape) != [batch, length]:
        raise ValueError(
            f"{_NAME}: expected position_ids of shape {[batch, length]}, received {list(position_ids.shape)}"
        )
    ids = _C_ops.transpose(position_ids, (1, 0)) if time_major else position_ids
    rows = _C_ops.gather(table, _C_ops.reshape(ids, (batch * length,)), 0)
    return _C_ops.reshape(rows, (*ids.shape, 1, width))


def fused_rotary_position_embedding(
    q: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    sin: Tensor | None = None,
    cos: Tensor | None = None,
    position_ids: Tensor | None = None,
    use_neox_rotary_style: bool = True,
    time_major: bool = False,
    rotary_emb_base: float = 10000.0,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Turn pairs of elements of q, k and v by angles that grow with the position: x * cos + partner * sin.

    q, k, v: [batch, length, heads, width] (time_major: [length, batch, heads, width]), with heads of their own; what is None stays
    None. sin, cos: [positions, width] or [1, positions, 1, width]; None: position / rotary_emb_base ** (2 * (i // 2) / width).
    position_ids: [batch, length], the row of sin and cos for each place. use_neox_rotary_style: True takes neighbours as a pair,
    False the same places of the two halves. Raises ValueError for shapes that do not fit, position_ids or the second style without
    sin and cos; IndexError for a position outside them. Source: paddle.incubate.nn.functional.fused_rotary_position_embedding.
    """
    for x, name in ((q, "q"), (k, "k"), (v, "v")):
        if x is not None:
            _checked(x, q, name)
    if sin is None or cos is None:
        if position_ids is not None:
            raise ValueError(f"{_NAME}: expected sin and cos with position_ids, received none")
        if not use_neox_rotary_style:
            raise ValueError(f"{_NAME}: expected sin and cos with use_neox_rotary_style=False, received none")
    width = q.shape[3]
    wide = computed_in(q.dtype)
    if sin is None or cos is None:
        sin, cos = _angles(q.shape[0 if time_major else 1], width, rotary_emb_base)
    tables = [
        as_dtype(_at_positions(_table(t, width, n), position_ids, q, time_major), wide)
        for t, n in ((sin, "sin"), (cos, "cos"))
    ]
    outs = [
        None
        if x is None
        else as_dtype(rotated(as_dtype(x, wide), tables[1], tables[0], use_neox_rotary_style), x.dtype)
        for x in (q, k, v)
    ]
    return outs[0], outs[1], outs[2]  # type: ignore[return-value]
