"""Losses over sequences, and masks of their lengths. Source: paddle.nn.functional."""

from typing import Any

from wherry import _C_ops
from wherry.core.dtype import convert_dtype
from wherry.nn.functional.loss import _reduced
from wherry.tensor.tensor import Tensor

__all__ = ["ctc_loss", "rnnt_loss", "sequence_mask"]


def sequence_mask(x: Tensor, maxlen: int | None = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """1 at the first x places of a new last axis of length maxlen, 0 at the others.

    x: lengths of any shape. maxlen: a number, or a tensor of one; the largest length where it is None or negative. The result has no gradient.
    Source: paddle.nn.functional.sequence_mask.
    """
    if isinstance(maxlen, Tensor):
        maxlen = int(maxlen.item())
    if maxlen is None or maxlen < 0:
        maxlen = max(int(_C_ops.max(x, (), False).item()), 0) if x.size else 0
    lengths = _C_ops.unsqueeze(x.detach(), (-1,))
    places = _C_ops.cast(_C_ops.arange(0, int(maxlen), 1, convert_dtype("int64")), x.dtype)
    return _C_ops.cast(_C_ops.less_than(places, lengths), convert_dtype(dtype))


def ctc_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: -log of the probability of the labels, over all alignments with the steps.

    log_probs: [steps, batch, classes], float32 or float64; their softmax is taken here, so logits do as well as log-probabilities. labels: [batch, most
    labels], integers. input_lengths, label_lengths: [batch]. "mean" divides each loss by its number of labels first. norm_by_times
    divides the gradient (not the loss) by the number of steps. A sequence of too few steps for its labels counts 0, as in Paddle;
    zero_infinity sets the infinite losses of labels of probability 0 to 0. Raises ValueError for shapes, lengths, labels or a blank that do not fit, TypeError for labels or lengths
    that are not integers. Derivatives go to the second order. Source: paddle.nn.functional.ctc_loss.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"ctc_loss: expected reduction 'mean', 'sum' or 'none', received {reduction!r}")
    loss = _C_ops.warpctc(log_probs, labels, input_lengths, label_lengths, blank, norm_by_times)
    loss = _C_ops.squeeze(loss, (-1,))
    if zero_infinity:
        loss = _C_ops.where(_C_ops.isinf(loss), _C_ops.full_like(loss, 0.0), loss)
    if reduction == "mean":
        loss = _C_ops.divide(loss, _C_ops.cast(label_lengths, loss.dtype))
    return _reduced(loss, reduction, "ctc_loss")


def rnnt_loss(
    input: Tensor,
    label: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    fastemit_lambda: float = 0.001,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The loss of a transducer: -log of the probability of the labels, over all ways through steps and labels.

    input: log-probabilities [batch, steps, most labels + 1, classes], float32 or float64. label: [batch, most labels], integers. input_lengths,
    label_lengths: [batch]. fastemit_lambda: gradients of labels (not of blanks) count 1 + fastemit_lambda times; the loss does not change. Raises
    ValueError for shapes, lengths, labels or a blank that do not fit, TypeError for
    labels or lengths that are not integers. Derivatives go to the second order. Source: paddle.nn.functional.rnnt_loss.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"rnnt_loss: expected reduction 'mean', 'sum' or 'none', received {reduction!r}")
    loss = _C_ops.warprnnt(input, label, input_lengths, label_lengths, blank, fastemit_lambda)
    return _reduced(loss, reduction, "rnnt_loss")
