"""What NumPy kernels share."""

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def kept(x: Array, mask: Array) -> Array:
    """x where the mask holds, else 0. On the bits: a product would make NaN of 0 * inf, and np.where branches on each element."""
    bits = _BITS.get(x.dtype.itemsize)
    if bits is None:
        return np.where(mask, x, x.dtype.type(0))
    return np.asarray(np.multiply(x.view(bits), mask)).view(x.dtype)


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in float32 where an array argument is float16 or bfloat16, and round each floating result once."""

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        half = None
        for arg in args:
            if isinstance(arg, np.ndarray) and arg.dtype in _HALF:
                half = arg.dtype
                break
        if half is None:
            return function(*args)
        wide = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype in _HALF else a for a in args]
        result = function(*wide)
        if isinstance(result, tuple):
            return tuple(r.astype(half) if r.dtype == np.float32 else r for r in result)
        return result.astype(half) if result.dtype == np.float32 else result

    return wrapper
