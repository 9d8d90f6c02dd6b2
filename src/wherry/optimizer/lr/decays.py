"""Schedulers whose rate is a formula of the epoch."""

import math
from collections.abc import Callable, Sequence

from wherry.optimizer.lr.base import LRScheduler, positive


class NoamDecay(LRScheduler):
    """learning_rate / sqrt(d_model) * min(1 / sqrt(epoch), epoch / warmup_steps ** 1.5). Source: paddle.optimizer.lr.NoamDecay."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.d_model = positive("NoamDecay", "d_model", d_model)
        self.warmup_steps = positive("NoamDecay", "warmup_steps", warmup_steps)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        rising = self.warmup_steps**-1.5 * self.last_epoch
        return float(self.base_lr * self.d_model**-0.5 * min(falling, rising))


class PiecewiseDecay(LRScheduler):
    """values[i] up to boundaries[i]; the last value from then on. Source: paddle.optimizer.lr.PiecewiseDecay."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if len(boundaries) == 0:
            raise ValueError("PiecewiseDecay: expected at least one boundary, received none")
        if len(values) <= len(boundaries):
            raise ValueError(
                f"PiecewiseDecay: expected {len(boundaries) + 1} values for {len(boundaries)} boundaries, received {len(values)}"
            )
        self.boundaries = boundaries
        self.values = values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        for boundary, value in zip(self.boundaries, self.values):
            if self.last_epoch < boundary:
                return value
        return self.values[-1]


class NaturalExpDecay(LRScheduler):
    """learning_rate * exp(-gamma * epoch). Source: paddle.optimizer.lr.NaturalExpDecay."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        if gamma <= 0.0:
            raise ValueError(f"NaturalExpDecay: expected gamma > 0, received {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """learning_rate / (1 + gamma * epoch). Source: paddle.optimizer.lr.InverseTimeDecay."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From learning_rate to end_lr in decay_steps, by a power of what is left; cycle: up again after each.

    Source: paddle.optimizer.lr.PolynomialDecay.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.decay_steps = positive("PolynomialDecay", "decay_steps", decay_steps)
        if power <= 0.0:
            raise ValueError(f"PolynomialDecay: expected power > 0, received {power}")
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        else:
            epoch = min(epoch, steps)
        return float((self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr)


class ExponentialDecay(LRScheduler):
    """learning_rate * gamma ** epoch, gamma in (0, 1). Source: paddle.optimizer.lr.ExponentialDecay."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        if not 0.0 < gamma < 1.0:
            raise ValueError(f"ExponentialDecay: expected gamma in (0, 1), received {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return float(self.base_lr * self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """Times gamma at each of the milestones. Source: paddle.optimizer.lr.MultiStepDecay."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(milestones, (tuple, list)):
            raise TypeError(
                f"MultiStepDecay: expected a list or tuple for 'milestones', received {type(milestones).__name__}"
            )
        if list(milestones) != sorted(set(milestones)):
            raise ValueError(f"MultiStepDecay: expected milestones that increase, received {milestones}")
        if gamma >= 1.0:
            raise ValueError(f"MultiStepDecay: expected gamma < 1, received {gamma}")
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        passed = sum(self.last_epoch >= milestone for milestone in self.milestones)
        return float(self.base_lr * self.gamma**passed)


class StepDecay(LRScheduler):
    """Times gamma every step_size epochs. Source: paddle.optimizer.lr.StepDecay."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.step_size = positive("StepDecay", "step_size", step_size)
        if gamma >= 1.0:
            raise ValueError(f"StepDecay: expected gamma < 1, received {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return float(self.base_lr * self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """learning_rate * lr_lambda(epoch). Source: paddle.optimizer.lr.LambdaDecay."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise TypeError(f"LambdaDecay: expected a callable for 'lr_lambda', received {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """Times lr_lambda(epoch) at each epoch from 1. Source: paddle.optimizer.lr.MultiplicativeDecay."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not callable(lr_lambda):
            raise TypeError(
                f"MultiplicativeDecay: expected a callable for 'lr_lambda', received {type(lr_lambda).__name__}"
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate


class CosineAnnealingDecay(LRScheduler):
    """Between learning_rate and eta_min along a cosine of half period T_max. Source: paddle.optimizer.lr.CosineAnnealingDecay."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.T_max = positive("CosineAnnealingDecay", "T_max", T_max, (int, float))
        if isinstance(eta_min, bool) or not isinstance(eta_min, (int, float)):
            raise TypeError(f"CosineAnnealingDecay: expected a number for 'eta_min', received {type(eta_min).__name__}")
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """From learning_rate * start_factor to learning_rate * end_factor in total_steps. Source: paddle.optimizer.lr.LinearLR."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(f"LinearLR: expected start_factor in (0, 1], received {start_factor}")
        if not 0 <= end_factor <= 1.0:
            raise ValueError(f"LinearLR: expected end_factor in [0, 1], received {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = positive("LinearLR", "total_steps", total_steps)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        share = min(self.total_steps, self.last_epoch) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * share)
