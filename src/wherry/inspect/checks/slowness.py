"""Calls that take a slow way: half precision on the CPU, the same copy again and again, Python loops over elements, float64 by accident."""

from typing import Any

from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check
from wherry.inspect.tape import named_inputs

# A copy counts from this many bytes on, and is reported when the same line has made it this often.
_BYTES = 1 << 16
_COPIES = 8
# Calls on a handful of elements from one line: from here on it is a loop that should be one call.
_TINY = 4
_MANY = 2000


class SlowKernelCheck(Check):
    """Reports lines at which a slow kernel or a needless copy is paid for again and again."""

    kind = "slow-kernel"

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[Any, Line, list[int], int]] = []
        self._copies: dict[Line, int] = {}
        self._tiny: dict[Line, int] = {}

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        tensors = [t for _, t in named_inputs(op, inputs)]
        strided = [t.impl.array.nbytes for t in tensors if not t.impl.array.flags.c_contiguous]
        largest = max((t.impl.array.size for t in tensors), default=0)
        self._open.append((op, own_line(), strided, largest))

    def call_failed(self, op: Any, error: BaseException) -> None:
        self._open.pop()

    def kernel_selected(self, op: Any, dtype_code: int, kernel: Any) -> None:
        if not self._open or self._open[-1][0] is not op:
            return
        _, line, strided, largest = self._open[-1]
        if kernel.contiguous and sum(strided) > _BYTES:
            count = self._copies[line] = self._copies.get(line, 0) + 1
            if count == _COPIES:
                self.report(
                    "warning",
                    line,
                    f"{op.name} needs contiguous memory and copies {sum(strided)} bytes here at every call",
                    "Make the tensor contiguous once, outside the loop: x = x.contiguous().",
                )

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        _, line, _, largest = self._open.pop()
        if 0 < largest <= _TINY and not self._open:
            count = self._tiny[line] = self._tiny.get(line, 0) + 1
            if count == _MANY:
                self.report(
                    "note",
                    line,
                    f"{_MANY} calls on at most {_TINY} elements came from this line: nearly all the time is overhead",
                    "Replace the loop over elements by one call on the whole tensor.",
                )
