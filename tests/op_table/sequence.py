"""Losses over sequences, with every alignment written out; and beam search."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.op_table.row import Case, Row

_FUSED = "the fused derivative kernel; the operation's own row checks it"
_SECOND = "the second derivative; third ones are not defined"


def _collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]


def _alignments(steps: int, classes: int, label: np.ndarray, blank: int) -> np.ndarray:
    """The indicators [ways, steps, classes] of all ways to write the labels."""
    ways = [p for p in itertools.product(range(classes), repeat=steps) if _collapsed(p, blank) == list(label)]
    return np.eye(classes)[np.array(ways, np.int64).reshape(len(ways), steps)]


def _along(ways: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sum of each way's values; what a way does not meet is nothing to it, be it infinite."""
    return np.where(ways != 0, ways * values.ravel(), 0.0).sum(axis=1)


def _moments(scores: np.ndarray, ways: np.ndarray, direction: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """log(sum(exp(score of a way))), its gradient, and its Hessian times the direction."""
    flat = ways.reshape(len(ways), scores.size)
    totals = _along(flat, scores)
    log_sum = np.logaddexp.reduce(totals)
    weights = np.exp(totals - log_sum)
    mean = weights @ flat
    along = _along(flat, direction)
    second = (weights * (along - weights @ along)) @ flat
    return float(log_sum), mean.reshape(scores.shape), second.reshape(scores.shape)


def _softmax_moments(x: np.ndarray, v: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    log_sums = np.logaddexp.reduce(x, axis=1, keepdims=True)
    p = np.exp(x - log_sums)
    return float(log_sums.sum()), p, p * (v - (p * v).sum(axis=1, keepdims=True))


def _ctc(
    logits: np.ndarray, label: np.ndarray, steps: np.ndarray, counts: np.ndarray, direction: np.ndarray, blank: int
) -> Iterator[tuple[int, int, float, np.ndarray, np.ndarray]]:
    for b in range(logits.shape[1]):
        n = int(steps[b])
        ways = _alignments(n, logits.shape[2], label[b, : counts[b]], blank)
        if n and len(ways):
            x, v = logits[:n, b].astype(np.float64), direction[:n, b].astype(np.float64)
            total, p, p2 = _softmax_moments(x, v)
            part, q, q2 = _moments(x, ways, v)
            yield b, n, total - part, p - q, p2 - q2


def warpctc(logits: Any, label: Any, steps: Any, counts: Any, blank: int = 0, norm_by_times: bool = False) -> Any:
    loss = np.zeros((logits.shape[1], 1), logits.dtype)
    for b, _, value, _, _ in _ctc(logits, label, steps, counts, np.zeros_like(logits), blank):
        loss[b] = value
    return loss


def warpctc_grad(
    logits: Any, label: Any, steps: Any, counts: Any, loss_grad: Any, blank: int, norm_by_times: bool
) -> Any:
    out = np.zeros_like(logits)
    for b, n, _, first, _ in _ctc(logits, label, steps, counts, np.zeros_like(logits), blank):
        out[:n, b] = first * loss_grad[b] / (n if norm_by_times else 1)
    return out


def warpctc_double_grad(
    logits: Any, label: Any, steps: Any, counts: Any, loss_grad: Any, direction: Any, blank: int, norm_by_times: bool
) -> Any:
    out = np.zeros_like(logits)
    for b, n, _, _, second in _ctc(logits, label, steps, counts, direction, blank):
        out[:n, b] = second * loss_grad[b] / (n if norm_by_times else 1)
    return out


def _lattice_ways(shape: tuple[int, ...], steps: int, label: np.ndarray, blank: int) -> np.ndarray:
    """The indicators of all ways through steps and labels; the last move is the blank at the end."""
    ways = []
    for emits in itertools.combinations(range(steps - 1 + len(label)), len(label)):
        way = np.zeros(shape)
        t = u = 0
        for move in range(steps - 1 + len(label)):
            if move in emits:
                way[t, u, label[u]] += 1
                u += 1
            else:
                way[t, u, blank] += 1
                t += 1
        way[t, u, blank] += 1
        ways.append(way)
    return np.array(ways)


def _rnnt(
    x: np.ndarray, label: np.ndarray, steps: np.ndarray, counts: np.ndarray, direction: np.ndarray, blank: int
) -> Iterator[tuple[int, float, np.ndarray, np.ndarray]]:
    for b in range(len(x)):
        if steps[b]:
            ways = _lattice_ways(x.shape[1:], int(steps[b]), label[b, : counts[b]], blank)
            total, first, second = _moments(x[b].astype(np.float64), ways, direction[b].astype(np.float64))
            yield b, -total, -first, -second


def warprnnt(x: Any, label: Any, steps: Any, counts: Any, blank: int = 0, fastemit_lambda: float = 0.0) -> Any:
    loss = np.zeros(len(x), x.dtype)
    for b, value, _, _ in _rnnt(x, label, steps, counts, np.zeros_like(x), blank):
        loss[b] = value
    return loss


def emitted(values: np.ndarray, label: np.ndarray, fastemit_lambda: float, blank: int) -> np.ndarray:
    """Values times 1 + lambda at the next label of each place."""
    factors = np.ones(values.shape)
    for b, u in np.ndindex(*label.shape):
        factors[b, :, u, label[b, u]] = 1.0 if label[b, u] == blank else 1 + fastemit_lambda
    return values * factors


def warprnnt_grad(
    x: Any, label: Any, steps: Any, counts: Any, loss_grad: Any, blank: int, fastemit_lambda: float
) -> Any:
    out = np.zeros(x.shape)
    for b, _, first, _ in _rnnt(x, label, steps, counts, np.zeros_like(x), blank):
        out[b] = first * loss_grad[b]
    return emitted(out, label, fastemit_lambda, blank).astype(x.dtype)


def warprnnt_double_grad(
    x: Any, label: Any, steps: Any, counts: Any, loss_grad: Any, direction: Any, blank: int, fastemit_lambda: float
) -> Any:
    out = np.zeros(x.shape)
    for b, _, _, second in _rnnt(x, label, steps, counts, emitted(direction, label, fastemit_lambda, blank), blank):
        out[b] = second * loss_grad[b]
    return out.astype(x.dtype)


def gather_tree(ids: np.ndarray, parents: np.ndarray) -> np.ndarray:
    out = np.array(ids)
    steps, batch, beams = ids.shape
    for b, k in itertools.product(range(batch), range(beams)):
        beam = k
        for t in range(steps - 1, -1, -1):
            out[t, b, k] = ids[t, b, beam]
            beam = parents[t, b, beam]
    return out


def _ints(*values: Any, dtype: str = "int64") -> np.ndarray:
    return np.array(values, dtype)


_CTC = (_ints([1, 2], [1, 1], [2, 0]), _ints(4, 4, 3), _ints(2, 2, 1))
_CTC_LAST = (_ints([1, 0], [0, 0], dtype="int32"), _ints(3, 2), _ints(2, 2))
_CTC_EMPTY = (np.zeros((2, 0), np.int64), _ints(2, 2), _ints(0, 0))
_RNNT = (_ints([1, 2], [2, 2], [1, 0]), _ints(3, 3, 2), _ints(2, 2, 1))
_RNNT_LAST = (_ints([1, 0], dtype="int32"), _ints(2, dtype="int32"), _ints(2, dtype="int32"))
_EXEMPT = {
    "local": "every class and step has a part in a sequence's loss",
    "limits": "at +inf the largest is subtracted first, and inf - inf is NaN (as in cross_entropy_with_softmax)",
}
_GRAD_EXEMPT = _EXEMPT | {
    "special": "the reference multiplies what no way meets by 0, and 0 * inf is NaN",
    "infinite_gradient": "the second derivative along an infinite direction is NaN",
}
_DOUBLE_EXEMPT = {"special": _GRAD_EXEMPT["special"]}

ROWS: tuple[Row, ...] = (
    Row(
        "warpctc",
        (
            Case(((4, 3, 3), *_CTC)),
            Case(((3, 2, 3), *_CTC_LAST), {"blank": 2}),
            Case(((2, 2, 3), *_CTC_EMPTY)),
            Case(((0, 1, 2), _ints([1]), _ints(0), _ints(1))),
        ),
        warpctc,
        exempt=_EXEMPT,
    ),
    Row(
        "warpctc_grad",
        (
            Case(((4, 3, 3), *_CTC, (3, 1)), {"blank": 0, "norm_by_times": False}),
            Case(((3, 2, 3), *_CTC_LAST, (2, 1)), {"blank": 2, "norm_by_times": True}),
        ),
        warpctc_grad,
        order=1,
        reason=_SECOND,
        exempt=_GRAD_EXEMPT,
    ),
    Row(
        "warpctc_double_grad",
        (
            Case(((4, 3, 3), *_CTC, (3, 1), (4, 3, 3)), {"blank": 0, "norm_by_times": False}),
            Case(((3, 2, 3), *_CTC_LAST, (2, 1), (3, 2, 3)), {"blank": 2, "norm_by_times": True}),
        ),
        warpctc_double_grad,
        order=0,
        reason=_SECOND,
        tolerance={"float32": 1e-4},
        exempt=_DOUBLE_EXEMPT,
    ),
    Row(
        "warprnnt",
        (
            Case(((3, 3, 3, 3), *_RNNT)),
            Case(((1, 2, 3, 3), *_RNNT_LAST), {"blank": 2}),
            Case(((0, 2, 2, 2), np.zeros((0, 1), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))),
        ),
        warprnnt,
        exempt=_EXEMPT,
    ),
    Row(
        "warprnnt_grad",
        (
            Case(((3, 3, 3, 3), *_RNNT, (3,)), {"blank": 0, "fastemit_lambda": 0.0}),
            Case(((1, 2, 3, 3), *_RNNT_LAST, (1,)), {"blank": 2, "fastemit_lambda": 0.5}),
        ),
        warprnnt_grad,
        order=1,
        reason=_SECOND,
        exempt=_GRAD_EXEMPT,
    ),
    Row(
        "warprnnt_double_grad",
        (
            Case(((3, 3, 3, 3), *_RNNT, (3,), (3, 3, 3, 3)), {"blank": 0, "fastemit_lambda": 0.0}),
            Case(((1, 2, 3, 3), *_RNNT_LAST, (1,), (1, 2, 3, 3)), {"blank": 2, "fastemit_lambda": 0.5}),
        ),
        warprnnt_double_grad,
        order=0,
        reason=_SECOND,
        tolerance={"float32": 1e-4},
        exempt=_DOUBLE_EXEMPT,
    ),
    Row(
        "gather_tree",
        (
            Case(
                (
                    _ints([[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]),
                    _ints([[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]),
                )
            ),
            Case((np.zeros((2, 0, 3), np.int32), np.zeros((2, 0, 3), np.int32))),
        ),
        gather_tree,
        ("int64",),
        order=0,
        reason="the inputs are integers",
    ),
)
