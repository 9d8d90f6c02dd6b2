"""Derivative rules of operations on complex numbers. The gradient held is dL/dRe + i dL/dIm."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value, conj, unbroadcast


def complex_grad_real(ops: Ops, real_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.real(out_grad), real_meta)


def complex_grad_imag(ops: Ops, imag_meta: Meta, out_grad: Value) -> Value:
    return unbroadcast(ops, ops.imag(out_grad), imag_meta)


def real_grad(ops: Ops, out_grad: Value) -> Value:
    return ops.complex(out_grad, ops.full_like(out_grad, 0.0))


def imag_grad(ops: Ops, out_grad: Value) -> Value:
    return ops.complex(ops.full_like(out_grad, 0.0), out_grad)


def conj_grad(ops: Ops, out_grad: Value) -> Value:
    return conj(ops, out_grad)


def angle_grad(ops: Ops, x: Value, out_grad: Value) -> Value:
    """d angle = Im(dx / x), so the gradient is i g / conj(x); at 0, where there is none, 0."""
    if not x.meta.dtype.is_complex:
        return ops.full_like(out_grad, 0.0)
    at_zero = ops.equal(x, ops.full_like(x, 0.0))
    away = ops.where(at_zero, ops.full_like(x, 1.0), x)
    zero = ops.full_like(out_grad, 0.0)
    grad = ops.where(at_zero, zero, out_grad)
    return ops.divide(ops.complex(zero, grad), ops.conj(away))


def as_complex_grad(ops: Ops, out_grad: Value) -> Value:
    return ops.as_real(out_grad)


def as_real_grad(ops: Ops, out_grad: Value) -> Value:
    return ops.as_complex(out_grad)
