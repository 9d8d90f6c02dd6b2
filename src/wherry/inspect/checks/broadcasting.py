"""Shapes that broadcast by accident: (N, 1) with (N,) gives (N, N)."""

from typing import Any

from wherry.inspect.facts import own_line
from wherry.inspect.findings import Check


class BroadcastCheck(Check):
    """Reports an element-wise operation of a column (..., N, 1) with a vector of the same N and fewer dimensions.

    Two operands of the same number of dimensions, as in x[:, None] - y[None, :], are taken to be meant.
    """

    kind = "broadcast"

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if len(inputs) != 2 or not op.promote:
            return
        shapes = [getattr(getattr(t, "impl", None), "shape", None) for t in inputs]
        if shapes[0] is None or shapes[1] is None:
            return
        long, short = sorted((tuple(s) for s in shapes), key=len, reverse=True)
        if len(long) < 2 or len(short) != len(long) - 1 or long[-1] != 1 or not short:
            return
        if short[-1] == long[-2] and short[-1] > 1:
            self.report(
                "warning",
                own_line(),
                f"{op.name} of shapes {list(shapes[0])} and {list(shapes[1])} broadcasts to {[*long[:-1], short[-1]]}: every element of one "
                "meets every element of the other",
                f"Give both the same shape: squeeze(-1) the one of shape {list(long)}, or unsqueeze(-1) the other.",
            )
