"""Cross entropy of classes, fused with softmax."""

import numpy as np

from wherry.core.dtype import DataType
from wherry.dispatch.kernel_factory import FLOAT, INTEGER, kernel
from wherry.kernels.numpy.blocks import as_rows, from_rows
from wherry.kernels.numpy.common import Array, in_float32


def _places(label: Array, classes: int, ignore_index: int, axis: int) -> tuple[Array, Array]:
    """The labels in row order, 0 for ignored ones, and which are not ignored; refuses any outside the classes."""
    flat = as_rows(label, axis).reshape(-1).astype(np.int64)
    valid = flat != ignore_index
    wrong = valid & ((flat < 0) | (flat >= classes))
    if wrong.any():
        raise ValueError(
            f"expected labels in [0, {classes}) or ignore_index {ignore_index}, received {int(flat[wrong][0])}"
        )
    return np.where(valid, flat, 0), valid


@kernel("cross_entropy_with_softmax", FLOAT)
@in_float32
def cross_entropy_with_softmax(logits: Array, label: Array, ignore_index: int, axis: int) -> tuple[Array, Array]:
    """log(sum(exp(x))) - x[label], 0 where ignored."""
    rows = as_rows(logits, axis)
    places, valid = _places(label, rows.shape[1], ignore_index, axis)
    if not rows.size:
        return np.empty_like(logits), np.zeros(label.shape, logits.dtype)
    shifted = rows - rows.max(axis=1, keepdims=True)
    softmax = np.exp(shifted)
    total = softmax.sum(axis=1)
    softmax /= total[:, None]
    loss = np.log(total) - shifted[np.arange(rows.shape[0]), places]
    loss[~valid] = 0
    return from_rows(softmax, logits.shape, axis), from_rows(loss[:, None], label.shape, axis)


@kernel("cross_entropy_with_softmax_grad", FLOAT)
@in_float32
def cross_entropy_with_softmax_grad(
    softmax: Array, label: Array, loss_grad: Array, ignore_index: int, axis: int
) -> Array:
    """(softmax - one at the label) * g, 0 where ignored."""
    rows = as_rows(softmax, axis)
    places, valid = _places(label, rows.shape[1], ignore_index, axis)
    grads = np.where(valid, as_rows(loss_grad, axis).reshape(-1), 0).astype(softmax.dtype)
    result = rows * grads[:, None]
    here = np.arange(rows.shape[0])
    # Not by a difference of products, which would be inf - inf.
    result[here, places] = (rows[here, places] - 1) * grads
    result[~valid] = 0
    return from_rows(result, softmax.shape, axis)


@kernel("label_one_hot", INTEGER)
def label_one_hot(label: Array, classes: int, ignore_index: int, axis: int, dtype: DataType) -> Array:
    """1 at each label along the axis; zeros where ignored."""
    places, valid = _places(label, classes, ignore_index, axis)
    rows = np.zeros((places.size, classes), dtype.numpy)
    rows[np.arange(places.size), places] = valid
    axis %= label.ndim
    shape = label.shape[:axis] + (classes,) + label.shape[axis + 1 :]
    return from_rows(rows, shape, axis)
