"""`jacobian` and `hessian`: matrices of derivatives, computed a row at a time when they are asked for."""

from collections.abc import Callable, Sequence
from typing import Any

from wherry.autograd.history import REGISTRY
from wherry.autograd.run import grad
from wherry.autograd.structures import TensorBase


class LazyMatrix:
    """A matrix of derivatives whose rows are computed on first use and kept. Indexing and arithmetic are those of the Tensor it stands for.

    rows: how many; None where the output has no such axis (it was 0-D). row(i): row i as a Tensor. axis: where the rows lie in `shape`.
    """

    def __init__(self, shape: Sequence[int], rows: int | None, axis: int, row: Callable[[int], Any]) -> None:
        self._shape = list(shape)
        self._rows = rows
        self._axis = axis
        self._row = row
        self._known: dict[int, Any] = {}

    @property
    def shape(self) -> Any:
        """The dimensions of the whole matrix."""
        return list(self._shape)

    def _at(self, i: int) -> Any:
        found = self._known.get(i)
        if found is None:
            found = self._row(i)
            self._known[i] = found
        return found

    def _evaluate_all(self) -> Any:
        if self._rows is None:
            return self._at(0)
        return REGISTRY.recorded_ops.stack([self._at(i) for i in range(self._rows)], self._axis)

    def __getitem__(self, index: Any) -> Any:
        if not self._shape:
            raise IndexError(
                "jacobian: expected no index, received one: the derivative of a 0-D by a 0-D tensor is 0-D"
            )
        keys = list(index) if isinstance(index, tuple) else [index]
        axis, rows = self._axis, self._rows
        plain = all(isinstance(k, (int, slice)) for k in keys)
        if rows is None or not plain or len(keys) <= axis:
            return self._evaluate_all()[index]
        if len(keys) > len(self._shape):
            raise IndexError(
                f"jacobian: expected at most {len(self._shape)} indices for the shape {self._shape}, received {len(keys)}"
            )
        # Only the rows that the key names are computed.
        key = keys[axis]
        if isinstance(key, int):
            if not -rows <= key < rows:
                raise IndexError(f"jacobian: the row {key} is out of range for the shape {self._shape}")
            rest = keys[:axis] + keys[axis + 1 :]
            part = self._at(key % rows)
            return part[tuple(rest)] if rest else part
        chosen = range(rows)[key]
        if len(chosen) == 0:
            return self._evaluate_all()[index]
        stacked = REGISTRY.recorded_ops.stack([self._at(i) for i in chosen], axis)
        keys[axis] = slice(None)
        return stacked[tuple(keys)]

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-D matrix of derivatives")
        return self._shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._evaluate_all(), name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._evaluate_all()!r})"

    __hash__ = object.__hash__


def _operator(name: str) -> Callable[[LazyMatrix, Any], Any]:
    def apply(self: LazyMatrix, other: Any) -> Any:
        if isinstance(other, LazyMatrix):
            other = other._evaluate_all()
        return getattr(self._evaluate_all(), name)(other)

    apply.__name__ = name
    return apply


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "matmul"):
    setattr(LazyMatrix, f"__{_name}__", _operator(f"__{_name}__"))
    if _name != "matmul":
        setattr(LazyMatrix, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(LazyMatrix, f"__{_name}__", _operator(f"__{_name}__"))


class Jacobian(LazyMatrix):
    """The derivatives of ys by xs; made by `jacobian`. Source: paddle.autograd.Jacobian."""


class Hessian(Jacobian):
    """The second derivatives of a number by xs; made by `hessian`. Source: paddle.autograd.Hessian."""


def derivative(y: Any, x: Any) -> Any:
    """dy/dx of a 0-D (or summed) y, recorded; zeros where y does not depend on x."""
    if y._stop_gradient:
        return REGISTRY.recorded_ops.full_like(x, 0.0)
    found = grad([y], [x], create_graph=True, allow_unused=True)[0]
    return REGISTRY.recorded_ops.full_like(x, 0.0) if found is None else found


def matrix(ys: Any, xs: Any, batched: bool, kind: type[LazyMatrix], function: str) -> LazyMatrix:
    """The matrix of one output and one input."""
    if isinstance(ys, LazyMatrix):
        ys = ys._evaluate_all()
    for name, value in (("ys", ys), ("xs", xs)):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"{function}: expected a Tensor or a tuple of Tensors for {name!r}, received {type(value).__name__}"
            )
        low, high = (1, 2) if batched else (0, 1)
        if not low <= value.impl.meta.ndim <= high:
            raise ValueError(
                f"{function}: expected {name!r} of {low} or {high} dimensions with batch_axis={0 if batched else None}, received shape "
                f"{list(value.impl.meta.shape)}; reshape it first"
            )
    y_shape, x_shape = list(ys.impl.meta.shape), list(xs.impl.meta.shape)
    if not batched:
        rows = y_shape[0] if y_shape else None
        return kind(y_shape + x_shape, rows, 0, lambda i: derivative(ys[i] if y_shape else ys, xs))
    if y_shape[0] != x_shape[0]:
        raise ValueError(
            f"{function}: expected the same batch size in 'ys' and 'xs', received {y_shape[0]} and {x_shape[0]}"
        )
    rows = y_shape[1] if len(y_shape) == 2 else None
    ops = REGISTRY.recorded_ops
    # Samples do not depend on one another, so one pass from the sum over the batch gives the row of every sample.
    return kind(
        x_shape[:1] + y_shape[1:] + x_shape[1:],
        rows,
        1,
        lambda i: derivative(ops.sum(ys[:, i] if rows is not None else ys), xs),
    )


def checked_axis(batch_axis: int | None, function: str) -> bool:
    """Whether axis 0 is the batch; raises ValueError for another axis."""
    if batch_axis is not None and (isinstance(batch_axis, bool) or batch_axis != 0):
        raise ValueError(f"{function}: expected batch_axis None or 0, received {batch_axis!r}")
    return batch_axis is not None


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The Jacobian matrix of ys with respect to xs, row by row as it is indexed; differentiable again.

    ys, xs: Tensors, or tuples of them: the result is then a tuple (ys outside, xs inside) of Jacobians. batch_axis None: 0-D or 1-D tensors of
    sizes M and N give [M, N], a 0-D one has no axis. batch_axis 0: [B, M] and [B, N] give [B, M, N]; samples must not depend on one another. An
    index of ints and slices computes only the rows it names. Raises TypeError for other types, ValueError for other shapes or batch_axis.
    Source: paddle.autograd.jacobian.
    """
    batched = checked_axis(batch_axis, "jacobian")
    return nested(ys, xs, batched, Jacobian, "jacobian")


def nested(ys: Any, xs: Any, batched: bool, kind: type[LazyMatrix], function: str) -> Any:
    """Matrices in the structure of ys (outside) and xs (inside)."""
    if isinstance(ys, (list, tuple)):
        return tuple(nested(y, xs, batched, kind, function) for y in ys)
    if isinstance(xs, (list, tuple)):
        return tuple(matrix(ys, x, batched, kind, function) for x in xs)
    return matrix(ys, xs, batched, kind, function)


def hessian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The Hessian matrix of a number ys with respect to xs, row by row as it is indexed.

    ys: a Tensor of one element, or with batch_axis=0 of one element for each sample. xs: a Tensor or a tuple of k Tensors, which gives k x k
    Hessians. Shapes as in `jacobian`. Raises ValueError for a ys of more elements. Source: paddle.autograd.hessian.
    """
    batched = checked_axis(batch_axis, "hessian")
    if not isinstance(ys, TensorBase):
        raise TypeError(f"hessian: expected a Tensor for 'ys', received {type(ys).__name__}")
    shape: tuple[int, ...] = ys.impl.meta.shape
    wanted = shape[0] if batched and shape else 1
    if ys.impl.array.size != wanted or (batched and not shape):
        one = "one element for each sample" if batched else "one element"
        raise ValueError(f"hessian: expected {one} in 'ys', received shape {list(shape)}")
    ys = REGISTRY.recorded_ops.reshape(ys, [wanted] if batched else [])
    first = nested(ys, xs, batched, Jacobian, "hessian")
    return nested(first, xs, batched, Hessian, "hessian")
