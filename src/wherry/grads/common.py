"""What derivative rules share. A rule is written against `ops`, so it works on raw and on recorded values alike."""

from typing import Any

from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta

Ops = Any
Value = Any


def unbroadcast(ops: Ops, grad: Value, meta: Meta) -> Value:
    """Sum a gradient over the axes along which its input was broadcast, back to the input's shape."""
    shape = grad.meta.shape
    if shape == meta.shape:
        return grad
    lead = len(shape) - meta.ndim
    axes = list(range(lead))
    axes += [lead + i for i, dim in enumerate(meta.shape) if dim == 1 and shape[lead + i] != 1]
    if axes:
        grad = ops.sum(grad, tuple(axes), None, False)
    return grad if grad.meta.shape == meta.shape else ops.reshape(grad, meta.shape)


def conj(ops: Ops, x: Value) -> Value:
    """The complex conjugate; a real value is returned as it is."""
    return ops.conj(x) if x.meta.dtype.is_complex else x


def difference(ops: Ops, a: Value, b: Value) -> Value:
    """a - b, and 0 where both are the same infinity. Finite equal values stay a difference, whose derivative is not 0."""
    same = ops.logical_and(ops.equal(a, b), ops.isinf(a))
    return ops.where(same, 0.0, ops.subtract(a, b))


def plain(value: Value) -> bool:
    """Whether nothing is recorded in this pass, so that a fused derivative kernel may be used."""
    return isinstance(value, DenseTensor)
