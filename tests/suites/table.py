"""What the suites share: calls from the table, inputs for them, and comparison."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.op_table import all_rows
from tests.op_table.row import COMPLEX, HALVES, Case, Row
from wherry import _C_ops
from wherry._generated.op_defs import OPS
from wherry.core.dense_tensor import dense_from_array
from wherry.dispatch.op_def import OpDef
from wherry.tensor.tensor import tensor_from_array

ROWS = all_rows()
# The dtype of a call all of whose tensors are given as arrays, or that takes none.
GIVEN = "given"
# Steps between 0 and the next value of a random input in gradient suites.
KINK_DISTANCE = 0.05

TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-10,
    "complex64": 4e-5,
    "complex128": 1e-10,
}


@dataclass(frozen=True)
class Call:
    """A case of a row in a dtype: one test."""

    row: Row
    number: int
    dtype: str

    @property
    def case(self) -> Case:
        return self.row.cases[self.number]

    @property
    def op(self) -> OpDef:
        return OPS[self.row.op]

    @property
    def id(self) -> str:
        return f"{self.row.op}-{self.number}-{self.dtype}"

    @property
    def seed(self) -> int:
        return zlib.crc32(self.id.encode())


def is_shape(item: Any) -> bool:
    """Whether an input of a case asks for random values."""
    return isinstance(item, tuple) and all(isinstance(n, int) for n in item)


def takes_random(case: Case) -> bool:
    """Whether any tensor of a case is random, so that it has the row's dtype."""
    flat = [i for item in case.inputs for i in (item if isinstance(item, list) else [item])]
    return any(is_shape(i) for i in flat)


def dtypes_of(row: Row, case: Case, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    return dtypes if takes_random(case) else (GIVEN,)


def calls(
    select: Callable[[Row], tuple[str, ...]] = lambda row: row.dtypes,
    keep: Callable[[Row, Case], bool] = lambda row, case: True,
) -> list[Call]:
    """Every case of every row in the dtypes that `select` gives, where `keep` holds."""
    return [
        Call(row, number, dtype)
        for row in ROWS
        for number, case in enumerate(row.cases)
        if keep(row, case)
        for dtype in dtypes_of(row, case, select(row))
    ]


def by_operation(found: list[Call]) -> dict[str, list[Call]]:
    """Calls in lists, by operation."""
    grouped: dict[str, list[Call]] = {}
    for call in found:
        grouped.setdefault(call.row.op, []).append(call)
    return grouped


def for_each(found: list[Call]) -> Callable[[Callable[[Call], None]], Any]:
    """Make a test of a check of one call: a test for each operation, which takes all of its calls and names those that fail.

    A test for each call would spend more time on being a test than on the check.
    """
    grouped = by_operation(found)

    def decorate(check: Callable[[Call], None]) -> Any:
        @pytest.mark.parametrize("op", list(grouped))
        def test(op: str) -> None:
            wrong: list[tuple[str, Exception]] = []
            for call in grouped[op]:
                try:
                    check(call)
                except Exception as error:
                    wrong.append((f"{call.id} {call.case.attrs}: {type(error).__name__}: {error}", error))
            if wrong:
                raise AssertionError("\n".join(text for text, _ in wrong)) from wrong[0][1]

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def real_values(rng: np.random.Generator, row: Row, size: int, dtype: str, away: bool) -> np.ndarray:
    """`size` random real numbers of the row's domain; `away` from its kinks."""
    low, high = row.domain
    if dtype == "bool":
        return rng.random(size) < 0.5
    kind = np.dtype(dtype).kind if dtype not in HALVES else "f"
    if kind in "iu":
        low, high = (-6, 6) if row.domain == (-2.0, 2.0) else (int(np.ceil(low)), int(np.floor(high)))
        low = max(low, 0) if kind == "u" else low
        if row.distinct:
            high = max(high, low + size)
            return rng.permutation(np.arange(low, high + 1))[:size]
        return rng.integers(low, max(high, low), size, endpoint=True)
    if not row.distinct:
        values = rng.uniform(low, high, size)
        for _ in range(100):
            near = np.zeros(size, bool)
            for kink in row.kinks if away else ():
                near |= np.abs(values - kink) < KINK_DISTANCE
            if not near.any():
                break
            values[near] = rng.uniform(low, high, int(near.sum()))
        return values
    grid = np.linspace(low, high, 64 * (size + 1))
    for kink in row.kinks if away else ():
        grid = grid[np.abs(grid - kink) >= KINK_DISTANCE]
    # Evenly spread, a little shifted, in any order: no two are close.
    places = (np.arange(size) + rng.uniform(0.3, 0.7, size)) / max(size, 1)
    return rng.permutation(grid[(places * (len(grid) - 1)).astype(int)])


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def make_inputs(call: Call, away: bool = False) -> list[Any]:
    """The arrays of a call: one for each tensor argument, a list for Tensor[], None for one left out."""
    row, case = call.row, call.case
    rng = np.random.default_rng(call.seed)
    shapes = [i for item in case.inputs for i in (item if isinstance(item, list) else [item]) if is_shape(i)]
    total = int(sum(np.prod(s, dtype=int) for s in shapes))
    dtype = call.dtype
    values = real_values(rng, row, total, dtype, away) if shapes else np.zeros(0)
    if dtype in COMPLEX:
        values = values + 1j * real_values(rng, row, total, dtype.replace("complex64", "float32"), away)
    position = 0

    def one(item: Any) -> Any:
        nonlocal position
        if isinstance(item, list):
            return [one(i) for i in item]
        if item is None:
            return None
        if isinstance(item, np.ndarray) or not is_shape(item):
            return np.array(item)
        size = int(np.prod(item, dtype=int))
        part = values[position : position + size].reshape(item)
        position += size
        return np.array(part).astype(numpy_dtype(dtype))

    return [one(item) for item in case.inputs]


def each(inputs: list[Any]) -> Iterator[Any]:
    """The arrays (or tensors) of inputs, one after another."""
    for item in inputs:
        if isinstance(item, list):
            yield from item
        elif item is not None:
            yield item


def mapped(function: Callable[[Any], Any], inputs: Any) -> Any:
    """The same structure with a function of each array."""
    if isinstance(inputs, (list, tuple)):
        return type(inputs)(mapped(function, i) for i in inputs)
    return None if inputs is None else function(inputs)


def tensor_of(array: np.ndarray) -> Any:
    """A tensor over this very array."""
    return tensor_from_array(array)


def run(call: Call, tensors: list[Any], twin: bool = False) -> Any:
    """Call the operation (or its in-place twin) by its entry."""
    name = call.row.op + ("_" if twin else "")
    return getattr(_C_ops, name)(*tensors, **call.case.attrs)


def outputs_of(result: Any) -> list[Any]:
    """The tensors that a call returned, in order; None where an output is None."""
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in outputs_of(item)]
    return [result]


def comparable(array: Any) -> np.ndarray:
    """An array in a dtype in which NumPy can compare."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def kind_of(array: Any) -> str:
    return comparable(array).dtype.kind.replace("u", "i")


def tolerance_of(row: Row, dtype_name: str) -> float:
    return row.tolerance.get(dtype_name, TOLERANCE.get(dtype_name, 0.0))


def has_tiny(arrays: list[Any]) -> bool:
    """Whether an input is there to test what happens close to 0, so that only relative errors count."""
    found = [comparable(a) for a in each(arrays)]
    return any(((np.abs(a) < 1e-8) & (a != 0)).any() for a in found if a.dtype.kind in "fc")


def dense_inputs(arrays: list[Any]) -> tuple[Any, ...]:
    return tuple(mapped(dense_from_array, a) for a in arrays)


def differentiable(array: Any) -> bool:
    return kind_of(array) in "fc"


def assert_same(actual: Any, expected: Any, rtol: float, atol: float, what: str) -> None:
    """Shapes equal, values close (inf and nan at the same places)."""
    actual, expected = comparable(actual), comparable(expected)
    assert actual.shape == expected.shape, f"{what}: expected the shape {expected.shape}, received {actual.shape}"
    np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=what)


def cotangent(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """A random gradient for an output."""
    dtype = np.asarray(array).dtype
    size = rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1.0, 1.0], array.shape)
    if dtype.kind == "c":
        size = size + 1j * rng.uniform(0.5, 1.5, array.shape)
    return np.asarray(size).astype(dtype)


def leaf(array: np.ndarray) -> Any:
    """A tensor over this very array that wants a gradient where its dtype has one."""
    tensor = tensor_of(array)
    tensor.stop_gradient = not differentiable(array)
    return tensor
