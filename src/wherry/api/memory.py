"""Giving a tensor other memory. Source: paddle.tensor.manipulation."""

import math
from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.autograd.history import become, is_leaf, requires_grad, stand_in_for
from wherry.core.errors import PermissionDeniedError
from wherry.tensor.tensor import Tensor

__all__: list[str] = []
METHODS = ("resize_", "set_")


def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Make x a view of source: the same memory, gradients flow to source; returns x. Without a source x is left without elements.

    source: x's dtype. shape, stride: in elements, by default source's, or row-major for a shape alone. offset: in bytes, from source's first
    element. What x was before is left to its views. Raises RuntimeError for a leaf with stop_gradient=False, TypeError for another dtype,
    ValueError for a view that does not fit into source. Source: paddle.Tensor.set_.
    """
    _refuse_leaf(x, "set_")
    if source is None:
        become(x, _C_ops.full([0], 0, x.dtype), None)
        return x
    if not isinstance(source, Tensor):
        raise TypeError(f"set_: expected a Tensor as source, received {type(source).__name__}")
    if source.dtype is not x.dtype:
        raise TypeError(f"set_: expected a source of x's dtype {x.dtype.name}, received {source.dtype.name}")
    if offset % x.itemsize:
        raise ValueError(f"set_: expected an offset of whole elements ({x.itemsize} bytes), received {offset} bytes")
    stand_in = stand_in_for(x) if source is x else None
    base: Any = source if stand_in is None else stand_in
    if shape is None and stride is None and offset == 0:
        view = _C_ops.reshape(base, list(source.shape))
    else:
        dims = list(source.shape) if shape is None else list(shape)
        steps = list(stride) if stride is not None else source.strides if shape is None else _row_major(dims)
        view = _C_ops.as_strided(base, dims, steps, offset // x.itemsize)
    become(x, view, stand_in)
    return x


def resize_(x: Tensor, shape: Sequence[int], fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Give x another shape, in place: its first elements in row-major order, which stay where they are; returns x.

    A larger shape gets new memory, and zeros behind the old elements (fill_zero or not). Raises RuntimeError for a leaf with stop_gradient=False,
    TypeError for a shape that is no list or tuple. Source: paddle.Tensor.resize_.
    """
    _refuse_leaf(x, "resize_")
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"resize_: expected a list or tuple as shape, received {type(shape).__name__}")
    more = math.prod(shape) - x.size
    if more <= 0:
        return set_(x, x, shape, None, 0)
    longer = _C_ops.concat([_C_ops.reshape(x, [-1]), _C_ops.full([more], 0, x.dtype)], 0)
    become(x, _C_ops.reshape(longer, list(shape)), None)
    return x


def _row_major(dims: list[int]) -> list[int]:
    return [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]


def _refuse_leaf(x: Tensor, name: str) -> None:
    if requires_grad(x) and is_leaf(x):
        raise PermissionDeniedError(
            f"{name}: expected a tensor that is not a leaf, received a leaf Tensor {x.impl.meta} with stop_gradient=False: its gradient is "
            "taken at the value it has, so it can't use an inplace strategy.\nChange a copy (x = x.clone()), or assign to x.data."
        )
