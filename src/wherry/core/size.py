"""`Size`: the shape of a tensor, a list of int that stays one when it is sliced or added to."""

from typing import Any


class Size(list[int]):
    """A shape. Source: paddle.Size."""

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for dim in self:
            count *= dim
        return count

    def __add__(self, other: Any) -> "Size":  # type: ignore[override]
        return Size(list(self) + list(other))

    def __radd__(self, other: Any) -> "Size":
        return Size(list(other) + list(self))

    def __mul__(self, times: Any) -> "Size":
        return Size(list(self) * times)

    __rmul__ = __mul__

    def __getitem__(self, key: Any) -> Any:
        item = list.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, list(other)) if isinstance(other, (list, tuple)) else False

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = None

    def __repr__(self) -> str:
        return f"paddle.Size({list(self)})"

    __str__ = __repr__
