"""What has arrived at a node during one pass."""

from typing import Any, Final

import numpy as np
from mypy_extensions import mypyc_attr

from wherry.autograd.history import REGISTRY
from wherry.core.dense_tensor import DenseTensor

_add: Final[Any] = np.add


@mypyc_attr(acyclic=True, free_list_len=1)
class GradTensorHolder:
    """What has arrived at a node. Source: paddle/fluid/eager/grad_tensor_holder.h."""

    def __init__(self, slots: int) -> None:
        # The gradient of a node with one output; nodes with more use `buffer`.
        self.single: Any = None
        # Whether `single` was made here by an addition, so that nobody else sees it and it may be added to in place.
        self.owned = False
        self.buffer: list[Any] | None = [None] * slots if slots != 1 else None

    def add(self, position: int, grad: Any, create_graph: bool) -> None:
        """Add a gradient to what is there."""
        buffer = self.buffer
        if buffer is not None:
            before = buffer[position]
            buffer[position] = grad if before is None else added(before, grad, create_graph)
            return
        before = self.single
        if before is None:
            self.single = grad
        elif self.owned and isinstance(before, DenseTensor) and isinstance(grad, DenseTensor) and before.meta.ndim > 0:
            _add(before.array, grad.array, before.array)
        else:
            self.single = added(before, grad, create_graph)
            self.owned = not create_graph


def added(x: Any, y: Any, create_graph: bool) -> Any:
    """The sum of two gradients, in new memory."""
    if create_graph:
        return REGISTRY.recorded_ops.add(x, y)
    return REGISTRY.raw_ops.add(x, y)
