"""Kernels that walk from a base to one of its views. The steps are view operations, whose kernels they call."""

from typing import Any

import numpy as np

from wherry.core.dtype import from_numpy
from wherry.dispatch.kernel_factory import ALL, Kernel, kernel
from wherry.dispatch.library import kernel_of
from wherry.kernels.numpy.common import Array


def walk(x: Array, chain: tuple[Any, ...]) -> Array:
    """The view of x that the chain describes."""
    x = x.reshape(chain[0].source_shape)
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


@kernel("view_scatter", ALL)
def view_scatter(x: Array, value: Array, chain: tuple[Any, ...]) -> Array:
    """A copy of x with the view's region replaced."""
    out = np.array(x, order="C")
    region = walk(out, chain)
    if np.may_share_memory(region, out):
        region[...] = value
        return out
    # A step had to copy, so the region is found by walking over the element numbers instead.
    places = walk(np.arange(out.size).reshape(out.shape), chain)
    out.reshape(-1)[places] = value
    return out
