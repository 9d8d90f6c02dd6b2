"""Optimizers without a second moment's bias correction: SGD, Momentum, Adagrad, Adadelta, RMSProp."""

from typing import Any

from wherry import _C_ops
from wherry.optimizer.optimizer import Optimizer, Slot, above_zero
from wherry.regularizer import L2Decay

Group = dict[str, Any]


class SGD(Optimizer):
    """param -= learning_rate * grad. Source: paddle.optimizer.SGD."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision)

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        _C_ops.merged_sgd_(params, grads, masters, rates)


class Momentum(Optimizer):
    """velocity = momentum * velocity + grad; param -= learning_rate * velocity.

    use_nesterov: param -= learning_rate * (grad + momentum * velocity). Source: paddle.optimizer.Momentum.
    """

    _state_names = ("velocity",)
    _decays_gradients = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if momentum is None:
            raise ValueError("Momentum: expected a number for 'momentum', received None")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision)
        self._momentum = float(momentum)
        self._use_nesterov = bool(use_nesterov)
        self._rescale_grad = float(rescale_grad)

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        # L2 decay is part of the operation; another penalty is added to the gradients before.
        decays = []
        for i, p in enumerate(params):
            regularizer = getattr(p, "regularizer", None) or group["regularizer"]
            if isinstance(regularizer, L2Decay):
                decays.append(regularizer.coeff)
                continue
            decays.append(0.0)
            if regularizer is not None:
                grads[i] = _C_ops.add(grads[i], regularizer.penalty(p))
        _C_ops.merged_momentum_(
            params,
            grads,
            [s.states["velocity"] for s in slots],
            masters,
            rates,
            group.get("momentum", self._momentum),
            group.get("use_nesterov", self._use_nesterov),
            decays,
            group.get("rescale_grad", self._rescale_grad),
        )


class Adagrad(Optimizer):
    """moment += grad ** 2; param -= learning_rate * grad / (sqrt(moment) + epsilon). Source: paddle.optimizer.Adagrad."""

    _state_names = ("moment",)

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = above_zero("Adagrad", "epsilon", epsilon)
        self._initial = float(initial_accumulator_value)

    def _start(self, name: str, group: Group) -> float:
        return self._initial

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        moments = [s.states["moment"] for s in slots]
        _C_ops.merged_adagrad_(params, grads, moments, masters, rates, group.get("epsilon", self._epsilon))


class Adadelta(Optimizer):
    """Steps of the size of earlier updates over that of earlier gradients. Source: paddle.optimizer.Adadelta."""

    _state_names = ("_avg_squared_grad", "_avg_squared_update")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = above_zero("Adadelta", "epsilon", epsilon)
        self._rho = above_zero("Adadelta", "rho", rho)

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        _C_ops.merged_adadelta_(
            params,
            grads,
            [s.states["_avg_squared_grad"] for s in slots],
            [s.states["_avg_squared_update"] for s in slots],
            masters,
            rates,
            group.get("rho", self._rho),
            group.get("epsilon", self._epsilon),
        )


class RMSProp(Optimizer):
    """Gradients over the root of their mean square, with momentum; centered: less the squared mean gradient.

    Source: paddle.optimizer.RMSProp.
    """

    _state_names = ("momentum", "mean_square", "mean_grad")

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho = above_zero("RMSProp", "rho", rho)
        self._epsilon = above_zero("RMSProp", "epsilon", epsilon)
        self._momentum = above_zero("RMSProp", "momentum", momentum)
        self._centered = bool(centered)

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        _C_ops.merged_rmsprop_(
            params,
            grads,
            [s.states["mean_square"] for s in slots],
            [s.states["mean_grad"] for s in slots],
            [s.states["momentum"] for s in slots],
            masters,
            rates,
            group.get("rho", self._rho),
            group.get("epsilon", self._epsilon),
            group.get("momentum", self._momentum),
            group.get("centered", self._centered),
        )
