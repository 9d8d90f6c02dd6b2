"""Embedding and dropout."""

import numpy as np

from wherry.core.generator import default_generator
from wherry.dispatch.kernel_factory import FLOAT, FLOATING_OR_COMPLEX, kernel
from wherry.kernels.numpy.common import Array

Ints = tuple[int, ...]


def _checked(x: Array, rows: int) -> Array:
    if x.size and (x.min() < 0 or x.max() >= rows):
        bad = x[(x < 0) | (x >= rows)].reshape(-1)[0]
        raise IndexError(f"expected indices in [0, {rows}), the rows of the weight, received {int(bad)}")
    return x


@kernel("embedding", FLOATING_OR_COMPLEX)
def embedding(x: Array, weight: Array, padding_idx: int) -> Array:
    """Rows of the weight; zeros for the padding index."""
    out = weight[_checked(x, weight.shape[0])]
    if padding_idx >= 0:
        out[x == padding_idx] = 0
    return out


@kernel("embedding_grad", FLOATING_OR_COMPLEX)
def embedding_grad(x: Array, out_grad: Array, rows: int, padding_idx: int) -> Array:
    """The gradients of each row added up."""
    width = out_grad.shape[-1]
    wide = np.float32 if out_grad.dtype.itemsize == 2 else out_grad.dtype
    total = np.zeros((rows, width), wide)
    indices, grads = x.reshape(-1), out_grad.reshape(-1, width)
    if padding_idx >= 0:
        kept = indices != padding_idx
        indices, grads = indices[kept], grads[kept]
    if indices.size:
        # Sorted runs are added by reduceat, many times faster than one row after another.
        order = np.argsort(indices, kind="stable")
        runs = indices[order]
        starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]])
        total[runs[starts]] = np.add.reduceat(grads[order].astype(wide, copy=False), starts, axis=0)
    return total.astype(out_grad.dtype, copy=False)


@kernel("dropout", FLOAT)
def dropout(x: Array, p: float, upscale: bool, mask_shape: Ints) -> tuple[Array, Array]:
    """x where a drawn number is at least p; scaled up by what is lost on average where asked for."""
    drawn = default_generator().random(mask_shape, dtype=np.float32)
    mask = drawn >= np.float32(p)
    out = np.multiply(x, mask)
    if upscale and p < 1.0:
        out *= x.dtype.type(1.0 / (1.0 - p))
    return out, mask
