"""Normalisation. Source: paddle.nn.functional.norm."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]

_CHANNEL_LAST = ("NLC", "NHWC", "NDHWC")
_CHANNEL_FIRST = ("NC", "NCL", "NCHW", "NCDHW")


def _channel_last(data_format: str, name: str) -> bool:
    if data_format in _CHANNEL_LAST:
        return True
    if data_format not in _CHANNEL_FIRST:
        raise ValueError(f"{name}: expected data_format of {_CHANNEL_FIRST + _CHANNEL_LAST}, received {data_format!r}")
    return False


def _first(x: Tensor, last: bool) -> Tensor:
    return _C_ops.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1))) if last and x.ndim > 2 else x


def _back(x: Tensor, last: bool) -> Tensor:
    return _C_ops.transpose(x, (0, *range(2, x.ndim), 1)) if last and x.ndim > 2 else x


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Tensor:
    """Normalise over the last axes: (x - mean) / sqrt(variance + epsilon) * weight + bias.

    normalized_shape: the sizes of those axes. Raises ValueError where x does not end in them.
    Source: paddle.nn.functional.layer_norm.
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else [int(n) for n in normalized_shape]
    begin = x.ndim - len(shape)
    if begin < 0 or list(x.shape[begin:]) != shape:
        raise ValueError(
            f"layer_norm: expected x with a shape that ends in normalized_shape {shape}, received {list(x.shape)}"
        )
    return _C_ops.layer_norm(x, weight, bias, epsilon, begin)


def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Normalise each channel over batch and places.

    In training with the batch's own mean and variance, which the running ones follow in place (running = momentum * running +
    (1 - momentum) * batch); otherwise, or with use_global_stats, with the running ones. Raises ValueError for statistics that do
    not fit. Source: paddle.nn.functional.batch_norm.
    """
    last = _channel_last(data_format, "batch_norm")
    x = _first(x, last)
    if x.ndim < 2:
        raise ValueError(f"batch_norm: expected x of at least two dimensions, received shape {list(x.shape)}")
    channels = x.shape[1]
    if running_mean.size != channels or running_var.size != channels:
        raise ValueError(
            f"batch_norm: expected running statistics of {channels} elements, one for each channel, received "
            f"{list(running_mean.shape)} and {list(running_var.shape)}"
        )
    if training and not use_global_stats:
        out, mean, variance = _C_ops.batch_norm(x, weight, bias, epsilon)
        statistics = (running_mean.detach(), running_var.detach(), mean.detach(), variance.detach())
        _C_ops.update_running_(*statistics, momentum)
        return _back(out, last)
    row = (1, channels, *(1,) * (x.ndim - 2))
    inverse = _C_ops.rsqrt(_C_ops.scale(running_var.detach(), 1.0, epsilon, True))
    factor = inverse if weight is None else _C_ops.multiply(weight, inverse)
    out = _C_ops.subtract(x, _C_ops.cast(_C_ops.reshape(running_mean.detach(), row), x.dtype))
    out = _C_ops.multiply(out, _C_ops.cast(_C_ops.reshape(factor, row), x.dtype))
    if bias is not None:
        out = _C_ops.add(out, _C_ops.cast(_C_ops.reshape(bias, row), x.dtype))
    return _back(out, last)


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    row = (1, x.shape[1], *(1,) * (x.ndim - 2))
    if weight is not None:
        x = _C_ops.multiply(x, _C_ops.reshape(weight, row))
    return x if bias is None else _C_ops.add(x, _C_ops.reshape(bias, row))


def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalise over groups of channels of each example.

    Raises ValueError for groups that do not divide the channels. Source: paddle.nn.functional.group_norm.
    """
    last = _channel_last(data_format, "group_norm")
    x = _first(x, last)
    channels = x.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise ValueError(f"group_norm: expected num_groups that divides {channels} channels, received {num_groups}")
    rows = _C_ops.reshape(x, (x.shape[0] * num_groups, math.prod(x.shape[1:]) // num_groups))
    out = _C_ops.reshape(_C_ops.layer_norm(rows, None, None, epsilon, 1), tuple(x.shape))
    return _back(_scaled(out, weight, bias), last)


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalise each channel of each example over its places.

    running_mean, running_var and momentum have no effect, as in Paddle. Raises NotImplementedError for use_input_stats=False.
    Source: paddle.nn.functional.instance_norm.
    """
    if not use_input_stats:
        raise NotImplementedError("instance_norm: the argument 'use_input_stats' is supported as True only")
    last = _channel_last(data_format, "instance_norm")
    x = _first(x, last)
    rows = _C_ops.reshape(x, (x.shape[0] * x.shape[1], math.prod(x.shape[2:])))
    out = _C_ops.reshape(_C_ops.layer_norm(rows, None, None, eps, 1), tuple(x.shape))
    return _back(_scaled(out, weight, bias), last)


def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-05,
    name: str | None = None,
) -> Tensor:
    """Divide by the root of the mean square over the last axes, times weight. Source: paddle.nn.functional.rms_norm."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else [int(n) for n in normalized_shape]
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    if list(input.shape[-len(shape) :]) != shape:
        raise ValueError(f"rms_norm: expected x with a shape that ends in {shape}, received {list(input.shape)}")
    square = _C_ops.mean(_C_ops.square(input), axes, True)
    out = _C_ops.multiply(input, _C_ops.rsqrt(_C_ops.scale(square, 1.0, eps, True)))
    return out if weight is None else _C_ops.multiply(out, weight)


def local_response_norm(
    x: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """x over (k + alpha * mean of squares of `size` neighbouring channels) ** beta.

    Source: paddle.nn.functional.local_response_norm.
    """
    if x.ndim < 3:
        raise ValueError(
            f"local_response_norm: expected x of at least three dimensions, received shape {list(x.shape)}"
        )
    last = _channel_last(data_format, "local_response_norm")
    x = _first(x, last)
    flat = _C_ops.reshape(_C_ops.square(x), (x.shape[0], 1, x.shape[1], math.prod(x.shape[2:])))
    mean = _C_ops.avg_pool(flat, (size, 1), (1, 1), (size // 2, (size - 1) // 2, 0, 0), False, False)
    base = _C_ops.scale(_C_ops.reshape(mean, tuple(x.shape)), alpha, k, True)
    return _back(_C_ops.divide(x, _C_ops.pow(base, beta)), last)


def normalize(
    x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, out: Any = None, name: str | None = None
) -> Tensor:
    """x over its p-norm along an axis, which is at least epsilon. Source: paddle.nn.functional.normalize."""
    if out is not None:
        raise NotImplementedError("normalize: the argument 'out' is not supported")
    if x.ndim == 1 and axis not in (0, -1):
        raise ValueError(f"normalize: expected axis 0 or -1 for a 1-D tensor, received {axis}")
    size = _C_ops.p_norm(x, float(p), (axis,), True)
    return _C_ops.divide(x, _C_ops.maximum(size, _C_ops.full_like(size, epsilon)))
