"""Activation layers: each calls the function of its name in nn.functional."""

from typing import Any

from wherry.nn import functional as F
from wherry.nn.layer.common import named
from wherry.nn.layer.layers import Layer


class _Activation(Layer):
    """Keeps a name and settings, and shows them."""

    _shown: tuple[str, ...] = ()

    def __init__(self, name: str | None = None, **settings: Any) -> None:
        super().__init__()
        self._name = name
        for key, value in settings.items():
            setattr(self, f"_{key}", value)

    def extra_repr(self) -> str:
        return named(", ".join(f"{key}={getattr(self, '_' + key)}" for key in self._shown), self._name)


class ReLU(_Activation):
    """max(0, x). Source: paddle.nn.ReLU."""

    def forward(self, x: Any) -> Any:
        return F.relu(x)


class Silu(_Activation):
    """x * sigmoid(x). Source: paddle.nn.Silu."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        super().__init__(name, inplace=inplace)
        if inplace:
            raise NotImplementedError("Silu: 'inplace' is not supported")

    def forward(self, x: Any) -> Any:
        return F.silu(x)


SiLU = Silu


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)). Source: paddle.nn.Sigmoid."""

    def forward(self, x: Any) -> Any:
        return F.sigmoid(x)


class Tanh(_Activation):
    """Hyperbolic tangent. Source: paddle.nn.Tanh."""

    def forward(self, x: Any) -> Any:
        return F.tanh(x)


class Hardswish(_Activation):
    """x * relu6(x + 3) / 6. Source: paddle.nn.Hardswish."""

    def forward(self, x: Any) -> Any:
        return F.hardswish(x)


class Hardsigmoid(_Activation):
    """x / 6 + 0.5, clipped to [0, 1]. Source: paddle.nn.Hardsigmoid."""

    def forward(self, x: Any) -> Any:
        return F.hardsigmoid(x)


class ReLU6(_Activation):
    """min(max(0, x), 6). Source: paddle.nn.ReLU6."""

    def forward(self, x: Any) -> Any:
        return F.relu6(x)


class Mish(_Activation):
    """x * tanh(softplus(x)). Source: paddle.nn.Mish."""

    def forward(self, x: Any) -> Any:
        return F.mish(x)


class LogSigmoid(_Activation):
    """log(sigmoid(x)). Source: paddle.nn.LogSigmoid."""

    def forward(self, x: Any) -> Any:
        return F.log_sigmoid(x)


class Swish(_Activation):
    """x * sigmoid(x). Source: paddle.nn.Swish."""

    def forward(self, x: Any) -> Any:
        return F.swish(x)


class Softsign(_Activation):
    """x / (1 + |x|). Source: paddle.nn.Softsign."""

    def forward(self, x: Any) -> Any:
        return F.softsign(x)


class Tanhshrink(_Activation):
    """x - tanh(x). Source: paddle.nn.Tanhshrink."""

    def forward(self, x: Any) -> Any:
        return F.tanhshrink(x)


class GELU(_Activation):
    """x times the normal distribution's mass below it; approximate: by tanh. Source: paddle.nn.GELU."""

    _shown = ("approximate",)

    def __init__(self, approximate: Any = False, name: str | None = None) -> None:
        super().__init__(name, approximate=approximate)

    def forward(self, x: Any) -> Any:
        return F.gelu(x, approximate=self._approximate)


class LeakyReLU(_Activation):
    """x, times negative_slope where it is below 0. Source: paddle.nn.LeakyReLU."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__(name, negative_slope=negative_slope)

    def forward(self, x: Any) -> Any:
        return F.leaky_relu(x, self._negative_slope)


class ELU(_Activation):
    """x, or alpha * (exp(x) - 1) below 0. Source: paddle.nn.ELU."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(name, alpha=alpha)

    def forward(self, x: Any) -> Any:
        return F.elu(x, self._alpha)


class CELU(_Activation):
    """x, or alpha * (exp(x / alpha) - 1) below 0. Source: paddle.nn.CELU."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(name, alpha=alpha)

    def forward(self, x: Any) -> Any:
        return F.celu(x, self._alpha)


class SELU(_Activation):
    """scale * (x, or alpha * (exp(x) - 1) below 0). Source: paddle.nn.SELU."""

    _shown = ("scale", "alpha")

    def __init__(
        self,
        scale: float = 1.0507009873554804934193349852946,
        alpha: float = 1.6732632423543772848170429916717,
        name: str | None = None,
    ) -> None:
        super().__init__(name, scale=scale, alpha=alpha)

    def forward(self, x: Any) -> Any:
        return F.selu(x, scale=self._scale, alpha=self._alpha)


class Hardtanh(_Activation):
    """x clipped to [min, max]. Source: paddle.nn.Hardtanh."""

    _shown = ("min", "max")

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        super().__init__(name, min=min, max=max)

    def forward(self, x: Any) -> Any:
        return F.hardtanh(x, self._min, self._max)


class Hardshrink(_Activation):
    """x, or 0 within +-threshold. Source: paddle.nn.Hardshrink."""

    _shown = ("threshold",)

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(name, threshold=threshold)

    def forward(self, x: Any) -> Any:
        return F.hardshrink(x, self._threshold)


class Softshrink(_Activation):
    """x drawn towards 0 by threshold. Source: paddle.nn.Softshrink."""

    _shown = ("threshold",)

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(name, threshold=threshold)

    def forward(self, x: Any) -> Any:
        return F.softshrink(x, self._threshold)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x above threshold. Source: paddle.nn.Softplus."""

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1, threshold: float = 20, name: str | None = None) -> None:
        super().__init__(name, beta=beta, threshold=threshold)

    def forward(self, x: Any) -> Any:
        return F.softplus(x, beta=self._beta, threshold=self._threshold)


class ThresholdedReLU(_Activation):
    """x above threshold, value else. Source: paddle.nn.ThresholdedReLU."""

    _shown = ("threshold", "value")

    def __init__(self, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> None:
        super().__init__(name, threshold=threshold, value=value)

    def forward(self, x: Any) -> Any:
        return F.thresholded_relu(x, threshold=self._threshold, value=self._value)


class Softmax(_Activation):
    """exp(x) over its sum along an axis. Source: paddle.nn.Softmax."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name, axis=axis)

    def forward(self, x: Any) -> Any:
        return F.softmax(x, self._axis)


class LogSoftmax(_Activation):
    """The logarithm of softmax. Source: paddle.nn.LogSoftmax."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name, axis=axis)

    def forward(self, x: Any) -> Any:
        return F.log_softmax(x, self._axis)


class GLU(_Activation):
    """First half along an axis times the sigmoid of the second. Source: paddle.nn.GLU."""

    _shown = ("axis",)

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name, axis=axis)

    def forward(self, x: Any) -> Any:
        return F.glu(x, self._axis)


class Maxout(_Activation):
    """Largest of each group of channels. Source: paddle.nn.Maxout."""

    _shown = ("groups", "axis")

    def __init__(self, groups: int, axis: int = 1, name: str | None = None) -> None:
        super().__init__(name, groups=groups, axis=axis)

    def forward(self, x: Any) -> Any:
        return F.maxout(x, self._groups, self._axis)


class RReLU(_Activation):
    """x, times a random slope in [lower, upper] below 0; times their mean in evaluation. Source: paddle.nn.RReLU."""

    def __init__(self, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, name: str | None = None) -> None:
        super().__init__(name, lower=lower, upper=upper)

    def forward(self, x: Any) -> Any:
        return F.rrelu(x, self._lower, self._upper, training=self.training)

    def extra_repr(self) -> str:
        text = f"lower={self._lower}, upper={self._upper}, training={self.training}, dtype={self._dtype}"
        return named(text, self._name)


class Softmax2D(_Activation):
    """Softmax over the channels of images [N, C, H, W] or [C, H, W]. Source: paddle.nn.Softmax2D."""

    def forward(self, x: Any) -> Any:
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2D: expected an input of 3 or 4 dimensions, received shape {list(x.shape)}")
        return F.softmax(x, axis=-3)
