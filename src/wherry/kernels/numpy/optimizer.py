"""The optimizers' updates, in place, and gradient clipping.

Each update takes lists and works through the parameters in blocks, so that what a block needs stays in the cache and working space is small.
Half parameters are updated in float32: their master copy, or a widened one that is rounded once.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from wherry.core.dtype import float32, float64
from wherry.dispatch.kernel_factory import FLOAT, FLOATING_OR_COMPLEX, kernel
from wherry.kernels.numpy.common import Array, in_float32

Arrays = list[Array]

# Elements of a block. One Adam block touches five float32 arrays of it.
_BLOCK: Final = 1 << 15


def _blocks(i: int, param: Arrays, grad: Arrays, master: Arrays | None, *states: Arrays) -> Iterator[tuple[Any, ...]]:
    """(parameter, gradient, states...) of parameter i in working precision, block by block; rounds halves back."""
    arrays = [param[i], grad[i], *[state[i] for state in states]]
    if master is not None:
        arrays.append(master[i])
    first = param[i]
    half = first.dtype.itemsize == 2
    if first.size > _BLOCK and all(a.flags.c_contiguous for a in arrays):
        flat = [a.reshape(-1) for a in arrays]
        pieces = [[a[start : start + _BLOCK] for a in flat] for start in range(0, first.size, _BLOCK)]
    else:
        pieces = [arrays]
    for piece in pieces:
        if not half:
            yield tuple(piece)
            continue
        p = piece[0]
        work = piece.pop() if master is not None else p.astype(np.float32)
        yield (work, piece[1].astype(np.float32), *piece[2:])
        p[...] = work


@functools.lru_cache(maxsize=64)
def _one_minus(value: float, dtype: "np.dtype[Any]") -> float:
    """1 - value as the working dtype computes it: in float32, 1 - 0.9 is 0.10000002."""
    kind = np.float64 if dtype.itemsize == 8 else np.float32
    return float(kind(1) - kind(value))


def _average(mean: Array, value: Array, beta: float, rest: float, scratch: Array) -> None:
    """mean = beta * mean + rest * value."""
    np.multiply(mean, beta, out=mean)
    np.multiply(value, rest, out=scratch)
    np.add(mean, scratch, out=mean)


def _average_square(mean: Array, value: Array, beta: float, rest: float, scratch: Array) -> None:
    """mean = beta * mean + rest * value ** 2."""
    np.multiply(mean, beta, out=mean)
    np.multiply(value, value, out=scratch)
    np.multiply(scratch, rest, out=scratch)
    np.add(mean, scratch, out=mean)


@kernel("merged_sgd_", FLOAT)
def merged_sgd_(param: Arrays, grad: Arrays, master_param: Arrays | None, learning_rate: tuple[float, ...]) -> Any:
    """param -= learning_rate * grad."""
    for i in range(len(param)):
        for p, g in _blocks(i, param, grad, master_param):
            np.subtract(p, g * learning_rate[i], out=p)
    return None, None


@kernel("merged_momentum_", FLOAT)
def merged_momentum_(
    param: Arrays,
    grad: Arrays,
    velocity: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    mu: float,
    use_nesterov: bool,
    l2_decay: tuple[float, ...],
    rescale_grad: float,
) -> Any:
    """Heavy ball, or Nesterov's form."""
    for i in range(len(param)):
        rate = learning_rate[i]
        decay = l2_decay[i] if l2_decay else 0.0
        for p, g, v in _blocks(i, param, grad, master_param, velocity):
            if rescale_grad != 1.0:
                g = g * rescale_grad
            if decay:
                g = g + p * decay
            np.multiply(v, mu, out=v)
            np.add(v, g, out=v)
            if use_nesterov:
                scratch = v * mu
                np.add(scratch, g, out=scratch)
                np.multiply(scratch, rate, out=scratch)
            else:
                scratch = v * rate
            np.subtract(p, scratch, out=p)
    return (None,) * 3


@kernel("merged_adam_", FLOAT)
def merged_adam_(
    param: Arrays,
    grad: Arrays,
    moment1: Arrays,
    moment2: Arrays,
    beta1_pow: Arrays,
    beta2_pow: Arrays,
    moment2_max: Arrays | None,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    decay: tuple[float, ...],
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Any:
    """Adam, AdamW and their amsgrad forms."""
    for i in range(len(param)):
        power1, power2 = float(beta1_pow[i][0]), float(beta2_pow[i][0])
        correction = math.sqrt(1.0 - power2)
        rate = learning_rate[i] * correction / (1.0 - power1)
        shift = epsilon * correction
        shrink = 1.0 - learning_rate[i] * decay[i]
        rest1, rest2 = _one_minus(beta1, moment1[i].dtype), _one_minus(beta2, moment1[i].dtype)
        largest = () if moment2_max is None else (moment2_max,)
        for p, g, m, v, *rest in _blocks(i, param, grad, master_param, moment1, moment2, *largest):
            scratch = np.empty_like(m)
            if shrink != 1.0:
                np.multiply(p, shrink, out=p)
            _average(m, g, beta1, rest1, scratch)
            _average_square(v, g, beta2, rest2, scratch)
            if rest:
                np.maximum(rest[0], v, out=rest[0])
                np.sqrt(rest[0], out=scratch)
            else:
                np.sqrt(v, out=scratch)
            np.add(scratch, shift, out=scratch)
            np.divide(m, scratch, out=scratch)
            np.multiply(scratch, rate, out=scratch)
            np.subtract(p, scratch, out=p)
        beta1_pow[i][0] = power1 * beta1
        beta2_pow[i][0] = power2 * beta2
    return (None,) * 7


@kernel("packed_adam_", (float32, float64))
def packed_adam_(
    param: Arrays,
    grad: Arrays,
    moment1: Array,
    moment2: Array,
    beta1_pow: Arrays,
    beta2_pow: Arrays,
    learning_rate: float,
    decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Any:
    """Adam on small parameters: one pass over all of them, as for so few elements the calls cost more than the work."""
    power1, power2 = float(beta1_pow[0][0]), float(beta2_pow[0][0])
    correction = math.sqrt(1.0 - power2)
    gradients = np.concatenate([g.reshape(-1) for g in grad])
    scratch = np.empty_like(gradients)
    _average(moment1, gradients, beta1, _one_minus(beta1, moment1.dtype), scratch)
    _average_square(moment2, gradients, beta2, _one_minus(beta2, moment1.dtype), scratch)
    np.sqrt(moment2, out=scratch)
    np.add(scratch, epsilon * correction, out=scratch)
    np.divide(moment1, scratch, out=scratch)
    np.multiply(scratch, learning_rate * correction / (1.0 - power1), out=scratch)
    shrink = 1.0 - learning_rate * decay
    start = 0
    for p in param:
        stop = start + p.size
        if shrink != 1.0:
            np.multiply(p, shrink, out=p)
        np.subtract(p, scratch[start:stop].reshape(p.shape), out=p)
        start = stop
    for powers, power in ((beta1_pow, power1 * beta1), (beta2_pow, power2 * beta2)):
        for array in powers:
            array[0] = power
    return (None,) * 5


@kernel("merged_adamax_", FLOAT)
def merged_adamax_(
    param: Arrays,
    grad: Arrays,
    moment: Arrays,
    inf_norm: Arrays,
    beta1_pow: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Any:
    """Adam with the infinity norm."""
    for i in range(len(param)):
        power = float(beta1_pow[i][0])
        rate = learning_rate[i] / (1.0 - power)
        rest = _one_minus(beta1, moment[i].dtype)
        for p, g, m, largest in _blocks(i, param, grad, master_param, moment, inf_norm):
            scratch = np.empty_like(m)
            _average(m, g, beta1, rest, scratch)
            np.multiply(largest, beta2, out=largest)
            np.add(largest, epsilon, out=largest)
            np.abs(g, out=scratch)
            np.maximum(scratch, largest, out=largest)
            np.divide(m, largest, out=scratch)
            np.multiply(scratch, rate, out=scratch)
            np.subtract(p, scratch, out=p)
        beta1_pow[i][0] = power * beta1
    return (None,) * 5


@kernel("merged_adagrad_", FLOAT)
def merged_adagrad_(
    param: Arrays,
    grad: Arrays,
    moment: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    epsilon: float,
) -> Any:
    """Gradients over the root of the sum of all their squares."""
    for i in range(len(param)):
        for p, g, m in _blocks(i, param, grad, master_param, moment):
            scratch = g * g
            np.add(m, scratch, out=m)
            np.sqrt(m, out=scratch)
            np.add(scratch, epsilon, out=scratch)
            np.divide(g, scratch, out=scratch)
            np.multiply(scratch, learning_rate[i], out=scratch)
            np.subtract(p, scratch, out=p)
    return (None,) * 3


@kernel("merged_adadelta_", FLOAT)
def merged_adadelta_(
    param: Arrays,
    grad: Arrays,
    avg_squared_grad: Arrays,
    avg_squared_update: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    rho: float,
    epsilon: float,
) -> Any:
    """Steps of the size of earlier updates."""
    for i in range(len(param)):
        rest = _one_minus(rho, avg_squared_grad[i].dtype)
        for p, g, of_grad, of_update in _blocks(i, param, grad, master_param, avg_squared_grad, avg_squared_update):
            scratch = np.empty_like(of_grad)
            _average_square(of_grad, g, rho, rest, scratch)
            update = of_update + epsilon
            np.add(of_grad, epsilon, out=scratch)
            np.divide(update, scratch, out=update)
            np.sqrt(update, out=update)
            np.multiply(update, g, out=update)
            _average_square(of_update, update, rho, rest, scratch)
            np.multiply(update, learning_rate[i], out=update)
            np.subtract(p, update, out=p)
    return (None,) * 4


@kernel("merged_rmsprop_", FLOAT)
def merged_rmsprop_(
    param: Arrays,
    grad: Arrays,
    mean_square: Arrays,
    mean_grad: Arrays,
    moment: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    rho: float,
    epsilon: float,
    momentum: float,
    centered: bool,
) -> Any:
    """Gradients over the root of their mean square, with momentum."""
    for i in range(len(param)):
        rest = _one_minus(rho, mean_square[i].dtype)
        for p, g, square, mean, m in _blocks(i, param, grad, master_param, mean_square, mean_grad, moment):
            scratch = np.empty_like(square)
            _average_square(square, g, rho, rest, scratch)
            if centered:
                _average(mean, g, rho, rest, scratch)
                np.multiply(mean, mean, out=scratch)
                np.subtract(square, scratch, out=scratch)
                np.add(scratch, epsilon, out=scratch)
            else:
                np.add(square, epsilon, out=scratch)
            np.sqrt(scratch, out=scratch)
            np.divide(g, scratch, out=scratch)
            np.multiply(scratch, learning_rate[i], out=scratch)
            np.multiply(m, momentum, out=m)
            np.add(m, scratch, out=m)
            np.subtract(p, m, out=p)
    return (None,) * 5


@kernel("merged_lamb_", FLOAT)
def merged_lamb_(
    param: Arrays,
    grad: Arrays,
    moment1: Arrays,
    moment2: Arrays,
    beta1_pow: Arrays,
    beta2_pow: Arrays,
    master_param: Arrays | None,
    learning_rate: tuple[float, ...],
    decay: tuple[float, ...],
    beta1: float,
    beta2: float,
    epsilon: float,
    always_adapt: bool,
) -> Any:
    """Adam's step plus decay, scaled by the parameter's norm over the step's: the norms need the whole array."""
    for i in range(len(param)):
        power1, power2 = float(beta1_pow[i][0]), float(beta2_pow[i][0])
        p = param[i]
        work = master_param[i] if master_param is not None else p
        if work.dtype.itemsize == 2:
            work = work.astype(np.float32)
        m, v = moment1[i], moment2[i]
        g = grad[i].astype(m.dtype, copy=False)
        step = np.empty_like(m)
        _average(m, g, beta1, _one_minus(beta1, m.dtype), step)
        _average_square(v, g, beta2, _one_minus(beta2, m.dtype), step)
        root = v / (1.0 - power2)
        np.sqrt(root, out=root)
        np.add(root, epsilon, out=root)
        np.divide(m, 1.0 - power1, out=step)
        np.divide(step, root, out=step)
        np.add(step, work * decay[i], out=step)
        rate = learning_rate[i]
        if always_adapt or decay[i] != 0.0:
            size, length = math.sqrt(_squares(work)), math.sqrt(_squares(step))
            if size > 0.0 and length > 0.0:
                rate *= size / length
        np.multiply(step, rate, out=step)
        np.subtract(work, step, out=work)
        if work is not p:
            p[...] = work
        beta1_pow[i][0] = power1 * beta1
        beta2_pow[i][0] = power2 * beta2
    return (None,) * 6


def _squares(x: Array) -> float:
    """Sum of squared magnitudes."""
    flat = x.reshape(-1)
    if flat.dtype.kind == "c":
        return float(np.vdot(flat, flat).real)
    return float(np.dot(flat, flat))


@kernel("squared_l2_norm", FLOATING_OR_COMPLEX)
def squared_l2_norm(x: Array) -> Array:
    """Sum of squared magnitudes, [1]; in float32 for halves."""
    if x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    return np.array([_squares(x)], x.real.dtype)


@kernel("clip_by_norm", FLOAT)
@in_float32
def clip_by_norm(x: Array, max_norm: float) -> Array:
    """x, scaled where its norm is above max_norm."""
    norm = math.sqrt(_squares(x))
    if not math.isfinite(norm) and np.isfinite(x).all():
        # The squares overflow where the norm does not.
        top = float(np.abs(x).max())
        norm = top * math.sqrt(_squares(x / x.dtype.type(top)))
    return x * (max_norm / norm) if norm > max_norm else x.copy()
