"""`record`: put the calls and backward passes of a block on a tape."""

from types import TracebackType

from wherry.core import state
from wherry.inspect.tape import Tape


class record(Tape):
    """A context that records every call and backward pass of this thread inside it.

    with_statistics: min, max, mean, norm, nan and inf of every tensor and gradient. limit: how many calls, and nodes of a pass, are kept.
    The tape stays readable after the block:

        with wherry.inspect.record() as tape:
            loss = step()
            loss.backward()
    """

    def __enter__(self) -> "record":
        self._outer = state.set_observers((*state.observers(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.set_observers(self._outer)
