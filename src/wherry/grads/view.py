"""Derivative rules of the view operations; each is linear."""

from typing import Any

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value


def view_replay_grad_rule(ops: Ops, x_meta: Meta, out_grad: Value, chain: tuple[Any, ...]) -> Value:
    return ops.view_replay_grad(out_grad, chain, x_meta.shape, x_meta.dtype)


def view_replay_double_grad(ops: Ops, out_grad: Value, chain: tuple[Any, ...]) -> Value:
    return ops.view_replay(out_grad, chain)


def view_scatter_grad_x(ops: Ops, value_meta: Meta, out_grad: Value, chain: tuple[Any, ...]) -> Value:
    zeros = ops.full(value_meta.shape, 0.0, value_meta.dtype, None)
    return ops.view_scatter(out_grad, zeros, chain)


def view_scatter_grad_value(ops: Ops, out_grad: Value, chain: tuple[Any, ...]) -> Value:
    return ops.view_replay(out_grad, chain)
