"""Derivative rules of linear algebra."""

import math

from wherry.core.einsum import label_sizes, split
from wherry.core.meta import Meta
from wherry.core.sizes import cross_axis
from wherry.grads.common import Ops, Value, conj, unbroadcast


def _as_matrix(ops: Ops, value: Value, row: bool) -> Value:
    """A vector as a matrix of one row or one column; a matrix as it is."""
    if value.meta.ndim != 1:
        return value
    return ops.reshape(value, (1, value.meta.shape[0]) if row else (value.meta.shape[0], 1))


def _out_grad_as_matrix(ops: Ops, out_grad: Value, x_ndim: int, y_ndim: int) -> Value:
    """The gradient with the axes put back that matmul leaves out for vectors."""
    shape = out_grad.meta.shape
    if x_ndim == 1 and y_ndim == 1:
        return ops.reshape(out_grad, (1, 1))
    if x_ndim == 1:
        return ops.reshape(out_grad, shape[:-1] + (1,) + shape[-1:])
    if y_ndim == 1:
        return ops.reshape(out_grad, shape + (1,))
    return out_grad


def _reduced(ops: Ops, grad: Value, meta: Meta) -> Value:
    """The gradient summed over broadcast batch axes, in the input's shape (a vector's was a matrix until here)."""
    if meta.ndim != 1:
        return unbroadcast(ops, grad, meta)
    lead = grad.meta.ndim - 2
    if lead:
        grad = ops.sum(grad, tuple(range(lead)), None, False)
    return ops.reshape(grad, meta.shape)


def matmul_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value, transpose_x: bool, transpose_y: bool) -> Value:
    transposed = transpose_x and x_meta.ndim > 1
    grad = _out_grad_as_matrix(ops, out_grad, x_meta.ndim, y.meta.ndim)
    if y.meta.ndim == 1:
        y, transpose_y = _as_matrix(ops, y, False), False
    y = conj(ops, y)
    if transposed:
        return _reduced(ops, ops.matmul(y, grad, transpose_y, True), x_meta)
    return _reduced(ops, ops.matmul(grad, y, False, not transpose_y), x_meta)


def matmul_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value, transpose_x: bool, transpose_y: bool) -> Value:
    transposed = transpose_y and y_meta.ndim > 1
    if y_meta.ndim == 2 and x.meta.ndim > 2 and not transpose_x:
        # The batch axes of x are more rows: one product sums over them.
        rows = math.prod(x.meta.shape[:-1])
        grad = ops.reshape(out_grad, (rows, out_grad.meta.shape[-1]))
        x = ops.reshape(conj(ops, x), (rows, x.meta.shape[-1]))
    else:
        grad = _out_grad_as_matrix(ops, out_grad, x.meta.ndim, y_meta.ndim)
        if x.meta.ndim == 1:
            x, transpose_x = _as_matrix(ops, x, True), False
        x = conj(ops, x)
    if transposed:
        return _reduced(ops, ops.matmul(grad, x, True, transpose_x), y_meta)
    return _reduced(ops, ops.matmul(x, grad, not transpose_x, False), y_meta)


def bmm_grad_x(ops: Ops, y: Value, out_grad: Value) -> Value:
    return ops.matmul(out_grad, conj(ops, y), False, True)


def bmm_grad_y(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.matmul(conj(ops, x), out_grad, True, False)


def _column(ops: Ops, value: Value) -> Value:
    return ops.reshape(value, value.meta.shape + (1,))


def _row(ops: Ops, value: Value) -> Value:
    return ops.reshape(value, (1, *value.meta.shape))


def mv_grad_x(ops: Ops, vec: Value, out_grad: Value) -> Value:
    return ops.multiply(_column(ops, out_grad), _row(ops, conj(ops, vec)))


def mv_grad_vec(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.matmul(conj(ops, x), out_grad, True, False)


def dot_grad_x(ops: Ops, y: Value, out_grad: Value) -> Value:
    return ops.multiply(_column(ops, out_grad), conj(ops, y))


def dot_grad_y(ops: Ops, x: Value, out_grad: Value) -> Value:
    return ops.multiply(_column(ops, out_grad), conj(ops, x))


def _times(ops: Ops, value: Value, factor: float) -> Value:
    """The value times a number; a factor of 0 leaves nothing, whatever the value."""
    if factor == 0.0:
        return ops.full_like(value, 0.0)
    return value if factor == 1.0 else ops.multiply(value, factor)


def addmm_grad_input(ops: Ops, input_meta: Meta, out_grad: Value, beta: float) -> Value:
    return _times(ops, unbroadcast(ops, out_grad, input_meta), beta)


def addmm_grad_x(ops: Ops, y: Value, out_grad: Value, alpha: float) -> Value:
    return _times(ops, ops.matmul(out_grad, conj(ops, y), False, True), alpha)


def addmm_grad_y(ops: Ops, x: Value, out_grad: Value, alpha: float) -> Value:
    return _times(ops, ops.matmul(conj(ops, x), out_grad, True, False), alpha)


def _kron_shapes(x: Meta, y: Meta) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Shapes that interleave the axes of x, of y, and of the product, so that it becomes a broadcast one."""
    ndim = max(x.ndim, y.ndim)
    xs = (1,) * (ndim - x.ndim) + x.shape
    ys = (1,) * (ndim - y.ndim) + y.shape
    return (
        tuple(size for a in xs for size in (a, 1)),
        tuple(size for b in ys for size in (1, b)),
        tuple(size for pair in zip(xs, ys) for size in pair),
    )


def kron_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value) -> Value:
    left, right, both = _kron_shapes(x_meta, y.meta)
    product = ops.multiply(ops.reshape(out_grad, both), ops.reshape(conj(ops, y), right))
    return ops.reshape(unbroadcast(ops, product, x_meta.with_shape(left)), x_meta.shape)


def kron_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value) -> Value:
    left, right, both = _kron_shapes(x.meta, y_meta)
    product = ops.multiply(ops.reshape(out_grad, both), ops.reshape(conj(ops, x), left))
    return ops.reshape(unbroadcast(ops, product, y_meta.with_shape(right)), y_meta.shape)


def trace_grad(ops: Ops, x_meta: Meta, out_grad: Value, offset: int, axis1: int, axis2: int) -> Value:
    return ops.trace_grad(out_grad, x_meta.shape, offset, axis1, axis2)


def trace_grad_grad(ops: Ops, x_grad_grad: Value, offset: int, axis1: int, axis2: int) -> Value:
    return ops.trace(x_grad_grad, offset, axis1, axis2)


def cross_grad_x(ops: Ops, x_meta: Meta, y: Value, out_grad: Value, axis: int) -> Value:
    at = cross_axis(out_grad.meta.shape, axis) - out_grad.meta.ndim
    return unbroadcast(ops, ops.cross(conj(ops, y), out_grad, at), x_meta)


def cross_grad_y(ops: Ops, x: Value, y_meta: Meta, out_grad: Value, axis: int) -> Value:
    at = cross_axis(out_grad.meta.shape, axis) - out_grad.meta.ndim
    return unbroadcast(ops, ops.cross(out_grad, conj(ops, x), at), y_meta)


def einsum_grad(ops: Ops, x: list[Value], out_grad: Value, equation: str) -> list[Value]:
    """For each operand the einsum of the output's gradient with the other operands."""
    terms, out = split(equation)
    sizes = label_sizes(terms, [value.meta.shape for value in x])
    return [_operand_grad(ops, i, x, out_grad, terms, out, sizes) for i in range(len(x))]


def _operand_grad(
    ops: Ops, i: int, x: list[Value], out_grad: Value, terms: tuple[str, ...], out: str, sizes: dict[str, int]
) -> Value:
    meta = x[i].meta
    # An axis of size 1 that stretched over its label is summed over.
    term = "".join(label for label, size in zip(terms[i], meta.shape) if size == sizes[label])
    others = [conj(ops, x[j]) for j in range(len(x)) if j != i]
    other_terms = [terms[j] for j in range(len(x)) if j != i]
    known = [label for label in dict.fromkeys(term) if label in out or any(label in t for t in other_terms)]
    left = ",".join([out, *other_terms])
    grad = ops.einsum([out_grad, *others], left + "->" + "".join(known))
    # A label that only this operand has was summed over: its gradient is the same all along.
    target = "".join(dict.fromkeys(term))
    free = [label for label in target if label not in known]
    if free or "".join(known) != target:
        ones = [ops.full((sizes[label],), 1.0, meta.dtype) for label in free]
        grad = ops.einsum([grad, *ones], ",".join(["".join(known), *free]) + "->" + target)
    grad = _on_diagonals(ops, grad, target, term)
    return grad if grad.meta.shape == meta.shape else ops.reshape(grad, meta.shape)


def _on_diagonals(ops: Ops, grad: Value, labels: str, term: str) -> Value:
    """Of a label that comes several times in a term only the diagonal was read, so its gradient lies there."""
    if labels == term:
        return grad
    for label in labels:
        for _ in range(term.count(label) - 1):
            at = labels.index(label)
            order = [*(k for k in range(len(labels)) if k != at), at]
            grad = ops.diag_embed(ops.transpose(grad, tuple(order)))
            labels = "".join(labels[k] for k in order) + label
    # The axes of one label may stand for each other.
    free = list(range(len(labels)))
    order = []
    for label in term:
        order.append(next(k for k in free if labels[k] == label))
        free.remove(order[-1])
    return ops.transpose(grad, tuple(order))
