"""InferMeta of the optimizers' updates and of gradient clipping."""

from typing import Any

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.infermeta.common import real_dtype
from wherry.infermeta.registry import infer_meta

Metas = list[Meta]


@infer_meta("MergedUpdateInferMeta")
def merged_update(param: Metas, grad: Metas, *states: Metas | None) -> tuple[Any, ...]:
    """The lists that are written, as they are: all of one length, gradients and states of the parameters' shapes.

    A state of one element (a power of beta) is let through.
    """
    count = len(param)
    dtype = param[0].dtype if param else None
    for i, meta in enumerate(param):
        if meta.dtype is not dtype:
            raise TypeError(f"expected parameters of one dtype, received {param[0]!r} and {meta!r}")
        check("gradient", grad, i, meta, count)
        # Gradients of half parameters may be kept in float32 (amp.decorate with master_grad).
        if grad[i].dtype is not meta.dtype and not (grad[i].dtype is dt.float32 and meta.dtype.itemsize == 2):
            raise TypeError(f"expected a gradient of the parameter's dtype {meta.dtype.name}, received {grad[i]!r}")
        for state in states:
            if state is not None:
                check("state", state, i, meta, count)
    return (param, *states)


@infer_meta("PackedAdamInferMeta")
def packed_adam(
    param: Metas, grad: Metas, moment1: Meta, moment2: Meta, beta1_pow: Metas, beta2_pow: Metas
) -> tuple[Any, ...]:
    """What is written, as it is: the moments have as many elements as the parameters together."""
    merged_update(param, grad, beta1_pow, beta2_pow)
    total = 0
    for meta in param:
        total += meta.size
    for moment in (moment1, moment2):
        if moment.shape != (total,):
            raise ValueError(f"expected moments of shape [{total}], received {list(moment.shape)}")
    return param, moment1, moment2, beta1_pow, beta2_pow


def check(what: str, metas: Metas, i: int, param: Meta, count: int) -> None:
    """Raise ValueError for a list of another length or a tensor of another shape."""
    if len(metas) != count:
        raise ValueError(f"expected a {what} for each of {count} parameters, received {len(metas)}")
    meta = metas[i]
    if meta.shape != param.shape and not (what == "state" and meta.shape == (1,)):
        raise ValueError(f"expected a {what} of the parameter's shape {list(param.shape)}, received {list(meta.shape)}")


@infer_meta("SquaredL2NormInferMeta")
def squared_l2_norm(x: Meta) -> Meta:
    """One real element; float32 for halves."""
    dtype = real_dtype(x.dtype)
    return Meta((1,), dt.float32 if dtype.itemsize == 2 else dtype)
