"""Arithmetic whose signature differs from the entry's. Source: paddle.tensor.math, paddle.tensor.ops."""

import math
from typing import Any

from wherry import _C_ops
from wherry.api.arguments import refuse_out
from wherry.autograd.history import requires_grad
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.state import set_grad_enabled_flag
from wherry.tensor.tensor import Tensor

__all__ = [
    "clamp",
    "clip",
    "div",
    "div_",
    "divide",
    "divide_",
    "increment",
    "nan_to_num",
    "nan_to_num_",
    "negative",
    "positive",
    "pow",
    "pow_",
    "scale",
    "true_divide",
]
METHODS = [
    "clamp",
    "clamp_",
    "clip",
    "clip_",
    "div",
    "div_",
    "divide",
    "divide_",
    "nan_to_num",
    "nan_to_num_",
    "negative",
    "pow",
    "pow_",
    "scale",
    "scale_",
    "true_divide",
]

_INF = math.inf


def divide(
    x: Tensor, y: Tensor, name: str | None = None, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Quotient x / y, element by element, with broadcasting.

    Shapes broadcast; dtypes promote by Paddle's rules; integers give float32. `rounding_mode` "floor" rounds towards
    minus infinity, "trunc" towards zero; both keep integer dtypes, have no gradient and raise ValueError for an integer
    divided by zero. Source: paddle.divide.
    """
    if out is not None:
        refuse_out(out)
    if rounding_mode is None:
        return _C_ops.divide(x, y)
    return _C_ops.floor_divide(x, y) if _is_floor(rounding_mode) else _C_ops.trunc_divide(x, y)


def divide_(x: Tensor, y: Tensor, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """In-place `divide`: the result is written to x. Source: paddle.divide_."""
    if rounding_mode is None:
        return _C_ops.divide_(x, y)
    return _C_ops.floor_divide_(x, y) if _is_floor(rounding_mode) else _C_ops.trunc_divide_(x, y)


def _is_floor(rounding_mode: str) -> bool:
    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"expected rounding_mode None, 'floor' or 'trunc', received {rounding_mode!r}")
    return rounding_mode == "floor"


div = divide
div_ = divide_


def true_divide(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`divide` without rounding. Source: paddle.true_divide."""
    refuse_out(out)
    return _C_ops.divide(input, other)


def pow(x: Tensor, y: float | Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """x to the power y, element by element; y is a number or a tensor.

    Two tensors broadcast and promote by Paddle's rules. An integer x keeps its dtype under a whole number and becomes
    float32 under any other; negative exponents of integers raise ValueError. At x = 0 the gradient of x**0 is 0.
    Source: paddle.pow.
    """
    if out is not None:
        refuse_out(out)
    if isinstance(y, Tensor):
        return _C_ops.elementwise_pow(x, y)
    return _C_ops.pow(x, _number(y, "y"))


def pow_(x: Tensor, y: float | Tensor, name: str | None = None) -> Tensor:
    """In-place `pow`: the result is written to x. Source: paddle.pow_."""
    if isinstance(y, Tensor):
        return _C_ops.elementwise_pow_(x, y)
    return _C_ops.pow_(x, _number(y, "y"))


def _number(value: Any, name: str) -> Any:
    """A number of Python or NumPy, or a tensor of one element, as a Python number; TypeError for anything else."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, Tensor):
        if value.size != 1:
            raise ValueError(f"expected {name} to have one element, received a Tensor of shape {value.shape}")
        return value.item()
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"expected {name} to be a number or a Tensor, received {type(value).__name__} {value!r}")


def scale(
    x: Tensor,
    scale: float | Tensor = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """scale * x + bias, or scale * (x + bias) where not `bias_after_scale`.

    Shape and dtype of x; for an integer x the fractions of `scale` and `bias` are dropped. `scale` is a number or a
    tensor of one element. `act` names an activation of paddle.nn.functional to apply afterwards. Source: paddle.scale.
    """
    if isinstance(scale, Tensor) and requires_grad(scale):
        factor = _C_ops.reshape(_C_ops.cast(scale, x.dtype), ())
        shifted = x if bias_after_scale else _C_ops.scale(x, 1.0, _number(bias, "bias"), True)
        out = _C_ops.multiply(shifted, factor)
        if bias_after_scale:
            out = _C_ops.scale(out, 1.0, _number(bias, "bias"), True)
    else:
        out = _C_ops.scale(x, _number(scale, "scale"), _number(bias, "bias"), bias_after_scale)
    return out if act is None else _activation(act)(out)


def scale_(
    x: Tensor,
    scale: float | Tensor = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """In-place `scale`: the result is written to x. `act` raises NotImplementedError. Source: paddle.Tensor.scale_."""
    if act is not None:
        raise NotImplementedError("the argument act is not supported by scale_; apply the activation to the result")
    return _C_ops.scale_(x, _number(scale, "scale"), _number(bias, "bias"), bias_after_scale)


def _activation(act: str) -> Any:
    import wherry.nn.functional

    found = getattr(wherry.nn.functional, act, None)
    if not callable(found):
        raise NotImplementedError(f"the argument act names {act!r}, which paddle.nn.functional has not")
    return found


def clip(
    x: Tensor,
    min: float | Tensor | None = None,
    max: float | Tensor | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """x with every element below `min` replaced by it and every one above `max` by that.

    Shape and dtype of x; integers with a fractional bound give float32. A bound is a number, a tensor that broadcasts
    to x, or None for none. The gradient at the bounds is 1; a bound given as a tensor that needs a gradient gets that
    of the elements it replaced. Raises ValueError where min > max. Source: paddle.clip.
    """
    if out is not None:
        refuse_out(out)
    if _is_general(min) or _is_general(max):
        return _clip_by_tensors(x, min, max)
    low, high = _bounds(min, max)
    if x.dtype.is_integer and not (_is_whole(low) and _is_whole(high)):
        x = _C_ops.cast(x, get_default())
    return _C_ops.clip(x, low, high)


def clip_(
    x: Tensor, min: float | Tensor | None = None, max: float | Tensor | None = None, name: str | None = None
) -> Tensor:
    """In-place `clip`. Bounds are numbers or tensors of one element. Source: paddle.Tensor.clip_."""
    low, high = _bounds(min, max)
    return _C_ops.clip_(x, low, high)


clamp = clip
clamp_ = clip_


def _bounds(min: Any, max: Any) -> tuple[Any, Any]:
    return -_INF if min is None else _number(min, "min"), _INF if max is None else _number(max, "max")


def _is_general(bound: Any) -> bool:
    """Whether a bound is more than a number."""
    return isinstance(bound, Tensor) and (bound.size != 1 or requires_grad(bound))


def _is_whole(bound: Any) -> bool:
    return not isinstance(bound, float) or bound in (_INF, -_INF) or bound.is_integer()


def _clip_by_tensors(x: Tensor, min: Any, max: Any) -> Tensor:
    if isinstance(min, Tensor) and isinstance(max, Tensor) and bool(_C_ops.greater_than(min, max).numpy().any()):
        raise ValueError("expected min <= max everywhere, received a min that is above max")
    for bound, name, beyond in ((min, "min", _C_ops.less_than), (max, "max", _C_ops.greater_than)):
        if bound is None:
            continue
        limit = bound if isinstance(bound, Tensor) else _C_ops.full((), _number(bound, name), x.dtype)
        limit = _C_ops.cast(limit, x.dtype) if limit.dtype is not x.dtype else limit
        x = _C_ops.where(beyond(x, limit), limit, x)
    return x


def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """x with NaN replaced by `nan`, and the infinities by `posinf` and `neginf`.

    Shape and dtype of x. None for an infinity means the largest (or smallest) finite number of the dtype. The gradient
    of a replaced element is 0. Source: paddle.nan_to_num.
    """
    return _C_ops.nan_to_num(x, nan, _INF if posinf is None else posinf, -_INF if neginf is None else neginf)


def nan_to_num_(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """In-place `nan_to_num`: the result is written to x. Source: paddle.nan_to_num_."""
    return _C_ops.nan_to_num_(x, nan, _INF if posinf is None else posinf, -_INF if neginf is None else neginf)


def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Add `value` to a tensor of one element, in place; returns it.

    Raises ValueError for a tensor of more elements. Source: paddle.increment.
    """
    if x.size > 1:
        raise ValueError(f"expected a Tensor of one element for x, received one of shape {x.shape}")
    # Not recorded: the derivative is 1, so the history that x has is the right one.
    before = set_grad_enabled_flag(False)
    try:
        return _C_ops.scale_(x, 1.0, value, True)
    finally:
        set_grad_enabled_flag(before)


def negative(x: Tensor, name: str | None = None) -> Tensor:
    """-x, element by element.

    Shape and dtype of x. Raises TypeError for a bool tensor. Source: paddle.negative.
    """
    if x.dtype is dt.bool_:
        raise TypeError("expected a number to negate, received a bool tensor; use logical_not or ~x")
    return _C_ops.neg(x)


def positive(x: Tensor, name: str | None = None) -> Tensor:
    """x itself.

    Raises TypeError for a bool tensor. Source: paddle.positive.
    """
    if x.dtype is dt.bool_:
        raise TypeError("expected a number, received a bool tensor")
    return x
