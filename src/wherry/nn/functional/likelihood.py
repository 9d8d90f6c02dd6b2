"""Losses of distributions and of overlaps. Source: paddle.nn.functional.loss."""

import math

from wherry import _C_ops
from wherry.nn.functional.loss import _reduced, _same_shape
from wherry.nn.functional.margin import NOTHING_IGNORED
from wherry.tensor.tensor import Tensor

__all__ = ["dice_loss", "gaussian_nll_loss", "npair_loss", "poisson_nll_loss"]


def poisson_nll_loss(
    input: Tensor,
    label: Tensor,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions with mean exp(input), or input with log_input=False.

    full: adds Stirling's approximation of log(label!) where the label is above 1. epsilon: added to the mean inside the logarithm. Raises
    ValueError for shapes that differ, an epsilon that is not positive, another reduction. Source: paddle.nn.functional.poisson_nll_loss.
    """
    if epsilon <= 0:
        raise ValueError(f"poisson_nll_loss: expected a positive epsilon, received {epsilon}")
    for argument, tensor in (("input", input), ("label", label)):
        if not tensor.dtype.is_floating:
            raise TypeError(f"poisson_nll_loss: expected a floating {argument}, received {tensor.dtype.name}")
    _same_shape(input, label, "poisson_nll_loss")
    if log_input:
        loss = _C_ops.subtract(_C_ops.exp(input), _C_ops.multiply(label, input))
    else:
        loss = _C_ops.subtract(input, _C_ops.multiply(label, _C_ops.log(_C_ops.scale(input, 1.0, epsilon, True))))
    if full:
        above = _C_ops.greater_than(label, 1.0)
        # What is not counted is set to 1, where the logarithms have no infinities for the gradient to meet.
        counts = _C_ops.where(above, label, _C_ops.full_like(label, 1.0))
        stirling = _C_ops.subtract(_C_ops.multiply(counts, _C_ops.log(counts)), counts)
        half = _C_ops.scale(_C_ops.log(_C_ops.scale(counts, 2.0 * math.pi, 0.0, True)), 0.5, 0.0, True)
        stirling = _C_ops.add(stirling, half)
        loss = _C_ops.add(loss, _C_ops.where(above, stirling, _C_ops.full_like(stirling, 0.0)))
    return _reduced(loss, reduction, "poisson_nll_loss")


def gaussian_nll_loss(
    input: Tensor,
    label: Tensor,
    variance: Tensor,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Negative log-likelihood of labels under Gaussians with mean `input`: half of log(variance) + (input - label)^2 / variance.

    variance: of input's shape, or without the last axis, or with 1 there; at least epsilon is taken. full: adds the constant. The gradient
    reaches the variance too. Raises ValueError for a negative variance, a shape that does not fit, another reduction, TypeError for a dtype that is
    not float32 or float64. Source: paddle.nn.functional.gaussian_nll_loss.
    """
    for argument, tensor in (("input", input), ("label", label), ("variance", variance)):
        if tensor.dtype.name not in ("float32", "float64"):
            raise TypeError(
                f"gaussian_nll_loss: expected {argument} of float32 or float64, received {tensor.dtype.name}"
            )
    shape, spread = list(input.shape), list(variance.shape)
    if spread != shape:
        if spread == shape[:-1]:
            variance = _C_ops.unsqueeze(variance, (-1,))
        elif not spread or spread != [*shape[:-1], 1]:
            raise ValueError(
                f"gaussian_nll_loss: expected a variance of input's shape {shape}, or without the last axis, or with 1 there, received {spread}"
            )
    if variance.size and _C_ops.min(variance, (), False).item() < 0:
        raise ValueError("gaussian_nll_loss: expected variances of at least 0, received a negative one")
    variance = _C_ops.maximum(variance, _C_ops.full_like(variance, epsilon))
    error = _C_ops.divide(_C_ops.square(_C_ops.subtract(input, label)), variance)
    constant = 0.5 * math.log(2.0 * math.pi) if full else 0.0
    loss = _C_ops.scale(_C_ops.add(_C_ops.log(variance), error), 0.5, constant, True)
    return _reduced(loss, reduction, "gaussian_nll_loss")


def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-5, name: str | None = None) -> Tensor:
    """1 - 2 * overlap / (size + size) of probabilities and one-hot labels, mean over the batch.

    input: [batch, ..., classes], float32 or float64; label: integers [batch, ..., 1]. Raises ValueError for shapes that do not fit or a label
    outside the classes, TypeError for dtypes. Source: paddle.nn.functional.dice_loss.
    """
    if input.dtype.name not in ("float32", "float64") or label.dtype.name not in ("int32", "int64"):
        raise TypeError(
            "dice_loss: expected input of float32 or float64 and label of int32 or int64, received "
            f"{input.dtype.name} and {label.dtype.name}"
        )
    if input.ndim < 2 or list(label.shape) != [*input.shape[:-1], 1]:
        raise ValueError(
            "dice_loss: expected input of two dimensions or more and labels of its shape with 1 at the end, received "
            f"{list(input.shape)} and {list(label.shape)}"
        )
    hot = _C_ops.label_one_hot(label, input.shape[-1], NOTHING_IGNORED, label.ndim - 1, input.dtype)
    axes = tuple(range(1, input.ndim))
    overlap = _C_ops.sum(_C_ops.multiply(input, hot), axes, None, False)
    sizes = _C_ops.add(_C_ops.sum(input, axes, None, False), _C_ops.sum(hot, axes, None, False))
    score = _C_ops.divide(_C_ops.scale(overlap, 2.0, 0.0, True), _C_ops.scale(sizes, 1.0, epsilon, True))
    return _C_ops.mean(_C_ops.scale(score, -1.0, 1.0, True), (), False)


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross entropy of the similarities anchor @ positive^T, where pairs of one label share the probability; plus l2_reg times a quarter of
    the mean squared lengths.

    anchor, positive: [batch, width]; labels: [batch]. Raises ValueError for no elements. Source: paddle.nn.functional.npair_loss.
    """
    for argument, tensor in (("anchor", anchor), ("positive", positive)):
        if not tensor.size:
            raise ValueError(f"npair_loss: expected elements in {argument}, received shape {list(tensor.shape)}")
    batch = labels.shape[0]
    column = _C_ops.reshape(labels, (batch, 1))
    same = _C_ops.cast(_C_ops.equal(column, _C_ops.transpose(column, (1, 0))), anchor.dtype)
    share = _C_ops.divide(same, _C_ops.sum(same, (1,), None, True))
    lengths = [_C_ops.mean(_C_ops.sum(_C_ops.square(x), (1,), None, False), (), False) for x in (anchor, positive)]
    penalty = _C_ops.scale(_C_ops.add(*lengths), 0.25 * l2_reg, 0.0, True)
    logs = _C_ops.log_softmax(_C_ops.matmul(anchor, positive, False, True), -1)
    entropy = _C_ops.scale(_C_ops.sum(_C_ops.multiply(share, logs), (1,), None, True), -1.0, 0.0, True)
    # Paddle weighs each row's entropy by its shares once more, whose sum is 1.
    return _C_ops.add(penalty, _C_ops.mean(_C_ops.sum(_C_ops.multiply(share, entropy), (0,), None, False), (), False))
