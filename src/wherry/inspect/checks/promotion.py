"""float64 that slips into a float32 program, and what it does there."""

from typing import Any

import numpy as np

from wherry.inspect.facts import Line, Numbers, own_line
from wherry.inspect.findings import Check
from wherry.inspect.tape import named_inputs


class PromotionCheck(Check):
    """Reports the line that made a float64 tensor from NumPy or Python data, where it meets float32 tensors that need gradients and widens them."""

    kind = "promotion"

    def __init__(self) -> None:
        super().__init__()
        self._numbers = Numbers()
        self._made: dict[int, tuple[Line, str]] = {}

    def tensor_created(self, tensor: Any, data: Any) -> None:
        if tensor.impl.meta.dtype.name == "float64":
            what = "a NumPy array" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
            self._made[self._numbers.of(tensor)] = (own_line(), what)

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if not op.promote or len(inputs) < 2:
            return
        named = named_inputs(op, inputs)
        wide = [t for _, t in named if t.impl.meta.dtype.name == "float64" and t.impl.meta.ndim > 0]
        narrow = [
            t for _, t in named if t.impl.meta.dtype.name == "float32" and not t._stop_gradient and t.impl.meta.ndim > 0
        ]
        if not wide or not narrow:
            return
        line = own_line()
        made = next((self._made[n] for t in wide if (n := self._numbers.of(t)) in self._made), None)
        self.report(
            "warning",
            line if made is None else made[0],
            f"{'a float64 tensor' if made is None else f'{made[1]} became a float64 tensor here; it'} meets float32 in {op.name}, and everything "
            "after it is computed in float64, at half the speed and twice the memory",
            "Convert the data: array.astype('float32'), or to_tensor(..., dtype='float32').",
            [(line, f"widened in {op.name}")],
        )
