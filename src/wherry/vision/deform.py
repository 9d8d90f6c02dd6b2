"""Deformable convolution. Source: paddle.vision.ops.deform_conv2d."""

from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.infermeta.nn import conv_output_size
from wherry.nn.functional.sampling import sampled
from wherry.nn.functional.windows import Size, ints
from wherry.nn.initializer import Normal
from wherry.nn.layer.layers import Layer
from wherry.tensor.tensor import Tensor, tensor_from_array


def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolution whose every element reads x at a place moved by an offset, between its cells (Dai et al., 2017).

    x: [N, C, H, W]; weight: [out, C / groups, kh, kw]; offset: [N, 2 * deformable_groups * kh * kw, H', W'], (down, right) for each element in
    cells; mask: [N, deformable_groups * kh * kw, H', W'], what each is multiplied with (version 2, Zhu et al., 2019). Outside x there are zeros.
    Derivatives of every order, by all of them. Raises ValueError for shapes that do not fit. Source: paddle.vision.ops.deform_conv2d.
    """
    strides, paddings = ints(stride, 2, "stride"), ints(padding, 2, "padding")
    dilations = ints(dilation, 2, "dilation")
    places = _places(x, weight, strides, paddings, dilations, deformable_groups, groups)
    batch, channels = x.shape[:2]
    kernel, area = weight.shape[2] * weight.shape[3], places[0] * places[1]
    moving = deformable_groups
    for name_, tensor, count in (("offset", offset, 2), ("mask", mask, 1)):
        wanted = [batch, count * moving * kernel, *places]
        if tensor is not None and list(tensor.shape) != wanted:
            raise ValueError(f"deform_conv2d: expected {name_} of shape {wanted}, received {list(tensor.shape)}")
    base = _base(list(weight.shape[2:]), places, strides, paddings, dilations).astype(offset.dtype.numpy)
    moves = _C_ops.transpose(_C_ops.reshape(offset, (batch * moving, kernel, 2, area)), (0, 1, 3, 2))
    location = _C_ops.add(_C_ops.reshape(moves, (batch * moving, kernel * area, 2)), tensor_from_array(base))
    images = _C_ops.reshape(x, (batch * moving, channels // moving, *x.shape[2:]))
    read = sampled(images, location, x.shape[2:], (x.shape[3], 1), factor=mask)
    read = _C_ops.reshape(read, (batch, moving, kernel, area, channels // moving))
    rows = channels // groups * kernel
    columns = _C_ops.reshape(_C_ops.transpose(read, (0, 1, 4, 2, 3)), (batch, groups, rows, area))
    filters = weight.shape[0]
    out = _C_ops.matmul(_C_ops.reshape(weight, (groups, filters // groups, rows)), columns, False, False)
    out = _C_ops.reshape(out, (batch, filters, *places))
    return out if bias is None else _C_ops.add(out, _C_ops.reshape(bias, (1, filters, 1, 1)))


def _places(
    x: Tensor,
    weight: Tensor,
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
    deformable_groups: int,
    groups: int,
) -> tuple[int, ...]:
    """Height and width of the result."""
    if x.ndim != 4 or weight.ndim != 4:
        raise ValueError(
            f"deform_conv2d: expected x and weight of 4 dimensions, received shapes {list(x.shape)} and {list(weight.shape)}"
        )
    if groups < 1 or weight.shape[1] * groups != x.shape[1] or weight.shape[0] % groups:
        raise ValueError(
            f"deform_conv2d: expected weight [filters, channels / groups, kh, kw] with filters that groups={groups} divides, received weight "
            f"{list(weight.shape)} for x {list(x.shape)}"
        )
    if deformable_groups < 1 or x.shape[1] % deformable_groups:
        raise ValueError(
            f"deform_conv2d: expected deformable_groups that divide {x.shape[1]} channels, received {deformable_groups}"
        )
    if min(strides) < 1 or min(dilations) < 1 or min(paddings) < 0:
        raise ValueError(
            "deform_conv2d: expected stride and dilation of at least 1 and padding of at least 0, received "
            f"{list(strides)}, {list(dilations)} and {list(paddings)}"
        )
    places = tuple(
        conv_output_size(x.shape[2 + i], weight.shape[2 + i], strides[i], paddings[i], paddings[i], dilations[i])
        for i in (0, 1)
    )
    if min(places) < 1:
        raise ValueError(
            f"deform_conv2d: expected a kernel that fits, received weight {list(weight.shape)} for x {list(x.shape)}"
        )
    return places


def _base(
    kernel: list[int],
    places: tuple[int, ...],
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
) -> np.ndarray:
    """[kernel * places, 2]: the rows and columns that an ordinary convolution reads."""
    lines = [
        np.arange(kernel[i])[:, None] * dilations[i] + np.arange(places[i]) * strides[i] - paddings[i] for i in (0, 1)
    ]
    shape = (kernel[0], kernel[1], *places)
    rows = np.broadcast_to(lines[0][:, None, :, None], shape)
    return np.stack((rows, np.broadcast_to(lines[1][None, :, None, :], shape)), axis=-1).reshape(-1, 2)


class DeformConv2D(Layer):
    """`deform_conv2d` with a weight and bias of its own. Source: paddle.vision.ops.DeformConv2D."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        deformable_groups: int = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if weight_attr is False:
            raise ValueError("DeformConv2D: expected a weight_attr other than False")
        if in_channels % groups:
            raise ValueError(f"DeformConv2D: expected groups that divide {in_channels} channels, received {groups}")
        kernel = ints(kernel_size, 2, "kernel_size")
        self._stride = stride
        self._padding = padding
        self._dilation = dilation
        self._deformable_groups = deformable_groups
        self._groups = groups
        std = (2.0 / (kernel[0] * kernel[1] * in_channels)) ** 0.5
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *kernel], weight_attr, default_initializer=Normal(0.0, std)
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any, offset: Any, mask: Any = None) -> Any:
        return deform_conv2d(
            x,
            offset,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            self._dilation,
            self._deformable_groups,
            self._groups,
            mask,
        )
