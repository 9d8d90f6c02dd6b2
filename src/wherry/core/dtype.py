"""Data types: one immutable `DataType` object each, shared by the whole process."""

from typing import Final

import ml_dtypes
import numpy as np


class DataType:
    """A tensor element type.

    `name` is Paddle's name ("float32"), `code` its number in Paddle's DataType enumeration, `numpy` the NumPy dtype,
    `itemsize` the bytes an element takes. Objects are singletons: compare them with `is` or `==`.
    Source: paddle.dtype.
    """

    def __init__(self, name: str, code: int, numpy_dtype: object, kind: str) -> None:
        self.name: Final = name
        self.code: Final = code
        self.numpy: Final[np.dtype] = np.dtype(numpy_dtype)  # type: ignore[call-overload]
        self.kind: Final = kind
        self.itemsize: Final = int(self.numpy.itemsize)
        self.is_floating: Final = kind == "f"
        self.is_complex: Final = kind == "c"
        self.is_integer: Final = kind == "i" or kind == "u"
        self.is_bool: Final = kind == "b"
        # Only these have gradients.
        self.is_differentiable: Final = kind == "f" or kind == "c"

    def __repr__(self) -> str:
        return "paddle." + self.name

    def __str__(self) -> str:
        return "paddle." + self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DataType):
            return other is self
        if isinstance(other, str):
            return other == self.name
        if isinstance(other, (np.dtype, type)):
            try:
                return bool(np.dtype(other) == self.numpy)
            except TypeError:
                return False
        return False

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return convert_dtype, (self.name,)

    def __copy__(self) -> "DataType":
        return self

    def __deepcopy__(self, memo: object) -> "DataType":
        return self


bool_: Final = DataType("bool", 1, np.bool_, "b")
uint8: Final = DataType("uint8", 2, np.uint8, "u")
int8: Final = DataType("int8", 3, np.int8, "i")
int16: Final = DataType("int16", 5, np.int16, "i")
int32: Final = DataType("int32", 7, np.int32, "i")
int64: Final = DataType("int64", 9, np.int64, "i")
float32: Final = DataType("float32", 10, np.float32, "f")
float64: Final = DataType("float64", 11, np.float64, "f")
complex64: Final = DataType("complex64", 12, np.complex64, "c")
complex128: Final = DataType("complex128", 13, np.complex128, "c")
float16: Final = DataType("float16", 15, np.float16, "f")
bfloat16: Final = DataType("bfloat16", 16, ml_dtypes.bfloat16, "f")

ALL: Final = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
NUM_CODES: Final = 24

_BY_NAME: Final[dict[str, DataType]] = {d.name: d for d in ALL}
_BY_NUMPY: Final[dict[object, DataType]] = {d.numpy: d for d in ALL}
_ALIASES: Final[dict[object, DataType]] = {bool: bool_, int: int64, float: float32, complex: complex64}


def from_numpy(dtype: "np.dtype") -> DataType:
    """The DataType of a NumPy dtype; raises TypeError where there is none."""
    found = _BY_NUMPY.get(dtype)
    if found is None:
        raise TypeError(
            f"expected a data type of {[d.name for d in ALL]}, received the NumPy dtype {dtype}; "
            "convert the array with .astype first"
        )
    return found


def convert_dtype(dtype: object) -> DataType:
    """The DataType of a DataType, a name ("float32", "paddle.float32"), a NumPy dtype or a Python number type.

    Raises TypeError for anything else. Python's int, float and complex mean int64, float32 and complex64, as in Paddle.
    """
    if isinstance(dtype, DataType):
        return dtype
    if isinstance(dtype, str):
        name = dtype.removeprefix("paddle.")
        found = _BY_NAME.get(name)
        if found is not None:
            return found
    elif isinstance(dtype, type) and dtype in _ALIASES:
        return _ALIASES[dtype]
    else:
        try:
            return from_numpy(np.dtype(dtype))  # type: ignore[call-overload]
        except TypeError:
            pass
    raise TypeError(f"expected a data type of {[d.name for d in ALL]}, received {dtype!r}")
