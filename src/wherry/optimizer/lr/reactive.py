"""Schedulers that lead over to another, or follow a measure."""

from typing import Any

import numpy as np

from wherry.autograd.structures import TensorBase
from wherry.optimizer.lr.base import LRScheduler, positive


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then `learning_rate`: a number or another scheduler, which begins then.

    Source: paddle.optimizer.lr.LinearWarmup.
    """

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError(
                f"LinearWarmup: expected a number or an LRScheduler for 'learning_rate', received {type(learning_rate).__name__}"
            )
        if end_lr <= start_lr:
            raise ValueError(f"LinearWarmup: expected end_lr > start_lr, received {end_lr} and {start_lr}")
        self.learning_rate = learning_rate
        self.warmup_steps = positive("LinearWarmup", "warmup_steps", warmup_steps)
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return float(self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler) and "LinearWarmup_LR" in state_dict:
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict


class ReduceOnPlateau(LRScheduler):
    """Times factor when a measure has not improved for more than `patience` steps; step(metrics) is called with it.

    mode: whether less ("min") or more ("max") is better; threshold: by how much, relative or absolute (threshold_mode). cooldown: steps
    to wait after each change. Source: paddle.optimizer.lr.ReduceOnPlateau.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        mode, threshold_mode = mode.lower(), threshold_mode.lower()
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceOnPlateau: expected mode 'min' or 'max', received {mode!r}")
        if factor >= 1.0:
            raise ValueError(f"ReduceOnPlateau: expected factor < 1, received {factor}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceOnPlateau: expected threshold_mode 'rel' or 'abs', received {threshold_mode!r}")
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise TypeError(
                f"ReduceOnPlateau: expected a number for 'learning_rate', received {type(learning_rate).__name__}"
            )
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best: float | None = None
        self.num_bad_epochs = 0
        # No step yet: the first needs a measure.
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self.verbose = verbose
        self._var_name = None

    def state_keys(self) -> None:
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go on to the next epoch with a measure: a number, or a Tensor or array of one element."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        value = _measure(metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
            reduced = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - reduced > self.epsilon:
                self.last_lr = reduced
                self._report()

    def _better(self, value: float, best: float) -> bool:
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return value < best - margin if self.mode == "min" else value > best + margin


def _measure(metrics: Any) -> float:
    if isinstance(metrics, (TensorBase, np.ndarray)):
        array = metrics.impl.array if isinstance(metrics, TensorBase) else metrics
        if array.size != 1:
            raise ValueError(
                f"ReduceOnPlateau.step: expected a measure of one element, received shape {list(array.shape)}"
            )
        return float(array.reshape(-1)[0])
    if isinstance(metrics, (int, float, np.number)) and not isinstance(metrics, bool):
        return float(metrics)
    raise TypeError(
        f"ReduceOnPlateau.step: expected a number or a one-element Tensor, received {type(metrics).__name__}"
    )
