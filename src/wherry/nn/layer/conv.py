"""Convolution layers."""

import math
from typing import Any

from wherry.nn import functional as F
from wherry.nn.initializer import Normal
from wherry.nn.layer.common import as_list, named, needed
from wherry.nn.layer.layers import Layer

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Layer):
    """What the convolutions of 1 to 3 dimensions share."""

    _spatial = 2
    _formats: tuple[str, ...] = ("NCHW", "NHWC")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__(dtype=dtype)
        kind = type(self).__name__
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"{kind}: expected padding_mode of {_PADDING_MODES}, received {padding_mode!r}")
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise TypeError(
                f"{kind}: expected an int for 'padding' where padding_mode is {padding_mode!r}, received {padding!r}"
            )
        if data_format not in self._formats:
            raise ValueError(f"{kind}: expected data_format of {self._formats}, received {data_format!r}")
        if groups < 1 or in_channels % groups != 0 or out_channels % groups != 0:
            raise ValueError(
                f"{kind}: expected in_channels and out_channels divisible by groups, received in_channels={in_channels}, "
                f"out_channels={out_channels}, groups={groups}"
            )
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._kernel_size = as_list(kernel_size, self._spatial)
        self._stride = as_list(stride, self._spatial)
        self._padding = padding
        self._padding_mode = padding_mode
        self._dilation = as_list(dilation, self._spatial)
        self._groups = groups
        self._data_format = data_format
        fan_in = math.prod(self._kernel_size) * in_channels
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *self._kernel_size],
            needed(weight_attr, kind),
            default_initializer=Normal(0.0, math.sqrt(2.0 / fan_in)) if fan_in else None,
            device=device,
        )
        self.bias = self.create_parameter([out_channels], bias_attr if bias else False, is_bias=True, device=device)

    def _padded(self, x: Any) -> tuple[Any, Any]:
        if self._padding_mode == "zeros" or self._padding == 0:
            return x, self._padding
        return F.pad(
            x, [self._padding] * (2 * self._spatial), mode=self._padding_mode, data_format=self._data_format
        ), 0

    def _convolve(self, function: Any, x: Any) -> Any:
        x, padding = self._padded(x)
        parameters = self._parameters
        return function(
            x,
            self.weight,
            bias=parameters.get("bias"),
            stride=self._stride,
            padding=padding,
            dilation=self._dilation,
            groups=self._groups,
            data_format=self._data_format,
        )

    def extra_repr(self) -> str:
        ones = [1] * self._spatial
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != ones:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self._padding_mode != "zeros":
            text += f", padding_mode={self._padding_mode}"
        if self._dilation != ones:
            text += f", dilation={self._dilation}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        return f"{text}, data_format={self._data_format}"


class Conv1D(_Conv):
    """Convolution of sequences: weight [out, in / groups, k], bias [out] (none with bias_attr=False). Source: paddle.nn.Conv1D."""

    _spatial = 1
    _formats = ("NCL", "NLC")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *args: Any,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        given = _positional(args, padding_mode, weight_attr, bias_attr, data_format)
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            given[0],
            device,
            dtype,
            *given[1:],
        )

    def forward(self, x: Any) -> Any:
        return self._convolve(F.conv1d, x)


class Conv2D(_Conv):
    """Convolution of images: weight [out, in / groups, kh, kw], bias [out] (none with bias_attr=False).

    padding: int, one a dimension, pairs, "SAME" or "VALID". Raises ValueError for channels that groups does not divide.
    Source: paddle.nn.Conv2D.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *args: Any,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        given = _positional(args, padding_mode, weight_attr, bias_attr, data_format)
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            given[0],
            device,
            dtype,
            *given[1:],
        )

    def forward(self, x: Any) -> Any:
        return self._convolve(F.conv2d, x)


class Conv3D(_Conv):
    """Convolution of volumes: weight [out, in / groups, kd, kh, kw], bias [out]. Source: paddle.nn.Conv3D."""

    _spatial = 3
    _formats = ("NCDHW", "NDHWC")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *args: Any,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
    ) -> None:
        given = _positional(args, padding_mode, weight_attr, bias_attr, data_format)
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            given[0],
            device,
            dtype,
            *given[1:],
        )

    def forward(self, x: Any) -> Any:
        return self._convolve(F.conv3d, x)


def _positional(args: tuple[Any, ...], *named_values: Any) -> tuple[Any, ...]:
    """Paddle also takes padding_mode, weight_attr, bias_attr and data_format by position, in this order."""
    if len(args) > len(named_values):
        raise TypeError(f"expected at most 11 positional arguments, received {7 + len(args)}")
    return args + named_values[len(args) :]


class _ConvTranspose(Layer):
    """What the transposed convolutions share."""

    _spatial = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        if groups < 1 or in_channels % groups != 0 or out_channels % groups != 0:
            raise ValueError(
                f"{kind}: expected in_channels and out_channels divisible by groups, received in_channels={in_channels}, "
                f"out_channels={out_channels}, groups={groups}"
            )
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._kernel_size = as_list(kernel_size, self._spatial)
        self._stride = as_list(stride, self._spatial)
        self._padding = padding
        self.output_padding = output_padding
        self._dilation = as_list(dilation, self._spatial)
        self._groups = groups
        self._data_format = data_format
        self.weight = self.create_parameter(
            [in_channels, out_channels // groups, *self._kernel_size], needed(weight_attr, kind)
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def _convolve(self, function: Any, x: Any, output_size: Any) -> Any:
        return function(
            x,
            self.weight,
            bias=self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=self.output_padding if output_size is None else 0,
            dilation=self._dilation,
            groups=self._groups,
            output_size=output_size,
            data_format=self._data_format,
        )

    def extra_repr(self) -> str:
        ones = [1] * self._spatial
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != ones:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self.output_padding != 0:
            text += f", output_padding={self.output_padding}"
        if self._dilation != ones:
            text += f", dilation={self._dilation}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        return named(f"{text}, data_format={self._data_format}", None)


class Conv1DTranspose(_ConvTranspose):
    """The transpose of Conv1D, of weight [in, out / groups, k]. Source: paddle.nn.Conv1DTranspose."""

    _spatial = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any, output_size: Any = None) -> Any:
        return self._convolve(F.conv1d_transpose, x, output_size)


class Conv2DTranspose(_ConvTranspose):
    """The transpose of Conv2D, of weight [in, out / groups, kh, kw]. Source: paddle.nn.Conv2DTranspose."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x: Any, output_size: Any = None) -> Any:
        return self._convolve(F.conv2d_transpose, x, output_size)
