"""Dropout fused with additions and a norm. Source: paddle.incubate.nn.functional."""

from wherry import _C_ops
from wherry.nn.functional.common import dropout
from wherry.tensor.tensor import Tensor

__all__ = ["fused_bias_dropout_residual_layer_norm", "fused_dropout_add"]

MODES = ("upscale_in_train", "downscale_in_infer")


def check_mode(mode: str, function: str) -> None:
    """Raise ValueError for a mode that dropout has not."""
    if mode not in MODES:
        raise ValueError(f"{function}: expected mode 'upscale_in_train' or 'downscale_in_infer', received {mode!r}")


def check_vector(vector: Tensor | None, x: Tensor, name: str, function: str) -> None:
    """Raise ValueError unless the tensor is None or a vector as long as x's last axis."""
    if vector is not None and (vector.ndim != 1 or vector.shape[0] != x.shape[-1]):
        raise ValueError(
            f"{function}: expected {name} of shape [{x.shape[-1]}], as x's last axis, received {list(vector.shape)}"
        )


def fused_dropout_add(
    x: Tensor,
    y: Tensor,
    p: float = 0.5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """dropout(x) + y.

    p, training and mode: as for `dropout`. Raises ValueError for p outside [0, 1] or another mode.
    Source: paddle.incubate.nn.functional.fused_dropout_add.
    """
    return _C_ops.add(dropout(x, p, training=training, mode=mode), y)


def fused_bias_dropout_residual_layer_norm(
    x: Tensor,
    residual: Tensor,
    bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """layer_norm(residual + dropout(x + bias)) over the last axis.

    bias, ln_scale and ln_bias: vectors as long as it, or None. Raises ValueError for shapes that do not fit, a rate outside [0, 1]
    or another mode. Source: paddle.incubate.nn.functional.fused_bias_dropout_residual_layer_norm.
    """
    function = "fused_bias_dropout_residual_layer_norm"
    check_mode(mode, function)
    for vector, called in ((bias, "bias"), (ln_scale, "ln_scale"), (ln_bias, "ln_bias")):
        check_vector(vector, x, called, function)
    if residual.shape != x.shape:
        raise ValueError(
            f"{function}: expected a residual of x's shape {list(x.shape)}, received {list(residual.shape)}"
        )
    out = x if bias is None else _C_ops.add(x, bias)
    out = _C_ops.add(residual, dropout(out, dropout_rate, training=training, mode=mode))
    return _C_ops.layer_norm(out, ln_scale, ln_bias, ln_epsilon, x.ndim - 1)
