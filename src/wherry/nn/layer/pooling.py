"""Pooling layers."""

from typing import Any

from wherry.nn import functional as F
from wherry.nn.layer.common import named
from wherry.nn.layer.layers import Layer


class _Pool(Layer):
    """Kernel, stride and padding, kept and shown."""

    def __init__(self, kernel_size: Any, stride: Any, padding: Any, name: str | None, **settings: Any) -> None:
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.name = name
        self._settings = settings

    def extra_repr(self) -> str:
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class MaxPool1D(_Pool):
    """Largest value of each window of sequences [N, C, L]. Source: paddle.nn.MaxPool1D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name, return_mask=return_mask, ceil_mode=ceil_mode)

    def forward(self, x: Any) -> Any:
        return F.max_pool1d(x, self.ksize, self.stride, self.padding, **self._settings)


class MaxPool2D(_Pool):
    """Largest value of each window of images; with return_mask its place too. Source: paddle.nn.MaxPool2D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size, stride, padding, name, return_mask=return_mask, ceil_mode=ceil_mode, data_format=data_format
        )

    def forward(self, x: Any) -> Any:
        return F.max_pool2d(x, self.ksize, self.stride, self.padding, **self._settings)


class MaxPool3D(_Pool):
    """Largest value of each window of volumes. Source: paddle.nn.MaxPool3D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size, stride, padding, name, return_mask=return_mask, ceil_mode=ceil_mode, data_format=data_format
        )

    def forward(self, x: Any) -> Any:
        return F.max_pool3d(x, self.ksize, self.stride, self.padding, **self._settings)


class AvgPool1D(_Pool):
    """Mean of each window of sequences; `exclusive` leaves padding out of the count. Source: paddle.nn.AvgPool1D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, name, exclusive=exclusive, ceil_mode=ceil_mode)

    def forward(self, x: Any) -> Any:
        return F.avg_pool1d(x, self.ksize, self.stride, self.padding, **self._settings)


class AvgPool2D(_Pool):
    """Mean of each window of images; `exclusive` leaves padding out of the count. Source: paddle.nn.AvgPool2D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            padding,
            name,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
        )

    def forward(self, x: Any) -> Any:
        return F.avg_pool2d(x, self.ksize, self.stride, self.padding, **self._settings)


class AvgPool3D(_Pool):
    """Mean of each window of volumes. Source: paddle.nn.AvgPool3D."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            padding,
            name,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
        )

    def forward(self, x: Any) -> Any:
        return F.avg_pool3d(x, self.ksize, self.stride, self.padding, **self._settings)


class _Adaptive(Layer):
    """Output size, kept and shown."""

    def __init__(self, output_size: Any, name: str | None, **settings: Any) -> None:
        super().__init__()
        self._output_size = output_size
        self._name = name
        self._settings = settings

    def extra_repr(self) -> str:
        text = f"output_size={self._output_size}"
        if "return_mask" in self._settings:
            text += f", return_mask={self._settings['return_mask']}"
        return named(text, self._name)


class AdaptiveAvgPool1D(_Adaptive):
    """Means over as many windows as output_size asks for. Source: paddle.nn.AdaptiveAvgPool1D."""

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__(output_size, name)

    def forward(self, x: Any) -> Any:
        return F.adaptive_avg_pool1d(x, self._output_size)


class AdaptiveAvgPool2D(_Adaptive):
    """Means over as many windows as output_size asks for (None keeps a dimension). Source: paddle.nn.AdaptiveAvgPool2D."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(output_size, name, data_format=data_format)

    def forward(self, x: Any) -> Any:
        return F.adaptive_avg_pool2d(x, self._output_size, **self._settings)


class AdaptiveAvgPool3D(_Adaptive):
    """Means over as many windows as output_size asks for. Source: paddle.nn.AdaptiveAvgPool3D."""

    def __init__(self, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__(output_size, name, data_format=data_format)

    def forward(self, x: Any) -> Any:
        return F.adaptive_avg_pool3d(x, self._output_size, **self._settings)


class AdaptiveMaxPool1D(_Adaptive):
    """Largest values of as many windows as output_size asks for. Source: paddle.nn.AdaptiveMaxPool1D."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size, name, return_mask=return_mask)

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool1d(x, self._output_size, **self._settings)


class AdaptiveMaxPool2D(_Adaptive):
    """Largest values of as many windows as output_size asks for. Source: paddle.nn.AdaptiveMaxPool2D."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size, name, return_mask=return_mask)

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool2d(x, self._output_size, **self._settings)


class AdaptiveMaxPool3D(_Adaptive):
    """Largest values of as many windows as output_size asks for. Source: paddle.nn.AdaptiveMaxPool3D."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size, name, return_mask=return_mask)

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool3d(x, self._output_size, **self._settings)
