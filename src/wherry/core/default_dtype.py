"""The dtype that floating-point tensors get where the user names none."""

from typing import Final

from wherry.core import dtype as dt
from wherry.core.dtype import DataType, convert_dtype

_ALLOWED: Final = (dt.float16, dt.float32, dt.float64, dt.bfloat16)


class _Default:
    def __init__(self) -> None:
        self.floating = dt.float32


_DEFAULT: Final = _Default()


def get_default() -> DataType:
    """The default floating dtype as a DataType."""
    return _DEFAULT.floating


def get_default_complex() -> DataType:
    """The complex dtype that goes with the default floating dtype."""
    return dt.complex128 if _DEFAULT.floating is dt.float64 else dt.complex64


def get_default_dtype() -> str:
    """Name of the default floating dtype, "float32" at the start. Source: paddle.get_default_dtype."""
    return _DEFAULT.floating.name


def set_default_dtype(d: object) -> None:
    """Set the default floating dtype of the process.

    float16, bfloat16, float32 or float64, as a name, a paddle.dtype or a NumPy dtype; raises TypeError for anything else.
    Source: paddle.set_default_dtype.
    """
    found = convert_dtype(d)
    if found not in _ALLOWED:
        raise TypeError(f"expected a default dtype of {[a.name for a in _ALLOWED]}, received {found.name}")
    _DEFAULT.floating = found
