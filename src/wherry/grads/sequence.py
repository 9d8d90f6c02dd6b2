"""Derivative rules of losses over sequences."""

from wherry.grads.common import Ops, Value


def _product(ops: Ops, slope: Value, grad: Value) -> Value:
    """slope * grad, and 0 where the loss is constant, be the gradient infinite."""
    return ops.where(ops.equal(slope, 0.0), 0.0, ops.multiply(slope, grad))


def warpctc_rule(
    ops: Ops,
    logits: Value,
    label: Value,
    logits_length: Value,
    labels_length: Value,
    loss_grad: Value,
    blank: int,
    norm_by_times: bool,
) -> Value:
    return ops.warpctc_grad(logits, label, logits_length, labels_length, loss_grad, blank, norm_by_times)


def warpctc_grad_logits(
    ops: Ops,
    logits: Value,
    label: Value,
    logits_length: Value,
    labels_length: Value,
    loss_grad: Value,
    logits_grad_grad: Value,
    blank: int,
    norm_by_times: bool,
) -> Value:
    return ops.warpctc_double_grad(
        logits, label, logits_length, labels_length, loss_grad, logits_grad_grad, blank, norm_by_times
    )


def warpctc_grad_loss_grad(
    ops: Ops,
    logits: Value,
    label: Value,
    logits_length: Value,
    labels_length: Value,
    loss_grad: Value,
    logits_grad_grad: Value,
    blank: int,
    norm_by_times: bool,
) -> Value:
    ones = ops.full_like(loss_grad, 1.0)
    slope = ops.warpctc_grad(logits, label, logits_length, labels_length, ones, blank, norm_by_times)
    total = ops.sum(_product(ops, slope, logits_grad_grad), (0, 2), None, False)
    return ops.reshape(total, loss_grad.meta.shape)


def warprnnt_rule(
    ops: Ops,
    input: Value,
    label: Value,
    input_lengths: Value,
    label_lengths: Value,
    loss_grad: Value,
    blank: int,
    fastemit_lambda: float,
) -> Value:
    return ops.warprnnt_grad(input, label, input_lengths, label_lengths, loss_grad, blank, fastemit_lambda)


def warprnnt_grad_input(
    ops: Ops,
    input: Value,
    label: Value,
    input_lengths: Value,
    label_lengths: Value,
    loss_grad: Value,
    input_grad_grad: Value,
    blank: int,
    fastemit_lambda: float,
) -> Value:
    return ops.warprnnt_double_grad(
        input, label, input_lengths, label_lengths, loss_grad, input_grad_grad, blank, fastemit_lambda
    )


def warprnnt_grad_loss_grad(
    ops: Ops,
    input: Value,
    label: Value,
    input_lengths: Value,
    label_lengths: Value,
    loss_grad: Value,
    input_grad_grad: Value,
    blank: int,
    fastemit_lambda: float,
) -> Value:
    ones = ops.full_like(loss_grad, 1.0)
    slope = ops.warprnnt_grad(input, label, input_lengths, label_lengths, ones, blank, fastemit_lambda)
    return ops.sum(_product(ops, slope, input_grad_grad), (1, 2, 3), None, False)


def no_third_derivative(ops: Ops) -> Value:
    raise NotImplementedError("the third derivative of this loss is not supported; detach its second derivative")
