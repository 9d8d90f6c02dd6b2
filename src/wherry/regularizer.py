"""Weight decay as objects. Source: paddle.regularizer."""

from typing import Any

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """Base of the two kinds; `coeff` scales the penalty."""

    def __init__(self, coeff: float = 0.0) -> None:
        if isinstance(coeff, bool) or not isinstance(coeff, (int, float)):
            raise TypeError(f"{type(self).__name__}: expected a number for 'coeff', received {type(coeff).__name__}")
        self.coeff = float(coeff)

    def penalty(self, param: Any) -> Any:
        """What is added to the parameter's gradient."""
        raise NotImplementedError(f"{type(self).__name__} defines no penalty")

    def __str__(self) -> str:
        return f"{type(self).__name__}, coeff={self.coeff:f}"


class L1Decay(WeightDecayRegularizer):
    """A penalty of coeff * sum(|w|): coeff * sign(w) is added to the gradient. Source: paddle.regularizer.L1Decay."""

    def penalty(self, param: Any) -> Any:
        """coeff * sign(param)."""
        from wherry import _C_ops

        return _C_ops.scale(_C_ops.sign(param), self.coeff)


class L2Decay(WeightDecayRegularizer):
    """A penalty of coeff / 2 * sum(w ** 2): coeff * w is added to the gradient. Source: paddle.regularizer.L2Decay."""

    def penalty(self, param: Any) -> Any:
        """coeff * param."""
        from wherry import _C_ops

        return _C_ops.scale(param, self.coeff)
