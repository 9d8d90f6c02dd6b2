"""Beam search."""

import numpy as np

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import kernel
from wherry.kernels.numpy.common import Array


@kernel("gather_tree", (dt.int32, dt.int64))
def gather_tree(ids: Array, parents: Array) -> Array:
    """Each beam of the last step followed back through its parents; the parents of the first step are not read."""
    result = np.array(ids)
    if not ids.size:
        return result
    beams = ids.shape[2]
    here = parents[-1]
    for step in range(len(ids) - 2, -1, -1):
        wrong = (here < 0) | (here >= beams)
        if wrong.any():
            raise ValueError(f"expected parents in [0, {beams}), received {int(here[wrong][0])}")
        result[step] = np.take_along_axis(ids[step], here, axis=1)
        here = np.take_along_axis(parents[step], here, axis=1)
    return result
