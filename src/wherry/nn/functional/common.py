"""Linear maps, dropout, similarity, pixels. Source: paddle.nn.functional.common."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

__all__ = [
    "alpha_dropout",
    "bilinear",
    "cosine_similarity",
    "dropout",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "linear",
    "pixel_shuffle",
    "pixel_unshuffle",
]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """x @ weight + bias.

    x: [..., in], weight: [in, out], bias: [out] or None. Raises ValueError for sizes that do not fit.
    Source: paddle.nn.functional.linear.
    """
    out = _C_ops.matmul(x, weight, False, False)
    return out if bias is None else _C_ops.add(out, bias)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 for each k, plus bias.

    x1: [batch, in1], x2: [batch, in2], weight: [out, in1, in2], bias: [1, out] or None. Source: paddle.nn.functional.bilinear.
    """
    out = _C_ops.einsum([x1, weight, x2], "bi,kij,bj->bk")
    return out if bias is None else _C_ops.add(out, bias)


def _mask_shape(x: Tensor, axis: int | Sequence[int] | None, name: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if not 0 <= a < x.ndim:
            raise ValueError(f"{name}: expected axes in [0, {x.ndim}), received {axes}")
    return tuple(d if i in axes else 1 for i, d in enumerate(x.shape))


def dropout(
    x: Tensor,
    p: float | Tensor = 0.5,
    axis: int | Sequence[int] | None = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Zero each element with probability p in training.

    axis: draw for these axes only, and drop along the others together. mode: "upscale_in_train" divides what is kept by 1 - p;
    "downscale_in_infer" multiplies by 1 - p outside training. Raises ValueError for p outside [0, 1] or another mode, TypeError for x
    that is not floating. Source: paddle.nn.functional.dropout.
    """
    p = float(p)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout: expected p in [0, 1], received {p}")
    mode = {"downgrade_in_infer": "downscale_in_infer"}.get(mode, mode)
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError(f"dropout: expected mode 'upscale_in_train' or 'downscale_in_infer', received {mode!r}")
    upscale = mode == "upscale_in_train"
    if not training:
        # As in Paddle a copy, or x itself where an axis is given.
        return (x if axis is not None else _C_ops.assign(x)) if upscale else _C_ops.scale(x, 1.0 - p, 0.0, True)
    if p == 0.0:
        return x
    return _C_ops.dropout(x, p, upscale, _mask_shape(x, axis, "dropout"))


def _dropout_channels(x: Tensor, p: float, training: bool, data_format: str, count: int) -> Tensor:
    name = f"dropout{count}d"
    formats = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[count]
    if x.ndim != count + 2:
        raise ValueError(f"{name}: expected x of {count + 2} dimensions, received shape {list(x.shape)}")
    if data_format not in formats:
        raise ValueError(f"{name}: expected data_format {formats[0]} or {formats[1]}, received {data_format!r}")
    return dropout(x, p, (0, 1) if data_format == formats[0] else (0, x.ndim - 1), training)


def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """Drop whole channels of images. Source: paddle.nn.functional.dropout2d."""
    return _dropout_channels(x, p, training, data_format, 2)


def dropout3d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Tensor:
    """Drop whole channels of volumes. Source: paddle.nn.functional.dropout3d."""
    return _dropout_channels(x, p, training, data_format, 3)


def _alpha_dropout(x: Tensor, p: float, training: bool, shape: tuple[int, ...], name: str) -> Tensor:
    """Dropout to the activation's lower limit, then a linear map that brings mean and variance back; drawn once for each place of `shape`."""
    if not isinstance(p, (int, float)):
        raise TypeError(f"{name}: expected a number p, received {type(p).__name__}")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: expected p in [0, 1], received {p}")
    if not training or p == 0.0:
        return x
    if p == 1.0:
        return _C_ops.scale(x, 0.0)
    low = -1.6732632423543772 * 1.0507009873554805
    kept = _C_ops.dropout(_C_ops.full_like(x, 1.0), p, False, shape)
    a = ((1 - p) * (1 + p * low**2)) ** -0.5
    mixed = _C_ops.add(_C_ops.multiply(x, kept), _C_ops.scale(kept, -low, low, True))
    return _C_ops.scale(mixed, a, -a * low * p, True)


def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Dropout that keeps mean and variance of self-normalising activations.

    Raises ValueError for p outside [0, 1], TypeError for p that is no number. Source: paddle.nn.functional.alpha_dropout.
    """
    return _alpha_dropout(x, p, training, tuple(x.shape), "alpha_dropout")


def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """alpha_dropout of whole channels; x: [batch, channels, ...].

    Raises ValueError for p outside [0, 1] or x of less than two dimensions, TypeError for p that is no number.
    Source: paddle.nn.functional.feature_alpha_dropout.
    """
    if x.ndim < 2:
        raise ValueError(f"feature_alpha_dropout: expected x of two dimensions or more, received shape {list(x.shape)}")
    return _alpha_dropout(x, p, training, (*x.shape[:2], *(1,) * (x.ndim - 2)), "feature_alpha_dropout")


def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between x1 and x2 along an axis; the product of the norms is at least eps.

    Source: paddle.nn.functional.cosine_similarity.
    """
    dot = _C_ops.sum(_C_ops.multiply(x1, x2), (axis,), None, False)
    squares = [_C_ops.sum(_C_ops.square(x), (axis,), None, False) for x in (x1, x2)]
    product = _C_ops.multiply(*squares)
    return _C_ops.divide(dot, _C_ops.sqrt(_C_ops.maximum(product, _C_ops.full_like(product, eps * eps))))


def _shuffle_checks(x: Tensor, factor: Any, data_format: str, name: str) -> bool:
    if not isinstance(factor, int) or factor < 1:
        raise TypeError(f"{name}: expected a factor of at least 1, received {factor!r}")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"{name}: expected data_format NCHW or NHWC, received {data_format!r}")
    if x.ndim != 4:
        raise ValueError(f"{name}: expected x of four dimensions, received shape {list(x.shape)}")
    return data_format == "NHWC"


def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """[n, c r r, h, w] to [n, c, h r, w r]. Source: paddle.nn.functional.pixel_shuffle."""
    last = _shuffle_checks(x, upscale_factor, data_format, "pixel_shuffle")
    r = upscale_factor
    x = x.transpose([0, 3, 1, 2]) if last else x
    n, c, h, w = x.shape
    if c % (r * r):
        raise ValueError(f"pixel_shuffle: expected channels that {r * r} divides, received {c}")
    out = (
        x.reshape([n, c // (r * r), r, r, h, w]).transpose([0, 1, 4, 2, 5, 3]).reshape([n, c // (r * r), h * r, w * r])
    )
    return out.transpose([0, 2, 3, 1]) if last else out


def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """[n, c, h r, w r] to [n, c r r, h, w]. Source: paddle.nn.functional.pixel_unshuffle."""
    last = _shuffle_checks(x, downscale_factor, data_format, "pixel_unshuffle")
    r = downscale_factor
    x = x.transpose([0, 3, 1, 2]) if last else x
    n, c, h, w = x.shape
    if h % r or w % r:
        raise ValueError(f"pixel_unshuffle: expected height and width that {r} divides, received {h} and {w}")
    out = x.reshape([n, c, h // r, r, w // r, r]).transpose([0, 1, 3, 5, 2, 4])
    out = out.reshape([n, math.prod((c, r, r)), h // r, w // r])
    return out.transpose([0, 2, 3, 1]) if last else out
