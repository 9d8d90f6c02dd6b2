"""Normalisation. Statistics are kept in float32 or wider; work goes in blocks of rows that stay in the cache."""

import math

import numpy as np

from wherry.dispatch.kernel_factory import FLOAT, kernel
from wherry.kernels.numpy.blocks import row_blocks
from wherry.kernels.numpy.common import Array


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


@kernel("layer_norm", FLOAT)
def layer_norm(
    x: Array, scale: Array | None, bias: Array | None, epsilon: float, begin_norm_axis: int
) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the last axes."""
    rows = math.prod(x.shape[:begin_norm_axis])
    columns = math.prod(x.shape[begin_norm_axis:])
    matrix = np.ascontiguousarray(_wide(x)).reshape(rows, columns)
    out = np.empty_like(matrix)
    mean, variance = np.zeros(rows, matrix.dtype), np.zeros(rows, matrix.dtype)
    weight = None if scale is None else _wide(scale).reshape(-1).astype(matrix.dtype, copy=False)
    shift = None if bias is None else _wide(bias).reshape(-1).astype(matrix.dtype, copy=False)
    for block in row_blocks(rows, columns) if columns else ():
        part, source = out[block], matrix[block]
        center = source.mean(axis=1, keepdims=True)
        np.subtract(source, center, out=part)
        spread = np.einsum("ij,ij->i", part, part) / columns
        mean[block], variance[block] = center[:, 0], spread
        part *= (1.0 / np.sqrt(spread + epsilon)).astype(matrix.dtype)[:, None]
        if weight is not None:
            part *= weight
        if shift is not None:
            part += shift
    return out.reshape(x.shape).astype(x.dtype, copy=False), mean, variance


@kernel("layer_norm_grad", FLOAT)
def layer_norm_grad(
    x: Array,
    scale: Array | None,
    mean: Array,
    variance: Array,
    out_grad: Array,
    epsilon: float,
    begin_norm_axis: int,
) -> tuple[Array, Array, Array]:
    """inv * (w g - mean(w g) - xhat * mean(w g xhat)), and the columns' sums for scale and bias."""
    rows = math.prod(x.shape[:begin_norm_axis])
    columns = math.prod(x.shape[begin_norm_axis:])
    matrix = np.ascontiguousarray(_wide(x)).reshape(rows, columns)
    grads = np.ascontiguousarray(_wide(out_grad)).reshape(rows, columns)
    inverse = (1.0 / np.sqrt(variance + epsilon)).astype(matrix.dtype)
    result = np.empty_like(matrix)
    scale_grad, bias_grad = np.zeros(columns, matrix.dtype), np.zeros(columns, matrix.dtype)
    weight = None if scale is None else _wide(scale).reshape(-1).astype(matrix.dtype, copy=False)
    for block in row_blocks(rows, columns) if columns else ():
        g, inv = grads[block], inverse[block][:, None]
        hat = (matrix[block] - mean[block][:, None]) * inv
        scale_grad += np.einsum("ij,ij->j", g, hat)
        bias_grad += g.sum(axis=0)
        weighted = g if weight is None else g * weight
        part = result[block]
        np.multiply(hat, -np.einsum("ij,ij->i", weighted, hat)[:, None] / columns, out=part)
        part += weighted
        part -= weighted.mean(axis=1, keepdims=True)
        part *= inv
    return result.reshape(x.shape).astype(x.dtype, copy=False), scale_grad, bias_grad


def _by_channel(x: Array) -> Array:
    """[batch, channels, rest] of a channel-first array."""
    wide = _wide(x)
    return wide.reshape(wide.shape[0], wide.shape[1], math.prod(wide.shape[2:]))


@kernel("batch_norm", FLOAT)
def batch_norm(x: Array, scale: Array | None, bias: Array | None, epsilon: float) -> tuple[Array, Array, Array]:
    """Each channel normalised over batch and places; its mean and (biased) variance beside it."""
    cube = _by_channel(x)
    count = max(cube.shape[0] * cube.shape[2], 1)
    mean = cube.sum(axis=(0, 2)) / cube.dtype.type(count)
    out = cube - mean[None, :, None]
    variance = np.einsum("ncs,ncs->c", out, out) / cube.dtype.type(count)
    factor = (1.0 / np.sqrt(variance + epsilon)).astype(cube.dtype)
    if scale is not None:
        factor = factor * _wide(scale).reshape(-1)
    out *= factor[None, :, None].astype(cube.dtype, copy=False)
    if bias is not None:
        out += _wide(bias).reshape(-1)[None, :, None].astype(cube.dtype, copy=False)
    return out.reshape(x.shape).astype(x.dtype, copy=False), mean, variance


@kernel("batch_norm_grad", FLOAT)
def batch_norm_grad(
    x: Array, scale: Array | None, mean: Array, variance: Array, out_grad: Array, epsilon: float
) -> tuple[Array, Array, Array]:
    """As layer_norm_grad, over the other axes."""
    cube, g = _by_channel(x), _by_channel(out_grad)
    count = cube.dtype.type(max(cube.shape[0] * cube.shape[2], 1))
    inverse = (1.0 / np.sqrt(variance + epsilon)).astype(cube.dtype)
    hat = (cube - mean[None, :, None]) * inverse[None, :, None]
    bias_grad = g.sum(axis=(0, 2))
    scale_grad = np.einsum("ncs,ncs->c", g, hat)
    factor = inverse if scale is None else inverse * _wide(scale).reshape(-1).astype(cube.dtype, copy=False)
    hat *= -(scale_grad / count)[None, :, None]
    hat += g
    hat -= (bias_grad / count)[None, :, None]
    hat *= factor[None, :, None]
    return hat.reshape(x.shape).astype(x.dtype, copy=False), scale_grad, bias_grad


@kernel("update_running", FLOAT)
def update_running(running_mean: Array, running_var: Array, mean: Array, variance: Array, momentum: float) -> None:
    """running = momentum * running + (1 - momentum) * batch, in place."""
    for running, batch in ((running_mean, mean), (running_var, variance)):
        running *= running.dtype.type(momentum)
        running += (batch * (1.0 - momentum)).astype(running.dtype)
