"""Rows of the optimizers' updates (one step of each formula) and of gradient clipping."""

from typing import Any

import numpy as np

from tests.op_table.row import COMPLEX, FLOATS, Case, Row

_WRITES = "an operation that writes has no gradient"
ONE, POWER = [(3,)], [np.array([0.81])]
RATE = (0.1,)


def sgd(param: Any, grad: Any, master_param: Any, learning_rate: Any) -> Any:
    return [[p - learning_rate[0] * g] for p, g in zip(param, grad)][0], None


def momentum(
    param: Any,
    grad: Any,
    velocity: Any,
    master_param: Any,
    learning_rate: Any,
    mu: float,
    use_nesterov: bool = False,
    l2_decay: Any = (),
    rescale_grad: float = 1.0,
) -> Any:
    p, v = param[0], velocity[0]
    g = grad[0] * rescale_grad + (l2_decay[0] * p if l2_decay else 0)
    v = mu * v + g
    return [p - learning_rate[0] * (g + mu * v if use_nesterov else v)], [v], None


def adam(
    param: Any,
    grad: Any,
    moment1: Any,
    moment2: Any,
    beta1_pow: Any,
    beta2_pow: Any,
    moment2_max: Any,
    master_param: Any,
    learning_rate: Any,
    decay: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Any:
    g, rate = grad[0], learning_rate[0]
    m = beta1 * moment1[0] + (1 - beta1) * g
    v = beta2 * moment2[0] + (1 - beta2) * g * g
    top = v if moment2_max is None else np.maximum(v, moment2_max[0])
    hat1, hat2 = m / (1 - beta1_pow[0]), top / (1 - beta2_pow[0])
    p = param[0] * (1 - rate * decay[0]) - rate * hat1 / (np.sqrt(hat2) + epsilon)
    largest = None if moment2_max is None else [top]
    return [p], [m], [v], [beta1_pow[0] * beta1], [beta2_pow[0] * beta2], largest, None


def adamax(
    param: Any,
    grad: Any,
    moment: Any,
    inf_norm: Any,
    beta1_pow: Any,
    master_param: Any,
    learning_rate: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Any:
    m = beta1 * moment[0] + (1 - beta1) * grad[0]
    u = np.maximum(beta2 * inf_norm[0] + epsilon, np.abs(grad[0]))
    p = param[0] - learning_rate[0] / (1 - beta1_pow[0]) * m / u
    return [p], [m], [u], [beta1_pow[0] * beta1], None


def adagrad(param: Any, grad: Any, moment: Any, master_param: Any, learning_rate: Any, epsilon: float) -> Any:
    m = moment[0] + grad[0] ** 2
    return [param[0] - learning_rate[0] * grad[0] / (np.sqrt(m) + epsilon)], [m], None


def adadelta(
    param: Any,
    grad: Any,
    avg_squared_grad: Any,
    avg_squared_update: Any,
    master_param: Any,
    learning_rate: Any,
    rho: float,
    epsilon: float,
) -> Any:
    a = rho * avg_squared_grad[0] + (1 - rho) * grad[0] ** 2
    update = np.sqrt((avg_squared_update[0] + epsilon) / (a + epsilon)) * grad[0]
    return [param[0] - learning_rate[0] * update], [a], [rho * avg_squared_update[0] + (1 - rho) * update**2], None


def rmsprop(
    param: Any,
    grad: Any,
    mean_square: Any,
    mean_grad: Any,
    moment: Any,
    master_param: Any,
    learning_rate: Any,
    rho: float,
    epsilon: float,
    momentum: float,
    centered: bool = False,
) -> Any:
    square = rho * mean_square[0] + (1 - rho) * grad[0] ** 2
    mean = rho * mean_grad[0] + (1 - rho) * grad[0] if centered else mean_grad[0]
    spread = square - mean**2 if centered else square
    m = momentum * moment[0] + learning_rate[0] * grad[0] / np.sqrt(spread + epsilon)
    return [param[0] - m], [square], [mean], [m], None


def lamb(
    param: Any,
    grad: Any,
    moment1: Any,
    moment2: Any,
    beta1_pow: Any,
    beta2_pow: Any,
    master_param: Any,
    learning_rate: Any,
    decay: Any,
    beta1: float,
    beta2: float,
    epsilon: float,
    always_adapt: bool = False,
) -> Any:
    m = beta1 * moment1[0] + (1 - beta1) * grad[0]
    v = beta2 * moment2[0] + (1 - beta2) * grad[0] ** 2
    step = m / (1 - beta1_pow[0]) / (np.sqrt(v / (1 - beta2_pow[0])) + epsilon) + decay[0] * param[0]
    trust = np.linalg.norm(param[0]) / np.linalg.norm(step)
    return [param[0] - learning_rate[0] * trust * step], [m], [v], [beta1_pow[0] * beta1], [beta2_pow[0] * beta2], None


def _row(op: str, cases: tuple[Case, ...], reference: Any) -> Row:
    return Row(op, cases, reference, ("float64",), domain=(0.1, 2.0), order=0, reason=_WRITES)


_BETAS = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "learning_rate": RATE}

ROWS = (
    _row("merged_sgd_", (Case((ONE, ONE, None), {"learning_rate": RATE}),), sgd),
    _row(
        "merged_momentum_",
        (
            Case((ONE, ONE, ONE, None), {"learning_rate": RATE, "mu": 0.9}),
            Case((ONE, ONE, ONE, None), {"learning_rate": RATE, "mu": 0.9, "use_nesterov": True, "l2_decay": (0.01,)}),
            Case((ONE, ONE, ONE, None), {"learning_rate": RATE, "mu": 0.5, "rescale_grad": 0.5}),
        ),
        momentum,
    ),
    _row(
        "merged_adam_",
        (
            Case((ONE, ONE, ONE, ONE, POWER, POWER, None, None), {**_BETAS, "decay": (0.0,)}),
            Case((ONE, ONE, ONE, ONE, POWER, POWER, ONE, None), {**_BETAS, "decay": (0.05,)}),
        ),
        adam,
    ),
    _row("merged_adamax_", (Case((ONE, ONE, ONE, ONE, POWER, None), _BETAS),), adamax),
    _row("merged_adagrad_", (Case((ONE, ONE, ONE, None), {"learning_rate": RATE, "epsilon": 1e-6}),), adagrad),
    _row(
        "merged_adadelta_",
        (Case((ONE, ONE, ONE, ONE, None), {"learning_rate": RATE, "rho": 0.95, "epsilon": 1e-6}),),
        adadelta,
    ),
    _row(
        "merged_rmsprop_",
        tuple(
            Case(
                (ONE, ONE, [np.array([4.0, 5.0, 6.0])], ONE, ONE, None),
                {"learning_rate": RATE, "rho": 0.9, "epsilon": 1e-6, "momentum": 0.5, "centered": centered},
            )
            for centered in (False, True)
        ),
        rmsprop,
    ),
    _row("merged_lamb_", (Case((ONE, ONE, ONE, ONE, POWER, POWER, None), {**_BETAS, "decay": (0.01,)}),), lamb),
    Row(
        "squared_l2_norm",
        (Case(((2, 3),)), Case(((),)), Case(((0, 2),))),
        lambda x: np.sum(np.abs(x) ** 2).reshape(1).astype(x.real.dtype),
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "clip_by_norm",
        (Case(((2, 3),), {"max_norm": 1.0}), Case(((2, 3),), {"max_norm": 100.0})),
        lambda x, max_norm: x * min(1.0, max_norm / np.sqrt(np.sum(x**2))),
        FLOATS,
    ),
)
