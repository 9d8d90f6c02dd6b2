"""`Optimizer`: parameter groups, clipping, weight decay and state; the update itself is one operation a group and dtype."""

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Final

import numpy as np

from wherry import _C_ops
from wherry.autograd.inplace import write_value
from wherry.autograd.structures import TensorBase
from wherry.core import state as modes
from wherry.core.dtype import bfloat16, float32
from wherry.nn.clip import ClipGradBase
from wherry.optimizer.lr import LRScheduler
from wherry.regularizer import L2Decay, WeightDecayRegularizer
from wherry.tensor.tensor import tensor_from_array
from wherry.utils import unique_name

_MASTER: Final = "master_weights"
_SCHEDULER: Final = "LR_Scheduler"


class Slot:
    """What an optimizer keeps of one parameter: its master copy, if any, and its state tensors by name."""

    __slots__ = ("master", "states")

    def __init__(self, master: Any, states: dict[str, Any]) -> None:
        self.master = master
        self.states = states


class Optimizer:
    """Base of the optimizers.

    learning_rate: a number, an LRScheduler or a one-element Tensor. parameters: Tensors, or dictionaries of "params" with settings of
    their own ("learning_rate" times the optimizer's, "weight_decay", "grad_clip" ...). weight_decay: a number (L2), L1Decay or L2Decay;
    a parameter's own regularizer goes first. grad_clip: a ClipGradBy... . Raises TypeError or ValueError for other arguments.
    Source: paddle.optimizer.Optimizer.
    """

    # Names of the state tensors, in the order they are saved, and of those that hold a single number.
    _state_names: ClassVar[tuple[str, ...]] = ()
    _single: ClassVar[tuple[str, ...]] = ()
    # Whether weight decay is added to the gradients before the update.
    _decays_gradients: ClassVar[bool] = True

    def __init__(
        self,
        learning_rate: Any,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        multi_precision: bool = False,
    ) -> None:
        kind = type(self).__name__
        if parameters is None:
            raise AttributeError(
                f"{kind}: expected the parameters to train, received None: pass parameters=layer.parameters()"
            )
        if isinstance(parameters, (TensorBase, str)) or not isinstance(parameters, Iterable):
            raise TypeError(
                f"{kind}: expected an iterable of Tensors for 'parameters', received {type(parameters).__name__}"
            )
        if grad_clip is not None and not isinstance(grad_clip, ClipGradBase):
            raise TypeError(
                f"{kind}: expected a ClipGradBy... object for 'grad_clip', received {type(grad_clip).__name__}"
            )
        self._name = name
        self._learning_rate = _checked_rate(kind, learning_rate)
        self._grad_clip = grad_clip
        self._multi_precision = multi_precision
        self._weight_decay = weight_decay
        self.regularization = self._regularizer(weight_decay)
        self._param_groups: list[dict[str, Any]] = []
        self._slots: dict[int, Slot] = {}
        self._pending: dict[str, Any] = {}
        self._parameter_list = list(parameters)
        if self._parameter_list and isinstance(self._parameter_list[0], dict):
            for group in self._parameter_list:
                self._add_param_group(dict(group))
        else:
            self._add_param_group({"params": self._parameter_list})

    def _regularizer(self, weight_decay: Any) -> Any:
        if weight_decay is None or isinstance(weight_decay, WeightDecayRegularizer):
            return weight_decay
        if isinstance(weight_decay, (int, float)) and not isinstance(weight_decay, bool):
            return L2Decay(float(weight_decay))
        if isinstance(weight_decay, TensorBase) and weight_decay.impl.meta.size == 1:
            return L2Decay(float(weight_decay))  # type: ignore[arg-type]
        raise TypeError(
            f"{type(self).__name__}: expected a number, L1Decay or L2Decay for 'weight_decay', received {type(weight_decay).__name__}"
        )

    def _add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dictionary of "params" and settings; a parameter must not be in two groups (ValueError)."""
        params = param_group["params"]
        group = dict(param_group)
        group["params"] = [params] if isinstance(params, TensorBase) else list(params)
        known = {id(p) for g in self._param_groups for p in g["params"]}
        for p in group["params"]:
            if not isinstance(p, TensorBase):
                raise TypeError(f"{type(self).__name__}: expected Tensors as parameters, received {type(p).__name__}")
            if id(p) in known:
                raise ValueError(f"{type(self).__name__}: the parameter {p.name} is in more than one group")  # type: ignore[attr-defined]
        group["regularizer"] = (
            self._regularizer(group["weight_decay"]) if "weight_decay" in group else self.regularization
        )
        group.setdefault("weight_decay", self._weight_decay)
        group.setdefault("grad_clip", self._grad_clip)
        self._param_groups.append(group)

    # The step.

    def step(self) -> None:
        """Update every parameter that has a gradient. Source: paddle.optimizer.Optimizer.step."""
        before = modes.set_grad_enabled_flag(False)
        try:
            for group in self._param_groups:
                pairs = [(p, g) for p in group["params"] if (g := p.grad) is not None and not p._stop_gradient]
                if pairs:
                    self._step_group(group, pairs)
        finally:
            modes.set_grad_enabled_flag(before)
        for observer in modes.observers():
            observer.optimizer_stepped(self)

    def _step_group(self, group: dict[str, Any], pairs: list[tuple[Any, Any]]) -> None:
        clip = group["grad_clip"]
        if clip is not None:
            pairs = clip(pairs)
        if self._decays_gradients:
            pairs = self.append_regularization_ops(pairs, group["regularizer"])
        rate = self.get_lr() * group.get("learning_rate", 1.0)
        by_dtype: dict[str, list[tuple[Any, Any]]] = {}
        for pair in pairs:
            by_dtype.setdefault(pair[0].impl.meta.dtype.name, []).append(pair)
        for alike in by_dtype.values():
            params = [p for p, _ in alike]
            self._prepare(group, params)
            slots = [self._slot(p, group) for p in params]
            masters = [s.master for s in slots] if slots[0].master is not None else None
            grads = [_fitting(g, p, masters is not None) for p, g in alike]
            self._update(group, params, grads, slots, masters, [self._rate_of(p, rate) for p in params])

    def _prepare(self, group: dict[str, Any], params: list[Any]) -> None:
        """Called before the state of parameters of one dtype is made."""

    def _rate_of(self, param: Any, rate: float) -> float:
        settings = getattr(param, "optimize_attr", None)
        return rate if settings is None else rate * settings["learning_rate"]

    def _update(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        slots: list[Slot],
        masters: Any,
        rates: list[float],
    ) -> None:
        """Update parameters of one dtype; subclasses call their operation."""
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def append_regularization_ops(
        self, parameters_and_grads: list[tuple[Any, Any]], regularization: Any = None
    ) -> list[tuple[Any, Any]]:
        """The pairs with each parameter's penalty (its own regularizer's, else this one's) added to the gradient."""
        result = []
        for p, g in parameters_and_grads:
            regularizer = getattr(p, "regularizer", None) or regularization
            if regularizer is not None and regularizer.coeff != 0.0:
                g = _C_ops.add(g, regularizer.penalty(p))
            result.append((p, g))
        return result

    def apply_gradients(self, params_grads: list[tuple[Any, Any]]) -> None:
        """Update parameters with the gradients given, after clipping and weight decay."""
        before = modes.set_grad_enabled_flag(False)
        try:
            chosen = {id(p): g for p, g in params_grads if g is not None}
            for group in self._param_groups:
                pairs = [(p, chosen[id(p)]) for p in group["params"] if id(p) in chosen]
                if pairs:
                    self._step_group(group, pairs)
        finally:
            modes.set_grad_enabled_flag(before)

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """The (parameter, gradient) pairs there are; `loss.backward()` has to be called before."""
        for argument, value in (
            ("startup_program", startup_program),
            ("no_grad_set", no_grad_set),
            ("callbacks", callbacks),
        ):
            if value is not None:
                raise NotImplementedError(f"Optimizer.backward: {argument!r} is not supported")
        chosen = [p for group in self._param_groups for p in group["params"]] if parameters is None else parameters
        return [(p, p.grad) for p in chosen if p.grad is not None and not p.stop_gradient]

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[None, Any]:
        """Update the parameters with the gradients that `loss.backward()` left. Source: paddle.optimizer.Optimizer.minimize."""
        if not isinstance(loss, TensorBase):
            raise TypeError(f"minimize: expected a Tensor for 'loss', received {type(loss).__name__}")
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        self.apply_gradients(pairs)
        return None, pairs

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the gradients to zeros, or drop them with set_to_zero=False. Source: paddle.optimizer.Optimizer.clear_grad."""
        for group in self._param_groups:
            for p in group["params"]:
                if not p._stop_gradient:
                    p.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or set them to zeros."""
        self.clear_grad(not set_to_none)

    # The learning rate.

    def get_lr(self) -> float:
        """The learning rate of the next step."""
        rate = self._learning_rate
        if isinstance(rate, LRScheduler):
            return float(rate())
        return rate if isinstance(rate, float) else float(rate)

    def set_lr(self, value: float) -> None:
        """Set a learning rate; raises RuntimeError where a scheduler sets it, TypeError for something else than a number."""
        if isinstance(value, bool) or not isinstance(value, (int, float, TensorBase)):
            raise TypeError(f"set_lr: expected a number, received {type(value).__name__}")
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("set_lr: the learning rate is an LRScheduler's; use set_lr_scheduler to replace it")
        self._learning_rate = _checked_rate(type(self).__name__, value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler set the learning rate from now on."""
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"set_lr_scheduler: expected an LRScheduler, received {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # State.

    def _slot(self, param: Any, group: dict[str, Any]) -> Slot:
        slot = self._slots.get(id(param))
        if slot is None:
            slot = self._new_slot(param, group)
            self._slots[id(param)] = slot
        return slot

    def _names(self) -> tuple[str, ...]:
        """The state tensors that a parameter has."""
        return self._state_names

    def _start(self, name: str, group: dict[str, Any]) -> float:
        """What a state tensor is filled with."""
        return 0.0

    def _new_slot(self, param: Any, group: dict[str, Any]) -> Slot:
        half = param.impl.meta.dtype.itemsize == 2
        dtype = np.dtype(np.float32) if half else param.impl.meta.dtype.numpy
        master = None
        owner = param.name
        if half and self._multi_precision:
            master = tensor_from_array(param.impl.array.astype(np.float32))
            master.name = unique_name.generate(f"{owner}_fp32_master")
            owner = master.name
            self._load_into(master, self._pending.get(_MASTER, {}).pop(param.name, None), param.name)
        states = {}
        for name in self._names():
            shape = (1,) if name in self._single else param.impl.meta.shape
            tensor = tensor_from_array(np.full(shape, self._start(name, group), dtype))
            tensor.name = unique_name.generate(f"{owner}_{name}")
            tensor.persistable = True
            self._load_into(tensor, self._take_pending(tensor.name, f"{owner}_{name}_0"), tensor.name)
            states[name] = tensor
        return Slot(master, states)

    def _take_pending(self, *names: str) -> Any:
        for name in names:
            if name in self._pending:
                return self._pending.pop(name)
        # The number at the end counts how often the process made such a state, which differs from run to run.
        stem = names[-1].removesuffix("0")
        for name in self._pending:
            if name.startswith(stem) and name[len(stem) :].isdigit():
                return self._pending.pop(name)
        return None

    def _load_into(self, tensor: Any, value: Any, name: str) -> None:
        if value is None:
            return
        array = value.impl.array if isinstance(value, TensorBase) else np.asarray(value)
        if array.dtype == np.uint16:
            array = array.view(bfloat16.numpy)
        if tuple(array.shape) != tensor.impl.meta.shape:
            raise ValueError(
                f"{type(self).__name__}.set_state_dict: expected the shape {list(tensor.impl.meta.shape)} for {name!r}, "
                f"received {list(array.shape)}"
            )
        write_value(tensor, array.astype(tensor.impl.meta.dtype.numpy), "set_state_dict")

    def state_dict(self) -> dict[str, Any]:
        """State tensors by name, the master weights of half parameters and the scheduler's state.

        Source: paddle.optimizer.Optimizer.state_dict.
        """
        chosen = [(p, self._slots[id(p)]) for g in self._param_groups for p in g["params"] if id(p) in self._slots]
        result: dict[str, Any] = {}
        for name in self._names():
            for _, slot in chosen:
                tensor = slot.states[name]
                result[tensor.name] = tensor
        masters = {p.name: slot.master for p, slot in chosen if slot.master is not None}
        if masters:
            result[_MASTER] = masters
        if isinstance(self._learning_rate, LRScheduler):
            result[_SCHEDULER] = self._learning_rate.state_dict()
        return result

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; what belongs to parameters not yet stepped is kept until they are.

        Raises ValueError for a value of another shape; names that fit no parameter have no effect, with a warning.
        Source: paddle.optimizer.Optimizer.set_state_dict.
        """
        given = dict(state_dict)
        scheduler = given.pop(_SCHEDULER, None)
        if scheduler is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(scheduler)
        masters = dict(given.pop(_MASTER, {}))
        self._pending = given
        self._pending[_MASTER] = masters
        for group in self._param_groups:
            for p in group["params"]:
                slot = self._slots.get(id(p))
                if slot is None:
                    if not p.stop_gradient:
                        self._slot(p, group)
                    continue
                if slot.master is not None:
                    self._load_into(slot.master, masters.pop(p.name, None), p.name)
                owner = p.name if slot.master is None else slot.master.name
                for name, tensor in slot.states.items():
                    self._load_into(tensor, self._take_pending(tensor.name, f"{owner}_{name}_0"), tensor.name)
        unused = [name for name in self._pending if name != _MASTER] + list(masters)
        self._pending = {}
        if unused:
            warnings.warn(f"{type(self).__name__}.set_state_dict: no parameter has the state {unused}", stacklevel=2)

    set_dict = set_state_dict
    load_state_dict = set_state_dict

    def get_opti_var_name_list(self) -> list[str]:
        """Names of the state tensors there are."""
        return [t.name for slot in self._slots.values() for t in slot.states.values()]


def _fitting(grad: Any, param: Any, has_master: bool) -> Any:
    """A gradient in the dtype the update takes: the parameter's, or float32 beside a float32 copy of it."""
    dtype = grad.impl.meta.dtype
    if dtype is param.impl.meta.dtype or (has_master and dtype is float32):
        return grad
    return _C_ops.cast(grad, param.dtype)


def _checked_rate(kind: str, rate: Any) -> Any:
    if isinstance(rate, LRScheduler):
        return rate
    if isinstance(rate, (int, float)) and not isinstance(rate, bool):
        return float(rate)
    if isinstance(rate, TensorBase) and rate.impl.meta.size == 1:
        return rate
    raise TypeError(f"{kind}: expected a number or an LRScheduler for 'learning_rate', received {type(rate).__name__}")


def in_unit(kind: str, name: str, value: float) -> float:
    """A number in [0, 1); raises ValueError for another."""
    if not 0 <= value < 1:
        raise ValueError(f"{kind}: expected {name} in [0, 1), received {value}")
    return float(value)


def above_zero(kind: str, name: str, value: float) -> float:
    """A number above 0 (or 0); raises ValueError for another."""
    if value is None or not value >= 0:
        raise ValueError(f"{kind}: expected {name} >= 0, received {value}")
    return float(value)
