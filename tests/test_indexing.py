"""`x[key]` and `x[key] = value` against NumPy, keys made at random; and what must be refused, with the facts in the message."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle

SHAPES = ((), (4,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3))


def random_index(rng: np.random.Generator, size: int) -> Any:
    """Something that indexes one axis."""
    kind = rng.integers(7)
    if kind == 0 and size:
        return int(rng.integers(-size, size))
    if kind <= 3:
        start, stop = (None if rng.random() < 0.3 else int(rng.integers(-size - 2, size + 3)) for _ in range(2))
        return slice(start, stop, [None, 1, 2, -1, -2][rng.integers(5)])
    if kind == 4:
        return rng.random(size) < 0.5
    if size == 0:
        return slice(None)
    return rng.integers(-size, size, ((3,), (1,), (2, 3), ())[rng.integers(4)])


def random_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key for an array of that shape, whose index arrays broadcast together."""
    key: list[Any] = []
    axis, joint = 0, 3
    while axis < len(shape) and rng.random() < 0.85:
        if rng.random() < 0.1 and axis + 2 <= len(shape):
            key.append(rng.random(shape[axis : axis + 2]) < 0.5)
            axis += 2
        else:
            key.append(random_index(rng, shape[axis]))
            axis += 1
        if isinstance(key[-1], np.ndarray) and key[-1].dtype == bool:
            count = int(key[-1].sum())
            if joint not in (3, count):
                return random_key(rng, shape)
            joint = count
    if joint != 3:
        # A mask stands for a 1-D index of its own length: no other array may be longer.
        key = [k.reshape(-1)[:1] if isinstance(k, np.ndarray) and k.dtype != bool else k for k in key]
    if rng.random() < 0.3:
        key.insert(int(rng.integers(len(key) + 1)), None)
    if rng.random() < 0.3:
        key.append(Ellipsis)
    return tuple(key)


def numpy_places(shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray:
    """The numbers of the elements that a key picks: single integers first, then the arrays, by NumPy's own indexing."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    basic: list[Any] = []
    arrays: list[Any] = []
    axis = 0
    used = sum(
        k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else 1 for k in key if k is not None and k is not ...
    )
    for item in key:
        if item is ...:
            basic.append(...)
            arrays += [slice(None)] * (len(shape) - used)
            axis += len(shape) - used
        elif isinstance(item, np.ndarray) and item.ndim:
            parts = item.nonzero() if item.dtype == bool else (item,)
            arrays += parts
            basic += [slice(None)] * len(parts)
            axis += len(parts)
        elif isinstance(item, (int, np.ndarray)):
            basic.append(int(item))
            axis += 1
        else:
            basic.append(item)
            arrays.append(slice(None))
            axis += item is not None
    return np.asarray(np.asarray(numbers[tuple(basic)])[tuple(arrays)])


def as_tensors(key: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    """The key with some of its arrays as Tensors, some as lists."""
    forms = (paddle.to_tensor, lambda k: k.tolist() if k.size else k, lambda k: k)
    return tuple(forms[rng.integers(3)](k) if isinstance(k, np.ndarray) else k for k in key)


@pytest.mark.parametrize("seed", range(600))
def test_random_keys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    key = random_key(rng, shape)
    array = rng.standard_normal(shape)
    x = paddle.to_tensor(array, stop_gradient=False)
    try:
        places = numpy_places(shape, key)
    except IndexError:
        # Arrays that do not broadcast together.
        with pytest.raises(ValueError, match="broadcast"):
            x[key]
        return
    key = as_tensors(key, rng)

    got = x[key]
    assert tuple(got.shape) == places.shape
    np.testing.assert_array_equal(got.numpy(), array.reshape(-1)[places])
    weights = rng.standard_normal(places.shape)
    (grad,) = paddle.grad(got, x, paddle.to_tensor(weights))
    expected = np.zeros(array.size)
    np.add.at(expected, places.reshape(-1), weights.reshape(-1))
    np.testing.assert_allclose(grad.numpy(), expected.reshape(shape), rtol=1e-12)

    value_shape = (
        places.shape if rng.random() < 0.5 else tuple(d if rng.random() < 0.5 else 1 for d in places.shape)[-2:]
    )
    numbers = rng.standard_normal(value_shape)
    value = paddle.to_tensor(numbers, stop_gradient=False)
    y = x * 1
    y[key] = value
    written = array.reshape(-1).copy()
    owner = np.full(array.size, -1)
    spread = np.broadcast_to(numbers, places.shape).reshape(-1)
    for i, place in enumerate(places.reshape(-1)):
        written[place] = spread[i]
        owner[place] = i
    np.testing.assert_array_equal(y.numpy(), written.reshape(shape))
    weights = rng.standard_normal(shape)
    grads = paddle.grad(y, [x, value], paddle.to_tensor(weights), allow_unused=True)
    flat = weights.reshape(-1)
    np.testing.assert_array_equal(grads[0].numpy(), np.where(owner < 0, flat, 0).reshape(shape))
    to_value = np.zeros(places.size)
    to_value[owner[owner >= 0]] = flat[owner >= 0]
    lead = len(places.shape) - len(value_shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, d in enumerate(value_shape) if d == 1)
    to_value = to_value.reshape(places.shape).sum(axes, keepdims=True).reshape(value_shape)
    np.testing.assert_allclose(grads[1].numpy(), to_value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_random_keys_on_views_in_place(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    base = rng.standard_normal((4, 5, 6))
    x = paddle.to_tensor(base)
    view = x.transpose([2, 0, 1])[::-2, :, 1:4]
    reference = base.copy()
    mirror = reference.transpose(2, 0, 1)[::-2, :, 1:4]
    key = random_key(rng, mirror.shape)
    places = numpy_places(mirror.shape, key)
    numbers = mirror.copy()
    numbers.reshape(-1)[places] = 7.5
    mirror[...] = numbers
    view[as_tensors(key, rng)] = 7.5
    np.testing.assert_array_equal(x.numpy(), reference)


def test_a_basic_key_gives_a_view_and_an_index_tensor_a_copy() -> None:
    x = paddle.zeros([3, 4])
    x[1][2] = 5.0
    x[:, ::2][0, 1] = 7.0
    x[[0, 1]][0] = 9.0
    expected = np.zeros((3, 4))
    expected[1, 2], expected[0, 2] = 5, 7
    np.testing.assert_array_equal(x.numpy(), expected)


def test_integers_beside_index_tensors_do_not_join_them() -> None:
    x = paddle.zeros([3, 4, 5, 6])
    assert x[0, :, [0, 1]].shape == [4, 2, 6]
    assert x[:, [0, 1], 0, [0, 1]].shape == [3, 2]
    assert x[[0, 1], :, [0, 1]].shape == [2, 4, 6]
    assert x[:, [0, 1], None, [0, 1]].shape == [2, 3, 1, 6]


@pytest.mark.parametrize(("flag", "size"), [(True, 1), (False, 0)])
def test_a_single_bool_is_a_new_axis(flag: bool, size: int) -> None:
    x = paddle.ones([3, 4])
    for key in (flag, np.bool_(flag), paddle.to_tensor(flag)):
        assert x[key].shape == [size, 3, 4]
    x[flag] = 5.0
    assert x.sum().item() == (60.0 if flag else 12.0)


def test_a_tensor_without_dimensions() -> None:
    x = paddle.zeros([])
    assert x[...].shape == [] and x[None].shape == [1] and x[()].shape == []
    x[x == 0] = 1
    assert x.item() == 1.0
    x[...] = 3
    assert x.item() == 3.0


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "complex64"]
)
def test_values_take_the_dtype_of_the_tensor(name: str) -> None:
    x = paddle.zeros([2, 3], dtype=name)
    x[0] = 1
    x[1, [0, 2]] = paddle.to_tensor([1.0, 1.0], dtype="float64")
    x[1, 1] = np.int64(1)
    assert x.dtype.name == name
    np.testing.assert_array_equal(x.numpy().astype(np.complex64), np.ones((2, 3)))


def test_numbers_out_of_range_wrap_and_fractions_are_cut() -> None:
    x = paddle.zeros([3], dtype="uint8")
    x[0], x[1], x[2] = -1, 300, 2.7
    assert x.tolist() == [255, 44, 2]


@pytest.mark.parametrize(
    ("key", "error", "facts"),
    [
        (5, IndexError, ("5", "axis 0", "size 3")),
        ((0, -7), IndexError, ("-7", "axis 1", "size 4")),
        ((slice(None), [0, 9]), IndexError, ("9", "axis 1", "size 4")),
        ((1, [0, 9]), IndexError, ("9", "axis 1", "size 4")),
        (([0, -9], [1, 1]), IndexError, ("-9", "axis 0", "size 3")),
        ((0, 0, 0), IndexError, ("2", "3")),
        ((..., ...), IndexError, ("...",)),
        ([True, False], IndexError, ("[3]", "[2]")),
        (([0, 1], [0, 1, 2]), ValueError, ("[2]", "[3]")),
        (slice(None, None, 0), ValueError, ("step", "0")),
        ("a", TypeError, ("str",)),
        (1.5, TypeError, ("1.5",)),
        ([1.5], TypeError, ("float64",)),
        (slice(0, 1.5), TypeError, ("1.5",)),
    ],
)
def test_keys_that_are_refused(key: Any, error: type[Exception], facts: tuple[str, ...]) -> None:
    x = paddle.ones([3, 4])
    with pytest.raises(error) as read:
        x[key]
    with pytest.raises(error) as write:
        x[key] = 0.0
    for fact in facts:
        assert fact in str(read.value) and fact in str(write.value)
    assert x.sum().item() == 12.0 and x.inplace_version == 0


@pytest.mark.parametrize(
    ("value", "error", "facts"),
    [
        (np.ones(5), ValueError, ("4]", "[5]")),
        (np.ones((2, 4)), ValueError, ("4]", "[2, 4]")),
        (1j, TypeError, ("complex",)),
        ("a", TypeError, ("str",)),
        (None, TypeError, ("NoneType",)),
    ],
)
def test_values_that_are_refused(value: Any, error: type[Exception], facts: tuple[str, ...]) -> None:
    x = paddle.zeros([3, 4])
    for key in (0, [0]):
        with pytest.raises(error) as caught:
            x[key] = value
        for fact in facts:
            assert fact in str(caught.value)
    assert x.sum().item() == 0.0 and x.inplace_version == 0


def test_overlapping_source_and_target() -> None:
    x = paddle.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x = paddle.arange(6)
    x[x] = x[::-1]
    assert x.tolist() == [5, 4, 3, 2, 1, 0]


def test_gradient_through_a_written_view() -> None:
    x = paddle.ones([2, 3], dtype="float64")
    x.stop_gradient = False
    y = x * 2
    part = y[:, ::-2]
    part[0] = part[1] * 4
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0, 2, 0], [10, 2, 10]])
