"""Complex numbers that lose their imaginary part, and complex losses."""

from typing import Any

import numpy as np

from wherry.inspect.facts import own_line
from wherry.inspect.findings import Check


class ComplexCheck(Check):
    """Reports casts that drop an imaginary part that is not zero, and backward from a complex tensor without a gradient to start from."""

    kind = "complex"

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        if op.name != "cast":
            return
        meta = inputs[0].impl.meta
        target = next((a for a in attrs if hasattr(a, "is_complex")), None)
        if not meta.dtype.is_complex or target is None or target.is_complex:
            return
        lost = float(np.max(np.abs(inputs[0].impl.array.imag), initial=0.0))
        if lost > 0:
            self.report(
                "warning",
                own_line(),
                f"the cast from {meta.dtype.name} to {target.name} drops imaginary parts of up to {lost:.3g}, and with them their gradient",
                "Use abs() for the magnitude, or real() where only the real part is meant.",
            )

    def backward_started(self, engine: Any, roots: list[Any]) -> None:
        for root in roots:
            for j in range(root.num_outputs()):
                if root.output_meta(j).dtype.is_complex and root.num_inputs() != 0:
                    self.report(
                        "warning",
                        own_line(),
                        "backward starts from a complex tensor: the gradient is that of its real part, the imaginary part does not count",
                        "Reduce it to a real loss first: abs(), real(), or z * z.conj().",
                    )
