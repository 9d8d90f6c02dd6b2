"""Shapes, joins and rearrangements against NumPy; what is a view shares memory."""

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wherry as paddle
from tests.properties.strategies import COMPLEX, FLOATS, INTS, arrays, axis_of, examples, layouts, same, tensor

ANY = (*FLOATS, *INTS, *COMPLEX, "bool", "float16")


def factors(draw: Any, size: int) -> list[int]:
    """A shape of so many elements."""
    if size == 0:
        return draw(st.sampled_from([[0], [0, 3], [2, 0], [1, 0, 2]]))
    shape: list[int] = []
    while size > 1:
        side = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        shape.append(side)
        size //= side
        if len(shape) > 6:
            break
    return [*shape, size] if size > 1 else shape


@examples(150)
@given(st.data())
def test_reshape_and_flatten(data: Any) -> None:
    x = data.draw(arrays(ANY))
    shape = factors(data.draw, x.size)
    expected = x.reshape(shape)
    if shape and x.size and data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    same(tensor(x).reshape(shape), expected)
    if x.ndim:
        start = data.draw(st.integers(0, x.ndim - 1))
        stop = data.draw(st.integers(start, x.ndim - 1))
        sides = [*x.shape[:start], math.prod(x.shape[start : stop + 1]), *x.shape[stop + 1 :]]
        same(tensor(x).flatten(start, stop), x.reshape(sides))


@examples(150)
@given(st.data())
def test_order_of_axes(data: Any) -> None:
    x = data.draw(arrays(ANY, least=1))
    order = data.draw(st.permutations(range(x.ndim)))
    turned = tensor(x).transpose(order)
    same(turned, x.transpose(order))
    one, two = data.draw(axis_of(x)), data.draw(axis_of(x))
    same(paddle.moveaxis(tensor(x), one, two), np.moveaxis(x, one, two))
    same(paddle.swapaxes(tensor(x), one, two), np.swapaxes(x, one, two))
    same(paddle.flip(tensor(x), one), np.flip(x, one))
    same(paddle.unsqueeze(tensor(x), one), np.expand_dims(x, one))
    if x.shape[one] == 1:
        same(paddle.squeeze(tensor(x), one), np.squeeze(x, one))
    shift = data.draw(st.integers(-9, 9))
    same(paddle.roll(tensor(x), shift, one), np.roll(x, shift, one))
    same(paddle.roll(tensor(x), shift), np.roll(x, shift))
    if x.ndim > 1 and one % x.ndim != two % x.ndim:
        turns = data.draw(st.integers(-5, 5))
        same(paddle.rot90(tensor(x), turns, [one, two]), np.rot90(x, turns, (one, two)))
        offset = data.draw(st.integers(-3, 3))
        if -x.shape[one] <= offset <= x.shape[two]:
            same(paddle.diagonal(tensor(x), offset, one, two), np.diagonal(x, offset, one, two))


@examples(120)
@given(st.data())
def test_joins_and_splits(data: Any) -> None:
    x = data.draw(arrays(ANY, least=1))
    axis = data.draw(axis_of(x))
    count = data.draw(st.integers(1, 3))
    parts = [data.draw(layouts(np.array(x))) for _ in range(count)]
    same(paddle.concat([tensor(p) for p in parts], axis), np.concatenate(parts, axis))
    at = data.draw(st.integers(-x.ndim - 1, x.ndim))
    same(paddle.stack([tensor(p) for p in parts], at), np.stack(parts, at))
    side = x.shape[axis]
    cuts = sorted(data.draw(st.lists(st.integers(0, side), max_size=3)))
    sections = [b - a for a, b in zip([0, *cuts], [*cuts, side])]
    for found, expected in zip(paddle.split(tensor(x), sections, axis), np.split(x, cuts, axis), strict=True):
        same(found, expected)
    if side:
        for found, expected in zip(paddle.unbind(tensor(x), axis), np.moveaxis(x, axis, 0), strict=True):
            same(found, expected)


@examples(120)
@given(st.data())
def test_repeats(data: Any) -> None:
    x = data.draw(arrays(ANY, side=3))
    times = data.draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim + 1))
    same(paddle.tile(tensor(x), times), np.tile(x, times) if times else x)
    target = data.draw(hnp.broadcastable_shapes(x.shape, max_dims=5, max_side=4))
    if np.broadcast_shapes(x.shape, target) == target and len(target) >= x.ndim:
        same(paddle.expand(tensor(x), list(target)), np.broadcast_to(x, target))
    if x.ndim:
        axis, count = data.draw(axis_of(x)), data.draw(st.integers(0, 3))
        same(paddle.repeat_interleave(tensor(x), count, axis), np.repeat(x, count, axis)) if count else None


@examples(100)
@given(st.data())
def test_triangles_and_pads(data: Any) -> None:
    x = data.draw(arrays((*FLOATS, *INTS), least=2))
    k = data.draw(st.integers(-5, 5))
    same(paddle.tril(tensor(x), k), np.tril(x, k))
    same(paddle.triu(tensor(x), k), np.triu(x, k))
    widths = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=x.ndim, max_size=x.ndim))
    flat = [w for pair in widths for w in pair]
    value = data.draw(st.sampled_from([0.0, 1.0, 3.0]))
    padded = paddle.nn.functional.pad(tensor(x), flat, value=value, pad_from_left_axis=True)
    same(padded, np.pad(x, widths, constant_values=np.asarray(value, x.dtype)))


@examples(80)
@given(st.data())
def test_pieces_by_index(data: Any) -> None:
    x = data.draw(arrays(ANY, least=1, smallest=1))
    axis = data.draw(axis_of(x))
    index = data.draw(hnp.arrays("int64", st.integers(0, 5), elements=st.integers(0, x.shape[axis] - 1)))
    same(paddle.index_select(tensor(x), paddle.to_tensor(index), axis), np.take(x, index, axis))
    same(paddle.gather(tensor(x), paddle.to_tensor(index), axis), np.take(x, index, axis))
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(0, 4))
    along = data.draw(hnp.arrays("int64", tuple(shape), elements=st.integers(0, x.shape[axis] - 1)))
    same(paddle.take_along_axis(tensor(x), paddle.to_tensor(along), axis), np.take_along_axis(x, along, axis))
