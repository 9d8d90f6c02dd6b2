"""Max pooling undone, pooling by a norm, and pooling with uneven windows. Source: paddle.nn.functional.pooling."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.core.generator import default_generator
from wherry.core.pooling import output_sizes
from wherry.nn.functional.windows import Padding, Size, back, channel_last, ints, pairs, to_first
from wherry.tensor.tensor import Tensor

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _max_unpool(
    x: Tensor,
    indices: Tensor,
    count: int,
    kernel_size: Size,
    stride: Size | None,
    padding: Any,
    data_format: str,
    output_size: Sequence[int] | None,
) -> Tensor:
    name = f"max_unpool{count}d"
    expected = ("NCL", "NCHW", "NCDHW")[count - 1]
    if data_format != expected:
        raise ValueError(f"{name}: expected data_format {expected!r}, received {data_format!r}")
    if x.ndim != count + 2 or indices.shape != x.shape:
        raise ValueError(
            f"{name}: expected x of {count + 2} dimensions and indices of its shape, received shapes {list(x.shape)} and "
            f"{list(indices.shape)}"
        )
    kernel = ints(kernel_size, count, "kernel_size")
    strides = kernel if stride is None else ints(stride, count, "stride")
    around = ints(padding, count, "padding")
    default = [(x.shape[2 + i] - 1) * strides[i] + kernel[i] - 2 * around[i] for i in range(count)]
    targets = default if output_size is None else [int(v) for v in output_size]
    targets = targets[2:] if len(targets) == count + 2 else targets
    if len(targets) != count:
        raise ValueError(f"{name}: expected {count} or {count + 2} numbers in output_size, received {list(targets)}")
    for i, target in enumerate(targets):
        if not default[i] - strides[i] < target < default[i] + strides[i] or target < 1:
            raise ValueError(
                f"{name}: expected an output_size between {default[i] - strides[i]} and {default[i] + strides[i]} (both excluded) for "
                f"axis {i}, received {targets}"
            )
    return _C_ops.max_pool_scatter(x, indices, tuple(targets), False)


def max_unpool1d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Any = 0,
    data_format: str = "NCL",
    output_size: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """max_pool1d undone: each value at the place its maximum came from, zeros elsewhere; as max_unpool2d.

    Source: paddle.nn.functional.max_unpool1d.
    """
    return _max_unpool(x, indices, 1, kernel_size, stride, padding, data_format, output_size)


def max_unpool2d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """max_pool2d undone: each value at the place its maximum came from, zeros elsewhere.

    indices: what max_pool2d gives with return_mask=True. output_size: the size before pooling, where several sizes give x's; the last
    two or all four numbers of a shape. Raises IndexError for an index outside, ValueError for sizes that do not fit.
    Source: paddle.nn.functional.max_unpool2d.
    """
    return _max_unpool(x, indices, 2, kernel_size, stride, padding, data_format, output_size)


def max_unpool3d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Any = 0,
    data_format: str = "NCDHW",
    output_size: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """max_pool3d undone; as max_unpool2d. Source: paddle.nn.functional.max_unpool3d."""
    return _max_unpool(x, indices, 3, kernel_size, stride, padding, data_format, output_size)


def _lp_pool(
    x: Tensor,
    count: int,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None,
    padding: Padding,
    ceil_mode: bool,
    data_format: str,
) -> Tensor:
    name = f"lp_pool{count}d"
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")
    power = float(norm_type)
    if power == 0 or math.isnan(power):
        raise ValueError(f"{name}: expected a norm_type other than 0, received {norm_type}")
    last = channel_last(data_format, count)
    if isinstance(padding, str) and padding.upper() == "VALID" and ceil_mode:
        raise ValueError(f"{name}: expected ceil_mode=False with padding 'VALID'")
    kernel = ints(kernel_size, count, "kernel_size")
    strides = kernel if stride is None else ints(stride, count, "stride")
    x = to_first(x, last)
    spatial = tuple(x.shape[2:])
    around = pairs(padding, spatial, kernel, strides, last)
    if math.isinf(power):
        if power < 0:
            raise ValueError(f"{name}: expected a finite norm_type or inf, received {norm_type}")
        return back(_C_ops.max_pool(x, kernel, strides, around, ceil_mode), last)
    out = output_sizes(spatial, kernel, strides, around, ceil_mode)
    # Zeros for all that windows reach, so that the mean times the window's size is the sum.
    wide = [0, 0, 0, 0]
    for i, size in enumerate(spatial):
        wide += [around[2 * i], max(0, (out[i] - 1) * strides[i] + kernel[i] - size - around[2 * i])]
    powers = _C_ops.pow(x, power)
    if any(wide):
        powers = _C_ops.pad(powers, tuple(wide), 0.0)
    means = _C_ops.avg_pool(powers, kernel, strides, (0,) * (2 * count), False, True)
    sums = _C_ops.scale(means, float(math.prod(kernel)), 0.0, True)
    # The root's derivative at 0 is infinite, and 0 times that would be NaN: windows of zeros take the gradient 0.
    empty = _C_ops.equal(sums, _C_ops.full_like(sums, 0.0, None))
    root = _C_ops.pow(_C_ops.masked_fill(sums, empty, 1.0), 1.0 / power)
    return back(_C_ops.masked_fill(root, empty, 0.0 if power > 0 else math.inf), last)


def lp_pool1d(
    x: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """(sum of x ** norm_type) ** (1 / norm_type) of windows of sequences; as lp_pool2d. Source: paddle.nn.functional.lp_pool1d."""
    return _lp_pool(x, 1, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def lp_pool2d(
    x: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """(sum of x ** norm_type) ** (1 / norm_type) of two-dimensional windows.

    The powers have x's sign, so a negative sum has no root (NaN). norm_type inf: the largest value. Where all of a window is zero the
    gradient is 0. Raises ValueError for norm_type 0 or a window that does not fit. Source: paddle.nn.functional.lp_pool2d.
    """
    return _lp_pool(x, 2, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def _fractional_max_pool(
    x: Tensor, count: int, output_size: Any, kernel_size: Any, random_u: float | None, return_mask: bool
) -> Any:
    name = f"fractional_max_pool{count}d"
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")
    if random_u is None:
        # In (0, 1): the generator may draw 0.
        random_u = 1.0 - float(default_generator().random())
        random_u = min(max(random_u, 1e-7), 1.0 - 1e-7)
    elif not 0.0 < random_u < 1.0:
        raise ValueError(f"{name}: expected random_u in (0, 1), received {random_u}")
    given = [output_size] * count if isinstance(output_size, int) else list(output_size)
    if len(given) != count:
        raise ValueError(f"{name}: expected one number or {count} in output_size, received {given}")
    targets = tuple(int(x.shape[2 + i] if v is None else v) for i, v in enumerate(given))
    kernel = (0,) * count if kernel_size is None else ints(kernel_size, count, "kernel_size")
    out, index = _C_ops.fractional_max_pool(x, targets, kernel, float(random_u))
    return (out, index) if return_mask else out


def fractional_max_pool2d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Maxima of windows of uneven steps that share the image (Graham, 2014).

    output_size: a number or (height, width), None keeps an axis. kernel_size: the size of overlapping windows; None: disjoint ones. random_u: in
    (0, 1), where the windows begin; None draws it. return_mask: also the places of the maxima (int32), flat over the spatial axes.
    Raises ValueError for sizes that do not fit. Source: paddle.nn.functional.fractional_max_pool2d.
    """
    return _fractional_max_pool(x, 2, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Maxima of windows of uneven steps that share the volume; as fractional_max_pool2d.

    Source: paddle.nn.functional.fractional_max_pool3d.
    """
    return _fractional_max_pool(x, 3, output_size, kernel_size, random_u, return_mask)
