"""Adam and its relatives."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from wherry import _C_ops
from wherry.autograd.structures import TensorBase
from wherry.optimizer.optimizer import Optimizer, Slot, above_zero, in_unit
from wherry.tensor.tensor import tensor_from_array

Group = dict[str, Any]


# Moments of parameters of at most this many elements together lie in one vector each.
_PACKED: Final = 1 << 17


class _Pack:
    """The moments of a list of parameters as two vectors, of which the parameters' own are parts."""

    __slots__ = ("moment1", "moment2")

    def __init__(self, slots: list[Slot]) -> None:
        self.moment1 = self._joined(slots, "moment1")
        self.moment2 = self._joined(slots, "moment2")

    @staticmethod
    def _joined(slots: list[Slot], name: str) -> Any:
        tensors = [s.states[name] for s in slots]
        vector = tensor_from_array(np.concatenate([t.impl.array.reshape(-1) for t in tensors]))
        start = 0
        for tensor in tensors:
            stop = start + tensor.impl.array.size
            part = vector.impl.array[start:stop].reshape(tensor.impl.meta.shape)
            tensor.impl = vector.impl.alias(part, tensor.impl.meta)
            start = stop
        return vector

    def holds(self, slot: Slot) -> bool:
        """Whether a parameter's moment is still part of the vector (a copied optimizer's is not)."""
        return slot.states["moment1"].impl.storage is self.moment1.impl.storage


def _number(value: Any) -> float:
    """A number, from a number or a one-element tensor."""
    return float(value)


class Adam(Optimizer):
    """Running means of the gradient and its square, corrected for their start at zero; amsgrad keeps the largest square.

    lazy_mode and use_multi_tensor change nothing in the result, and nothing here. Raises ValueError for beta1 or beta2 outside [0, 1) or a
    negative epsilon. Source: paddle.optimizer.Adam.
    """

    _state_names = ("moment1", "moment2", "moment2_max", "beta1_pow_acc", "beta2_pow_acc")
    _single = ("beta1_pow_acc", "beta2_pow_acc")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision)
        kind = type(self).__name__
        self._beta1 = in_unit(kind, "beta1", _number(beta1))
        self._beta2 = in_unit(kind, "beta2", _number(beta2))
        self._epsilon = above_zero(kind, "epsilon", epsilon)
        self._amsgrad = bool(amsgrad)
        self._packs: dict[tuple[int, ...], _Pack] = {}
        # Lists of parameters that were packed, or found not to be for packing.
        self._tried: set[tuple[int, ...]] = set()

    def _names(self) -> tuple[str, ...]:
        return self._state_names if self._amsgrad else tuple(n for n in self._state_names if n != "moment2_max")

    def _start(self, name: str, group: Group) -> float:
        # A power begins as the number itself.
        if name in self._single:
            return _number(group.get(name[:5], getattr(self, f"_{name[:5]}")))
        return 0.0

    def _decays(self, group: Group, params: list[Any]) -> list[float]:
        """How much of each parameter is taken off, times its learning rate."""
        return [0.0] * len(params)

    def _prepare(self, group: Group, params: list[Any]) -> None:
        key = tuple([id(p) for p in params])
        if key in self._tried:
            return
        self._tried.add(key)
        total = sum(p.impl.meta.size for p in params)
        if self._amsgrad or len(params) < 2 or total > _PACKED or params[0].impl.meta.dtype.itemsize == 2:
            return
        if any(set(other) & set(key) for other in self._packs):
            return
        slots = [self._slot(p, group) for p in params]
        if self._same_powers(key):
            self._packs[key] = _Pack(slots)

    def _pack_of(self, params: list[Any], slots: list[Slot]) -> _Pack | None:
        """The pack of exactly these parameters; others that share one with them go their own ways from now on."""
        if not self._packs:
            return None
        key = tuple([id(p) for p in params])
        pack = self._packs.get(key)
        if pack is not None and pack.holds(slots[0]):
            return pack
        self._packs = {other: p for other, p in self._packs.items() if not set(other) & set(key)}
        return None

    def _update(
        self, group: Group, params: list[Any], grads: list[Any], slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        decays = self._decays(group, params)
        pack = self._pack_of(params, slots)
        if pack is not None and len(set(rates)) == 1 and len(set(decays)) == 1:
            _C_ops.packed_adam_(
                params,
                grads,
                pack.moment1,
                pack.moment2,
                [s.states["beta1_pow_acc"] for s in slots],
                [s.states["beta2_pow_acc"] for s in slots],
                rates[0],
                decays[0],
                _number(group.get("beta1", self._beta1)),
                _number(group.get("beta2", self._beta2)),
                _number(group.get("epsilon", self._epsilon)),
            )
            return
        _C_ops.merged_adam_(
            params,
            grads,
            [s.states["moment1"] for s in slots],
            [s.states["moment2"] for s in slots],
            [s.states["beta1_pow_acc"] for s in slots],
            [s.states["beta2_pow_acc"] for s in slots],
            [s.states["moment2_max"] for s in slots] if self._amsgrad else None,
            masters,
            rates,
            decays,
            _number(group.get("beta1", self._beta1)),
            _number(group.get("beta2", self._beta2)),
            _number(group.get("epsilon", self._epsilon)),
        )

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().set_state_dict(state_dict)
        # A pack has one power of beta for all.
        self._packs = {key: pack for key, pack in self._packs.items() if self._same_powers(key)}
        self._tried = set(self._packs)

    def _same_powers(self, key: tuple[int, ...]) -> bool:
        powers = {tuple([self._slots[i].states[n].impl.array.item() for n in self._single]) for i in key}
        return len(powers) == 1

    set_dict = set_state_dict
    load_state_dict = set_state_dict


class AdamW(Adam):
    """Adam that shrinks each parameter by learning_rate * weight_decay, apart from its gradient.

    apply_decay_param_fun(name): whether the parameter of that name decays. lr_ratio(param): times the learning rate.
    Source: paddle.optimizer.AdamW.
    """

    _decays_gradients = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Any = None,
        weight_decay: Any = 0.01,
        use_lowprecision_moment: bool = False,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        if use_lowprecision_moment:
            raise NotImplementedError("AdamW: 'use_lowprecision_moment' is not supported")
        if isinstance(weight_decay, bool) or not isinstance(weight_decay, (int, float, TensorBase)):
            raise TypeError(f"AdamW: expected a number for 'weight_decay', received {type(weight_decay).__name__}")
        for argument, value in (("lr_ratio", lr_ratio), ("apply_decay_param_fun", apply_decay_param_fun)):
            if value is not None and not callable(value):
                raise TypeError(f"AdamW: expected a callable for {argument!r}, received {type(value).__name__}")
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            weight_decay,
            grad_clip,
            lazy_mode,
            multi_precision,
            False,
            amsgrad,
            name,
        )
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun

    def _rate_of(self, param: Any, rate: float) -> float:
        rate = super()._rate_of(param, rate)
        return rate if self._lr_ratio is None else rate * float(self._lr_ratio(param))

    def _decays(self, group: Group, params: list[Any]) -> list[float]:
        decay = _number(group["weight_decay"])
        wanted = self._apply_decay_param_fun
        if wanted is None:
            return [decay] * len(params)
        return [decay if wanted(p.name) else 0.0 for p in params]


class Adamax(Optimizer):
    """Adam with the infinity norm in place of the second moment. Source: paddle.optimizer.Adamax."""

    _state_names = ("moment", "inf_norm", "beta1_pow_acc")
    _single = ("beta1_pow_acc",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = in_unit("Adamax", "beta1", _number(beta1))
        self._beta2 = in_unit("Adamax", "beta2", _number(beta2))
        self._epsilon = above_zero("Adamax", "epsilon", epsilon)

    def _start(self, name: str, group: Group) -> float:
        return _number(group.get("beta1", self._beta1)) if name == "beta1_pow_acc" else 0.0

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        _C_ops.merged_adamax_(
            params,
            grads,
            [s.states["moment"] for s in slots],
            [s.states["inf_norm"] for s in slots],
            [s.states["beta1_pow_acc"] for s in slots],
            masters,
            rates,
            _number(group.get("beta1", self._beta1)),
            _number(group.get("beta2", self._beta2)),
            _number(group.get("epsilon", self._epsilon)),
        )


class Lamb(Optimizer):
    """Adam's step with decay, scaled by the norm of the parameter over that of the step.

    exclude_from_weight_decay_fn(param): whether the parameter does not decay (nor is its step scaled, unless always_adapt).
    Source: paddle.optimizer.Lamb.
    """

    _state_names = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    _single = ("beta1_pow_acc", "beta2_pow_acc")
    _decays_gradients = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-6,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, None, grad_clip, name, multi_precision)
        self._beta1 = in_unit("Lamb", "beta1", _number(beta1))
        self._beta2 = in_unit("Lamb", "beta2", _number(beta2))
        self._epsilon = above_zero("Lamb", "epsilon", epsilon)
        self._decay = float(lamb_weight_decay)
        self._excluded = exclude_from_weight_decay_fn
        self._always_adapt = bool(always_adapt)

    def _start(self, name: str, group: Group) -> float:
        # A power begins as the number itself.
        if name in self._single:
            return _number(group.get(name[:5], getattr(self, f"_{name[:5]}")))
        return 0.0

    def _update(
        self, group: Group, params: Any, grads: Any, slots: list[Slot], masters: Any, rates: list[float]
    ) -> None:
        decay = group.get("lamb_weight_decay", self._decay)
        _C_ops.merged_lamb_(
            params,
            grads,
            [s.states["moment1"] for s in slots],
            [s.states["moment2"] for s in slots],
            [s.states["beta1_pow_acc"] for s in slots],
            [s.states["beta2_pow_acc"] for s in slots],
            masters,
            rates,
            [0.0 if self._excluded is not None and self._excluded(p) else decay for p in params],
            _number(group.get("beta1", self._beta1)),
            _number(group.get("beta2", self._beta2)),
            _number(group.get("epsilon", self._epsilon)),
            self._always_adapt,
        )
