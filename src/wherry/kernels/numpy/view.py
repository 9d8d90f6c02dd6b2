"""Kernels that walk from a base to one of its views. The steps are view operations, whose kernels they call."""

from typing import Any

import numpy as np

from wherry.core.dense_tensor import overlaps_itself
from wherry.core.dtype import DataType, from_numpy
from wherry.dispatch.kernel_factory import ALL, FLOATING_OR_COMPLEX, Kernel, kernel
from wherry.dispatch.library import kernel_of
from wherry.kernels.numpy.common import Array
from wherry.kernels.numpy.scatter import add_at


def walk(x: Array, chain: tuple[Any, ...]) -> Array:
    """The view of x that the chain describes."""
    x = x.reshape(chain[0].source.shape)
    for step in chain:
        chosen = kernel_of(step.op, from_numpy(x.dtype).code)
        assert isinstance(chosen, Kernel), "view operations have one kernel"
        result = chosen.function(x, *step.attrs)
        x = result[step.output] if isinstance(result, (list, tuple)) else result
    return x


@kernel("view_replay", ALL)
def view_replay(x: Array, chain: tuple[Any, ...]) -> Array:
    """A copy of the view."""
    return np.array(walk(x, chain))


@kernel("view_replay_grad", FLOATING_OR_COMPLEX)
def view_replay_grad(grad: Array, chain: tuple[Any, ...], shape: tuple[int, ...], dtype: DataType) -> Array:
    """The gradient of the base: zeros, to which the view's gradient is added; an element that the view has several times gets the sum."""
    out = np.zeros(shape, dtype.numpy)
    region = walk(out, chain)
    if region.flags.writeable and np.may_share_memory(region, out) and not overlaps_itself(region):
        region[...] = grad
    else:
        add_at(parts_of(out), numbers(out, chain), parts_of(grad))
    return out


@kernel("view_scatter", ALL)
def view_scatter(x: Array, value: Array, chain: tuple[Any, ...]) -> Array:
    """A copy of x with the view's region replaced."""
    out = np.array(x, order="C")
    region = walk(out, chain)
    if np.may_share_memory(region, out):
        region[...] = value
    else:
        parts_of(out).reshape(-1)[numbers(out, chain)] = parts_of(value)
    return out


def numbers(base: Array, chain: tuple[Any, ...]) -> Array:
    """The flat positions in a C-contiguous base that the view has (where a step must copy, this tells what it takes).

    A complex number counts as its two parts, which steps may take apart and put together.
    """
    count = base.size * (2 if base.dtype.kind == "c" else 1)
    if base.dtype.kind != "c" and not any(step.meta.dtype.is_complex for step in chain):
        return walk(np.arange(count).reshape(base.shape), chain)
    parts = np.arange(count, dtype=np.float64)
    named = parts.view(np.complex128) if base.dtype.kind == "c" else parts
    return parts_of(walk(named.reshape(base.shape), chain)).astype(np.int64)


def parts_of(x: Array) -> Array:
    """The real and imaginary parts of a complex array along a new axis, a view where it is contiguous; a real array as it is."""
    if x.dtype.kind != "c":
        return x
    return np.asarray(x, order="C").reshape(-1).view(x.real.dtype).reshape(x.shape + (2,))
