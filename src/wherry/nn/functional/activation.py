"""Activations. Source: paddle.nn.functional."""

from typing import Any

from wherry import _C_ops
from wherry.api.arguments import dtype_of
from wherry.tensor.tensor import Tensor

__all__ = [
    "celu",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_sigmoid",
    "log_softmax",
    "maxout",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmax_",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanh",
    "tanh_",
    "tanhshrink",
    "thresholded_relu",
    "thresholded_relu_",
]


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """max(x, 0), element by element. Source: paddle.nn.functional.relu."""
    return _C_ops.relu(x)


def relu_(x: Tensor, name: str | None = None) -> Tensor:
    """In-place `relu`."""
    return _C_ops.relu_(x)


def relu6(x: Tensor, name: str | None = None) -> Tensor:
    """x cut to [0, 6]. Source: paddle.nn.functional.relu6."""
    return _C_ops.relu6(x)


def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """x, or negative_slope * x where x is negative. Source: paddle.nn.functional.leaky_relu."""
    return _C_ops.leaky_relu(x, negative_slope)


def leaky_relu_(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """In-place `leaky_relu`."""
    return _C_ops.leaky_relu_(x, negative_slope)


def rrelu(
    x: Tensor, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, training: bool = True, name: str | None = None
) -> Tensor:
    """x, or x times a slope where x is negative: drawn for each element from [lower, upper] in training, else their mean.

    Raises ValueError unless 0 <= lower <= upper <= 1. Source: Xu et al., 2015 (arXiv:1505.00853); paddle.nn.functional.rrelu.
    """
    if not 0.0 <= lower <= upper <= 1.0:
        raise ValueError(f"rrelu: expected 0 <= lower <= upper <= 1, received lower={lower}, upper={upper}")
    if not training:
        return _C_ops.leaky_relu(x, (lower + upper) / 2.0)
    from wherry.api.random import uniform

    slopes = _C_ops.cast(uniform(list(x.shape), min=lower, max=upper), x.dtype)
    return _C_ops.where(x < 0, _C_ops.multiply(x, slopes), x)


def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """x, or weight * x where x is negative; one weight, or one for each channel.

    Raises ValueError for weights that fit neither. Source: paddle.nn.functional.prelu.
    """
    count = weight.size
    if count != 1:
        axis = x.ndim - 1 if data_format.endswith("C") else 1
        if x.ndim < 2 or x.shape[axis] != count:
            raise ValueError(f"prelu: expected one weight or one for each channel of {list(x.shape)}, received {count}")
        weight = _C_ops.reshape(weight, tuple(count if i == axis else 1 for i in range(x.ndim)))
    zero = _C_ops.full_like(x, 0.0)
    return _C_ops.add(_C_ops.maximum(x, zero), _C_ops.multiply(weight, _C_ops.minimum(x, zero)))


def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x is negative. Source: paddle.nn.functional.elu."""
    return _C_ops.elu(x, alpha)


def elu_(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """In-place `elu`."""
    return _C_ops.elu_(x, alpha)


def selu(
    x: Tensor,
    scale: float = 1.0507009873554804934193349852946,
    alpha: float = 1.6732632423543772848170429916717,
    name: str | None = None,
) -> Tensor:
    """scale * x, or scale * alpha * (exp(x) - 1) where x is not positive.

    Raises ValueError for scale <= 1 or alpha < 0. Source: paddle.nn.functional.selu.
    """
    if scale <= 1.0:
        raise ValueError(f"selu: expected scale greater than 1, received {scale}")
    if alpha < 0:
        raise ValueError(f"selu: expected alpha of at least 0, received {alpha}")
    return _C_ops.selu(x, scale, alpha)


def celu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0). Raises ValueError for alpha 0. Source: paddle.nn.functional.celu."""
    if alpha == 0:
        raise ValueError("celu: expected alpha other than 0")
    return _C_ops.celu(x, alpha)


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the normal distribution function of x, or its tanh approximation. Source: paddle.nn.functional.gelu."""
    return _C_ops.gelu(x, approximate)


def silu(x: Tensor, name: str | None = None) -> Tensor:
    """x * sigmoid(x). Source: paddle.nn.functional.silu."""
    return _C_ops.silu(x)


def swish(x: Tensor, name: str | None = None) -> Tensor:
    """x * sigmoid(x), under its other name. Source: paddle.nn.functional.swish."""
    return _C_ops.silu(x)


def mish(x: Tensor, name: str | None = None) -> Tensor:
    """x * tanh(softplus(x)). Source: paddle.nn.functional.mish."""
    return _C_ops.mish(x)


def hardswish(x: Tensor, name: str | None = None) -> Tensor:
    """x * relu6(x + 3) / 6. Source: paddle.nn.functional.hardswish."""
    return _C_ops.hardswish(x)


def hardsigmoid(x: Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> Tensor:
    """slope * x + offset, cut to [0, 1]. Source: paddle.nn.functional.hardsigmoid."""
    return _C_ops.hardsigmoid(x, slope, offset)


def hardtanh(x: Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Tensor:
    """x cut to [min, max]. Source: paddle.nn.functional.hardtanh."""
    return _C_ops.hardtanh(x, min, max)


def hardtanh_(x: Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Tensor:
    """In-place `hardtanh`."""
    return _C_ops.hardtanh_(x, min, max)


def softplus(x: Tensor, beta: float = 1, threshold: float = 20, name: str | None = None) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold. Source: paddle.nn.functional.softplus."""
    return _C_ops.softplus(x, beta, threshold)


def softsign(x: Tensor, name: str | None = None) -> Tensor:
    """x / (1 + |x|). Source: paddle.nn.functional.softsign."""
    return _C_ops.softsign(x)


def softshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """x drawn towards 0 by the threshold. Raises ValueError for a negative one. Source: paddle.nn.functional.softshrink."""
    if threshold < 0:
        raise ValueError(f"softshrink: expected a threshold of at least 0, received {threshold}")
    return _C_ops.softshrink(x, threshold)


def hardshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """x where |x| exceeds the threshold, else 0. Source: paddle.nn.functional.hardshrink."""
    return _C_ops.hardshrink(x, threshold)


def tanhshrink(x: Tensor, name: str | None = None) -> Tensor:
    """x - tanh(x). Source: paddle.nn.functional.tanhshrink."""
    return _C_ops.tanh_shrink(x)


def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> Tensor:
    """x above the threshold, else value. Source: paddle.nn.functional.thresholded_relu."""
    return _C_ops.threshold(x, threshold, value)


def thresholded_relu_(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> Tensor:
    """In-place `thresholded_relu`."""
    return _C_ops.threshold_(x, threshold, value)


def log_sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), exact in both tails. Source: paddle.nn.functional.log_sigmoid."""
    return _C_ops.logsigmoid(x)


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)). Source: paddle.nn.functional.sigmoid."""
    return _C_ops.sigmoid(x)


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic tangent. Source: paddle.nn.functional.tanh."""
    return _C_ops.tanh(x)


def tanh_(x: Tensor, name: str | None = None) -> Tensor:
    """In-place `tanh`."""
    return _C_ops.tanh_(x)


def _prepared(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else _C_ops.cast(x, dtype_of(dtype))


def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """exp(x) over its sum along the axis.

    dtype: cast to it first. Raises ValueError for an axis that x has not. Source: paddle.nn.functional.softmax.
    """
    return _C_ops.softmax(_prepared(x, dtype), axis)


def softmax_(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """In-place `softmax`; dtype, if given, must be x's own."""
    if dtype is not None and dtype_of(dtype) is not x.dtype:
        raise TypeError(f"softmax_: expected x's dtype {x.dtype.name}, received {dtype!r}; use softmax")
    return _C_ops.softmax_(x, axis)


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Logarithm of `softmax`, without underflow. Source: paddle.nn.functional.log_softmax."""
    return _C_ops.log_softmax(_prepared(x, dtype), axis)


def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """The first half along the axis times the sigmoid of the second.

    Raises ValueError for an odd length. Source: paddle.nn.functional.glu.
    """
    if x.shape[axis] % 2:
        raise ValueError(f"glu: expected an even length of axis {axis}, received shape {list(x.shape)}")
    first, second = x.chunk(2, axis)
    return _C_ops.multiply(first, _C_ops.sigmoid(second))


def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """Maxima over groups of channels. Raises ValueError where they do not divide. Source: paddle.nn.functional.maxout."""
    axis %= x.ndim
    channels = x.shape[axis]
    if groups <= 1 or channels % groups:
        raise ValueError(f"maxout: expected more than one group that divides {channels} channels, received {groups}")
    shape = (*x.shape[:axis], channels // groups, groups, *x.shape[axis + 1 :])
    return _C_ops.max(_C_ops.reshape(x, shape), (axis + 1,), False)


def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Tensor:
    """A sample from the Gumbel-softmax distribution; with `hard` one-hot forwards and soft backwards.

    Source: paddle.nn.functional.gumbel_softmax.
    """
    from wherry.api.random import uniform

    tiny = 1e-20 if x.dtype.name != "float16" else 1e-7
    drawn = _C_ops.cast(uniform(list(x.shape), min=tiny, max=1.0), x.dtype)
    noise = _C_ops.scale(_C_ops.log(_C_ops.scale(_C_ops.log(drawn), -1.0, tiny, True)), -1.0)
    soft = _C_ops.softmax(_C_ops.scale(_C_ops.add(x, noise), 1.0 / temperature), axis)
    if not hard:
        return soft
    top = _C_ops.max(soft.detach(), (axis,), True)
    one = _C_ops.cast(_C_ops.equal(soft.detach(), top), soft.dtype)
    return _C_ops.add(_C_ops.subtract(one, soft.detach()), soft)
