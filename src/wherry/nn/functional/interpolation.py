"""Resampling of signals, images and volumes. Source: paddle.nn.functional.interpolate."""

from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn.functional.windows import back, to_first
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["interpolate", "upsample"]

# How many spatial axes each mode is for (Paddle's restriction).
RANKS = {"linear": (1,), "bilinear": (2,), "trilinear": (3,), "bicubic": (2,), "nearest": (1, 2, 3), "area": (1, 2, 3)}
FORMATS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
# The free parameter of the cubic convolution kernel (Keys, 1981), as Paddle sets it.
CUBIC = -0.75


def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """x resampled along its spatial axes, to `size` or by `scale_factor`.

    x: [N, C, *spatial] with 1 to 3 spatial axes, or channel-last with data_format 'NWC', 'NHWC', 'NDHWC'. size: one number for each spatial
    axis; scale_factor: a positive number, or one for each. mode: 'nearest', 'linear' (one axis), 'bilinear', 'bicubic' (two), 'trilinear'
    (three) or 'area'. align_corners: the outermost elements of input and output are the same points; align_mode: 0, elements are
    centres of cells; 1, their left ends. recompute_scale_factor: step by input size / output size, not by 1 / scale_factor.
    Raises ValueError for a mode, size or factor that does not fit, NotImplementedError for antialias=True.
    Source: paddle.nn.functional.interpolate.
    """
    if antialias:
        raise NotImplementedError("interpolate: 'antialias' is not supported")
    mode = mode.lower()
    count = x.ndim - 2
    _check(x, count, mode, align_corners, align_mode)
    last = _channel_last(data_format, count)
    spatial = list(x.shape[1:-1] if last else x.shape[2:])
    targets, factors = _targets(spatial, size, scale_factor)
    if recompute_scale_factor:
        if scale_factor is None:
            raise ValueError("interpolate: expected scale_factor with recompute_scale_factor=True, received size")
        factors = [0.0] * count
    if targets == spatial:
        return _C_ops.assign(x)
    out = to_first(x, last)
    if mode == "area":
        from wherry.nn.functional import pooling

        return back(getattr(pooling, f"adaptive_avg_pool{count}d")(out, targets), last)
    for i, (length, target, factor) in enumerate(zip(spatial, targets, factors)):
        out = _resampled(out, 2 + i, _taps(length, target, factor, mode, align_corners, align_mode))
    return back(out, last)


def upsample(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The same as `interpolate`. Source: paddle.nn.functional.upsample."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def _check(x: Tensor, count: int, mode: str, align_corners: bool, align_mode: int) -> None:
    if mode not in RANKS:
        raise ValueError(f"interpolate: expected mode {', '.join(map(repr, RANKS))}, received {mode!r}")
    if count not in RANKS[mode]:
        wanted = " or ".join(str(r + 2) for r in RANKS[mode])
        raise ValueError(
            f"interpolate: expected x of {wanted} dimensions for mode {mode!r}, received shape {list(x.shape)}"
        )
    if align_corners and mode in ("nearest", "area"):
        raise ValueError(f"interpolate: expected align_corners=False with mode {mode!r}, received True")
    if align_mode not in (0, 1):
        raise ValueError(f"interpolate: expected align_mode 0 or 1, received {align_mode}")
    if not x.size and 0 in x.shape[1:]:
        raise ValueError(f"interpolate: expected channels and spatial axes of at least 1, received {list(x.shape)}")


def _channel_last(data_format: str | None, count: int) -> bool:
    first, last = FORMATS[count]
    if data_format is not None and data_format.upper() not in (first, last):
        raise ValueError(f"interpolate: expected data_format {first} or {last}, received {data_format!r}")
    return data_format is not None and data_format.upper() == last


def _targets(spatial: list[int], size: Any, scale_factor: Any) -> tuple[list[int], list[float]]:
    """Output sizes, and the factors that were given (0 where a size was)."""
    if (size is None) == (scale_factor is None):
        given = "neither" if size is None else f"size={size} and scale_factor={scale_factor}"
        raise ValueError(f"interpolate: expected one of size and scale_factor, received {given}")
    if size is not None:
        targets = [int(v) for v in _numbers(size, len(spatial), "size", single=False)]
        factors = [0.0] * len(spatial)
    else:
        factors = _numbers(scale_factor, len(spatial), "scale_factor", single=True)
        targets = [int(length * factor) for length, factor in zip(spatial, factors)]
    if min(targets) < 1:
        raise ValueError(f"interpolate: expected output sizes of at least 1, received {targets}")
    return targets, factors


def _numbers(value: Any, count: int, name: str, single: bool) -> list[float]:
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, (int, float, np.number)) and (single or count == 1):
        return [float(value)] * count
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != count:
        raise ValueError(f"interpolate: expected {count} numbers in {name}, received {value!r}")
    return [float(v) for v in value]


def _taps(
    length: int, target: int, factor: float, mode: str, align_corners: bool, align_mode: int
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """For each output place the input places it is a sum of, with their weights (None: one)."""
    place = np.arange(target, dtype=np.float64)
    if align_corners:
        source = place * ((length - 1) / (target - 1) if target > 1 else 0.0)
    else:
        step = 1.0 / factor if factor > 0 else length / target
        centred = mode == "bicubic" or (mode != "nearest" and align_mode == 0)
        source = (place + 0.5) * step - 0.5 if centred else place * step
    if mode == "nearest":
        return [(_within(source, length), None)]
    if mode != "bicubic":
        source = np.clip(source, 0.0, length - 1)
    low = np.floor(source)
    t = source - low
    if mode != "bicubic":
        return [(_within(low, length), 1.0 - t), (_within(low + 1, length), t)]
    weights = (_far(1.0 + t), _near(t), _near(1.0 - t), _far(2.0 - t))
    return [(_within(low + k, length), weight) for k, weight in zip((-1, 0, 1, 2), weights)]


def _within(places: np.ndarray, length: int) -> np.ndarray:
    return np.clip(np.floor(places), 0, length - 1).astype(np.int64)


def _near(t: np.ndarray) -> np.ndarray:
    """The cubic convolution kernel for |t| <= 1."""
    return ((CUBIC + 2.0) * t - (CUBIC + 3.0)) * t * t + 1.0


def _far(t: np.ndarray) -> np.ndarray:
    """The cubic convolution kernel for 1 < |t| <= 2."""
    return ((CUBIC * t - 5.0 * CUBIC) * t + 8.0 * CUBIC) * t - 4.0 * CUBIC


def _resampled(x: Tensor, axis: int, taps: list[tuple[np.ndarray, np.ndarray | None]]) -> Tensor:
    """The weighted sum of elements along an axis, of any order of derivative since each step is an operation."""
    shape = tuple(-1 if a == axis else 1 for a in range(x.ndim))
    total: Tensor | None = None
    for places, weights in taps:
        part = _C_ops.index_select(x, tensor_from_array(places), axis)
        if weights is not None:
            part = _C_ops.multiply(part, tensor_from_array(weights.reshape(shape).astype(x.dtype.numpy)))
        total = part if total is None else _C_ops.add(total, part)
    assert total is not None
    return total
