"""Layers of images: windows as columns, channels dealt out, max pooling undone, and pooling of further kinds."""

from typing import Any

from wherry.nn import functional as F
from wherry.nn.layer.common import named
from wherry.nn.layer.layers import Layer


class Unfold(Layer):
    """Every window of images as a column; see F.unfold. Source: paddle.nn.Unfold."""

    def __init__(
        self, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None
    ) -> None:
        super().__init__()
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, stride={self.strides}"
        return named(text, self.name)


class Fold(Layer):
    """Columns added up where their windows lie; see F.fold. Source: paddle.nn.Fold."""

    def __init__(
        self,
        output_sizes: Any,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.output_sizes = output_sizes
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.fold(input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        text = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, stride={self.strides}"
        return named(text, self.name)


class ChannelShuffle(Layer):
    """Channels dealt out to groups in turn; see F.channel_shuffle. Source: paddle.nn.ChannelShuffle."""

    def __init__(self, groups: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        if not isinstance(groups, int):
            raise TypeError(f"ChannelShuffle: expected an int as groups, received {type(groups).__name__}")
        if groups < 1:
            raise ValueError(f"ChannelShuffle: expected groups of at least 1, received {groups}")
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError(f"ChannelShuffle: expected data_format 'NCHW' or 'NHWC', received {data_format!r}")
        self._groups = groups
        self._data_format = data_format
        self._name = name

    def forward(self, x: Any) -> Any:
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self) -> str:
        last = "" if self._data_format == "NCHW" else f", data_format={self._data_format}"
        return named(f"groups={self._groups}{last}", self._name)


class _MaxUnPool(Layer):
    """Kernel, stride, padding and size, kept and shown."""

    _count = 2

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str | None = None,
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        """output_size, where given, counts instead of the layer's."""
        function = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self._count - 1]
        size = output_size or self.output_size
        return function(x, indices, self.ksize, self.stride, self.padding, self.data_format, size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxUnPool1D(_MaxUnPool):
    """Max pooling of sequences undone; see F.max_unpool1d. Source: paddle.nn.MaxUnPool1D."""

    _count = 1

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCL",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class MaxUnPool2D(_MaxUnPool):
    """Max pooling of images undone; see F.max_unpool2d. Source: paddle.nn.MaxUnPool2D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class MaxUnPool3D(_MaxUnPool):
    """Max pooling of volumes undone; see F.max_unpool3d. Source: paddle.nn.MaxUnPool3D."""

    _count = 3

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = "NCDHW",
        output_size: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)


class LPPool1D(Layer):
    """The norm of each window of sequences; see F.lp_pool1d. Source: paddle.nn.LPPool1D."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.norm_type = float(norm_type)
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Any) -> Any:
        return F.lp_pool1d(
            x, self.norm_type, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.data_format
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        )


class LPPool2D(Layer):
    """The norm of each window of images; see F.lp_pool2d. Source: paddle.nn.LPPool2D."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.norm_type = float(norm_type)
        self.ksize = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x: Any) -> Any:
        return F.lp_pool2d(x, self.norm_type, self.ksize, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class _FractionalMaxPool(Layer):
    """Sizes and the random number, kept and shown."""

    _count = 2

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any = None,
        random_u: float | None = None,
        return_mask: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._output_size = output_size
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask
        self._name = name

    def forward(self, x: Any) -> Any:
        function = F.fractional_max_pool2d if self._count == 2 else F.fractional_max_pool3d
        return function(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class FractionalMaxPool2D(_FractionalMaxPool):
    """Maxima of windows of uneven steps; see F.fractional_max_pool2d. Source: paddle.nn.FractionalMaxPool2D."""


class FractionalMaxPool3D(_FractionalMaxPool):
    """Maxima of windows of uneven steps; see F.fractional_max_pool3d. Source: paddle.nn.FractionalMaxPool3D."""

    _count = 3
