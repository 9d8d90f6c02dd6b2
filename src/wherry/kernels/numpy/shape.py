"""Kernels that change a shape."""

from wherry.dispatch.kernel_factory import ALL, kernel
from wherry.kernels.numpy.common import Array


@kernel("reshape", ALL)
def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """A view where strides allow, else a copy."""
    return x.reshape(tuple(x.shape[i] if dim == 0 and i < x.ndim else dim for i, dim in enumerate(shape)))
