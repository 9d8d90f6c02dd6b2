"""Derivative rules of the Fourier transforms.

A transform is linear, so its gradient is its adjoint: the transform the other way with the same factor. The factor
stays the same when "backward" and "forward" change places. One-sided spectra leave out the frequencies that the
conjugates stand for, so the adjoint weighs what is there: twice, or half, but for frequency 0 and the middle of an even
size.
"""

from typing import Final

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value

MIRRORED: Final = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def fft_c2c_grad(ops: Ops, out_grad: Value, axes: tuple[int, ...], normalization: str, forward: bool) -> Value:
    return ops.fft_c2c(out_grad, axes, MIRRORED[normalization], not forward)


def fft_r2c_grad(
    ops: Ops,
    x_meta: Meta,
    out_grad: Value,
    axes: tuple[int, ...],
    normalization: str,
    forward: bool,
    onesided: bool,
) -> Value:
    if x_meta.size == 0:
        return ops.full(x_meta.shape, 0.0, x_meta.dtype)
    if not onesided:
        return ops.real(ops.fft_c2c(out_grad, axes, MIRRORED[normalization], not forward))
    size = x_meta.shape[axes[-1]]
    half = ops.fft_scale_doubled(out_grad, axes[-1], size, 0.5)
    return ops.fft_c2r(half, axes, MIRRORED[normalization], not forward, size)


def fft_c2r_grad(
    ops: Ops,
    x_meta: Meta,
    out_grad: Value,
    axes: tuple[int, ...],
    normalization: str,
    forward: bool,
) -> Value:
    if out_grad.meta.size == 0 or x_meta.size == 0:
        return ops.full(x_meta.shape, 0.0, x_meta.dtype)
    spectrum = ops.fft_r2c(out_grad, axes, MIRRORED[normalization], not forward, True)
    return ops.fft_scale_doubled(spectrum, axes[-1], out_grad.meta.shape[axes[-1]], 2.0)


def fft_resize_grad(ops: Ops, x_meta: Meta, out_grad: Value, axes: tuple[int, ...]) -> Value:
    return ops.fft_resize(out_grad, axes, tuple(x_meta.shape[axis] for axis in axes))


def fft_scale_doubled_grad(ops: Ops, out_grad: Value, axis: int, size: int, factor: float) -> Value:
    return ops.fft_scale_doubled(out_grad, axis, size, factor)
