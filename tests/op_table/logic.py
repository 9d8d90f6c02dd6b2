"""Rows of comparison, logic, bits, the cast, and of what chooses by a mask."""

from typing import Any

import numpy as np

from tests.op_table.math import BINARY, BOTH, PAIRS, UNARY
from tests.op_table.row import COMPLEX, FLOATS, HALVES, INTS, Case, Row

ALL = FLOATS + HALVES + COMPLEX + INTS
TRUTH = Case((np.array([[True], [False]]), np.array([True, False])))
NUMBERS = np.array([5, -6, 0, 1, -1, 127, -128])
BITS = (Case((NUMBERS[:, None], NUMBERS)), Case((NUMBERS.astype(np.int8), NUMBERS.astype(np.int8)[::-1])), TRUTH)
MASK = np.array([[True, False, True], [False, False, True]])
SHIFTS = np.array([0, 1, 5, 7, 8, 40, 64, -1])


def comparison(op: str, reference: Any) -> Row:
    equal = Case((np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, np.nan])))
    lexical = Case((np.array([1 + 2j, 1 + 1j, 2 + 0j]), np.array([1 + 3j, 1 + 1j, 1 + 5j])))
    return Row(op, (*BINARY, Case(PAIRS), equal, lexical, TRUTH), reference, ALL, order=0)


def logical(op: str, reference: Any) -> Row:
    numbers = Case((np.array([0.0, -0.0, np.nan, 2.0])[:, None], np.array([0.0, 1.0, np.nan])))
    return Row(op, (*BINARY, numbers, TRUTH), reference, ALL, order=0)


def bits(op: str, reference: Any) -> Row:
    return Row(op, (*BINARY, *BITS), reference, INTS, order=0)


def left_shift(x: np.ndarray, y: np.ndarray, is_arithmetic: bool = True) -> np.ndarray:
    width = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < width)
    return np.where(inside, x.astype(np.int64) * 2 ** np.where(inside, y, 0).astype(np.int64), 0).astype(x.dtype)


def right_shift(x: np.ndarray, y: np.ndarray, is_arithmetic: bool = True) -> np.ndarray:
    width = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < width)
    value = x.astype(object)
    if not is_arithmetic:
        value = np.where(x < 0, value + 2**width, value)
    shifted = [v >> int(s) for v, s in np.broadcast(value, np.where(inside, y, width))]
    return (
        np.array([v & (2**width - 1) for v in shifted], object)
        .reshape(np.broadcast_shapes(x.shape, y.shape))
        .astype(f"u{x.dtype.itemsize}")
        .astype(x.dtype)
    )


def isclose(
    x: np.ndarray, y: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> np.ndarray:
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.isclose(x.astype(wide), y.astype(wide), rtol, atol, equal_nan)


def cast(x: np.ndarray, dtype: str) -> np.ndarray:
    if x.dtype.kind == "c" and not dtype.startswith("complex"):
        return x != 0 if dtype == "bool" else x.real.astype(dtype)
    return x.astype(dtype)


SPECIAL = np.array([1.0, np.nan, np.inf, np.inf, 1e-9])
CLOSE = (
    Case(((2, 3), (2, 3))),
    Case(((2, 1), (3,))),
    Case(((), ())),
    Case(((0, 2), (1, 2))),
    Case((SPECIAL, np.array([1.0 + 1e-6, np.nan, np.inf, -np.inf, 0.0]))),
    Case((SPECIAL, np.array([1.0 + 1e-6, np.nan, np.inf, 1.0, 0.0])), {"equal_nan": True}),
    Case((SPECIAL[:1], np.array([1.05])), {"rtol": 0.1}),
    Case((SPECIAL[:1], np.array([1.05])), {"rtol": 0.0, "atol": 0.04}),
    Case((np.array([3, 4]), np.array([3, 5]))),
)

ROWS = (
    comparison("equal", np.equal),
    comparison("not_equal", np.not_equal),
    comparison("less_than", np.less),
    comparison("less_equal", np.less_equal),
    comparison("greater_than", np.greater),
    comparison("greater_equal", np.greater_equal),
    Row(
        "equal_all",
        (
            Case(((2, 3), (2, 3))),
            Case((NUMBERS, NUMBERS)),
            Case((NUMBERS, NUMBERS[None])),
            Case((NUMBERS, NUMBERS[:3])),
            Case(((0,), (0,))),
        ),
        np.array_equal,
        ALL,
        order=0,
    ),
    Row("isclose", CLOSE, isclose, ALL, order=0),
    Row("allclose", CLOSE, lambda x, y, **attrs: isclose(x, y, **attrs).all(), ALL, order=0),
    logical("logical_and", np.logical_and),
    logical("logical_or", np.logical_or),
    logical("logical_xor", np.logical_xor),
    Row(
        "logical_not",
        (*[Case((shape,)) for shape in UNARY], Case((np.array([0.0, -0.0, np.nan]),)), Case((MASK,))),
        np.logical_not,
        ALL,
        order=0,
    ),
    bits("bitwise_and", np.bitwise_and),
    bits("bitwise_or", np.bitwise_or),
    bits("bitwise_xor", np.bitwise_xor),
    Row("bitwise_not", (*[Case((shape,)) for shape in UNARY], Case((MASK,))), np.invert, INTS, order=0),
    Row(
        "bitwise_left_shift",
        (
            Case((NUMBERS[:, None].astype(np.int8), SHIFTS.astype(np.int8))),
            Case((NUMBERS[:, None].astype(np.int32), SHIFTS.astype(np.int32))),
            Case((NUMBERS[:, None], SHIFTS[:-2])),
            Case((NUMBERS.astype(np.uint8), np.uint8(3)), {"is_arithmetic": False}),
        ),
        left_shift,
        order=0,
    ),
    Row(
        "bitwise_right_shift",
        (
            Case((NUMBERS[:, None].astype(np.int8), SHIFTS.astype(np.int8))),
            Case((NUMBERS[:, None], SHIFTS)),
            Case((NUMBERS[:, None].astype(np.int8), SHIFTS.astype(np.int8)), {"is_arithmetic": False}),
            Case((NUMBERS[:, None].astype(np.int32), SHIFTS.astype(np.int32)), {"is_arithmetic": False}),
            Case((NUMBERS.astype(np.uint8), np.uint8(3)), {"is_arithmetic": False}),
        ),
        right_shift,
        order=0,
    ),
    Row(
        "cast",
        tuple(
            Case((shape,), {"dtype": dtype})
            for dtype in ("float64", "complex128", "float32", "complex64", "int32", "bool")
            for shape in UNARY
        ),
        cast,
        ALL,
        grad_dtypes=BOTH,
        skip=("inplace",),
        reason="in place it changes the dtype; derivatives to float32 are as exact as float32",
    ),
    Row(
        "where",
        (
            Case((MASK, (2, 3), (2, 3))),
            Case((MASK[:, :1], (3,), (4, 1, 1))),
            Case((np.array(True), (2,), ())),
            Case((MASK, (), ())),
            Case((MASK[:0], (3,), ())),
        ),
        np.where,
        ALL,
        grad_dtypes=BOTH,
    ),
    Row(
        "masked_fill",
        (
            Case(((2, 3), MASK), {"value": 7.0}),
            Case(((3,), MASK), {"value": 3}),
            Case(((2, 3), MASK[:, :1]), {"value": 0.0}),
            Case(((), MASK), {"value": 2.0}),
            Case(((0, 3), MASK[:0]), {"value": 2.0}),
        ),
        lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
        ALL,
        grad_dtypes=BOTH,
    ),
)
