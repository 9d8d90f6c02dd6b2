"""Derivative rules of the reductions."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, difference
from wherry.infermeta.reduction import kept_shape, reduced_count


def keep(ops: Ops, value: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool) -> Value:
    """A reduced value with sizes of 1 where axes were, so that it broadcasts against the input."""
    if keepdim or not axis or value.meta.ndim == x_meta.ndim:
        return value
    return ops.reshape(value, kept_shape(x_meta.shape, axis))


def expand_reduced(ops: Ops, value: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool) -> Value:
    """A reduced value spread over the input's shape again, as a view."""
    return ops.expand(keep(ops, value, x_meta, axis, keepdim), x_meta.shape)


def sum_grad(ops: Ops, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value) -> Value:
    # A change of dtype is undone while the gradient is small.
    if out_grad.meta.dtype is not x_meta.dtype:
        if out_grad.meta.dtype.is_complex and not x_meta.dtype.is_complex:
            out_grad = ops.real(out_grad)
        out_grad = ops.cast(out_grad, x_meta.dtype)
    return expand_reduced(ops, out_grad, x_meta, axis, keepdim)


def mean_grad(ops: Ops, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value) -> Value:
    count = reduced_count(x_meta.shape, axis)
    return expand_reduced(ops, ops.scale(out_grad, 1.0 / count if count else 0.0), x_meta, axis, keepdim)


def extremum_grad(
    ops: Ops, x: Value, out: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value
) -> Value:
    """max and min: equal elements share the gradient; where there is a NaN none has one."""
    top = keep(ops, out, x_meta, axis, keepdim)
    chosen = ops.equal(x, top)
    count = ops.sum(ops.cast(chosen, x_meta.dtype), axis, None, True)
    return ops.where(chosen, ops.divide(keep(ops, out_grad, x_meta, axis, keepdim), count), 0.0)


def prod_grad(ops: Ops, x: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value) -> Value:
    """The product of the others, from running products of both sides: right for any number of zeros."""
    ndim = x_meta.ndim
    axes = tuple(a % ndim for a in axis) if axis and ndim else tuple(range(ndim))
    rest = tuple(i for i in range(ndim) if i not in axes)
    order = rest + axes
    flat = tuple(x_meta.shape[i] for i in rest) + (reduced_count(x_meta.shape, axes) if ndim else 1,)
    moved = ops.reshape(ops.transpose(x, order) if ndim else x, flat)
    left = ops.shift(ops.cumprod(moved, -1), 1, 1.0)
    right = ops.flip(ops.shift(ops.cumprod(ops.flip(moved, (-1,)), -1), 1, 1.0), (-1,))
    others = conj(ops, ops.multiply(left, right))
    spread = ops.reshape(out_grad, (*flat[:-1], 1))
    result = ops.reshape(ops.multiply(others, spread), tuple(x_meta.shape[i] for i in order))
    return ops.transpose(result, tuple(order.index(i) for i in range(ndim))) if ndim else result


def logsumexp_grad(
    ops: Ops, x: Value, out: Value, x_meta: Meta, axis: tuple[int, ...], keepdim: bool, out_grad: Value
) -> Value:
    total = keep(ops, out, x_meta, axis, keepdim)
    # Where everything is -inf so is the sum; the weights there are 0.
    nothing = ops.equal(total, float("-inf"))
    weight = ops.exp(difference(ops, x, ops.where(nothing, 0.0, total)))
    return ops.multiply(weight, keep(ops, out_grad, x_meta, axis, keepdim))


def p_norm_grad(
    ops: Ops, x: Value, out: Value, x_meta: Meta, porder: float, axis: tuple[int, ...], keepdim: bool, out_grad: Value
) -> Value:
    """The subgradient 0 at the origin for every p."""
    if porder == 0:
        return ops.full(x_meta.shape, 0.0, x_meta.dtype, None)
    norm = keep(ops, out, x_meta, axis, keepdim)
    grad = keep(ops, out_grad, x_meta, axis, keepdim)
    if porder == 1:
        return ops.multiply(ops.sign(x), grad)
    one = ops.full_like(norm, 1.0, None, None)
    safe = ops.where(ops.equal(norm, 0.0), one, norm)
    if porder == 2:
        return ops.multiply(x, ops.divide(grad, safe))
    size = ops.abs(x)
    if porder in (float("inf"), float("-inf")):
        chosen = ops.equal(size, norm)
        share = ops.divide(grad, ops.sum(ops.cast(chosen, norm.meta.dtype), axis, None, True))
        return ops.multiply(ops.sign(x), ops.where(chosen, share, 0.0))
    zero = ops.equal(size, 0.0)
    positive = ops.where(zero, ops.full_like(size, 1.0, None, None), size)
    power = ops.pow(ops.divide(positive, safe), porder - 1.0)
    return ops.multiply(ops.sign(x), ops.multiply(power, grad))


def cumsum_grad(ops: Ops, axis: int, reverse: bool, out_grad: Value) -> Value:
    return ops.cumsum(out_grad, axis, not reverse)


def _last(ops: Ops, value: Value, axis: int) -> Value:
    """The axis moved to the end (or back: the exchange undoes itself)."""
    ndim = value.meta.ndim
    axis %= ndim
    if axis == ndim - 1:
        return value
    order = list(range(ndim))
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(value, tuple(order))


def cumprod_grad(ops: Ops, x: Value, out: Value, x_meta: Meta, axis: int, out_grad: Value) -> Value:
    """d out[j] / d x[i] is the product of the others up to j: what is left of i, times a linear recurrence from the right."""
    if x_meta.ndim == 0:
        return out_grad
    right = ops.linear_scan(conj(ops, _last(ops, x, axis)), _last(ops, out_grad, axis), True)
    left = ops.shift(_last(ops, out, axis), 1, 1.0)
    return _last(ops, ops.multiply(right, conj(ops, left)), axis)


def logcumsumexp_grad(ops: Ops, x: Value, out: Value, axis: int, out_grad: Value) -> Value:
    """sum over j >= i of g[j] exp(x[i] - out[j]), as a recurrence whose factors never exceed 1."""
    if x.meta.ndim == 0:
        return out_grad
    total = _last(ops, out, axis)
    nothing = ops.equal(total, float("-inf"))
    finite = ops.where(nothing, 0.0, total)
    before = ops.shift(total, 1, float("-inf"))
    factor = ops.exp(difference(ops, before, finite))
    right = ops.linear_scan(factor, _last(ops, out_grad, axis), True)
    weight = ops.exp(difference(ops, _last(ops, x, axis), finite))
    return _last(ops, ops.multiply(weight, right), axis)


def linear_scan_grad_b(ops: Ops, a: Value, reverse: bool, out_grad: Value) -> Value:
    return ops.linear_scan(conj(ops, a), out_grad, not reverse)


def linear_scan_grad_a(ops: Ops, a: Value, out: Value, reverse: bool, out_grad: Value) -> Value:
    arriving = ops.linear_scan(conj(ops, a), out_grad, not reverse)
    if reverse:
        # Moved away and back, out loses the last element, which no factor links to; so does the gradient in the other case.
        return ops.multiply(ops.shift(arriving, 1), conj(ops, ops.shift(ops.shift(out, -1), 1)))
    return ops.multiply(ops.shift(ops.shift(arriving, -1), 1), conj(ops, ops.shift(out, 1)))


def shift_grad(ops: Ops, offset: int, out_grad: Value) -> Value:
    return ops.shift(out_grad, -offset)
