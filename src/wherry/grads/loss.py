"""Derivative rules of losses."""

from wherry.grads.common import Ops, Value, plain


def cross_entropy_rule(
    ops: Ops, logits: Value, label: Value, softmax: Value, loss_grad: Value, ignore_index: int, axis: int
) -> Value:
    if plain(softmax):
        return ops.cross_entropy_with_softmax_grad(softmax, label, loss_grad, ignore_index, axis)
    classes = logits.meta.shape[axis]
    hot = ops.label_one_hot(label, classes, ignore_index, axis, logits.meta.dtype)
    valid = ops.sum(hot, (axis,), None, True)
    slope = ops.subtract(ops.softmax(logits, axis), hot)
    # Nothing of an ignored row counts, be it NaN.
    return ops.where(ops.not_equal(valid, 0.0), ops.multiply(slope, loss_grad), 0.0)
