"""Names that scripts take from paddle.base.dygraph."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wherry.api.creation import to_tensor
from wherry.autograd.modes import no_grad

__all__ = ["guard", "no_grad", "to_variable"]


@contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Everything is eager here, inside as outside."""
    yield


def to_variable(value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None) -> Any:
    """A Tensor of the value."""
    return to_tensor(value, dtype)
