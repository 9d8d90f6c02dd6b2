"""Convolution. Source: paddle.nn.functional.conv."""

from typing import Any

from wherry import _C_ops
from wherry.nn.functional.windows import Padding, Size, back, channel_last, ints, pairs, to_first
from wherry.tensor.tensor import Tensor

__all__ = [
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
]


def _with_bias(out: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return out
    return _C_ops.add(out, _C_ops.reshape(bias, (1, bias.size, *(1,) * (out.ndim - 2))))


def _conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Padding,
    dilation: Size,
    groups: int,
    data_format: str,
    count: int,
) -> Tensor:
    name = f"conv{count}d"
    last = channel_last(data_format, count)
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")
    strides, dilations = ints(stride, count, "stride"), ints(dilation, count, "dilation")
    spatial = list(x.shape[1:-1] if last else x.shape[2:])
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilations, weight.shape[2:]))
    paddings = pairs(padding, spatial, reach, strides, last)
    out = _C_ops.conv(to_first(x, last), weight, strides, paddings, dilations, groups)
    return back(_with_bias(out, bias), last)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    dilation: Size = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Cross-correlation along one axis; as conv2d. Source: paddle.nn.functional.conv1d."""
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format, 1)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    dilation: Size = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Cross-correlation of images with filters.

    x: [batch, channels, height, width] (NHWC: channels last); weight: [filters, channels / groups, height, width]; bias:
    [filters]. padding: a number, one or two for each axis, pairs for all axes, 'SAME' or 'VALID'. Raises ValueError for sizes that do not fit.
    Source: paddle.nn.functional.conv2d.
    """
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format, 2)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    dilation: Size = 1,
    groups: int = 1,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """Cross-correlation along three axes; as conv2d. Source: paddle.nn.functional.conv3d."""
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format, 3)


def _conv_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Padding,
    output_padding: Size,
    dilation: Size,
    groups: int,
    output_size: Any,
    data_format: str,
    count: int,
) -> Tensor:
    name = f"conv{count}d_transpose"
    last = channel_last(data_format, count)
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")
    strides, dilations = ints(stride, count, "stride"), ints(dilation, count, "dilation")
    extra = ints(output_padding, count, "output_padding")
    spatial = list(x.shape[1:-1] if last else x.shape[2:])
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilations, weight.shape[2:]))
    if isinstance(padding, str) and padding.upper() == "SAME":
        # The output is stride times as large, so this much of each window lies outside.
        beyond = [max(0, r - s) for r, s in zip(reach, strides)]
        paddings = tuple(v for b in beyond for v in (b // 2, b - b // 2))
    else:
        paddings = pairs(padding, spatial, reach, strides, last)
    least = [(n - 1) * strides[i] - paddings[2 * i] - paddings[2 * i + 1] + reach[i] for i, n in enumerate(spatial)]
    sizes = [n + e for n, e in zip(least, extra)]
    if output_size is not None:
        if any(extra):
            raise ValueError(f"{name}: expected output_padding or output_size, received both")
        sizes = list(ints(output_size, count, "output_size"))
    for size, low, s in zip(sizes, least, strides):
        if not max(low, 1) <= size < low + s:
            raise ValueError(
                f"{name}: expected output sizes from {least} and less than a stride more, received {sizes}"
            )
    out = _C_ops.conv_grad_input(to_first(x, last), weight, tuple(sizes), strides, paddings, dilations, groups)
    return back(_with_bias(out, bias), last)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """The transpose of conv1d; as conv2d_transpose. Source: paddle.nn.functional.conv1d_transpose."""
    return _conv_transpose(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format, 1
    )


def conv2d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    output_padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """The transpose of conv2d, as a map of its own.

    x: [batch, channels, height, width]; weight: [channels, filters / groups, height, width]; bias: [filters]. output_padding or output_size
    choose among the sizes that conv2d would map to x's. Raises ValueError for sizes that do not fit.
    Source: paddle.nn.functional.conv2d_transpose.
    """
    return _conv_transpose(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format, 2
    )


def conv3d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Padding = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
    output_size: Any = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """The transpose of conv3d; as conv2d_transpose. Source: paddle.nn.functional.conv3d_transpose."""
    return _conv_transpose(
        x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format, 3
    )
