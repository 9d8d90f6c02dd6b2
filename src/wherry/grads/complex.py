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
