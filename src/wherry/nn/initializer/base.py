"""What the initializers share."""

import math
from typing import Any

from wherry.api.parameter import INITIALIZERS
from wherry.autograd.inplace import write_value
from wherry.core.dtype import DataType, float32

_GAINS = {
    "sigmoid": 1.0,
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv1d_transpose": 1.0,
    "conv2d_transpose": 1.0,
    "conv3d_transpose": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


class Initializer:
    """Base: calling it with a parameter overwrites the parameter's values. Subclasses define `forward(param, block=None)`.

    Source: paddle.nn.initializer.Initializer.
    """

    def __call__(self, param: Any, block: Any = None) -> Any:
        return self.forward(param, block)

    def forward(self, param: Any, block: Any = None) -> Any:
        """Overwrite the values of `param`; returns it."""
        write_value(param, self.values(tuple(param.shape), param.dtype), f"{type(self).__name__} initializer")
        return param

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        """An array of that shape, of that dtype or one that is cast to it."""
        raise NotImplementedError(
            f"{type(self).__name__}: an initializer defines values(shape, dtype) or forward(param, block)"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def set_global_initializer(weight_init: Any, bias_init: Any = None) -> None:
    """Initializers for parameters made from now on that have none in their ParamAttr; None goes back to the layers' own.

    weight_init, bias_init: an Initializer or None; raises TypeError for anything else.
    Source: paddle.nn.initializer.set_global_initializer.
    """
    for name, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError(
                f"set_global_initializer: expected an Initializer or None for {name!r}, received {type(value).__name__}"
            )
    INITIALIZERS.global_weight = weight_init
    INITIALIZERS.global_bias = bias_init


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a layer's weights are to be larger for the nonlinearity that follows it.

    param: the negative slope of "leaky_relu" (0.01 by default). Raises ValueError for an unknown name.
    Source: paddle.nn.initializer.calculate_gain.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"expected a nonlinearity of {sorted([*_GAINS, 'leaky_relu'])}, received {nonlinearity!r}")
    return _GAINS[nonlinearity]


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of a unit: a matrix is [in, out], a convolution's weight [out, in, *kernel]."""
    if len(shape) == 0:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def drawn_dtype(dtype: DataType) -> DataType:
    """The dtype random values are drawn in: halves are drawn in float32 and rounded once."""
    return float32 if dtype.itemsize == 2 and dtype.is_floating else dtype
