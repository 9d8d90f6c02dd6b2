"""Gradients of `x[key]` and `x[key] = value` to base and value, against differences; values that are part of the base; views of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle

SHAPE = (3, 4, 3)
MASK = (np.arange(36) % 5 == 0).reshape(SHAPE)
KEYS: dict[str, Any] = {
    "integer": 1,
    "negative": (-1, -2),
    "all integers": (2, 0, 1),
    "slice": slice(1, None),
    "steps": (slice(None, None, 2), slice(3, 0, -2)),
    "reversed": (slice(None), slice(None, None, -1)),
    "beyond the end": slice(-10, 2),
    "nothing": slice(2, 2),
    "None": (None, 1),
    "Ellipsis": (..., 2),
    "Ellipsis in between": (0, ..., slice(1, None)),
    "empty tuple": (),
    "True": True,
    "False": False,
    "list": [2, 0],
    "list with repeats": [1, 1, 0],
    "empty list": [],
    "two lists": ([0, 2], [1, 3]),
    "lists that broadcast": ([[0], [2]], [1, 3]),
    "list beside a slice": (slice(None), [3, 0, 3], slice(None, None, 2)),
    "list, slice, list": ([0, 1], slice(1, 3), [2, 0]),
    "integer beside a list": (1, [0, 2]),
    "None beside a list": (None, [0, 2]),
    "mask": MASK,
    "mask of the first axis": np.array([True, False, True]),
    "mask of two axes": MASK[:, :, 0],
    "mask of the last axes": (slice(None), MASK[0]),
    "mask and list": (np.array([True, False, True]), [1, 2]),
    "nothing masked": np.zeros(SHAPE, bool),
}


def as_key(key: Any) -> Any:
    """The key with arrays as Tensors."""
    if isinstance(key, tuple):
        return tuple(as_key(k) for k in key)
    return paddle.to_tensor(key) if isinstance(key, np.ndarray) else key


def leaf(values: Any) -> Any:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def differences(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """The gradient of a function of an array, which is a polynomial of second degree here, so that differences are exact up to rounding."""
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        step = np.zeros(at.shape)
        step[place] = 0.5
        found[place] = function(at + step) - function(at - step)
    return found


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value_kind", ["whole", "broadcast", "0-D", "number"])
def test_setitem_has_the_gradients_of_differences(name: str, value_kind: str) -> None:
    key = as_key(KEYS[name])
    rng = np.random.default_rng(len(name))
    base, weights = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)
    region = paddle.to_tensor(base)[key].shape
    shape = {"whole": tuple(region), "broadcast": tuple(region[-1:]), "0-D": (), "number": ()}[value_kind]
    numbers = rng.standard_normal(shape)

    def written(x: Any, value: Any) -> Any:
        y = x * x
        y[key] = 1.5 if value_kind == "number" else value * value
        return y

    def loss(x: np.ndarray, value: np.ndarray) -> float:
        return float((written(paddle.to_tensor(x), paddle.to_tensor(value)).numpy() * weights).sum())

    x, value = leaf(base), leaf(numbers)
    (written(x, value) * paddle.to_tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), differences(lambda a: loss(a, numbers), base), atol=1e-12)
    if value_kind == "number":
        assert value.grad is None
    else:
        np.testing.assert_allclose(value.grad.numpy(), differences(lambda a: loss(base, a), numbers), atol=1e-12)


@pytest.mark.parametrize("name", KEYS)
def test_getitem_has_the_gradients_of_differences(name: str) -> None:
    key = as_key(KEYS[name])
    rng = np.random.default_rng(len(name))
    base = rng.standard_normal(SHAPE)
    weights = rng.standard_normal(paddle.to_tensor(base)[key].shape)
    x = leaf(base)
    (x[key] * x[key] * paddle.to_tensor(weights)).sum().backward()
    expected = differences(lambda a: float((paddle.to_tensor(a)[key].numpy() ** 2 * weights).sum()), base)
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


ALIASES: dict[str, tuple[Callable[[Any], None], Callable[[np.ndarray], np.ndarray] | None]] = {
    "shifted down": (lambda y: y.__setitem__(slice(1, None), y[:-1]), lambda a: a[[0, 0, 1]]),
    "shifted up": (lambda y: y.__setitem__(slice(None, -1), y[1:]), lambda a: a[[1, 2, 2]]),
    "transposed": (lambda y: y.__setitem__(slice(None), y.T), lambda a: a.T),
    "reversed": (lambda y: y.__setitem__(slice(None), y[::-1]), lambda a: a[::-1]),
    "itself": (lambda y: y.__setitem__(..., y), lambda a: a),
    "a row to a list": (lambda y: y.__setitem__([0, 1], y[2]), lambda a: a[[2, 2, 2]]),
    "rows in turn": (lambda y: y.__setitem__([0, 1, 2], y[[1, 2, 0]]), lambda a: a[[1, 2, 0]]),
    "columns by a view": (lambda y: y.T.__setitem__([2, 0], y.T[:2]), lambda a: a[:, [1, 1, 0]]),
    "through a view of a view": (lambda y: y[1:][:, 0].__setitem__(slice(None), y[0, 1:]), None),
    "diagonal": (lambda y: y.diagonal().__setitem__(slice(None), y[0]), None),
    "column to rows": (lambda y: y.__setitem__(slice(None), y[:, :1]), lambda a: a[:, [0, 0, 0]]),
}


def by_hand(name: str, a: np.ndarray) -> np.ndarray:
    function = ALIASES[name][1]
    if function is not None:
        return function(a)
    out = a.copy()
    if name == "diagonal":
        out[[0, 1, 2], [0, 1, 2]] = a[0]
    else:
        out[1:, 0] = a[0, 1:]
    return out


@pytest.mark.parametrize("name", ALIASES)
def test_a_value_that_is_part_of_the_base_is_read_before_it_is_written(name: str) -> None:
    base, weights = np.arange(1.0, 10.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) ** 2
    x = leaf(base)
    y = x * 2.0
    ALIASES[name][0](y)
    np.testing.assert_array_equal(y.numpy(), by_hand(name, base * 2.0))
    assert y.inplace_version == 1
    (y * paddle.to_tensor(weights)).sum().backward()
    expected = differences(lambda a: float((by_hand(name, a * 2.0) * weights).sum()), base)
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in KEYS if n not in ("None", "None beside a list", "True", "False")])
def test_setitem_on_a_view_reaches_the_base(name: str) -> None:
    key = as_key(KEYS[name])
    rng = np.random.default_rng(len(name))
    base = rng.standard_normal((3, 3, 5))
    weights = rng.standard_normal(base.shape)

    def written(x: Any, value: Any) -> Any:
        y = x * x
        # The view has the shape (3, 4, 3): axes turned, the last column left out.
        y.transpose([0, 2, 1])[:, 3::-1][key] = value * value
        return y

    def by_copy(x: np.ndarray, number: float) -> np.ndarray:
        square = x * x
        view = paddle.to_tensor(np.ascontiguousarray(square.transpose(0, 2, 1)[:, 3::-1]))
        view[key] = number * number
        square.transpose(0, 2, 1)[:, 3::-1] = view.numpy()
        return square

    x, value = leaf(base), leaf(0.75)
    y = written(x, value)
    np.testing.assert_array_equal(y.numpy(), by_copy(base, 0.75))
    (y * paddle.to_tensor(weights)).sum().backward()
    expected = differences(lambda a: float((by_copy(a, 0.75) * weights).sum()), base)
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)
    (slope,) = differences(lambda a: float((by_copy(base, a[0]) * weights).sum()), np.array([0.75]))
    np.testing.assert_allclose(0.0 if value.grad is None else value.grad.item(), slope, atol=1e-12)


def test_a_value_of_another_dtype_gets_its_gradient_in_its_own() -> None:
    x = paddle.ones([2, 2], "float32")
    value = leaf([2.0, 3.0])
    x[0] = value
    assert x.dtype is paddle.float32 and not x.stop_gradient
    (x * paddle.to_tensor([[4.0, 5.0], [6.0, 7.0]])).sum().backward()
    assert value.grad.dtype is paddle.float64 and value.grad.tolist() == [4.0, 5.0]
    counts = paddle.zeros([2], "int64")
    counts[:] = value
    assert counts.tolist() == [2, 3] and counts.stop_gradient
    z = paddle.zeros([2], "complex128")
    z[:] = value
    paddle.real(z).sum().backward()
    assert value.grad.tolist() == [5.0, 6.0]


def test_a_tensor_without_dimensions_and_one_without_elements() -> None:
    x = leaf(2.0)
    y = x * 3.0
    y[...] = x * x
    y.backward()
    assert y.item() == 4.0 and x.grad.item() == 4.0
    z = x * 1.0
    z[z > 0] = 7.0
    assert z.item() == 7.0 and paddle.grad(z, x)[0].item() == 0.0
    empty = leaf(np.zeros((0, 3))) * 1.0
    empty[:, 0] = 1.0
    empty[[]] = leaf(np.zeros((0, 3)))
    assert empty.shape == [0, 3] and empty.inplace_version == 2


def test_second_derivatives_pass_through_setitem() -> None:
    x, value = leaf([1.0, 2.0, 3.0]), leaf(5.0)
    y = x * x * x
    y[1:] = y.clone()[:-1] * value
    y[[0]] = value * value * value
    first = paddle.grad(y.sum(), [x, value], create_graph=True)
    # y = (v^3, v x0^3, v x1^3)
    assert first[0].tolist() == [15.0, 60.0, 0.0] and first[1].item() == 75.0 + 1.0 + 8.0
    second = paddle.grad(first[0].sum() + first[1], [x, value])
    assert second[0].tolist() == [6.0 * 5.0 + 3.0, 12.0 * 5.0 + 12.0, 0.0] and second[1].item() == 3.0 + 12.0 + 30.0
