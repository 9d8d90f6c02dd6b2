"""The loss of a transducer: over all ways through steps and labels; and its derivatives.

Graves, "Sequence Transduction with Recurrent Neural Networks", 2012. At (step t, labels u) a blank goes to t + 1, the next label to u + 1.
Places with the same t + u are independent of one another, so the loop is over those diagonals. A diagonal is stored as a row: skewed[d, t] is
the place (t, d - t). Second derivatives as in ctc.py.
"""

from typing import Any, NamedTuple

import numpy as np

from wherry.dispatch.kernel_factory import kernel
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.ctc import WIDE, complex_step, labels_in, lengths_in, log_sum


class _Places(NamedTuple):
    """label [batch, labels]; steps and counts: the lengths of each sequence."""

    label: Array
    steps: Array
    counts: Array


def _places(input: Array, label: Array, input_lengths: Array, label_lengths: Array, blank: int) -> _Places:
    steps = lengths_in(input_lengths, input.shape[1], "input_lengths")
    counts = lengths_in(label_lengths, label.shape[1], "label_lengths")
    return _Places(labels_in(label, counts, input.shape[3], blank), steps, counts)


def _moves(input: Array, places: _Places, blank: int) -> tuple[Array, Array]:
    """Log-probabilities of a blank and of the next label at each place [batch, steps, labels + 1]; -inf outside the sequence."""
    wide = input if np.iscomplexobj(input) else input.astype(np.float64)
    batch, steps, rows, _ = input.shape
    inside = np.arange(steps)[:, None] < places.steps[:, None, None]
    inside = inside & (np.arange(rows) <= places.counts[:, None, None])
    stay = np.where(inside, wide[..., blank], -np.inf)
    emit = np.full_like(stay, -np.inf)
    index = np.broadcast_to(places.label[:, None, :, None], (batch, steps, rows - 1, 1))
    emit[:, :, :-1] = np.take_along_axis(wide[:, :, :-1], index, axis=3)[..., 0]
    emits = inside & (np.arange(rows) < places.counts[:, None, None])
    return stay, np.where(emits, emit, -np.inf)


def _skewed(x: Array) -> Array:
    """[batch, steps, rows] to [diagonals, batch, steps]; -inf where there is no place."""
    batch, steps, rows = x.shape
    wide = np.full((batch, steps, steps + rows), -np.inf, x.dtype)
    wide[:, :, :rows] = x
    # Rows of one element less: each starts one place further to the right than the one before.
    flat = wide.reshape(batch, -1)[:, : steps * (steps + rows - 1)]
    return flat.reshape(batch, steps, steps + rows - 1).transpose(2, 0, 1)


def _straight(x: Array, rows: int) -> Array:
    """The inverse of _skewed."""
    diagonals, batch, steps = x.shape
    wide = np.full((batch, steps * (diagonals + 1)), -np.inf, x.dtype)
    wide[:, : steps * diagonals] = x.transpose(1, 2, 0).reshape(batch, -1)
    return wide.reshape(batch, steps, diagonals + 1)[:, :, :rows]


def _later(x: Array) -> Array:
    result = np.full_like(x, -np.inf)
    result[:, 1:] = x[:, :-1]
    return result


def _sooner(x: Array) -> Array:
    result = np.full_like(x, -np.inf)
    result[:, :-1] = x[:, 1:]
    return result


def _forward(stay: Array, emit: Array) -> Array:
    """Logarithm of the probability of all ways from the start to each place."""
    down, across = _skewed(stay), _skewed(emit)
    result = np.full_like(down, -np.inf)
    result[0, :, 0] = 0
    for d in range(1, len(result)):
        result[d] = log_sum(_later(result[d - 1] + down[d - 1]), result[d - 1] + across[d - 1])
    return _straight(result, stay.shape[2])


def _backward(stay: Array, emit: Array, places: _Places) -> Array:
    """Likewise from each place to the end, past the last blank."""
    down, across = _skewed(stay), _skewed(emit)
    ends = np.full(stay.shape, -np.inf)
    ends[np.arange(len(ends)), np.maximum(places.steps - 1, 0), places.counts] = 0
    last = _skewed(ends)
    result = np.full_like(down, -np.inf)
    after = result[0]
    for d in range(len(result) - 1, -1, -1):
        result[d] = log_sum(down[d] + np.maximum(last[d], _sooner(after)), across[d] + after)
        after = result[d]
    return _straight(result, stay.shape[2])


def _likelihood(forward: Array, stay: Array, places: _Places) -> Array:
    end = (np.arange(len(stay)), np.maximum(places.steps - 1, 0), places.counts)
    return np.asarray(forward[end] + stay[end])


@kernel("warprnnt", WIDE)
def warprnnt(input: Array, label: Array, input_lengths: Array, label_lengths: Array, blank: int) -> Array:
    """-log of the probability of the labels; 0 where there are no steps."""
    places = _places(input, label, input_lengths, label_lengths, blank)
    if not input.size:
        return np.zeros(len(input), input.dtype)
    stay, emit = _moves(input, places, blank)
    likelihood = _likelihood(_forward(stay, emit), stay, places)
    return np.where(places.steps > 0, -likelihood, 0.0).astype(input.dtype)


def _derivative(input: Array, places: _Places, blank: int) -> Array:
    """Of each sequence's loss by its log-probabilities: less the probability that a way takes the move."""
    stay, emit = _moves(input, places, blank)
    forward, backward = _forward(stay, emit), _backward(stay, emit, places)
    likelihood = _likelihood(forward, stay, places)
    counted = (places.steps > 0) & (likelihood.real != -np.inf)
    before = forward - np.where(counted, likelihood, 0.0)[:, None, None]
    after = np.full_like(backward, -np.inf)
    after[:, :-1] = backward[:, 1:]
    after[np.arange(len(after)), np.maximum(places.steps - 1, 0), places.counts] = 0
    next_row = np.full_like(backward, -np.inf)
    next_row[:, :, :-1] = backward[:, :, 1:]
    result = np.zeros(input.shape, before.dtype)
    result[..., blank] = -np.exp(before + stay + after)
    batch, steps, rows, _ = input.shape
    b, t, u = np.ogrid[:batch, :steps, : rows - 1]
    # A label that is the blank itself adds to it; the places are distinct otherwise.
    result[b, t, u, places.label[:, None, :]] -= np.exp(before + emit + next_row)[:, :, :-1]
    result[~counted] = 0
    return result


def _emitted(values: Array, places: _Places, blank: int, fastemit_lambda: float) -> Array:
    """Values times 1 + fastemit_lambda where the class is the place's next label."""
    if fastemit_lambda == 0.0:
        return values
    scaled = values.copy()
    batch, steps, rows, _ = values.shape
    b, t, u = np.ogrid[:batch, :steps, : rows - 1]
    label = places.label[:, None, :]
    scaled[b, t, u, label] *= np.where(label == blank, 1.0, 1.0 + fastemit_lambda)
    return scaled


def _times(grads: Array, loss_grad: Array) -> Array:
    factors = loss_grad.astype(np.float64).reshape(-1, 1, 1, 1)
    return np.where(grads == 0, 0.0, grads * factors)


@kernel("warprnnt_grad", WIDE)
def warprnnt_grad(
    input: Array,
    label: Array,
    input_lengths: Array,
    label_lengths: Array,
    loss_grad: Array,
    blank: int,
    fastemit_lambda: float,
) -> Array:
    """The derivative times the gradient that arrives; labels count 1 + fastemit_lambda times (Yu et al., "FastEmit", 2021)."""
    places = _places(input, label, input_lengths, label_lengths, blank)
    if not input.size:
        return np.zeros_like(input)
    grads = _emitted(_derivative(input, places, blank), places, blank, fastemit_lambda)
    return _times(grads, loss_grad).astype(input.dtype)


@kernel("warprnnt_double_grad", WIDE)
def warprnnt_double_grad(*args: Any) -> Array:
    """The transpose of the derivative of warprnnt_grad, applied to a direction. The Hessian is symmetric; the factors of labels are not in it."""
    input, label, input_lengths, label_lengths, loss_grad, direction, blank, fastemit_lambda = args
    places = _places(input, label, input_lengths, label_lengths, blank)
    if not input.size:
        return np.zeros_like(input)
    direction = _emitted(direction.astype(np.float64), places, blank, fastemit_lambda)
    stepped, size = complex_step(input, direction)
    return _times(_derivative(stepped, places, blank).imag / size, loss_grad).astype(input.dtype)
