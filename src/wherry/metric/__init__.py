"""Measures of how good predictions are. Source: paddle.metric."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.autograd.structures import TensorBase
from wherry.tensor.tensor import tensor_from_array

__all__ = ["Accuracy", "Metric", "Precision", "Recall", "accuracy"]


class Metric:
    """Base: compute() per batch, update() with its result, accumulate() over all. Source: paddle.metric.Metric."""

    def reset(self) -> None:
        """Forget what was counted."""
        raise NotImplementedError(f"{type(self).__name__} defines no reset()")

    def update(self, *args: Any) -> Any:
        """Count a batch."""
        raise NotImplementedError(f"{type(self).__name__} defines no update()")

    def accumulate(self) -> Any:
        """The measure over all that was counted."""
        raise NotImplementedError(f"{type(self).__name__} defines no accumulate()")

    def name(self) -> Any:
        """The measure's name."""
        raise NotImplementedError(f"{type(self).__name__} defines no name()")

    def compute(self, *args: Any) -> Any:
        """What update() is given of outputs and labels: those themselves."""
        return args


def _array(value: Any) -> np.ndarray:
    return value.impl.array if isinstance(value, TensorBase) else np.asarray(value)


def _right(pred: np.ndarray, label: np.ndarray, k: int) -> np.ndarray:
    """[..., k]: whether each of the k likeliest classes is the label."""
    best = np.argsort(-pred, axis=-1, kind="stable")[..., :k]
    if label.ndim == 1 or (label.ndim == pred.ndim and label.shape[-1] == 1):
        wanted = label.reshape(*pred.shape[:-1], 1)
    elif label.shape == pred.shape:
        wanted = np.argmax(label, axis=-1)[..., None]
    else:
        wanted = label[..., None]
    return best == wanted


class Accuracy(Metric):
    """Share of samples whose label is among the k likeliest classes, for each k of topk. Source: paddle.metric.Accuracy."""

    def __init__(self, topk: Sequence[int] | int = (1,), name: str | None = None) -> None:
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        self.maxk = max(self.topk)
        base = name or "acc"
        self._name = [base] if self.maxk == 1 else [f"{base}_top{k}" for k in self.topk]
        self.reset()

    def compute(self, pred: Any, label: Any, *args: Any) -> Any:
        """Whether each of the likeliest classes is the label, float32 [..., max(topk)].

        pred: [..., classes]; label: class numbers [...] or [..., 1], or one-hot as pred.
        """
        return tensor_from_array(_right(_array(pred), _array(label), self.maxk).astype(np.float32))

    def update(self, correct: Any, *args: Any) -> Any:
        """Count what compute() returned; returns the batch's accuracy, a list of several."""
        values = _array(correct)
        count = int(np.prod(values.shape[:-1]))
        shares = []
        for i, k in enumerate(self.topk):
            right = float(values[..., :k].sum())
            shares.append(right / count if count else 0.0)
            self.total[i] += right
            self.count[i] += count
        return shares[0] if len(self.topk) == 1 else shares

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self) -> Any:
        shares = [t / c if c > 0 else 0.0 for t, c in zip(self.total, self.count)]
        return shares[0] if len(self.topk) == 1 else shares

    def name(self) -> list[str]:
        return self._name


class _Binary(Metric):
    """True and false positives and negatives of probabilities, which count as positive above one half."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.reset()

    def reset(self) -> None:
        self.tp = self.fp = self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch of probabilities and labels (0 or 1)."""
        guess = np.floor(_array(preds).reshape(-1) + 0.5).astype(np.int64)
        truth = _array(labels).reshape(-1).astype(np.int64)
        if guess.shape != truth.shape:
            raise ValueError(
                f"{type(self).__name__}: expected as many labels as predictions, received {truth.size} and {guess.size}"
            )
        self.tp += int(((guess == 1) & (truth == 1)).sum())
        self.fp += int(((guess == 1) & (truth != 1)).sum())
        self.fn += int(((guess != 1) & (truth == 1)).sum())

    def name(self) -> str:
        return self._name


class Precision(_Binary):
    """Share of the positives that are right. Source: paddle.metric.Precision."""

    def __init__(self, name: str = "precision") -> None:
        super().__init__(name)

    def accumulate(self) -> float:
        called = self.tp + self.fp
        return self.tp / called if called else 0.0


class Recall(_Binary):
    """Share of the true positives that are found. Source: paddle.metric.Recall."""

    def __init__(self, name: str = "recall") -> None:
        super().__init__(name)

    def accumulate(self) -> float:
        there = self.tp + self.fn
        return self.tp / there if there else 0.0


def accuracy(
    input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: str | None = None
) -> Any:
    """Share of rows whose label is among the k likeliest classes, a float32 tensor. Source: paddle.metric.accuracy."""
    if correct is not None or total is not None:
        raise NotImplementedError("accuracy: 'correct' and 'total' are not supported")
    right = _right(_array(input), _array(label), k).any(axis=-1)
    return _C_ops.full((), float(right.mean()) if right.size else 0.0)
