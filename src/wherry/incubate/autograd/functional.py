"""vjp, jvp, Jacobian and Hessian of functions."""

from collections.abc import Callable, Sequence
from typing import Any

from wherry import _C_ops
from wherry.autograd.jacobian import LazyMatrix
from wherry.autograd.run import grad
from wherry.autograd.structures import TensorBase


def checked_inputs(function: str, func: Any, xs: Any, v: Any) -> None:
    """Raise TypeError for anything that is not a function, a Tensor or a sequence of Tensors."""
    if not callable(func):
        raise TypeError(f"{function}: expected a function for 'func', received {type(func).__name__}")
    for name, value in (("xs", xs), ("v", v)):
        if value is None and name == "v":
            continue
        items = value if isinstance(value, (list, tuple)) else [value]
        for item in items:
            if not isinstance(item, TensorBase):
                raise TypeError(
                    f"{function}: expected a Tensor or a sequence of Tensors for {name!r}, received {type(item).__name__}"
                )


def separate(xs: Any) -> Any:
    """Copies that do not belong to the graph around them, except through clone where they do: leaves of the function's own graph."""
    if xs is None:
        return None
    if isinstance(xs, (list, tuple)):
        return tuple(separate(x) for x in xs)
    # A recorded copy keeps what lies behind x differentiable; gradients are taken of the copy.
    copy = _C_ops.assign(xs)
    copy.stop_gradient = False
    return copy


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One Tensor or a sequence as a tuple."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def gradients(ys: Any, xs: Any, v: Any) -> Any:
    """grad(ys, xs, v), recorded, in the structure of xs, with zeros where ys does not depend on an input."""
    sources = as_tuple(xs)
    outputs = [y for y in as_tuple(ys)]
    seeds = [None] * len(outputs) if v is None else list(as_tuple(v))
    pairs = [(y, s) for y, s in zip(outputs, seeds) if not y.stop_gradient]
    found: list[Any] = [None] * len(sources)
    if pairs:
        found = grad([y for y, _ in pairs], list(sources), [s for _, s in pairs], create_graph=True, allow_unused=True)
    full = [_C_ops.full_like(x, 0.0) if g is None else g for g, x in zip(found, sources)]
    return tuple(full) if isinstance(xs, (list, tuple)) else full[0]


def check_vector(function: str, v: Any, like: Any, what: str) -> None:
    """Raise where v does not have the structure and shapes of `like`."""
    if v is None:
        return
    given, wanted = as_tuple(v), as_tuple(like)
    if len(given) != len(wanted):
        raise RuntimeError(
            f"{function}: expected {len(wanted)} tensors in 'v', one for each of the function's {what}, received {len(given)}"
        )
    for i, (a, b) in enumerate(zip(given, wanted)):
        if list(a.shape) != list(b.shape):
            raise RuntimeError(
                f"{function}: expected shape {list(b.shape)} in 'v' at position {i}, as the {what}'s, received {list(a.shape)}"
            )


def call(func: Callable[..., Any], xs: Any) -> Any:
    """func of one tensor or of several."""
    return func(*xs) if isinstance(xs, tuple) else func(xs)


def vjp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """func(xs) and the product of v with its Jacobian (reverse mode).

    func: takes one Tensor or several, returns one or a sequence. xs: a Tensor or a sequence. v: of the shapes of func's outputs; ones by default.
    Returns (outputs, products), the products in the structure of xs, differentiable again. Raises TypeError for other types, RuntimeError for a v
    that does not fit. Source: paddle.incubate.autograd.vjp.
    """
    checked_inputs("vjp", func, xs, v)
    inputs = separate(xs)
    ys = call(func, inputs)
    check_vector("vjp", v, ys, "outputs")
    return ys, gradients(ys, inputs, v)


def jvp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """func(xs) and the product of its Jacobian with v (by differentiating the reverse pass).

    v: of the shapes of xs; ones by default. Returns (outputs, products), the products in the structure of the outputs. Raises as vjp does.
    Source: paddle.incubate.autograd.jvp.
    """
    checked_inputs("jvp", func, xs, v)
    inputs = separate(xs)
    ys = call(func, inputs)
    check_vector("jvp", v, inputs, "inputs")
    # u -> u^T J is linear in u; its derivative in the direction v is J v, whatever u is.
    seeds = [_C_ops.full_like(y, 0.0) for y in as_tuple(ys)]
    for seed in seeds:
        seed.stop_gradient = False
    products = gradients(ys, inputs, seeds)
    return ys, gradients(products, tuple(seeds) if isinstance(ys, (list, tuple)) else seeds[0], v)


def flat(tensors: tuple[Any, ...], batched: bool) -> Any:
    """Several tensors as one row (or one row for each sample), one after another."""
    pieces = [_C_ops.reshape(t, [t.shape[0], -1] if batched else [-1]) for t in tensors]
    return pieces[0] if len(pieces) == 1 else _C_ops.concat(pieces, -1)


class Jacobian(LazyMatrix):
    """The Jacobian matrix of a function: [N, M] for outputs of N and inputs of M elements, all flattened and joined; [B, N, M] if is_batched.

    func: takes one Tensor or several, returns one or a sequence. Rows are computed when they are indexed. Source: paddle.incubate.autograd.Jacobian.
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        checked_inputs("Jacobian", func, xs, None)
        inputs = as_tuple(separate(xs))
        ys = as_tuple(func(*inputs))
        outputs = flat(ys, is_batched)
        width = flat(inputs, is_batched).shape[-1]

        def row(i: int) -> Any:
            y = _C_ops.sum(outputs[:, i]) if is_batched else outputs[i]
            return flat(gradients(y, inputs, None), is_batched)

        rows = outputs.shape[-1]
        shape: Sequence[int] = [outputs.shape[0], rows, width] if is_batched else [rows, width]
        super().__init__(shape, rows, 1 if is_batched else 0, row)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the whole matrix."""
        return tuple(self._shape)


class Hessian(LazyMatrix):
    """The Hessian matrix of a function of one element (or one for each sample): [M, M], or [B, M, M] if is_batched.

    Source: paddle.incubate.autograd.Hessian. Raises RuntimeError for a function that returns more.
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        def first(*inputs: Any) -> Any:
            inner = Jacobian(func, inputs, is_batched)
            if inner.shape[1 if is_batched else 0] != 1:
                raise RuntimeError(
                    f"Hessian: expected a function of one element{' for each sample' if is_batched else ''}, received one whose Jacobian has "
                    f"shape {list(inner.shape)}"
                )
            return inner[:, 0, :] if is_batched else inner[0, :]

        outer = Jacobian(first, xs, is_batched)
        super().__init__(outer._shape, outer._rows, outer._axis, outer._row)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the whole matrix."""
        return tuple(self._shape)
