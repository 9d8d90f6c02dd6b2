"""Rows of embedding, dropout, convolution, normalisation and cross entropy."""

import itertools
from typing import Any

import numpy as np
from scipy import special

from tests.op_table.references import sifted
from tests.op_table.row import COMPLEX, FLOATS, HALVES, Case, Row

_FUSED = "a fused kernel for passes that are not recorded; its operation's rule uses the formula under create_graph"
_INDICES = np.array([[1, 1], [0, 3]], np.int64)


def embedding(x: np.ndarray, weight: np.ndarray, padding_idx: int = -1) -> np.ndarray:
    out = np.array([weight[i] if i != padding_idx else np.zeros_like(weight[i]) for i in x.reshape(-1)], weight.dtype)
    return out.reshape(*x.shape, weight.shape[1])


def embedding_grad(x: np.ndarray, out_grad: np.ndarray, rows: int, padding_idx: int) -> np.ndarray:
    out = np.zeros((rows, out_grad.shape[-1]), out_grad.dtype)
    for place in np.ndindex(*x.shape):
        if x[place] != padding_idx:
            out[x[place]] += out_grad[place]
    return out


def conv(x: np.ndarray, filter: np.ndarray, strides: Any, paddings: Any, dilations: Any, groups: int) -> np.ndarray:
    """Place by place, filter by filter."""
    count = len(strides)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(paddings[::2], paddings[1::2])])
    kernel = filter.shape[2:]
    places = [(padded.shape[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(count)]
    out = np.zeros((x.shape[0], filter.shape[0], *places), np.result_type(x, filter))
    width, each = filter.shape[1], filter.shape[0] // groups
    for f, place in itertools.product(range(filter.shape[0]), np.ndindex(*places)):
        cut = tuple(slice(p * s, p * s + d * (k - 1) + 1, d) for p, s, d, k in zip(place, strides, dilations, kernel))
        group = f // each
        window = padded[(slice(None), slice(group * width, (group + 1) * width), *cut)]
        out[(slice(None), f, *place)] = (window * filter[f]).sum(axis=tuple(range(1, window.ndim)))
    return out


def conv_grad_input(
    out_grad: np.ndarray, filter: np.ndarray, spatial_size: Any, groups: int, **attrs: Any
) -> np.ndarray:
    """The transpose of the linear map x -> conv(x, filter), one unit vector after another."""
    shape = (1, filter.shape[1] * groups, *spatial_size)
    out = np.zeros((out_grad.shape[0], *shape[1:]), out_grad.dtype)
    for place in np.ndindex(*shape[1:]):
        unit = np.zeros(shape, out_grad.dtype)
        unit[(0, *place)] = 1
        column = sifted(conv(unit, filter, groups=groups, **attrs), out_grad)
        out[(slice(None), *place)] = column.reshape(len(out), -1).sum(1)
    return out


def conv_grad_filter(x: np.ndarray, out_grad: np.ndarray, kernel_size: Any, groups: int, **attrs: Any) -> np.ndarray:
    shape = (out_grad.shape[1], x.shape[1] // groups, *kernel_size)
    out = np.zeros(shape, x.dtype)
    for place in np.ndindex(*shape):
        unit = np.zeros(shape, x.dtype)
        unit[place] = 1
        out[place] = sifted(conv(x, unit, groups=groups, **attrs), out_grad).sum()
    return out


def layer_norm(x: np.ndarray, scale: Any, bias: Any, epsilon: float, begin_norm_axis: int) -> Any:
    axes = tuple(range(begin_norm_axis, x.ndim))
    wide = x.astype(np.float64)
    mean, var = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    out = (wide - mean) / np.sqrt(var + epsilon)
    shape = x.shape[begin_norm_axis:]
    out = out if scale is None else out * scale.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    return out.astype(x.dtype), mean.reshape(-1), var.reshape(-1)


def layer_norm_grad(
    x: np.ndarray, scale: Any, mean: Any, variance: Any, out_grad: np.ndarray, epsilon: float, begin_norm_axis: int
) -> Any:
    rows = x.reshape(mean.shape[0], -1)
    grads = out_grad.reshape(rows.shape)
    inv = 1 / np.sqrt(variance + epsilon)[:, None]
    hat = (rows - mean[:, None]) * inv
    g = grads if scale is None else grads * scale.reshape(-1)
    dx = inv * (g - g.mean(1, keepdims=True) - hat * (g * hat).mean(1, keepdims=True))
    return dx.reshape(x.shape), (grads * hat).sum(0), grads.sum(0)


def batch_norm(x: np.ndarray, scale: Any, bias: Any, epsilon: float) -> Any:
    axes = (0, *range(2, x.ndim))
    row = (1, -1, *(1,) * (x.ndim - 2))
    mean, var = x.mean(axes), x.var(axes)
    out = (x - mean.reshape(row)) / np.sqrt(var.reshape(row) + epsilon)
    out = out if scale is None else out * scale.reshape(row)
    out = out if bias is None else out + bias.reshape(row)
    return out, mean, var


def batch_norm_grad(x: np.ndarray, scale: Any, mean: Any, variance: Any, out_grad: np.ndarray, epsilon: float) -> Any:
    axes = (0, *range(2, x.ndim))
    row = (1, -1, *(1,) * (x.ndim - 2))
    inv = 1 / np.sqrt(variance + epsilon).reshape(row)
    hat = (x - mean.reshape(row)) * inv
    g = out_grad if scale is None else out_grad * scale.reshape(row)
    dx = inv * (g - g.mean(axes, keepdims=True) - hat * (g * hat).mean(axes, keepdims=True))
    return dx, (out_grad * hat).sum(axes), out_grad.sum(axes)


def update_running(running_mean: Any, running_var: Any, mean: Any, variance: Any, momentum: float) -> Any:
    return tuple(momentum * r + (1 - momentum) * b for r, b in ((running_mean, mean), (running_var, variance)))


def cross_entropy(logits: np.ndarray, label: np.ndarray, ignore_index: int = -100, axis: int = -1) -> Any:
    logs = special.log_softmax(logits.astype(np.float64), axis)
    safe = np.where(label == ignore_index, 0, label)
    loss = np.where(label == ignore_index, 0, -np.take_along_axis(logs, safe, axis))
    return loss.astype(logits.dtype)


def one_hot(label: np.ndarray, classes: int, ignore_index: int, axis: int, dtype: str) -> np.ndarray:
    moved = np.moveaxis(label, axis, -1)
    out = (moved == np.arange(classes)) & (moved != ignore_index)
    return np.moveaxis(out, -1, axis).astype(dtype)


def cross_entropy_grad(
    softmax: np.ndarray, label: np.ndarray, loss_grad: np.ndarray, ignore_index: int, axis: int
) -> np.ndarray:
    hot = one_hot(label, softmax.shape[axis], ignore_index, axis, softmax.dtype)
    return np.where(hot.sum(axis, keepdims=True) > 0, (softmax - hot) * loss_grad, 0)


def _window(strides: Any, paddings: Any, dilations: Any, groups: int) -> dict[str, Any]:
    return {"strides": strides, "paddings": paddings, "dilations": dilations, "groups": groups}


PADDING = "padding is made of zeros, which meet an infinity in one matrix product"
_PLAIN = _window((1, 1), (0, 0, 0, 0), (1, 1), 1)
_WIDE = _window((2, 1), (1, 0, 2, 1), (1, 2), 2)
_LINE = _window((2,), (1, 1), (1,), 1)
_CUBE = _window((1, 1, 1), (0, 0, 0, 0, 0, 0), (1, 1, 1), 1)
_CONV = (
    (((2, 2, 4, 3), (3, 2, 2, 2)), _PLAIN),
    (((1, 4, 5, 6), (4, 2, 3, 2)), _WIDE),
    (((2, 3, 6), (2, 3, 3)), _LINE),
    (((1, 1, 3, 3, 2), (2, 1, 2, 1, 2)), _CUBE),
    (((2, 3, 2, 2), (4, 3, 1, 1)), _PLAIN),
    (((0, 2, 4, 3), (3, 2, 2, 2)), _PLAIN),
)


def _conv_cases(kind: str) -> tuple[Case, ...]:
    cases = []
    for (x, w), attrs in _CONV[:5]:
        out = conv(np.zeros(x), np.zeros(w), **attrs).shape
        inputs = {"input": (out, w), "filter": (x, out)}[kind]
        extra = {"spatial_size": x[2:]} if kind == "input" else {"kernel_size": w[2:]}
        cases.append(Case(inputs, {**extra, **attrs}))
    return tuple(cases)


_LABELS = np.array([[1], [0], [2]], np.int64)
_IGNORED = np.array([[[1, 0]], [[2, -100]]], np.int64)
_POSITIVE = np.array([0.5, 1.5, 2.0])
_BOTH = ("float64", "complex128")

ROWS = (
    Row(
        "embedding",
        (
            Case((_INDICES, (4, 3))),
            Case((_INDICES, (4, 3)), {"padding_idx": 1}),
            Case((np.zeros((0,), np.int32), (2, 2))),
        ),
        embedding,
        FLOATS + HALVES + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "embedding_grad",
        (
            Case((_INDICES, (2, 2, 3)), {"rows": 5, "padding_idx": -1}),
            Case((_INDICES, (2, 2, 3)), {"rows": 4, "padding_idx": 1}),
        ),
        embedding_grad,
        FLOATS + COMPLEX,
        grad_dtypes=("float64", "complex128"),
    ),
    Row(
        "dropout",
        (
            Case(((3, 4),), {"p": 0.5, "upscale": True, "mask_shape": (3, 4)}),
            Case(((3, 4),), {"p": 1.0, "upscale": True, "mask_shape": (3, 1)}),
        ),
        None,
        random=True,
        order=0,
        reason="random: the gradient is checked with a fixed seed in tests/test_nn_functional.py",
    ),
    Row(
        "conv",
        tuple(Case(s, a) for s, a in _CONV),
        conv,
        FLOATS + COMPLEX,
        grad_dtypes=_BOTH,
        exempt={"infinite_gradient": PADDING, "local": PADDING, "limits": PADDING},
    ),
    Row(
        "conv_grad_input",
        _conv_cases("input"),
        conv_grad_input,
        FLOATS + COMPLEX,
        grad_dtypes=_BOTH,
        exempt={
            "infinite_gradient": PADDING,
            "local": PADDING,
            "limits": PADDING,
            "special": "the reference convolves unit vectors, in which infinities meet zeros",
            "empty": "an attribute tells a shape, which emptied inputs do not fit",
        },
    ),
    Row(
        "conv_grad_filter",
        _conv_cases("filter"),
        conv_grad_filter,
        FLOATS + COMPLEX,
        grad_dtypes=_BOTH,
        exempt={
            "infinite_gradient": PADDING,
            "local": PADDING,
            "limits": PADDING,
            "special": "the reference convolves unit vectors, in which infinities meet zeros",
            "empty": "an attribute tells a shape, which emptied inputs do not fit",
        },
    ),
    Row(
        "layer_norm",
        (
            Case(((2, 3), (3,), (3,)), {"epsilon": 1e-5, "begin_norm_axis": 1}),
            Case(((2, 3, 4), (12,), None), {"epsilon": 1e-5, "begin_norm_axis": 1}),
            Case(((2, 3, 4), None, None), {"epsilon": 1e-3, "begin_norm_axis": 2}),
        ),
        lambda *args, **attrs: layer_norm(*args, **attrs)[0],
        FLOATS,
        outputs_differentiable=(0,),
        exempt={
            "limits": "an infinity leaves no mean and no variance",
            "tails": "the variance of such values overflows",
        },
    ),
    Row(
        "layer_norm_grad",
        (
            Case(((2, 3), (3,), (2,), np.array([0.5, 1.5]), (2, 3)), {"epsilon": 1e-5, "begin_norm_axis": 1}),
            Case(((2, 3), None, (2,), np.array([0.5, 1.5]), (2, 3)), {"epsilon": 1e-5, "begin_norm_axis": 1}),
        ),
        layer_norm_grad,
        ("float64",),
        order=0,
        reason=_FUSED,
    ),
    Row(
        "batch_norm",
        (
            Case(((4, 3), (3,), (3,)), {"epsilon": 1e-5}),
            Case(((2, 3, 2, 2), (3,), None), {"epsilon": 1e-5}),
            Case(((2, 3, 4), None, None), {"epsilon": 1e-3}),
        ),
        batch_norm,
        FLOATS,
        outputs_differentiable=(0,),
        exempt={
            "limits": "an infinity leaves no mean and no variance",
            "tails": "the variance of such values overflows",
        },
    ),
    Row(
        "batch_norm_grad",
        (
            Case(((4, 3), (3,), (3,), _POSITIVE, (4, 3)), {"epsilon": 1e-5}),
            Case(((2, 3, 2), None, (3,), _POSITIVE, (2, 3, 2)), {"epsilon": 1e-5}),
        ),
        batch_norm_grad,
        ("float64",),
        order=0,
        reason=_FUSED,
    ),
    Row(
        "update_running_",
        (Case(((3,), (3,), (3,), (3,)), {"momentum": 0.9}),),
        update_running,
        order=0,
        reason="an operation that writes has no gradient",
    ),
    Row(
        "cross_entropy_with_softmax",
        (
            Case(((3, 3), _LABELS)),
            Case(((2, 3, 2), _IGNORED), {"axis": 1}),
            Case(((0, 3), np.zeros((0, 1), np.int64))),
        ),
        cross_entropy,
        (*FLOATS, "float16"),
        exempt={"limits": "the largest logit is subtracted first, and inf - inf is NaN (as in Paddle and torch)"},
    ),
    Row(
        "cross_entropy_with_softmax_grad",
        (
            Case(((3, 3), _LABELS, (3, 1)), {"ignore_index": -100, "axis": -1}),
            Case(((2, 3, 2), _IGNORED, (2, 1, 2)), {"ignore_index": -100, "axis": 1}),
        ),
        cross_entropy_grad,
        order=0,
        reason=_FUSED,
    ),
    Row(
        "label_one_hot",
        (Case((_IGNORED,), {"classes": 3, "ignore_index": -100, "axis": 1, "dtype": "float32"}),),
        one_hot,
        ("int64",),
        order=0,
        reason="the input is integers",
    ),
)
