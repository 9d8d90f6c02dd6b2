"""In-place operations whose operands lie in the memory that is written: the result is that of operands with memory of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle

BASE = np.random.default_rng(0).uniform(0.5, 2.0, (6, 6))
ROUND = np.array([1, 2, 3, 4, 5, 0])
ROWS = np.random.default_rng(1).permuted(np.tile(np.arange(6), (6, 1)), axis=1)


def at(values: np.ndarray) -> Any:
    return paddle.to_tensor(values)


# What is written, and what it meets there.
REGIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "the row before": (lambda b: b[1:], lambda b: b[:-1]),
    "the row behind": (lambda b: b[:-1], lambda b: b[1:]),
    "the transpose": (lambda b: b, lambda b: b.T),
    "the rows reversed": (lambda b: b[::-1], lambda b: b),
    "one row": (lambda b: b, lambda b: b[2]),
    "one element": (lambda b: b, lambda b: b[1, 1]),
    "itself": (lambda b: b, lambda b: b),
}
BINARY = ["add", "subtract", "multiply", "divide", "remainder", "floor_divide", "copysign", "hypot", "less_than", "pow"]
# name: (what is written, the operation without writing and its twin, on the region and the base)
OTHERS: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], tuple[Any, ...]]]] = {
    "lerp": (lambda b: b, "lerp", lambda b: (b[::-1], b.T)),
    "addmm": (lambda b: b, "addmm", lambda b: (b, b.T)),
    "baddbmm": (lambda b: b[None], "baddbmm", lambda b: (b[None], b.T[None], 0.5, 2.0)),
    "clip": (lambda b: b, "clip", lambda b: (b[1, 1], b[2, 2])),
    "masked_fill": (lambda b: b, "masked_fill", lambda b: (b.T > 1.0, b[3, 3])),
    "cumsum": (lambda b: b.T, "cumsum", lambda b: (0,)),
    "cumprod": (lambda b: b[:, ::-2], "cumprod", lambda b: (1,)),
    "tril": (lambda b: b.T, "tril", lambda b: ()),
    "index_add": (lambda b: b, "index_add", lambda b: (at(ROUND), 0, b)),
    "index_add of the transpose": (lambda b: b, "index_add", lambda b: (at(ROUND // 2), 1, b.T)),
    "index_put": (lambda b: b, "index_put", lambda b: ((at(ROUND),), b)),
    "index_put, added": (lambda b: b, "index_put", lambda b: ((at(ROUND // 2),), b.T, True)),
    "scatter": (lambda b: b, "scatter", lambda b: (at(ROUND), b)),
    "scatter, added": (lambda b: b, "scatter", lambda b: (at(ROUND // 2), b.T, False)),
    **{
        f"put_along_axis, {reduce}, axis {axis}": (
            lambda b: b,
            "put_along_axis",
            lambda b, axis=axis, reduce=reduce: (at(ROWS if axis else ROWS.T), b.T, axis, reduce),
        )
        for axis in (0, 1)
        for reduce in ("assign", "add", "mul", "amax", "amin", "mean")
    },
}


def check(name: str, region: Callable[[Any], Any], arguments: Callable[[Any], tuple[Any, ...]]) -> None:
    base, copy = at(BASE), at(BASE)
    target = region(base)
    expected = getattr(paddle, name)(region(copy), *arguments(copy)).numpy()
    assert getattr(target, f"{name}_")(*arguments(base)) is target
    np.testing.assert_array_equal(target.numpy(), expected.astype(np.float64))
    np.testing.assert_array_equal(region(base).numpy(), expected.astype(np.float64))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("where", REGIONS)
def test_binary_operations(name: str, where: str) -> None:
    region, operand = REGIONS[where]
    check(name, region, lambda b: (operand(b),))


@pytest.mark.parametrize("case", OTHERS)
def test_other_operations(case: str) -> None:
    region, name, arguments = OTHERS[case]
    check(name, region, arguments)


def test_where() -> None:
    base, copy = at(BASE), at(BASE)
    expected = paddle.where(copy.T > 1.0, copy, copy[::-1]).numpy()
    paddle.where_(base.T > 1.0, base, base[::-1])
    np.testing.assert_array_equal(base.numpy(), expected)
