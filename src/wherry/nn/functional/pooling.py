"""Pooling. Source: paddle.nn.functional."""

import math
from typing import Any

from wherry import _C_ops
from wherry.nn.functional.windows import Padding, Size, back, channel_last, ints, pairs, to_first
from wherry.tensor.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def _check_rank(x: Tensor, count: int, name: str) -> None:
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")


def _window(
    x: Tensor, kernel_size: Size, stride: Size | None, padding: Padding, ceil_mode: bool, last: bool, name: str
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]:
    """Kernel, strides, paddings and ceil_mode of a pooling call."""
    count = x.ndim - 2
    kernel = ints(kernel_size, count, "kernel_size")
    strides = kernel if stride is None else ints(stride, count, "stride")
    if isinstance(padding, str) and padding.upper() == "VALID" and ceil_mode:
        raise ValueError(f"{name}: expected ceil_mode=False with padding 'VALID'")
    spatial = list(x.shape[1:-1] if last else x.shape[2:])
    return kernel, strides, pairs(padding, spatial, kernel, strides, last), ceil_mode


def _max_pool(
    x: Tensor,
    count: int,
    kernel_size: Size,
    stride: Size | None,
    padding: Padding,
    return_mask: bool,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    name = f"max_pool{count}d"
    _check_rank(x, count, name)
    last = channel_last(data_format, count)
    if return_mask and last:
        raise ValueError(
            f"{name}: expected a channel-first data_format with return_mask=True, received {data_format!r}"
        )
    arguments = _window(x, kernel_size, stride, padding, ceil_mode, last, name)
    if return_mask:
        return _C_ops.max_pool_with_index(x, *arguments)
    return back(_C_ops.max_pool(to_first(x, last), *arguments), last)


def max_pool1d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Maxima of windows along the last axis.

    x: [batch, channels, length]. padding: number, list, 'SAME' or 'VALID'. return_mask: also the places of the maxima (int32).
    Raises ValueError for a window that does not fit. Source: paddle.nn.functional.max_pool1d.
    """
    return _max_pool(x, 1, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


def max_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Maxima of two-dimensional windows.

    x: [batch, channels, height, width], or channel-last with data_format 'NHWC'. return_mask: also the places of the maxima, flat over
    height and width (int32). Raises ValueError for a window that does not fit. Source: paddle.nn.functional.max_pool2d.
    """
    return _max_pool(x, 2, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def max_pool3d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Maxima of three-dimensional windows; as max_pool2d. Source: paddle.nn.functional.max_pool3d."""
    return _max_pool(x, 3, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def _avg_pool(
    x: Tensor,
    count: int,
    kernel_size: Size,
    stride: Size | None,
    padding: Padding,
    ceil_mode: bool,
    exclusive: bool,
    divisor_override: int | None,
    data_format: str,
) -> Tensor:
    name = f"avg_pool{count}d"
    _check_rank(x, count, name)
    last = channel_last(data_format, count)
    if divisor_override is not None and divisor_override <= 0:
        raise ValueError(f"{name}: expected a positive divisor_override, received {divisor_override}")
    arguments = _window(x, kernel_size, stride, padding, ceil_mode, last, name)
    out = _C_ops.avg_pool(to_first(x, last), *arguments, exclusive)
    if divisor_override is not None:
        # As Paddle: the mean, times the whole window's size, by the divisor.
        out = _C_ops.scale(out, math.prod(arguments[0]) / divisor_override, 0.0, True)
    return back(out, last)


def avg_pool1d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """Means of windows along the last axis; exclusive leaves padding out of the count. Source: paddle.nn.functional.avg_pool1d."""
    return _avg_pool(x, 1, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def avg_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Means of two-dimensional windows.

    exclusive: padding does not count. divisor_override: divide by this instead. Raises ValueError for a window that does not fit.
    Source: paddle.nn.functional.avg_pool2d.
    """
    return _avg_pool(x, 2, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format)


def avg_pool3d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """Means of three-dimensional windows; as avg_pool2d. Source: paddle.nn.functional.avg_pool3d."""
    return _avg_pool(x, 3, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format)


def _targets(output_size: Any, spatial: list[int]) -> tuple[int, ...]:
    """The output size of each axis; None keeps the axis."""
    if isinstance(output_size, int):
        return (output_size,) * len(spatial)
    values = [None if v is None else int(v) for v in output_size]
    if len(values) != len(spatial):
        raise ValueError(f"expected {len(spatial)} numbers in output_size, received {list(output_size)}")
    return tuple(size if v is None else v for v, size in zip(values, spatial))


def _share_matrix(size: int, output: int, dtype: Any) -> Tensor:
    """[size, output]: what each element contributes to the mean of each of `output` windows."""
    import numpy as np

    from wherry.core.pooling import adaptive_bounds
    from wherry.tensor.tensor import tensor_from_array

    matrix = np.zeros((size, output), dtype.numpy)
    for column, (start, end) in enumerate(adaptive_bounds(size, output)):
        if end > start:
            matrix[start:end, column] = 1.0 / (end - start)
    return tensor_from_array(matrix)


def _adaptive_avg_pool(x: Tensor, count: int, output_size: Any, data_format: str) -> Tensor:
    name = f"adaptive_avg_pool{count}d"
    _check_rank(x, count, name)
    last = channel_last(data_format, count)
    x = to_first(x, last)
    spatial = list(x.shape[2:])
    targets = _targets(output_size, spatial)
    if min(targets) < 1:
        raise ValueError(f"{name}: expected output sizes of at least 1, received {list(targets)}")
    if all(size % target == 0 and size for size, target in zip(spatial, targets)):
        kernel = tuple(size // target for size, target in zip(spatial, targets))
        return back(_C_ops.avg_pool(x, kernel, kernel, (0,) * (2 * count), False, True), last)
    # The mean over uneven windows is linear along each axis in turn.
    for i, (size, target) in enumerate(zip(spatial, targets)):
        if size != target:
            order = [a for a in range(x.ndim) if a != 2 + i] + [2 + i]
            moved = _C_ops.matmul(_C_ops.transpose(x, tuple(order)), _share_matrix(size, target, x.dtype), False, False)
            x = _C_ops.transpose(moved, tuple(order.index(a) for a in range(x.ndim)))
    if 0 in spatial:
        # The mean of no elements.
        x = _C_ops.scale(x, float("nan"), 0.0, True)
    return back(x, last)


def adaptive_avg_pool1d(x: Tensor, output_size: Any, name: str | None = None) -> Tensor:
    """Means of `output_size` windows that share the last axis. Source: paddle.nn.functional.adaptive_avg_pool1d."""
    return _adaptive_avg_pool(x, 1, output_size, "NCL")


def adaptive_avg_pool2d(x: Tensor, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Means of windows that share height and width evenly.

    output_size: a number or (height, width), None keeps an axis. Source: paddle.nn.functional.adaptive_avg_pool2d.
    """
    return _adaptive_avg_pool(x, 2, output_size, data_format)


def adaptive_avg_pool3d(x: Tensor, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> Tensor:
    """Means of windows that share three axes evenly. Source: paddle.nn.functional.adaptive_avg_pool3d."""
    return _adaptive_avg_pool(x, 3, output_size, data_format)


def _adaptive_max_pool(x: Tensor, count: int, output_size: Any, return_mask: bool) -> Any:
    _check_rank(x, count, f"adaptive_max_pool{count}d")
    out, index = _C_ops.adaptive_max_pool_with_index(x, _targets(output_size, list(x.shape[2:])))
    return (out, index) if return_mask else out


def adaptive_max_pool1d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maxima of `output_size` windows that share the last axis. Source: paddle.nn.functional.adaptive_max_pool1d."""
    return _adaptive_max_pool(x, 1, output_size, return_mask)


def adaptive_max_pool2d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maxima of windows that share height and width evenly. Source: paddle.nn.functional.adaptive_max_pool2d."""
    return _adaptive_max_pool(x, 2, output_size, return_mask)


def adaptive_max_pool3d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maxima of windows that share three axes evenly. Source: paddle.nn.functional.adaptive_max_pool3d."""
    return _adaptive_max_pool(x, 3, output_size, return_mask)
