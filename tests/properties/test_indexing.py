"""Reading and writing by every form of index that NumPy has, on tensors of any layout."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wherry as paddle
from tests.properties.strategies import FLOATS, INTS, arrays, elements, examples, same, tensor


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """A key for a shape: basic, an integer array, several that broadcast, a mask, or a mixture; as NumPy takes it."""
    kind = draw(st.sampled_from(("basic", "basic", "one array", "arrays", "mask", "mixed")))
    if kind == "mask" and shape:
        dims = draw(st.integers(1, len(shape)))
        return draw(hnp.arrays("bool", shape[:dims]))
    if kind in ("one array", "arrays", "mixed") and shape and all(shape):
        count = 1 if kind == "one array" else draw(st.integers(1, len(shape)))
        pair = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_dims=2, max_side=3))
        index = [
            draw(hnp.arrays("int64", s, elements=st.integers(-side, side - 1)))
            for s, side in zip(pair.input_shapes, shape)
        ]
        if kind == "mixed" and count < len(shape):
            return (*index, draw(st.sampled_from([slice(None), slice(None, None, 2), slice(1, None), Ellipsis])))
        return tuple(index)
    return draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


def as_tensors(key: Any) -> Any:
    """The key with tensors for arrays."""
    if isinstance(key, tuple):
        return tuple(as_tensors(k) for k in key)
    return paddle.to_tensor(key) if isinstance(key, np.ndarray) else key


@examples(300)
@given(st.data())
def test_reading(data: Any) -> None:
    x = data.draw(arrays((*FLOATS, *INTS, "bool")))
    key = data.draw(keys(x.shape))
    same(tensor(x)[as_tensors(key)], x[key])


@examples(300)
@given(st.data())
def test_writing(data: Any) -> None:
    x = data.draw(arrays((*FLOATS, *INTS)))
    key = data.draw(keys(x.shape))
    if not isinstance(key, tuple) or all(not isinstance(k, np.ndarray) for k in key) or len(key) == 0:
        target = x[key].shape
    else:
        target = x[key].shape
        index = [k for k in key if isinstance(k, np.ndarray)]
        # Where an element is written twice, the last writer is not NumPy's to choose.
        places = np.arange(x.size).reshape(x.shape)[key]
        if index and len(np.unique(places)) != places.size:
            return
    shape = data.draw(hnp.broadcastable_shapes(target, max_dims=len(target), max_side=4)) if target else ()
    if np.broadcast_shapes(shape, target) != target:
        shape = target
    value = data.draw(hnp.arrays(x.dtype, shape, elements=elements(x.dtype.name, False)))
    expected, written = np.array(x), tensor(np.array(x))
    expected[key] = value
    written[as_tensors(key)] = paddle.to_tensor(value)
    same(written, expected)


@examples(100)
@given(st.data())
def test_gradient_of_reading_counts_the_readers(data: Any) -> None:
    x = data.draw(arrays(("float64",)))
    key = data.draw(keys(x.shape))
    leaf = tensor(np.array(x))
    leaf.stop_gradient = False
    leaf[as_tensors(key)].sum().backward()
    expected = np.zeros(x.shape)
    np.add.at(expected, key, 1.0)
    same(leaf.grad, expected)
