"""Derivative rules of gather, scatter and their kin."""

from wherry.core.meta import Meta
from wherry.grads.common import Ops, Value


def zeros(ops: Ops, meta: Meta, like: Value) -> Value:
    """Zeros of a meta's shape in the dtype of a gradient."""
    return ops.full(meta.shape, 0.0, like.meta.dtype, None)


def grown(ops: Ops, grad: Value, meta: Meta) -> Value:
    """A gradient with zeros behind, for values that were not used."""
    if grad.meta.shape == meta.shape:
        return grad
    paddings: list[int] = []
    for have, want in zip(grad.meta.shape, meta.shape):
        paddings += [0, want - have]
    return ops.pad(grad, tuple(paddings), 0.0)


def gather_grad_rule(ops: Ops, x_meta: Meta, index: Value, axis: int, out_grad: Value) -> Value:
    return ops.gather_grad(out_grad, index, axis, x_meta.shape)


def gather_double_grad(ops: Ops, index: Value, axis: int, out_grad: Value) -> Value:
    return ops.gather(out_grad, index, axis)


def index_add_grad_x(ops: Ops, out_grad: Value) -> Value:
    return out_grad


def index_add_grad_value(ops: Ops, index: Value, add_value_meta: Meta, axis: int, out_grad: Value) -> Value:
    return grown(ops, ops.index_select(out_grad, index, axis), add_value_meta)


def gather_nd_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value) -> Value:
    return ops.scatter_nd_add(zeros(ops, x_meta, out_grad), index, out_grad)


def scatter_nd_add_grad_x(ops: Ops, out_grad: Value) -> Value:
    return out_grad


def scatter_nd_add_grad_updates(ops: Ops, index: Value, out_grad: Value) -> Value:
    return ops.gather_nd(out_grad, index)


def scatter_grad_x(ops: Ops, index: Value, updates_meta: Meta, out_grad: Value) -> Value:
    return ops.scatter(out_grad, index, zeros(ops, updates_meta, out_grad), True)


def scatter_grad_updates(ops: Ops, index: Value, updates_meta: Meta, overwrite: bool, out_grad: Value) -> Value:
    if overwrite:
        return ops.scatter_grad(out_grad, index, updates_meta.shape)
    grad = ops.gather(out_grad, index, 0)
    if index.meta.ndim == 0:
        return ops.reshape(grad, updates_meta.shape)
    return grown(ops, grad, updates_meta)


def scatter_double_grad(ops: Ops, grad_meta: Meta, index: Value, out_grad: Value) -> Value:
    return ops.scatter(zeros(ops, grad_meta, out_grad), index, out_grad, True)


def index_sample_grad(ops: Ops, x_meta: Meta, index: Value, out_grad: Value) -> Value:
    return ops.put_along_axis(zeros(ops, x_meta, out_grad), index, out_grad, 1, "add", True)


def take_grad_rule(ops: Ops, x_meta: Meta, index: Value, mode: str, out_grad: Value) -> Value:
    return ops.take_grad(out_grad, index, mode, x_meta.shape)


def take_double_grad(ops: Ops, index: Value, mode: str, out_grad: Value) -> Value:
    return ops.take(out_grad, index, mode)


def take_along_axis_grad(ops: Ops, arr_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    return ops.put_along_axis(zeros(ops, arr_meta, out_grad), indices, out_grad, axis, "add", True)


def put_along_axis_grad_arr(
    ops: Ops,
    arr: Value,
    indices: Value,
    values: Value,
    axis: int,
    reduce: str,
    include_self: bool,
    out: Value,
    out_grad: Value,
) -> Value:
    if reduce == "assign" or not include_self:
        nothing = zeros(ops, indices.meta, out_grad)
        return ops.put_along_axis(out_grad, indices, nothing, axis, "assign", True)
    if reduce == "add":
        return out_grad
    if reduce == "mean":
        return ops.divide(out_grad, ops.put_along_axis_count(out_grad, indices, axis, True))
    if reduce in ("mul", "multiply"):
        ones = ops.full(arr.meta.shape, 1.0, arr.meta.dtype, None)
        return ops.multiply(out_grad, _conj(ops, ops.put_along_axis(ones, indices, values, axis, "mul", True)))
    share = ops.divide(out_grad, _ties(ops, arr, indices, values, axis, include_self, out, out_grad))
    return ops.where(ops.equal(arr, out), share, 0.0)


def put_along_axis_grad_values(
    ops: Ops,
    arr: Value,
    indices: Value,
    values: Value,
    axis: int,
    reduce: str,
    include_self: bool,
    out: Value,
    out_grad: Value,
) -> Value:
    if reduce == "assign":
        grad = ops.put_along_axis_grad(out_grad, indices, axis)
    elif reduce == "add":
        grad = ops.take_along_axis(out_grad, indices, axis)
    elif reduce == "mean":
        count = ops.put_along_axis_count(out_grad, indices, axis, include_self)
        grad = ops.take_along_axis(ops.divide(out_grad, count), indices, axis)
    elif reduce in ("mul", "multiply"):
        return _product_grad(ops, arr, indices, values, axis, include_self, out_grad)
    else:
        ties = _ties(ops, arr, indices, values, axis, include_self, out, out_grad)
        grad = ops.take_along_axis(ops.divide(out_grad, ties), indices, axis)
        grad = ops.where(_same_values(ops, indices, values, axis, out), grad, 0.0)
    return grown(ops, grad, values.meta)


def _conj(ops: Ops, x: Value) -> Value:
    return ops.conj(x) if x.meta.dtype.is_complex else x


def _used(ops: Ops, values: Value, indices: Value) -> Value:
    """The values that belong to an index."""
    if values.meta.shape == indices.meta.shape:
        return values
    ndim = values.meta.ndim
    return ops.slice(values, tuple(range(ndim)), (0,) * ndim, indices.meta.shape)


def _same_values(ops: Ops, indices: Value, values: Value, axis: int, out: Value) -> Value:
    """Where a value is the result (a maximum or minimum)."""
    return ops.equal(_used(ops, values, indices), ops.take_along_axis(out, indices, axis))


def _ties(
    ops: Ops, arr: Value, indices: Value, values: Value, axis: int, include_self: bool, out: Value, out_grad: Value
) -> Value:
    """How many of the candidates are the result, among which the gradient is shared evenly; at least one."""
    own = ops.cast(ops.equal(arr, out), out_grad.meta.dtype)
    same = ops.cast(_same_values(ops, indices, values, axis, out), out_grad.meta.dtype)
    return ops.put_along_axis(own, indices, same, axis, "add", include_self)


def _product_grad(
    ops: Ops, arr: Value, indices: Value, values: Value, axis: int, include_self: bool, out_grad: Value
) -> Value:
    """For each value the product of all other factors: of those before it and of those after it, so that none is divided by."""
    used = _used(ops, values, indices)
    dtype = used.meta.dtype
    order, place, first = ops.put_along_axis_order(indices, arr.meta.shape, axis)
    sorted_values = ops.take(used, order)
    begins = ops.cast(first, dtype)
    links = ops.where(first, 0.0, sorted_values)
    left = ops.linear_scan(ops.where(first, 0.0, ops.shift(sorted_values, 1)), begins, False)
    right = ops.linear_scan(links, ops.shift(begins, -1, 1.0), True)
    others = ops.take(ops.multiply(left, right), ops.reshape(place, indices.meta.shape))
    if include_self:
        others = ops.multiply(others, ops.take_along_axis(arr, indices, axis))
    grad = ops.multiply(ops.take_along_axis(out_grad, indices, axis), _conj(ops, others))
    return grown(ops, grad, values.meta)


def put_along_axis_double_grad(ops: Ops, grad_meta: Meta, indices: Value, axis: int, out_grad: Value) -> Value:
    return ops.put_along_axis(zeros(ops, grad_meta, out_grad), indices, out_grad, axis, "assign", True)
