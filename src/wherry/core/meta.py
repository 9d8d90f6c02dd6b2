"""`Meta`: what is known of a tensor without its data."""

from typing import Final

from wherry.core.dtype import DataType


class Meta:
    """Shape (tuple of int), dtype and layout of a tensor; immutable, and shared between the tensors that agree in all.

    A dimension of -1 is one that only the kernel can know (nonzero, unique, masked_select).
    Source: phi::DenseTensorMeta.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DataType, layout: str = "NCHW") -> None:
        self.shape: Final = shape
        self.dtype: Final = dtype
        self.layout: Final = layout
        self.ndim: Final = len(shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    def with_shape(self, shape: tuple[int, ...]) -> "Meta":
        """The same dtype and layout with another shape."""
        return self if shape == self.shape else Meta(shape, self.dtype, self.layout)

    def with_dtype(self, dtype: DataType) -> "Meta":
        """The same shape and layout with another dtype."""
        return self if dtype is self.dtype else Meta(self.shape, dtype, self.layout)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Meta) and other.shape == self.shape and other.dtype is self.dtype

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype.name))
