"""Names that scripts take from paddle.base.core."""

from wherry.api.device import CPUPlace, CUDAPlace
from wherry.core.dtype import DataType
from wherry.core.place import Place

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "DataType",
    "Place",
    "is_bfloat16_supported",
    "is_compiled_with_cuda",
    "is_float16_supported",
]


def is_compiled_with_cuda() -> bool:
    """False: there is no GPU backend."""
    return False


def is_float16_supported(place: object) -> bool:
    """True: kernels compute float16 in float32 and round once."""
    return True


def is_bfloat16_supported(place: object) -> bool:
    """True: kernels compute bfloat16 in float32 and round once."""
    return True
