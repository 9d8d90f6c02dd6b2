"""Rows of the random operations: shapes and dtypes; the numbers are looked at in tests/test_random.py."""

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, Case, Row

REASON = "a draw: the values differ from call to call"
ZERO = "a draw does not follow its input, so finite differences of it mean nothing; its gradient is 0"
FLOATING = HALVES + FLOATS
SHAPES = (Case(((2, 3),)), Case(((),)), Case(((0, 2),)))

ROWS = (
    Row(
        "gaussian",
        (
            Case((), {"shape": [2, 3], "mean": 0.0, "std": 1.0, "seed": 0, "dtype": "float32"}),
            Case((), {"shape": [], "mean": 1.0, "std": 2.0, "seed": 5, "dtype": "bfloat16"}),
            Case((), {"shape": [0], "mean": 1 + 1j, "std": 2.0, "seed": 0, "dtype": "complex128"}),
        ),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row(
        "uniform",
        (
            Case((), {"shape": [2, 3], "dtype": "float64", "min": 0.0, "max": 1.0, "seed": 0}),
            Case((), {"shape": [], "dtype": "float16", "min": -1, "max": 2, "seed": 5}),
            Case((), {"shape": [3], "dtype": "complex64", "min": -1.0, "max": 2.0, "seed": 0}),
        ),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row(
        "truncated_gaussian_random",
        (
            Case(
                (),
                {"shape": [2, 3], "mean": 0.0, "std": 1.0, "seed": 0, "a": -2.0, "b": 2.0, "dtype": "float32"},
            ),
        ),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row(
        "randint",
        (
            Case((), {"low": -3, "high": 5, "shape": [2, 3], "dtype": "int64"}),
            Case((), {"low": 0, "high": 2, "shape": [], "dtype": "int32"}),
        ),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row(
        "randperm",
        (Case((), {"n": 5, "dtype": "int64"}), Case((), {"n": 0, "dtype": "int32"})),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row("bernoulli", SHAPES, None, FLOATING, order=0, domain=(0.0, 1.0), random=True, reason=REASON),
    Row(
        "multinomial",
        (
            Case(((5,),), {"num_samples": 2}),
            Case(((3, 5),), {"num_samples": 7, "replacement": True}),
        ),
        None,
        order=0,
        domain=(0.1, 1.0),
        random=True,
        reason=REASON,
    ),
    Row("poisson", SHAPES, None, FLOATING, order=0, domain=(0.1, 5.0), random=True, reason=ZERO),
    Row("standard_gamma", SHAPES, None, FLOATING, order=0, domain=(0.1, 5.0), random=True, reason=REASON),
    Row(
        "binomial",
        (Case((np.array([[3], [4]]), np.array([0.2, 0.5, 1.0]))),),
        None,
        order=0,
        random=True,
        reason=REASON,
    ),
    Row("gaussian_inplace", SHAPES, None, FLOATING + COMPLEX, order=0, random=True, reason=ZERO),
    Row("uniform_inplace", SHAPES, None, FLOATING + COMPLEX, order=0, random=True, reason=ZERO),
    Row("exponential_inplace", SHAPES, None, FLOATING, order=0, random=True, reason=ZERO),
    Row("bernoulli_inplace", SHAPES, None, (*FLOATING, "int64"), order=0, random=True, reason=ZERO),
    Row("cauchy_inplace", SHAPES, None, FLOATING, order=0, random=True, reason=ZERO),
    Row("log_normal_inplace", SHAPES, None, FLOATING, order=0, random=True, reason=ZERO),
    Row(
        "randint_inplace",
        (Case(((2, 3),), {"low": -3, "high": 5}), Case(((),), {"low": 0, "high": 2})),
        None,
        (*FLOATING, "int64"),
        order=0,
        random=True,
        reason=ZERO,
    ),
    Row("geometric_inplace", (Case(((2, 3),), {"probs": 0.3}),), None, FLOATING, order=0, random=True, reason=ZERO),
)
