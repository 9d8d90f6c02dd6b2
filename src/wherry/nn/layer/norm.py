"""Normalisation layers."""

import math
from typing import Any

from wherry.api.param_attr import ParamAttr
from wherry.nn import functional as F
from wherry.nn.initializer import Constant
from wherry.nn.layer.common import named
from wherry.nn.layer.layers import Layer


class _BatchNormBase(Layer):
    """Normalisation of each channel over batch and space, with running statistics for evaluation."""

    _dims: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_features = num_features
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._use_global_stats = use_global_stats
        self._data_format = data_format
        self._momentum = momentum
        self._epsilon = epsilon
        self._name = name
        shape = [num_features]
        dtype = "float32" if self._dtype in ("float16", "bfloat16") else self._dtype
        self.weight = self.create_parameter(shape, weight_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, dtype, is_bias=True)
        self._mean = self._statistic(shape, dtype, 0.0)
        self._variance = self._statistic(shape, dtype, 1.0)

    def _statistic(self, shape: list[int], dtype: str, value: float, name: str | None = None) -> Any:
        # As in Paddle, the statistics are parameters that are not trained, so they are saved and named like the others.
        return self.create_parameter(shape, ParamAttr(name=name, initializer=Constant(value), trainable=False), dtype)

    def _check(self, x: Any) -> None:
        if x.ndim not in self._dims:
            expected = " or ".join(str(d) for d in self._dims)
            raise ValueError(
                f"{type(self).__name__}: expected an input of {expected} dimensions, received shape {list(x.shape)}"
            )

    def forward(self, input: Any) -> Any:
        self._check(input)
        parameters = self._parameters
        return F.batch_norm(
            input,
            parameters["_mean"],
            parameters["_variance"],
            parameters.get("weight"),
            parameters.get("bias"),
            training=self.training,
            momentum=self._momentum,
            epsilon=self._epsilon,
            data_format=self._data_format,
            use_global_stats=self._use_global_stats,
        )

    def extra_repr(self) -> str:
        text = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return named(text, self._name)


class BatchNorm1D(_BatchNormBase):
    """Batch normalisation of [N, C] or [N, C, L]. Source: paddle.nn.BatchNorm1D."""

    _dims = (2, 3)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """Batch normalisation of images [N, C, H, W]: running = momentum * running + (1 - momentum) * batch.

    Raises ValueError for an input of other than 4 dimensions. Source: paddle.nn.BatchNorm2D.
    """


class BatchNorm3D(_BatchNormBase):
    """Batch normalisation of volumes [N, C, D, H, W]. Source: paddle.nn.BatchNorm3D."""

    _dims = (5,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class SyncBatchNorm(_BatchNormBase):
    """Batch normalisation over the processes of a group; here over the one process. Source: paddle.nn.SyncBatchNorm."""

    _dims = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)


class BatchNorm(_BatchNormBase):
    """Batch normalisation of 2 to 5 dimensions with an activation, in the older form. Source: paddle.nn.BatchNorm."""

    _dims = (2, 3, 4, 5)

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: str = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        for argument, value in (("in_place", in_place), ("trainable_statistics", trainable_statistics)):
            if value:
                raise NotImplementedError(f"BatchNorm: {argument!r} is not supported")
        super().__init__(
            num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, use_global_stats or None, None
        )
        if moving_mean_name is not None:
            self._mean.name = moving_mean_name
        if moving_variance_name is not None:
            self._variance.name = moving_variance_name
        self._act = act
        if is_test:
            self.training = False
        if dtype != self._dtype:
            self.to(dtype=dtype)

    def forward(self, input: Any) -> Any:
        out = super().forward(input)
        return out if self._act is None else getattr(F, self._act)(out)

    def extra_repr(self) -> str:
        return ""


class LayerNorm(Layer):
    """Normalisation over the last axes, of the sizes in normalized_shape. Source: paddle.nn.LayerNorm."""

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-5,
        *args: Any,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        # Paddle also takes weight_attr, bias_attr and name by position.
        if len(args) > 3:
            raise TypeError(f"LayerNorm: expected at most 5 positional arguments, received {2 + len(args)}")
        weight_attr, bias_attr, name = args + (weight_attr, bias_attr, name)[len(args) :]
        super().__init__(dtype=dtype)
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        # One axis, however many are normalised: the shape that Paddle's checkpoints have.
        shape = [math.prod(self._normalized_shape)]
        self.weight = self.create_parameter(
            shape,
            weight_attr if elementwise_affine else False,
            default_initializer=Constant(1.0),
            device=device,
        )
        self.bias = self.create_parameter(
            shape, bias_attr if elementwise_affine and bias else False, is_bias=True, device=device
        )

    def forward(self, input: Any) -> Any:
        parameters = self._parameters
        return F.layer_norm(
            input, self._normalized_shape, parameters.get("weight"), parameters.get("bias"), self._epsilon
        )

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalisation over groups of channels of each sample. Source: paddle.nn.GroupNorm."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        *args: Any,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        if len(args) > 4:
            raise TypeError(f"GroupNorm: expected at most 7 positional arguments, received {3 + len(args)}")
        weight_attr, bias_attr, data_format, name = args + (weight_attr, bias_attr, data_format, name)[len(args) :]
        super().__init__(dtype=dtype)
        if num_groups < 1 or num_channels % num_groups != 0:
            raise ValueError(
                f"GroupNorm: expected num_channels divisible by num_groups, received {num_channels} and {num_groups}"
            )
        self._num_groups = num_groups
        self._num_channels = num_channels
        self._epsilon = epsilon
        self._data_format = data_format
        self.weight = self.create_parameter(
            [num_channels], weight_attr if affine else False, default_initializer=Constant(1.0), device=device
        )
        self.bias = self.create_parameter([num_channels], bias_attr if affine else False, is_bias=True, device=device)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self) -> str:
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    """Normalisation of each channel of each sample over space."""

    _dims: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise ValueError(f"{type(self).__name__}: expected weight_attr and bias_attr both False, or neither")
        self._num_features = num_features
        self._epsilon = epsilon
        self._momentum = momentum
        self._data_format = data_format
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input: Any) -> Any:
        if input.ndim not in self._dims:
            expected = " or ".join(str(d) for d in self._dims)
            raise ValueError(
                f"{type(self).__name__}: expected an input of {expected} dimensions, received shape {list(input.shape)}"
            )
        return F.instance_norm(
            input,
            weight=self.scale,
            bias=self.bias,
            momentum=self._momentum,
            eps=self._epsilon,
            data_format=self._data_format,
        )

    def extra_repr(self) -> str:
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNorm):
    """Instance normalisation of [N, C, L]. Source: paddle.nn.InstanceNorm1D."""

    _dims = (2, 3)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm2D(_InstanceNorm):
    """Instance normalisation of [N, C, H, W]. Source: paddle.nn.InstanceNorm2D."""


class InstanceNorm3D(_InstanceNorm):
    """Instance normalisation of [N, C, D, H, W]. Source: paddle.nn.InstanceNorm3D."""

    _dims = (5,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)
