"""Gradient clipping that an optimizer applies before its step. Source: paddle.nn.ClipGradByGlobalNorm and its like."""

from typing import Any

from wherry import _C_ops
from wherry.core.dtype import float32

Pairs = list[tuple[Any, Any]]


class ClipGradBase:
    """Called with (parameter, gradient) pairs; returns pairs with clipped gradients and leaves `.grad` as it is.

    Parameters with need_clip=False take no part.
    """

    def __call__(self, params_grads: Pairs) -> Pairs:
        return self._clip(list(params_grads))

    def _clip(self, params_grads: Pairs) -> Pairs:
        raise NotImplementedError(f"{type(self).__name__} defines no _clip(params_grads)")


def clipped(parameter: Any) -> bool:
    """Whether a parameter takes part in clipping."""
    return bool(getattr(parameter, "need_clip", True))


class ClipGradByValue(ClipGradBase):
    """Every element to [min, max]; min is -max where it is not given. Source: paddle.nn.ClipGradByValue."""

    def __init__(self, max: float, min: float | None = None) -> None:
        if min is None:
            if max <= 0:
                raise ValueError(f"ClipGradByValue: expected max > 0 where min is not given, received {max}")
            min = -max
        self.max = float(max)
        self.min = float(min)

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _clip(self, params_grads: Pairs) -> Pairs:
        return [(p, _C_ops.clip(g, self.min, self.max) if g is not None and clipped(p) else g) for p, g in params_grads]


class ClipGradByNorm(ClipGradBase):
    """Each gradient scaled so that its norm is at most clip_norm. Source: paddle.nn.ClipGradByNorm."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive("ClipGradByNorm", clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip(self, params_grads: Pairs) -> Pairs:
        return [
            (p, _C_ops.clip_by_norm(g, self.clip_norm) if g is not None and clipped(p) else g) for p, g in params_grads
        ]


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients scaled alike so that their norm together is at most clip_norm. Source: paddle.nn.ClipGradByGlobalNorm."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = _positive("ClipGradByGlobalNorm", clip_norm)
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _clip(self, params_grads: Pairs) -> Pairs:
        total = 0.0
        for p, g in params_grads:
            if g is not None and clipped(p):
                total += float(_C_ops.squared_l2_norm(g).impl.array[0])
        norm = total**0.5
        if norm <= self.clip_norm:
            return params_grads
        # Halves are scaled in float32: the factor would lose most of its digits.
        factor = self.clip_norm / norm
        result: Pairs = []
        for p, g in params_grads:
            if g is None or not clipped(p):
                result.append((p, g))
            elif g.dtype.itemsize == 2:
                result.append((p, _C_ops.cast(_C_ops.scale(_C_ops.cast(g, float32), factor), g.dtype)))
            else:
                result.append((p, _C_ops.scale(g, factor)))
        return result


def _positive(kind: str, clip_norm: Any) -> float:
    value = float(clip_norm)
    if not value > 0:
        raise ValueError(f"{kind}: expected clip_norm > 0, received {clip_norm}")
    return value
