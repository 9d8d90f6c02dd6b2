"""Shapes, indices, sorting and creation in torch."""

from typing import Any

from tests.oracle.torch_call import NotInTorch, TorchCall, torch, torch_dtype, transpose_of


def modulo(indices: Any, size: int) -> Any:
    """Indices counted from the front, in the dtype that torch takes."""
    indices = indices.long()
    return torch.where(indices < 0, indices + size, indices)


def squeezed(x: Any, axis: Any) -> Any:
    if not axis:
        return torch.squeeze(x)
    return torch.squeeze(x, tuple(a for a in axis if x.ndim and x.shape[a] == 1))


def unsqueezed(x: Any, axis: Any) -> Any:
    for a in axis:
        x = torch.unsqueeze(x, a)
    return x


def reshaped(x: Any, shape: Any) -> Any:
    return torch.reshape(x, tuple(x.shape[i] if n == 0 and i < x.ndim else n for i, n in enumerate(shape)))


def expanded(x: Any, shape: Any) -> Any:
    return x.expand(tuple(shape))


def sliced(x: Any, axes: Any, starts: Any, ends: Any, strides: Any = None) -> Any:
    key = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        step = strides[i] if strides else 1
        if step < 0:
            raise NotInTorch("steps backwards")
        key[axis] = slice(starts[i], ends[i], step)
    return x[tuple(key)]


def padded(x: Any, paddings: Any, pad_value: Any = 0.0, mode: str = "constant") -> Any:
    pairs = [(paddings[2 * i], paddings[2 * i + 1]) for i in range(x.ndim)]
    flat = [n for pair in reversed(pairs) for n in pair]
    if mode == "constant":
        return torch.nn.functional.pad(x, flat, value=pad_value)
    # One axis at a time, as a batch of lines.
    for axis, pair in enumerate(pairs):
        if pair != (0, 0):
            moved = x.movedim(axis, -1)
            lines = torch.nn.functional.pad(moved.reshape(1, -1, moved.shape[-1]), pair, mode=mode)
            x = lines.reshape(*moved.shape[:-1], -1).movedim(-1, axis)
    return x


def shifted(x: Any, offset: int, fill: float) -> Any:
    length = x.shape[-1]
    room = x.new_full((*x.shape[:-1], min(abs(offset), length)), fill)
    if offset >= 0:
        return torch.cat((room, x[..., : max(length - offset, 0)]), -1)
    return torch.cat((x[..., -offset:], room), -1)


def diagonal_of(x: Any, offset: int, padding_value: float) -> Any:
    if x.ndim == 2 or padding_value == 0:
        return torch.diag(x, offset)
    mask = torch.diag(torch.ones_like(x), offset) != 0
    return torch.where(mask, torch.diag(x, offset), padding_value)


def windows(x: Any, axis: int, size: int, step: int) -> Any:
    return x.unfold(axis, size, step) if x.ndim else x.reshape(1)[:size]


def basic(x: Any, spec: Any) -> Any:
    if any(isinstance(s, slice) and (s.step or 1) < 0 for s in spec):
        raise NotInTorch("steps backwards")
    return x[tuple(spec)]


def key_of(x: Any, indices: Any, spec: Any) -> Any:
    """The view that the arrays index, and the key."""
    if len(spec) > 2:
        raise NotInTorch("an index into several axes at once")
    key: list[Any] = [slice(None)] * (spec[1][-1] + 1)
    for axis, index in zip(spec[1], indices):
        key[axis] = index.long()
    return basic(x, spec[0]), tuple(key)


def advanced(x: Any, indices: Any, spec: Any) -> Any:
    view, key = key_of(x, indices, spec)
    return view[key]


def written_basic(x: Any, value: Any, spec: Any) -> Any:
    out = x.clone()
    region = basic(out, spec)
    region[...] = value.reshape(value.shape[max(0, value.ndim - region.ndim) :])
    return out


def written(x: Any, value: Any, indices: Any, spec: Any, accumulate: bool) -> Any:
    if not accumulate:
        raise NotInTorch("of several values for an element torch keeps any, and gives all of them its gradient")
    out = x.clone()
    view, key = key_of(out, indices, spec)
    if any(s is None for s in spec[0]):
        raise NotInTorch("index_put_ of a view with new axes")
    region = view[key]
    value = value.reshape(value.shape[max(0, value.ndim - region.ndim) :]).expand(region.shape)
    full = [k if isinstance(k, torch.Tensor) else None for k in key]
    if None in full:
        numbers = torch.arange(out.numel()).reshape(out.shape)
        places = key_of(numbers, indices, spec)[0][key].reshape(-1)
        return out.reshape(-1).index_add(0, places, value.reshape(-1)).reshape(out.shape)
    places = torch.arange(out.numel()).reshape(out.shape)
    return (
        out.reshape(-1)
        .index_add(0, key_of(places, indices, spec)[0][key].reshape(-1), value.reshape(-1))
        .reshape(out.shape)
    )


def gathered(x: Any, index: Any, axis: int) -> Any:
    found = torch.index_select(x, axis, modulo(index.reshape(-1), x.shape[axis]))
    return found.squeeze(axis) if index.ndim == 0 else found


def gathered_nd(x: Any, index: Any) -> Any:
    if index.shape[-1] == 0:
        return x.expand(*index.shape[:-1], *x.shape).clone()
    return x[tuple(index.long().unbind(-1))]


def added_nd(x: Any, index: Any, updates: Any) -> Any:
    if index.shape[-1] == 0:
        return x + updates.reshape(-1, *x.shape).sum(0)
    return x.index_put(tuple(index.long().unbind(-1)), updates, accumulate=True)


def scattered(x: Any, index: Any, updates: Any, overwrite: bool) -> Any:
    if index.ndim == 0:
        index, updates = index.reshape(1), updates.reshape(1, *x.shape[1:])
    index = modulo(index.reshape(-1), x.shape[0])
    updates = updates[: index.numel()]
    if overwrite:
        if len(set(index.tolist())) < index.numel():
            raise NotInTorch("of several values for a row torch keeps any, and gives all of them its gradient")
        return torch.index_copy(x, 0, index, updates)
    return torch.index_add(torch.index_fill(x, 0, index, 0), 0, index, updates)


def index_of(index: Any, size: int, mode: str) -> Any:
    if mode == "wrap":
        return index.long() % size
    return index.long().clamp(0, size - 1) if mode == "clip" else modulo(index, size)


def taken(x: Any, index: Any, mode: str) -> Any:
    return torch.take(x, index_of(index, x.numel(), mode))


def taken_along(arr: Any, indices: Any, axis: int) -> Any:
    return torch.gather(arr, axis, modulo(indices, arr.shape[axis]))


def put(arr: Any, indices: Any, values: Any, axis: int, reduce: str, include_self: bool) -> Any:
    index = modulo(indices, arr.shape[axis])
    values = values[tuple(slice(0, n) for n in index.shape)]
    if reduce == "assign":
        places = torch.zeros(arr.shape).scatter_add(axis, index, torch.ones(index.shape))
        if (places > 1).any():
            raise NotInTorch("of several values for an element torch keeps any, and gives all of them its gradient")
        return torch.scatter(arr, axis, index, values)
    if arr.is_complex():
        raise NotInTorch("scatter_reduce of complex numbers")
    name = {"add": "sum", "mul": "prod", "multiply": "prod"}.get(reduce, reduce)
    return torch.scatter_reduce(arr, axis, index, values, name, include_self=include_self)


def counted(arr: Any, indices: Any, axis: int, include_self: bool) -> Any:
    index = modulo(indices, arr.shape[axis])
    count = torch.zeros_like(arr).scatter_add(axis, index, torch.ones(index.shape, dtype=arr.dtype))
    return count + 1 if include_self else count.clamp(min=1)


def spread(mask: Any, values: Any) -> Any:
    return torch.zeros(mask.shape, dtype=values.dtype).masked_scatter(mask != 0, values)


def embedded(x: Any, weight: Any, padding_idx: int) -> Any:
    kept = (x != padding_idx).unsqueeze(-1)
    return torch.where(kept, torch.nn.functional.embedding(x.long(), weight), torch.zeros((), dtype=weight.dtype))


def hot(label: Any, classes: int, ignore_index: int, axis: int, dtype: Any) -> Any:
    moved = label.movedim(axis, -1)
    found = (moved == torch.arange(classes)) & (moved != ignore_index)
    return found.movedim(-1, axis).to(torch_dtype(dtype))


def ordered(x: Any, axis: int, descending: bool, stable: bool) -> Any:
    if not stable and x.unique().numel() < x.numel():
        raise NotInTorch("the order of equal elements, unless it is asked for")
    found = torch.sort(x, dim=axis, descending=descending, stable=stable)
    return found.values, found.indices


def largest(x: Any, k: int, axis: int, largest: bool, sorted: bool) -> Any:
    values, indices = torch.topk(x, k, axis, largest, True)
    return values, indices


def uniques(x: Any, return_index: bool, return_inverse: bool, return_counts: bool, axis: Any, dtype: Any) -> Any:
    values, inverse, counts = torch.unique(
        x, sorted=True, return_inverse=True, return_counts=True, **({"dim": axis[0]} if axis else {})
    )
    return values, None, inverse.reshape(-1) if return_inverse else None, counts if return_counts else None


def tiled(x: Any, repeat_times: Any) -> Any:
    return torch.tile(x, tuple(repeat_times))


def in_dtype(function: Any) -> Any:
    return lambda dtype, place=None, **attrs: function(dtype=torch_dtype(dtype), **attrs)


REPEATED = "of several values for an element torch keeps any, and gives all of them its gradient: only those without are compared"

CALLS: dict[str, TorchCall] = {
    "reshape": TorchCall(reshaped),
    "flatten": TorchCall(lambda x, start_axis, stop_axis: torch.flatten(x, start_axis, stop_axis)),
    "squeeze": TorchCall(squeezed),
    "unsqueeze": TorchCall(unsqueezed),
    "expand": TorchCall(expanded),
    "tile": TorchCall(tiled),
    "transpose": TorchCall(lambda x, perm: torch.permute(x, tuple(perm))),
    "flip": TorchCall(lambda x, axis: torch.flip(x, tuple(axis))),
    "roll": TorchCall(lambda x, shifts, axis: torch.roll(x, tuple(shifts), tuple(axis) or None)),
    "pad": TorchCall(padded),
    "pad_mode": TorchCall(padded),
    "pad_mode_grad": TorchCall(
        lambda grad, paddings, mode, shape: transpose_of(lambda x: padded(x, paddings, mode=mode))(grad, shape)
    ),
    "slice": TorchCall(sliced),
    "strided_slice": TorchCall(sliced),
    "split": TorchCall(lambda x, sections, axis: torch.split(x, list(sections), axis)),
    "split_with_num": TorchCall(lambda x, num, axis: torch.split(x, max(x.shape[axis] // num, 1), axis)),
    "unbind": TorchCall(lambda x, axis: torch.unbind(x, axis)),
    "stack": TorchCall(lambda x, axis: torch.stack(x, axis)),
    "concat": TorchCall(lambda x, axis: torch.cat(x, axis)),
    "repeat_interleave": TorchCall(lambda x, repeats, axis: torch.repeat_interleave(x, repeats, axis)),
    "repeat_index": TorchCall(lambda repeats: torch.repeat_interleave(repeats.long())),
    "as_strided": TorchCall(lambda x, dims, stride, offset: torch.as_strided(x, dims, stride, offset)),
    "as_strided_grad": TorchCall(
        lambda grad, dims, stride, offset, shape: transpose_of(lambda x: torch.as_strided(x, dims, stride, offset))(
            grad, shape
        )
    ),
    "diagonal": TorchCall(lambda x, offset, axis1, axis2: torch.diagonal(x, offset, axis1, axis2)),
    "diagonal_scatter": TorchCall(
        lambda x, y, offset, axis1, axis2: torch.diagonal_scatter(x, y, offset, axis1, axis2)
    ),
    "diag": TorchCall(diagonal_of),
    "diag_grad": TorchCall(
        lambda out_grad, shape, offset: transpose_of(lambda x: torch.diag(x, offset))(out_grad, shape)
    ),
    "diag_embed": TorchCall(lambda x, offset, dim1, dim2: torch.diag_embed(x, offset, dim1, dim2)),
    "tril": TorchCall(lambda x, diagonal: torch.tril(x, diagonal)),
    "triu": TorchCall(lambda x, diagonal: torch.triu(x, diagonal)),
    "tensor_unfold": TorchCall(windows),
    "tensor_unfold_grad": TorchCall(
        lambda grad, axis, size, step, shape: transpose_of(lambda x: windows(x, axis, size, step))(grad, shape)
    ),
    "shift": TorchCall(shifted),
    "fill": TorchCall(lambda x, value: torch.fill(x, value)),
    "view_dtype": TorchCall(lambda x, dtype: x.view(torch_dtype(dtype))),
    "getitem_basic": TorchCall(basic),
    "getitem_basic_grad": TorchCall(lambda grad, spec, shape: transpose_of(lambda x: basic(x, spec))(grad, shape)),
    "getitem_advanced": TorchCall(advanced),
    "getitem_advanced_grad": TorchCall(
        lambda grad, indices, spec, shape: transpose_of(lambda x: advanced(x, indices, spec))(grad, shape)
    ),
    "setitem_basic": TorchCall(written_basic),
    "setitem_advanced": TorchCall(written, REPEATED),
    "gather": TorchCall(gathered),
    "gather_grad": TorchCall(
        lambda grad, index, axis, shape: transpose_of(lambda x: gathered(x, index, axis))(grad, shape)
    ),
    "index_select": TorchCall(gathered),
    "gather_nd": TorchCall(gathered_nd),
    "scatter_nd_add": TorchCall(added_nd),
    "scatter": TorchCall(scattered, REPEATED),
    "index_add": TorchCall(
        lambda x, index, value, axis: torch.index_add(
            x, axis, modulo(index.reshape(-1), x.shape[axis]), value.narrow(axis, 0, index.numel())
        )
    ),
    "index_sample": TorchCall(lambda x, index: torch.gather(x, 1, index.long())),
    "take": TorchCall(taken),
    "take_grad": TorchCall(lambda grad, index, mode, shape: transpose_of(lambda x: taken(x, index, mode))(grad, shape)),
    "take_along_axis": TorchCall(taken_along),
    "put_along_axis": TorchCall(
        put,
        REPEATED
        + "; where a value equals an element that include_self leaves out, torch gives it a share of the gradient all the same",
        ("special gradients",),
    ),
    "put_along_axis_count": TorchCall(counted),
    "masked_select": TorchCall(lambda x, mask: torch.masked_select(x, mask != 0)),
    "masked_spread": TorchCall(spread),
    "embedding": TorchCall(
        embedded, "rows of padding_idx are zero (Paddle), in torch the weight's row without a gradient"
    ),
    "embedding_grad": TorchCall(
        lambda x, grad, rows, padding_idx: transpose_of(lambda w: embedded(x, w, padding_idx))(
            grad, (rows, grad.shape[-1])
        )
    ),
    "one_hot": TorchCall(lambda x, num_classes: torch.nn.functional.one_hot(x.long(), num_classes).float()),
    "label_one_hot": TorchCall(hot),
    "argsort": TorchCall(ordered, "torch sorts equal elements in any order unless stable is asked for"),
    "topk": TorchCall(largest, "of equal elements torch may take others", ("special values",)),
    "searchsorted": TorchCall(
        lambda sequence, values, out_int32, right: torch.searchsorted(
            sequence, values, out_int32=out_int32, right=right
        )
    ),
    "nonzero": TorchCall(lambda x: torch.nonzero(x)),
    "unique": TorchCall(uniques, "torch gives no places of first elements"),
    "unique_consecutive": TorchCall(
        lambda x, axis, dtype: torch.unique_consecutive(
            x, return_inverse=True, return_counts=True, **({"dim": axis[0]} if axis else {})
        )
    ),
    "bincount": TorchCall(lambda x, weights, minlength: torch.bincount(x, weights, minlength)),
    "eye": TorchCall(
        in_dtype(
            lambda num_rows, num_columns, dtype: torch.eye(
                num_rows, num_columns if num_columns >= 0 else num_rows, dtype=dtype
            )
        )
    ),
    "arange": TorchCall(in_dtype(lambda start, end, step, dtype: torch.arange(start, end, step, dtype=dtype))),
    "linspace": TorchCall(in_dtype(lambda start, stop, num, dtype: torch.linspace(start, stop, num, dtype=dtype))),
    "logspace": TorchCall(
        in_dtype(lambda start, stop, num, base, dtype: torch.logspace(start, stop, num, float(base), dtype=dtype))
    ),
    "full": TorchCall(in_dtype(lambda shape, value, dtype: torch.full(tuple(shape), value, dtype=dtype))),
    "full_like": TorchCall(
        lambda x, value, dtype, place=None: torch.full_like(x, value, dtype=torch_dtype(dtype) if dtype else None)
    ),
    "tril_indices": TorchCall(
        in_dtype(lambda rows, cols, offset, dtype: torch.tril_indices(rows, cols, offset, dtype=dtype))
    ),
    "triu_indices": TorchCall(
        in_dtype(lambda row, col, offset, dtype: torch.triu_indices(row, col, offset, dtype=dtype))
    ),
}
