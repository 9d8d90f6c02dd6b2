"""Linear, embedding, dropout, padding and reshaping layers."""

from typing import Any

import numpy as np

from wherry.nn import functional as F
from wherry.nn.initializer import Assign, Constant, XavierUniform
from wherry.nn.layer.layers import Layer


def named(text: str, name: Any) -> str:
    """A layer's description with its name, where it has one."""
    return text if name is None else f"{text}, name={name}" if text else f"name={name}"


def needed(attr: Any, layer: str) -> Any:
    """weight_attr of a layer that cannot do without weights; raises ValueError for False."""
    if attr is False:
        raise ValueError(
            f"{layer}: expected a ParamAttr, an Initializer, a name or None for 'weight_attr', received False: it needs weights"
        )
    return attr


class Identity(Layer):
    """Hands its input through; arguments are accepted and have no effect. Source: paddle.nn.Identity."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Layer):
    """x @ weight + bias, weight [in_features, out_features], bias [out_features] (none with bias_attr=False).

    x is [..., in_features]. Source: paddle.nn.Linear.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self.weight = self.create_parameter([in_features, out_features], needed(weight_attr, "Linear"))
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.name = name

    def forward(self, input: Any) -> Any:
        parameters = self._parameters
        if len(parameters) == 2:
            return F.linear(input, parameters["weight"], parameters["bias"])
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        shape = self.weight.shape
        return named(f"in_features={shape[0]}, out_features={shape[1]}, dtype={self._dtype}", self.name)


class Bilinear(Layer):
    """x1 @ weight[k] @ x2 + bias[k] for each k; weight [out_features, in1_features, in2_features]. Source: paddle.nn.Bilinear."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._features = (in1_features, in2_features, out_features)
        self._name = name
        self.weight = self.create_parameter([out_features, in1_features, in2_features], needed(weight_attr, "Bilinear"))
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        first, second, out = self._features
        return named(
            f"in1_features={first}, in2_features={second}, out_features={out}, dtype={self._dtype}", self._name
        )


class Embedding(Layer):
    """Rows of `weight` [num_embeddings, embedding_dim] by integer index; row padding_idx is zero and gets no gradient.

    Raises ValueError for a padding_idx outside [-num_embeddings, num_embeddings). Source: paddle.nn.Embedding.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        for argument, value in (("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq)):
            if value:
                raise NotImplementedError(f"Embedding: {argument!r} is not supported")
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise ValueError(
                f"Embedding: expected sizes > 0, received num_embeddings={num_embeddings}, embedding_dim={embedding_dim}"
            )
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"Embedding: expected padding_idx in [{-num_embeddings}, {num_embeddings}), received {padding_idx}"
            )
        self._num_embeddings = num_embeddings
        self._embedding_dim = embedding_dim
        self._padding_idx = -1 if padding_idx is None else padding_idx + (num_embeddings if padding_idx < 0 else 0)
        self._sparse = sparse
        self._scale_grad_by_freq = scale_grad_by_freq
        self._name = name
        start = None if _weight is None else Assign(_weight)
        shape = [num_embeddings, embedding_dim]
        self.weight = self.create_parameter(
            shape, needed(weight_attr, "Embedding"), default_initializer=start or XavierUniform(), device=device
        )
        if _freeze:
            self.weight.stop_gradient = True
        if self._padding_idx >= 0:
            self.weight.impl.array[self._padding_idx] = 0

    def forward(self, x: Any) -> Any:
        padding = None if self._padding_idx < 0 else self._padding_idx
        return F.embedding(x, self.weight, padding_idx=padding, sparse=self._sparse)

    def extra_repr(self) -> str:
        padding = "" if self._padding_idx < 0 else f", padding_idx={self._padding_idx}"
        text = f"{self._num_embeddings}, {self._embedding_dim}{padding}, sparse={self._sparse}"
        return named(f"{text}, scale_grad_by_freq={self._scale_grad_by_freq}", self._name)


class Flatten(Layer):
    """Axes start_axis to stop_axis made one. Source: paddle.nn.Flatten."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """One axis made several, of the sizes in `shape`. Source: paddle.nn.Unflatten."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis
        self.shape = shape
        self.name = name

    def forward(self, input: Any) -> Any:
        axis = self.axis + input.ndim if self.axis < 0 else self.axis
        if not 0 <= axis < input.ndim:
            raise ValueError(f"Unflatten: expected axis in [{-input.ndim}, {input.ndim}), received {self.axis}")
        sizes = [int(size) for size in self.shape]
        return input.reshape([*input.shape[:axis], *sizes, *input.shape[axis + 1 :]])

    def extra_repr(self) -> str:
        return named(f"axis={self.axis}, shape={self.shape}", self.name)


class Dropout(Layer):
    """Zeroes elements with probability p while training. Source: paddle.nn.Dropout."""

    def __init__(
        self,
        p: Any = 0.5,
        inplace: bool = False,
        axis: Any = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if inplace:
            raise NotImplementedError("Dropout: 'inplace' is not supported")
        self.p = p
        self.inplace = inplace
        self.axis = axis
        self.mode = mode
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.dropout(input, p=self.p, axis=self.axis, training=self.training, mode=self.mode)

    def extra_repr(self) -> str:
        return named(f"p={self.p}, axis={self.axis}, mode={self.mode}, inplace={self.inplace}", self.name)


class Dropout2D(Layer):
    """Zeroes whole channels of images with probability p while training. Source: paddle.nn.Dropout2D."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.dropout2d(input, p=self.p, training=self.training, data_format=self.data_format)

    def extra_repr(self) -> str:
        return named(f"p={self.p}, data_format={self.data_format}", self.name)


class Dropout3D(Layer):
    """Zeroes whole channels of volumes with probability p while training. Source: paddle.nn.Dropout3D."""

    def __init__(self, p: float = 0.5, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.dropout3d(input, p=self.p, training=self.training, data_format=self.data_format)

    def extra_repr(self) -> str:
        return named(f"p={self.p}, data_format={self.data_format}", self.name)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of SELU's outputs. Source: paddle.nn.AlphaDropout."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.alpha_dropout(input, p=self.p, training=self.training)

    def extra_repr(self) -> str:
        return named(f"p={self.p}", self.name)


class _Pad(Layer):
    """Padding of the last `spatial` axes (before the channels in channels-last formats)."""

    _spatial = 1

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(padding, int):
            padding = [padding] * (2 * self._spatial)
        self._pad = padding
        self._mode = mode
        self._value = value
        self._data_format = data_format
        self._name = name

    def forward(self, x: Any) -> Any:
        return F.pad(x, self._pad, mode=self._mode, value=self._value, data_format=self._data_format)

    def extra_repr(self) -> str:
        text = f"padding={self._pad}, mode={self._mode}, value={self._value}, data_format={self._data_format}"
        return named(text, self._name)


class Pad1D(_Pad):
    """Padding of sequences: constant, reflect, replicate or circular. Source: paddle.nn.Pad1D."""


class Pad2D(_Pad):
    """Padding of images. Source: paddle.nn.Pad2D."""

    _spatial = 2

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Padding of volumes. Source: paddle.nn.Pad3D."""

    _spatial = 3

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


class ZeroPad1D(Pad1D):
    """Padding of sequences with zeros. Source: paddle.nn.ZeroPad1D."""

    def __init__(self, padding: Any, data_format: str = "NCL", name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad2D(Pad2D):
    """Padding of images with zeros. Source: paddle.nn.ZeroPad2D."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad3D(Pad3D):
    """Padding of volumes with zeros. Source: paddle.nn.ZeroPad3D."""

    def __init__(self, padding: Any, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format, name)


class CosineSimilarity(Layer):
    """Cosine of the angle between vectors along an axis. Source: paddle.nn.CosineSimilarity."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis = axis
        self._eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, axis=self._axis, eps=self._eps)

    def extra_repr(self) -> str:
        return f"axis={self._axis}, eps={self._eps}"


class Upsample(Layer):
    """Interpolation to a size or by a factor. Source: paddle.nn.Upsample."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        align_mode: int = 0,
        data_format: str | None = None,
        recompute_scale_factor: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.align_mode = align_mode
        self.data_format = data_format
        self.recompute_scale_factor = recompute_scale_factor
        self.name = name

    def forward(self, x: Any) -> Any:
        return F.interpolate(
            x,
            size=self.size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
            align_mode=self.align_mode,
            data_format=self.data_format,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        main = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        text = f"{main}, mode={self.mode}, align_corners={self.align_corners}, align_mode={self.align_mode}"
        return named(f"{text}, data_format={self.data_format}", self.name)


class PixelShuffle(Layer):
    """Channels moved into space: [N, C * r * r, H, W] -> [N, C, H * r, W * r]. Source: paddle.nn.PixelShuffle."""

    def __init__(self, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._upscale_factor = upscale_factor
        self._data_format = data_format
        self._name = name

    def forward(self, x: Any) -> Any:
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)

    def extra_repr(self) -> str:
        text = f"upscale_factor={self._upscale_factor}"
        return named(text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}", self._name)


class PReLU(Layer):
    """max(0, x) + weight * min(0, x), one weight or one a channel. Source: paddle.nn.PReLU."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters = num_parameters
        self._init = init
        self._name = name
        self._data_format = data_format
        self._weight = self.create_parameter(
            [num_parameters], needed(weight_attr, "PReLU"), default_initializer=Constant(init)
        )

    def forward(self, x: Any) -> Any:
        return F.prelu(x, self._weight, data_format=self._data_format)

    def extra_repr(self) -> str:
        text = f"num_parameters={self._num_parameters}, data_format={self._data_format}, init={self._init}, dtype={self._dtype}"
        return named(text, self._name)


def as_list(value: Any, count: int) -> list[int]:
    """An int repeated, or a sequence of `count` as a list; raises ValueError for another length."""
    if isinstance(value, (int, np.integer)):
        return [int(value)] * count
    values = [int(v) for v in value]
    if len(values) != count:
        raise ValueError(f"expected an int or {count} of them, received {value!r}")
    return values
