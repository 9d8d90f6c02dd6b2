"""`KernelKey`: backend, layout and dtype in 32 bits, packed as Paddle packs them."""

from typing import Final

from wherry.core import dtype as dt

# The positions are the numbers of phi::Backend; onednn is 10 there.
BACKENDS: Final = ["UNDEFINED", "CPU", "GPU", "XPU", "", "", "", "", "", "KPS", "ONEDNN"]
CPU: Final = 1
GPU: Final = 2
ONEDNN: Final = 10

# The positions are the numbers of phi::DataLayout.
LAYOUTS: Final = ["ANY", "NHWC", "NCHW", "ONEDNN"]
ANY_LAYOUT: Final = 0

_BACKEND_BITS: Final = 8
_LAYOUT_BITS: Final = 4


class KernelKey:
    """Backend in bits 0-7, layout in bits 8-11, dtype in bits 12-19, as phi::KernelKey's hash."""

    def __init__(self, backend: int, layout: int, dtype: int) -> None:
        self.backend: Final = backend
        self.layout: Final = layout
        self.dtype: Final = dtype
        self.packed: Final = backend | (layout << _BACKEND_BITS) | (dtype << (_BACKEND_BITS + _LAYOUT_BITS))

    @staticmethod
    def unpack(packed: int) -> "KernelKey":
        """The key of a packed number."""
        return KernelKey(packed & 0xFF, (packed >> 8) & 0xF, packed >> 12)

    def __repr__(self) -> str:
        name = next((d.name for d in dt.ALL if d.code == self.dtype), "undefined")
        return f"({BACKENDS[self.backend]}, {LAYOUTS[self.layout]}, {name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelKey) and other.packed == self.packed

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return self.packed
