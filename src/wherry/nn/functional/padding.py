"""Padding. Source: paddle.nn.functional."""

from typing import Any

from wherry import _C_ops
from wherry.api.arguments import axes_of
from wherry.tensor.tensor import Tensor

__all__ = ["pad", "zeropad2d"]

_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}
_MODES = ("constant", "reflect", "replicate", "circular")


def _paddings(pads: tuple[int, ...], ndim: int, mode: str, data_format: str | None, from_left: bool) -> tuple[int, ...]:
    """The paddings as (before, after) of every axis from the first to the last."""
    if len(pads) % 2 != 0:
        raise ValueError(f"pad: expected pad to hold pairs (before, after), received {len(pads)} numbers: {list(pads)}")
    pairs = [(pads[i], pads[i + 1]) for i in range(0, len(pads), 2)]
    if mode == "constant" and len(pairs) == ndim:
        return pads if from_left else tuple(p for pair in reversed(pairs) for p in pair)
    allowed = _FORMATS.get(ndim)
    if allowed is None:
        if mode != "constant":
            raise ValueError(f"pad: expected a tensor of 3, 4 or 5 dimensions for the mode {mode!r}, received {ndim}")
        last = False
    else:
        data_format = allowed[0] if data_format is None else data_format
        if data_format not in allowed:
            raise ValueError(
                f"pad: expected data_format to be one of {list(allowed)} for {ndim} dimensions, received {data_format!r}"
            )
        last = data_format == allowed[1]
    # Pairs begin at the last spatial axis.
    axes = list(range(ndim - 2, 0, -1)) if last else list(range(ndim - 1, -1 if mode == "constant" else 1, -1))
    if len(pairs) > len(axes):
        raise ValueError(
            f"pad: expected at most {2 * len(axes)} numbers in pad for {ndim} dimensions, mode {mode!r} and data_format {data_format!r}, "
            f"received {list(pads)}"
        )
    result = [0] * (2 * ndim)
    for axis, pair in zip(axes, pairs):
        result[2 * axis], result[2 * axis + 1] = pair
    return tuple(result)


def pad(
    x: Tensor,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """x with elements put around it.

    `pad` holds pairs (before, after), from the last spatial axis to the first; as many pairs as x has dimensions, in the mode "constant",
    are taken from the first axis to the last instead (from the last with `pad_from_left_axis=False`). Negative numbers crop. mode:
    "constant" puts `value`, "reflect", "replicate" and "circular" repeat x's own elements, for 3 to 5 dimensions in the layout `data_format`
    ("NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"). Raises ValueError for another mode, layout or number of pairs, and for reflections
    longer than x. Source: paddle.nn.functional.pad.
    """
    if mode not in _MODES:
        raise ValueError(f"pad: expected mode to be one of {list(_MODES)}, received {mode!r}")
    paddings = _paddings(axes_of(pad, "pad"), x.impl.meta.ndim, mode, data_format, pad_from_left_axis)
    if mode == "constant":
        return _C_ops.pad(x, paddings, value)
    return _C_ops.pad_mode(x, paddings, mode)


def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Images with zeros around them: padding is [left, right, top, bottom]. Source: paddle.nn.functional.zeropad2d."""
    if x.impl.meta.ndim != 4:
        raise ValueError(f"zeropad2d: expected a tensor of four dimensions, received shape {list(x.shape)}")
    return pad(x, padding, "constant", 0.0, data_format)
