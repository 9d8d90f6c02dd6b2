"""Rows of the optimizers' updates and of gradient clipping."""

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, HALVES, Case, Row

REASON = "it changes its inputs and returns nothing to compare: tests/test_optimizer.py has its steps"
PAIR = [(2, 3), (4,)]
ONES = [np.full(1, 0.9, "float32")] * 2
RATES = [0.1, 0.2]
NONE = [0.0, 0.0]


def update(op, inputs, **attrs):
    """The row of an operation that writes."""
    cases = (Case((*inputs, None), attrs),)
    return Row(op, cases, None, ("float32",), order=0, reason=REASON)


def squared_l2_norm(x):
    return np.sum(np.abs(np.asarray(x)) ** 2).reshape(1)


def clip_by_norm(x, max_norm):
    norm = np.sqrt(np.sum(np.asarray(x, np.float64) ** 2))
    return x * (max_norm / norm) if norm > max_norm else x


ROWS = (
    update("merged_sgd_", (PAIR, PAIR), learning_rate=RATES),
    update("merged_momentum_", (PAIR, PAIR, PAIR), learning_rate=RATES, mu=0.9, l2_decay=[0.1, 0.0]),
    update(
        "merged_adam_",
        (PAIR, PAIR, PAIR, PAIR, ONES, ONES, None),
        learning_rate=RATES,
        decay=NONE,
        beta1=0.9,
        beta2=0.9,
        epsilon=1e-8,
    ),
    Row(
        "packed_adam_",
        (
            Case(
                (PAIR, PAIR, (10,), (10,), ONES, ONES),
                {"learning_rate": 0.1, "decay": 0.0, "beta1": 0.9, "beta2": 0.9, "epsilon": 1e-8},
            ),
        ),
        None,
        ("float32",),
        order=0,
        reason=REASON,
    ),
    update("merged_adamax_", (PAIR, PAIR, PAIR, PAIR, ONES), learning_rate=RATES, beta1=0.9, beta2=0.9, epsilon=1e-8),
    update("merged_adagrad_", (PAIR, PAIR, PAIR), learning_rate=RATES, epsilon=1e-6),
    update("merged_adadelta_", (PAIR, PAIR, PAIR, PAIR), learning_rate=RATES, rho=0.9, epsilon=1e-6),
    update("merged_rmsprop_", (PAIR, PAIR, PAIR, PAIR, PAIR), learning_rate=RATES, rho=0.9, epsilon=1e-6, momentum=0.5),
    update(
        "merged_lamb_",
        (PAIR, PAIR, PAIR, PAIR, ONES, ONES),
        learning_rate=RATES,
        decay=NONE,
        beta1=0.9,
        beta2=0.9,
        epsilon=1e-8,
    ),
    Row(
        "squared_l2_norm",
        (Case(((2, 3),)), Case(((),)), Case(((0, 2),)), Case(((40, 50),))),
        squared_l2_norm,
        FLOATS + COMPLEX + HALVES,
        grad_dtypes=("float64", "complex128"),
        tolerance={"float16": 2e-5, "bfloat16": 2e-5},
    ),
    Row(
        "clip_by_norm",
        (
            Case(((2, 3),), {"max_norm": 0.5}),
            Case(((2, 3),), {"max_norm": 50.0}),
            Case(((),), {"max_norm": 0.25}),
            Case(((0, 2),), {"max_norm": 1.0}),
            Case((np.zeros((2, 2)),), {"max_norm": 1.0}),
        ),
        clip_by_norm,
        FLOATS + HALVES,
        domain=(0.5, 2.0),
        exempt={
            "limits": "the direction of a vector of infinite length is inf / inf",
            "infinite_gradient": "the part along x is taken out, and inf - inf is NaN",
        },
    ),
)
