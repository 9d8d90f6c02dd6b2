"""Connectionist temporal classification: a loss over all alignments of labels with steps, and its derivatives.

Graves et al., "Connectionist Temporal Classification", 2006. Between, before and after the labels stand blanks: the states. An alignment
goes at each step to the same state, the next, or (past a blank between two labels that differ) the one after it. Everything is in logarithms.
The second derivative along a direction is taken by a complex step: the derivative is an analytic function, so its imaginary part at
x + i h v, over h, is the derivative along v to all digits.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import kernel
from wherry.kernels.numpy.common import Array

WIDE: Final = (dt.float32, dt.float64)
STEP = 1e-30


def lengths_in(lengths: Array, bound: int, name: str) -> Array:
    """The lengths as int64; refuses any outside [0, bound]."""
    lengths = lengths.astype(np.int64)
    wrong = (lengths < 0) | (lengths > bound)
    if wrong.any():
        raise ValueError(f"expected {name} in [0, {bound}], received {int(lengths[wrong][0])}")
    return lengths


def labels_in(label: Array, lengths: Array, classes: int, blank: int) -> Array:
    """The labels as int64, blank after each sequence's end; refuses any outside the classes."""
    label = label.astype(np.int64)
    inside = np.arange(label.shape[1]) < lengths[:, None]
    wrong = inside & ((label < 0) | (label >= classes))
    if wrong.any():
        raise ValueError(f"expected labels in [0, {classes}), received {int(label[wrong][0])}")
    return np.where(inside, label, blank)


def log_softmax(x: Array) -> Array:
    """Of the last axis; complex values are shifted by their largest real part."""
    shifted = x - x.real.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def log_sum(*terms: Array) -> Array:
    """log(sum(exp(term))); -inf where all are."""
    top = terms[0].real
    for term in terms[1:]:
        top = np.maximum(top, term.real)
    top = np.where(np.isinf(top) & (top < 0), 0, top)
    total = np.exp(terms[0] - top)
    for term in terms[1:]:
        total += np.exp(term - top)
    return np.asarray(np.log(total) + top)


def complex_step(x: Array, direction: Array) -> tuple[Array, float]:
    """x + i h v and h, for a v whose largest element is brought to 1 first."""
    size = float(np.abs(direction).max(initial=0.0))
    if not np.isfinite(size) or size == 0.0:
        size = 1.0
    return x.astype(np.float64) + (1j * STEP) * (direction.astype(np.float64) / size), STEP / size


class _Lattice(NamedTuple):
    """states [batch, 2 labels + 1]: the class of each; skips: where the state two before may go ahead; last: the place of the last blank;
    steps: each sequence's; possible: whether there are steps enough for an alignment."""

    states: Array
    skips: Array
    last: Array
    steps: Array
    possible: Array


def _lattice(logits: Array, label: Array, logits_length: Array, labels_length: Array, blank: int) -> _Lattice:
    steps = lengths_in(logits_length, logits.shape[0], "input_lengths")
    counts = lengths_in(labels_length, label.shape[1], "label_lengths")
    label = labels_in(label, counts, logits.shape[2], blank)
    states = np.full((label.shape[0], 2 * label.shape[1] + 1), blank, np.int64)
    states[:, 1::2] = label
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    inside = np.arange(1, label.shape[1]) < counts[:, None]
    repeats = ((label[:, 1:] == label[:, :-1]) & inside).sum(axis=1)
    return _Lattice(states, skips, 2 * counts, steps, (steps > 0) & (steps >= counts + repeats))


def _moved(x: Array, by: int) -> Array:
    """Columns moved by `by` to the right, -inf coming in."""
    result = np.full_like(x, -np.inf)
    if by > 0:
        result[:, by:] = x[:, :-by]
    else:
        result[:, :by] = x[:, -by:]
    return result


def _forward(scores: Array, lattice: _Lattice) -> Array:
    """Logarithm of the probability of all ways from the start to each state [steps, batch, states]."""
    result = np.full_like(scores, -np.inf)
    if not len(scores):
        return result
    result[0, :, :2] = scores[0, :, :2]
    for t in range(1, len(scores)):
        before = result[t - 1]
        result[t] = log_sum(before, _moved(before, 1), np.where(lattice.skips, _moved(before, 2), -np.inf))
        result[t] += scores[t]
    return result


def _backward(scores: Array, lattice: _Lattice) -> Array:
    """Likewise from each state to the end, without the state's own score."""
    result = np.full_like(scores, -np.inf)
    places = np.arange(scores.shape[2])
    ends = np.where((places == lattice.last[:, None]) | (places == lattice.last[:, None] - 1), 0.0, -np.inf)
    ahead = np.zeros_like(lattice.skips)
    ahead[:, :-2] = lattice.skips[:, 2:]
    for t in range(len(scores) - 1, -1, -1):
        if t + 1 < len(scores):
            after = result[t + 1] + scores[t + 1]
            result[t] = log_sum(after, _moved(after, -1), np.where(ahead, _moved(after, -2), -np.inf))
        result[t, lattice.steps == t + 1] = ends[lattice.steps == t + 1]
    return result


def _scores(logits: Array, lattice: _Lattice) -> tuple[Array, Array]:
    """Log-probabilities, and those of the states [steps, batch, states]."""
    wide = logits if np.iscomplexobj(logits) else logits.astype(np.float64)
    logs = log_softmax(wide)
    return logs, np.take_along_axis(logs, np.broadcast_to(lattice.states, (len(logs), *lattice.states.shape)), axis=2)


def _likelihood(forward: Array, lattice: _Lattice) -> Array:
    """The logarithm of the labels' probability, [batch]."""
    rows = np.arange(len(lattice.last))
    ends = np.maximum(lattice.steps - 1, 0)
    final = forward[ends, rows, lattice.last]
    one_before = forward[ends, rows, np.maximum(lattice.last - 1, 0)]
    return log_sum(final, np.where(lattice.last > 0, one_before, -np.inf))


@kernel("warpctc", WIDE)
def warpctc(logits: Array, label: Array, logits_length: Array, labels_length: Array, blank: int) -> Array:
    """-log of the probability of the labels, 0 where there are too few steps for them (as in Paddle)."""
    lattice = _lattice(logits, label, logits_length, labels_length, blank)
    if not len(logits) or not logits.shape[1]:
        return np.zeros((logits.shape[1], 1), logits.dtype)
    likelihood = _likelihood(_forward(_scores(logits, lattice)[1], lattice), lattice)
    return np.where(lattice.possible, -likelihood, 0.0).astype(logits.dtype)[:, None]


def _derivative(logits: Array, lattice: _Lattice) -> Array:
    """Of each sequence's loss by its logits: the probabilities less the share of each class in the alignments."""
    steps, batch, classes = logits.shape
    logs, scores = _scores(logits, lattice)
    forward = _forward(scores, lattice)
    likelihood = _likelihood(forward, lattice)
    counted = lattice.possible & (likelihood.real != -np.inf)
    with_end = forward + _backward(scores, lattice) - np.where(counted, likelihood, 0.0)[:, None]
    shares = np.where(counted[:, None], np.exp(with_end), 0.0)
    places = np.arange(steps * batch).reshape(steps, batch, 1) * classes + lattice.states
    flat = places.ravel()
    total = np.bincount(flat, shares.real.ravel(), logits.size).astype(logs.dtype)
    if np.iscomplexobj(shares):
        total += 1j * np.bincount(flat, shares.imag.ravel(), logits.size)
    result = np.exp(logs) - total.reshape(logits.shape)
    outside = (np.arange(steps)[:, None] >= lattice.steps) | ~counted
    result[outside] = 0
    return np.asarray(result)


def _factors(loss_grad: Array, lattice: _Lattice, norm_by_times: bool) -> Array:
    grads = loss_grad.reshape(-1).astype(np.float64)
    return grads / np.maximum(lattice.steps, 1) if norm_by_times else grads


def _times(grads: Array, factors: Array) -> Array:
    """The product, and 0 where the gradient is (a factor may be infinite)."""
    return np.where(grads == 0, 0.0, grads * factors[:, None])


@kernel("warpctc_grad", WIDE)
def warpctc_grad(
    logits: Array,
    label: Array,
    logits_length: Array,
    labels_length: Array,
    loss_grad: Array,
    blank: int,
    norm_by_times: bool,
) -> Array:
    """The derivative times the gradient that arrives, over the steps of each sequence with norm_by_times."""
    lattice = _lattice(logits, label, logits_length, labels_length, blank)
    if not logits.size:
        return np.zeros_like(logits)
    grads = _times(_derivative(logits, lattice), _factors(loss_grad, lattice, norm_by_times))
    return grads.astype(logits.dtype)


@kernel("warpctc_double_grad", WIDE)
def warpctc_double_grad(*args: Any) -> Array:
    """The derivative of warpctc_grad along a direction."""
    logits, label, logits_length, labels_length, loss_grad, direction, blank, norm_by_times = args
    lattice = _lattice(logits, label, logits_length, labels_length, blank)
    if not logits.size:
        return np.zeros_like(logits)
    stepped, size = complex_step(logits, direction)
    slope = _derivative(stepped, lattice).imag / size
    return _times(slope, _factors(loss_grad, lattice, norm_by_times)).astype(logits.dtype)
