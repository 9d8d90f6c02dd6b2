"""Schedulers that go up and down."""

import math
from collections.abc import Callable
from typing import Any

from wherry.optimizer.lr.base import LRScheduler, positive


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down a cosine to eta_min in T_0 epochs, then again from the start, each time T_mult as long.

    Source: paddle.optimizer.lr.CosineAnnealingWarmRestarts.
    """

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.T_0 = positive("CosineAnnealingWarmRestarts", "T_0", T_0)
        self.T_mult = positive("CosineAnnealingWarmRestarts", "T_mult", T_mult)
        self.eta_min = eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        left: float = self.last_epoch
        length = self.T_0
        if self.T_mult == 1:
            left %= length
        else:
            while left >= length:
                left -= length
                length *= self.T_mult
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * left / length)) / 2


class OneCycleLR(LRScheduler):
    """Up to max_learning_rate in phase_pct of total_steps, then down to end_learning_rate.

    It begins at max_learning_rate / divide_factor. three_phase: down to that first, in as many steps as up. Raises ValueError for a step
    after total_steps. Source: paddle.optimizer.lr.OneCycleLR.
    """

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        positive("OneCycleLR", "max_learning_rate", max_learning_rate, (int, float))
        self.total_steps = positive("OneCycleLR", "total_steps", total_steps)
        if not 0 <= phase_pct <= 1:
            raise ValueError(f"OneCycleLR: expected phase_pct in [0, 1], received {phase_pct}")
        if three_phase and phase_pct >= 0.5:
            raise ValueError(f"OneCycleLR: expected phase_pct < 0.5 with three_phase, received {phase_pct}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: expected anneal_strategy 'cos' or 'linear', received {anneal_strategy!r}")
        start = max_learning_rate / float(divide_factor)
        up = phase_pct * total_steps - 1
        if three_phase:
            self._ends = [0.0, up, 2 * up, total_steps - 1.0]
            self._rates = [start, max_learning_rate, start, end_learning_rate]
        else:
            self._ends = [0.0, up, total_steps - 1.0]
            self._rates = [start, max_learning_rate, end_learning_rate]
        self._cosine = anneal_strategy == "cos"
        super().__init__(start, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch = self.last_epoch
        if epoch > self.total_steps:
            raise ValueError(
                f"OneCycleLR: expected at most total_steps={self.total_steps} steps, received step {epoch}"
            )
        phase = 0
        while phase < len(self._rates) - 2 and epoch > self._ends[phase + 1]:
            phase += 1
        span = self._ends[phase + 1] - self._ends[phase]
        share = (epoch - self._ends[phase]) / span if span else 1.0
        begin, end = self._rates[phase], self._rates[phase + 1]
        if self._cosine:
            return end + (begin - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - begin) * share + begin


class CyclicLR(LRScheduler):
    """Up from base_learning_rate to max_learning_rate and down again, over and over.

    mode: "triangular", "triangular2" (half as high each time), "exp_range" (times exp_gamma at each step); scale_fn, called with the cycle
    or the step as scale_mode says, takes its place. Source: paddle.optimizer.lr.CyclicLR.
    """

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[Any], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if max_learning_rate < 0:
            raise ValueError(f"CyclicLR: expected max_learning_rate >= 0, received {max_learning_rate}")
        positive("CyclicLR", "step_size_up", step_size_up)
        if step_size_down is not None:
            positive("CyclicLR", "step_size_down", step_size_down)
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"CyclicLR: expected mode 'triangular', 'triangular2' or 'exp_range', received {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"CyclicLR: expected scale_mode 'cycle' or 'iterations', received {scale_mode!r}")
        self.cycle_size = step_size_up + (step_size_up if step_size_down is None else step_size_down)
        self.step_up_pct = step_size_up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode = mode
        self.exp_gamma = exp_gamma
        self.scale_fn = scale_fn
        self.scale_mode = scale_mode
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _height(self, cycle: int) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (cycle - 1)
        return float(self.exp_gamma**self.last_epoch) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> float:
        cycle = 1 + self.last_epoch // self.cycle_size
        place = 1.0 + self.last_epoch / self.cycle_size - cycle
        scale = place / self.step_up_pct if place <= self.step_up_pct else (1 - place) / (1 - self.step_up_pct)
        return self.base_lr + self.amplitude * scale * self._height(cycle)
