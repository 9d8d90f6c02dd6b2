"""`Parameter`: a Tensor that a layer trains."""

from typing import Any

import numpy as np

from wherry.api.param_attr import ParamAttr
from wherry.autograd.structures import TensorBase
from wherry.core.default_dtype import get_default
from wherry.core.dense_tensor import DenseTensor, dense_from_array
from wherry.core.dtype import convert_dtype
from wherry.core.place import CPU_PLACE
from wherry.tensor.tensor import Tensor
from wherry.utils import unique_name

__all__ = ["create_parameter"]


class _Initializers:
    """What parameters start from where their ParamAttr does not say; nn.initializer sets them."""

    def __init__(self) -> None:
        # Chosen by set_global_initializer.
        self.global_weight: Any = None
        self.global_bias: Any = None
        # Where neither the user nor the layer chose.
        self.weight: Any = None
        self.bias: Any = None


INITIALIZERS = _Initializers()


class EagerParamBase(Tensor):
    """A trainable tensor with a name and training settings; `paddle.nn.Parameter`.

    `Parameter(data, requires_grad=True)` takes the values of a Tensor or array; `Parameter(shape=..., dtype=...)` leaves them to an
    initializer (zeros until then). Keywords: name, trainable, optimize_attr, regularizer, need_clip, do_model_average, is_distributed.
    Source: paddle.base.framework.EagerParamBase.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        by_shape = "shape" in kwargs or "dtype" in kwargs or (len(args) == 2 and isinstance(args[0], (list, tuple)))
        if by_shape:
            self._from_shape(*args, **kwargs)
        else:
            self._from_data(*args, **kwargs)

    def _from_data(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            array = np.zeros((0,), np.float32)
        elif isinstance(data, TensorBase):
            array = data.impl.array
        elif isinstance(data, np.ndarray):
            array = np.array(data)
        else:
            raise TypeError(f"Parameter: expected a Tensor or array for 'data', received {type(data).__name__}")
        if isinstance(data, TensorBase):
            self.impl = data.impl.alias(array, data.impl.meta)
        else:
            self.impl = dense_from_array(array)
        self._settings({"trainable": bool(requires_grad)})

    def _from_shape(self, shape: Any, dtype: Any, **kwargs: Any) -> None:
        dims = tuple(int(d) for d in shape)
        for dim in dims:
            if dim < 0:
                raise ValueError(f"Parameter: expected sizes >= 0 in the shape, received {list(dims)}")
        self.impl = dense_from_array(np.zeros(dims, convert_dtype(dtype).numpy))
        self._settings(kwargs)

    def _settings(self, kwargs: dict[str, Any]) -> None:
        self.optimize_attr: dict[str, Any] = kwargs.pop("optimize_attr", {"learning_rate": 1.0})
        self.regularizer = kwargs.pop("regularizer", None)
        self.do_model_average = kwargs.pop("do_model_average", None)
        self.need_clip: bool = kwargs.pop("need_clip", True)
        self.is_distributed: bool = kwargs.pop("is_distributed", False)
        name = kwargs.pop("name", None)
        self.trainable = kwargs.pop("trainable", True)
        if kwargs:
            raise TypeError(f"Parameter: unexpected arguments {sorted(kwargs)}")
        self.name = unique_name.generate("_eager_param_base") if name is None else name
        self.persistable = True

    @property
    def trainable(self) -> bool:
        """The opposite of stop_gradient."""
        return not self._stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ValueError(f"trainable: expected a bool, received {type(value).__name__}")
        self._stop_gradient = not value

    def initialize(self) -> None:
        """No effect: a parameter has its values from the start."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        name = unique_name.generate(f"{self.name}_deepcopy")
        return self._twin(DenseTensor(np.array(self.impl.array), self.impl.meta), name, memo)

    def __copy__(self) -> Any:
        return self._twin(self.impl.alias(self.impl.array, self.impl.meta), self.name, {})

    def _twin(self, impl: DenseTensor, name: str, memo: dict[int, Any]) -> Any:
        other = type(self).__new__(type(self))
        other.__dict__.update(_attributes(self))
        other.impl = impl
        other._stop_gradient = self._stop_gradient
        other.optimize_attr = dict(self.optimize_attr)
        other.name = name
        other.persistable = True
        memo[id(self)] = other
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), np.array(self.impl.array), self._stop_gradient, self.name, _attributes(self))

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


Parameter = EagerParamBase

# In the interpreted engine these are in __dict__ beside what users and this module put there.
_NATIVE = frozenset(("impl", "_grad_node", "_position", "_stop_gradient", "_state", "_view"))


def _attributes(parameter: EagerParamBase) -> dict[str, Any]:
    """A parameter's settings and the user's attributes, without what the engine keeps."""
    return {name: value for name, value in parameter.__dict__.items() if name not in _NATIVE}


def _rebuild(kind: Any, array: np.ndarray, stop_gradient: bool, name: str, settings: dict[str, Any]) -> Any:
    parameter = kind.__new__(kind)
    parameter.__dict__.update(settings)
    parameter.impl = dense_from_array(array)
    parameter._stop_gradient = stop_gradient
    parameter.name = name
    parameter.persistable = True
    return parameter


def make_parameter(shape: Any, dtype: Any, attr: Any, owner: str, is_bias: bool, default_initializer: Any) -> Any:
    """A parameter as `attr` says, or None where that is False; `owner` begins its name.

    Global initializers come before `default_initializer`, the attribute's own before both; without any, weights are Xavier-uniform
    and biases zero.
    """
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        return None
    chosen = attr.initializer
    if chosen is None:
        chosen = INITIALIZERS.global_bias if is_bias else INITIALIZERS.global_weight
    if chosen is None:
        chosen = default_initializer
    if chosen is None:
        chosen = INITIALIZERS.bias if is_bias else INITIALIZERS.weight
    parameter = EagerParamBase(
        shape=shape,
        dtype=dtype,
        name=attr.name or unique_name.generate(f"{owner}.{'b' if is_bias else 'w'}"),
        optimize_attr={"learning_rate": attr.learning_rate},
        regularizer=attr.regularizer,
        trainable=attr.trainable,
        do_model_average=attr.do_model_average,
        need_clip=attr.need_clip,
    )
    chosen(parameter)
    return parameter


def create_parameter(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
    *,
    device: Any = None,
    requires_grad: bool = True,
) -> Any:
    """A parameter outside a layer: Xavier-uniform values, or zeros with is_bias, unless an initializer is given.

    shape: sizes >= 0. dtype: the default dtype where None. attr: a ParamAttr, a name or an Initializer; `name` goes before its name.
    Raises TypeError for an attr of another type. Source: paddle.create_parameter.
    """
    if device is not None and device != CPU_PLACE and not str(device).startswith("cpu"):
        raise NotImplementedError(f"create_parameter: no backend for the device {device!r} is registered")
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        raise ValueError(
            "create_parameter: expected a ParamAttr, a name, an Initializer or None for 'attr', received False"
        )
    owner = unique_name.generate("create_parameter")
    parameter = make_parameter(
        shape, get_default() if dtype is None else dtype, attr, owner, is_bias, default_initializer
    )
    if name is not None:
        parameter.name = name
    if not requires_grad:
        parameter.stop_gradient = True
    return parameter
