"""Helpers for parameters and their gradients. Source: paddle.nn.utils."""

import math
from collections.abc import Iterable
from typing import Any

from wherry import _C_ops
from wherry.autograd.inplace import write_value
from wherry.autograd.modes import no_grad
from wherry.autograd.structures import TensorBase

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]


def _listed(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, TensorBase) else list(parameters)


def parameters_to_vector(parameters: Iterable[Any], name: str | None = None) -> Any:
    """All parameters, flattened one after the other (recorded). Source: paddle.nn.utils.parameters_to_vector."""
    return _C_ops.concat([_C_ops.reshape(p, (-1,)) for p in parameters], 0)


def vector_to_parameters(vec: Any, parameters: Iterable[Any], name: str | None = None) -> None:
    """Overwrite parameters with the parts of a vector. Raises ValueError where its length is not theirs together.

    Source: paddle.nn.utils.vector_to_parameters.
    """
    targets = list(parameters)
    total = sum(p.size for p in targets)
    if list(vec.shape) != [total]:
        raise ValueError(
            f"vector_to_parameters: expected a vector of {total} elements, received shape {list(vec.shape)}"
        )
    start = 0
    for parameter in targets:
        part = vec.impl.array[start : start + parameter.size]
        write_value(parameter, part.reshape(parameter.impl.meta.shape), "vector_to_parameters")
        start += parameter.size


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale all gradients, in place, so that their norm together is at most max_norm; returns the norm before.

    Raises RuntimeError for a norm that is nan or infinite with error_if_nonfinite. Source: paddle.nn.utils.clip_grad_norm_.
    """
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    norm_type = float(norm_type)
    with no_grad():
        if not grads:
            return _C_ops.full((), 0.0)
        if norm_type == math.inf:
            norms = [_C_ops.max(_C_ops.abs(g), (), False) for g in grads]
            total = _C_ops.max(_C_ops.stack(norms, 0), (), False)
        else:
            powers = [_C_ops.sum(_C_ops.abs(g) ** norm_type, (), None, False) for g in grads]
            total = _C_ops.sum(_C_ops.stack(powers, 0), (), None, False) ** (1.0 / norm_type)
        if error_if_nonfinite and not math.isfinite(float(total)):
            raise RuntimeError(
                f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {float(total)}, so it cannot be clipped"
            )
        factor = max_norm / (float(total) + 1e-6)
        if factor < 1.0:
            for grad in grads:
                grad.scale_(factor)
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Clip every element of the gradients, in place, to +-clip_value. Source: paddle.nn.utils.clip_grad_value_."""
    with no_grad():
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clip_(-float(clip_value), float(clip_value))
