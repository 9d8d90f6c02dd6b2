"""GradScaler: a loss that is scaled so that half gradients do not vanish, and steps that are left out where they overflow."""

import enum
import warnings
import weakref
from typing import Any

import numpy as np

from wherry.amp.auto_cast import last_dtype
from wherry.api.creation import to_tensor
from wherry.autograd.modes import no_grad
from wherry.tensor.tensor import Tensor


class OptimizerState(enum.Enum):
    """What has been done for an optimizer since the last update()."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """The state of one optimizer, and whether its gradients held an infinity or NaN."""

    def __init__(self) -> None:
        self.state = OptimizerState.INIT
        self.found_inf = False


class GradScaler:
    """Scales the loss, unscales the gradients before the optimizer's step, and leaves a step out where one is not finite.

    enable: False makes every method pass things through. init_loss_scaling: the first factor. With use_dynamic_loss_scaling the factor is multiplied by
    incr_ratio after incr_every_n_steps finite steps in a row and by decr_ratio after decr_every_n_nan_or_inf others. As Paddle does, a scaler with
    dynamic scaling switches itself off, with a warning, at its first scale() where the last auto_cast was not of float16: bfloat16 has float32's range.
    Raises ValueError for a ratio that would not increase or decrease, or a factor or count that is not positive. Source: paddle.amp.GradScaler.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        self._enable = bool(enable)
        self._use_dynamic_loss_scaling = bool(use_dynamic_loss_scaling) and self._enable
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self.set_incr_every_n_steps(incr_every_n_steps)
        self.set_decr_every_n_nan_or_inf(decr_every_n_nan_or_inf)
        self.set_init_loss_scaling(init_loss_scaling if enable else 1.0)
        self._incr_count = 0
        self._decr_count = 0
        self._found_inf = False
        self._optimizers: weakref.WeakKeyDictionary[Any, _Progress] = weakref.WeakKeyDictionary()

    def scale(self, var: Tensor) -> Tensor:
        """var times the factor, recorded; var itself where the scaler is off. Raises TypeError for anything but a Tensor."""
        if not isinstance(var, Tensor):
            raise TypeError(f"GradScaler.scale: expected a Tensor, received {type(var).__name__}")
        if self._use_dynamic_loss_scaling and last_dtype() != "float16":
            self._enable = self._use_dynamic_loss_scaling = False
            self.set_init_loss_scaling(1.0)
            warnings.warn(
                f"GradScaler: dynamic loss scaling is for float16, and the last auto_cast was of {last_dtype()}: the scaler switches itself off",
                stacklevel=2,
            )
        return var * self._scale if self._enable else var

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the factor, in place, and note whether all are finite.

        For what must see true gradients before step(), such as clipping. Raises RuntimeError where it was called since the last update().
        """
        if not self._enable:
            return
        progress = self._progress(optimizer)
        if progress.state is OptimizerState.UNSCALED:
            raise RuntimeError(
                "GradScaler.unscale_: has already been called for this optimizer since the last update()"
            )
        if progress.state is OptimizerState.STEPPED:
            raise RuntimeError(
                "GradScaler.unscale_: expected to be called before step(), which was called since the last update()"
            )
        factor = 1.0 / self._scale.item()
        finite = True
        with no_grad():
            for group in optimizer._param_groups:
                for parameter in group["params"]:
                    grad = parameter.grad
                    if grad is not None:
                        grad.scale_(factor)
                        finite = finite and bool(np.isfinite(grad.impl.array).all())
        progress.found_inf = not finite
        progress.state = OptimizerState.UNSCALED

    _unscale = unscale_

    def step(self, optimizer: Any) -> None:
        """unscale_ where that was not done yet, then optimizer.step() unless a gradient is not finite.

        Raises RuntimeError where it was called since the last update().
        """
        if not self._enable:
            optimizer.step()
            return
        self._unless_infinite(optimizer, "step", optimizer.step)

    def _unless_infinite(self, optimizer: Any, name: str, run: Any) -> Any:
        """unscale_ where that was not done yet, then run(), or None where a gradient is not finite."""
        progress = self._progress(optimizer)
        if progress.state is OptimizerState.STEPPED:
            raise RuntimeError(f"GradScaler.{name}: has already been called for this optimizer since the last update()")
        if progress.state is OptimizerState.INIT:
            self.unscale_(optimizer)
        self._found_inf = self._found_inf or progress.found_inf
        result = None if progress.found_inf else run()
        progress.state = OptimizerState.STEPPED
        return result

    def update(self) -> None:
        """Change the factor by what the steps since the last update() found."""
        if self._enable and self._use_dynamic_loss_scaling:
            if self._found_inf:
                self._incr_count = 0
                self._decr_count += 1
                if self._decr_count >= self._decr_every_n_nan_or_inf:
                    self._scale = self._scale * self._decr_ratio
                    self._decr_count = 0
            else:
                self._decr_count = 0
                self._incr_count += 1
                if self._incr_count >= self._incr_every_n_steps:
                    self._scale = self._scale * self._incr_ratio
                    self._incr_count = 0
        self._found_inf = False
        self._optimizers.clear()

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """step() and update(), after the scaled loss's backward(); returns what Optimizer.minimize returns.

        args, kwargs: those of Optimizer.minimize; the loss (the scaled one) is the first.
        """
        if not self._enable:
            found: tuple[list[Any], list[tuple[Any, Any]]] = optimizer.minimize(*args, **kwargs)
            return found
        result = self._unless_infinite(optimizer, "minimize", lambda: optimizer.minimize(*args, **kwargs))
        self.update()
        return ([], []) if result is None else result

    def _progress(self, optimizer: Any) -> _Progress:
        progress = self._optimizers.get(optimizer)
        if progress is None:
            progress = self._optimizers[optimizer] = _Progress()
        return progress

    # Settings.

    def is_enable(self) -> bool:
        """Whether the scaler is on."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the factor follows the gradients."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        """The first factor."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Begin again with another factor (> 0)."""
        self._init_loss_scaling = _positive("init_loss_scaling", new_init_loss_scaling)
        self._scale = to_tensor([float(new_init_loss_scaling)], dtype="float32")

    def get_incr_ratio(self) -> float:
        """What the factor is multiplied by after good steps."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set it (> 1)."""
        if not new_incr_ratio > 1.0:
            raise ValueError(f"GradScaler: expected incr_ratio > 1, received {new_incr_ratio}")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        """What the factor is multiplied by after bad steps."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set it (between 0 and 1)."""
        if not 0.0 < new_decr_ratio < 1.0:
            raise ValueError(f"GradScaler: expected 0 < decr_ratio < 1, received {new_decr_ratio}")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        """After how many good steps in a row the factor grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set it (>= 1)."""
        self._incr_every_n_steps = _positive("incr_every_n_steps", new_incr_every_n_steps)

    def get_decr_every_n_nan_or_inf(self) -> int:
        """After how many bad steps in a row the factor shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set it (>= 1)."""
        self._decr_every_n_nan_or_inf = _positive("decr_every_n_nan_or_inf", new_decr_every_n_nan_or_inf)

    # State.

    def state_dict(self) -> dict[str, Any]:
        """The factor (a NumPy array), the settings and the counts; empty where the scaler is off."""
        if not self._enable:
            return {}
        return {
            "scale": self._scale.numpy(),
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every_n_steps,
            "decr_every_n_nan_or_inf": self._decr_every_n_nan_or_inf,
            "incr_count": self._incr_count,
            "decr_count": self._decr_count,
            "use_dynamic_loss_scaling": self._use_dynamic_loss_scaling,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict() gave; nothing where the scaler is off. Raises RuntimeError for an empty one, KeyError for a missing entry."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: expected the state of a scaler, received an empty dict: was it saved by one that was off?"
            )
        scale = np.asarray(state_dict["scale"], np.float32).reshape(-1)[:1]
        self.set_init_loss_scaling(float(scale[0]))
        self.set_incr_ratio(state_dict["incr_ratio"])
        self.set_decr_ratio(state_dict["decr_ratio"])
        self.set_incr_every_n_steps(state_dict["incr_every_n_steps"])
        self.set_decr_every_n_nan_or_inf(state_dict["decr_every_n_nan_or_inf"])
        self._incr_count = state_dict["incr_count"]
        self._decr_count = state_dict["decr_count"]
        self._use_dynamic_loss_scaling = state_dict["use_dynamic_loss_scaling"]


AmpScaler = GradScaler


def _positive(name: str, value: Any) -> Any:
    if not value > 0:
        raise ValueError(f"GradScaler: expected {name} > 0, received {value}")
    return value
