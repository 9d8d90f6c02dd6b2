"""`record`: put the calls and backward passes of a block on a tape, and ask it."""

from types import TracebackType
from typing import Any

from wherry.core import state
from wherry.inspect import gradients
from wherry.inspect.tape import Tape
from wherry.inspect.tape_facts import Call


class record(Tape):
    """A context that records every call and backward pass of this thread inside it.

    with_statistics: min, max, mean, norm, nan and inf of every tensor and gradient. limit: how many calls, and nodes of a pass, are kept.
    The tape stays readable after the block:

        with wherry.inspect.record() as tape:
            loss = step()
            loss.backward()
        print(tape.first_nonfinite(), tape.why_no_grad(weight), tape.why_grad(bias))
    """

    def __enter__(self) -> "record":
        self._outer = state.set_observers((*state.observers(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.set_observers(self._outer)

    def first_nonfinite(self) -> "gradients.NonFinite | None":
        """The call or backward node that first gave nan or inf, and what it made it from."""
        return gradients.first_nonfinite(self)

    def why_no_grad(self, tensor: Any) -> "gradients.Reason":
        """Why a tensor has no gradient, with the line that made it so."""
        return gradients.why_no_grad(tensor, self)

    def why_grad(self, tensor: Any, pass_number: int = -1) -> "gradients.GradientSum":
        """The terms of a tensor's gradient, each with its size and its way through the graph."""
        return gradients.why_grad(tensor, self, pass_number)

    def promotions(self) -> list[Call]:
        """The calls whose inputs type promotion cast."""
        return gradients.promotions(self)

    def casts(self) -> list[tuple[Call, str]]:
        """Every cast with what asked for it."""
        return gradients.casts(self)

    def to_dict(self) -> dict[str, Any]:
        """The tape as plain lists and dictionaries."""
        from wherry.inspect.tape_json import tape_dict

        return tape_dict(self)
