"""Attention of generation: one step with a cache, and batches of several lengths. Source: paddle.incubate.nn.functional."""

import math

from wherry import _C_ops
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.incubate.nn.functional.precision import as_dtype, check_floating, computed_in, quantized
from wherry.incubate.nn.functional.rotary import rotated
from wherry.tensor.tensor import Tensor

__all__ = ["blha_get_max_len", "masked_multihead_attention", "variable_length_memory_efficient_attention"]

_MASKED = "masked_multihead_attention"
_VARIABLE = "variable_length_memory_efficient_attention"


def blha_get_max_len(seq_lens_encoder: Tensor, seq_lens_decoder: Tensor, batch_size: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of the first n lengths of each kind, as int32 tensors of shape [1], n being batch_size's length.

    Raises ValueError for a batch that is empty or longer than the lengths.
    Source: paddle.incubate.nn.functional.blha_get_max_len.
    """
    count = batch_size.shape[0] if batch_size.ndim else 1
    largest = []
    for lengths, name in ((seq_lens_encoder, "seq_lens_encoder"), (seq_lens_decoder, "seq_lens_decoder")):
        if not 0 < count <= lengths.size:
            raise ValueError(
                f"blha_get_max_len: expected a batch between 1 and {lengths.size}, the size of {name}, received {count}"
            )
        first = _C_ops.slice(_C_ops.reshape(lengths, (lengths.size,)), (0,), (0,), (count,))
        largest.append(as_dtype(_C_ops.max(first, (0,), True), dt.int32))
    return largest[0], largest[1]


def _attended(scores: Tensor, hidden: Tensor, v: Tensor) -> Tensor:
    """softmax(scores) @ v without the hidden places; zeros where a row has no other."""
    scores = _C_ops.where(hidden, _C_ops.full_like(scores, float("-inf")), scores)
    all_hidden = _C_ops.all(hidden, (hidden.ndim - 1,), True)
    # A row of -inf has no softmax: it is computed from zeros, and cleared below.
    scores = _C_ops.where(all_hidden, _C_ops.full_like(scores, 0.0), scores)
    weights = _C_ops.softmax(scores, -1)
    weights = _C_ops.where(all_hidden, _C_ops.full_like(weights, 0.0), weights)
    return _C_ops.matmul(weights, v, False, False)


def _positions(count: int) -> Tensor:
    return _C_ops.arange(0, count, 1, dt.int64)


def _lengths(lengths: Tensor, batch: int, limit: int, name: str) -> Tensor:
    if lengths.size != batch:
        raise ValueError(f"{_VARIABLE}: expected {name} of {batch} elements, received shape {list(lengths.shape)}")
    values = lengths.numpy()
    if values.size and not (values.min() >= 0 and values.max() <= limit):
        raise ValueError(f"{_VARIABLE}: expected {name} in [0, {limit}], received {values.reshape(-1).tolist()}")
    return as_dtype(_C_ops.reshape(lengths, (batch, 1, 1, 1)), dt.int64)


def _spread(x: Tensor, heads: int) -> Tensor:
    """Keys or values with each head repeated for its group of query heads."""
    batch, groups, length, width = x.shape
    if groups == heads:
        return x
    wide = _C_ops.expand(_C_ops.unsqueeze(x, (2,)), (batch, groups, heads // groups, length, width))
    return _C_ops.reshape(wide, (batch, heads, length, width))


def variable_length_memory_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_lens: Tensor,
    kv_seq_lens: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    pre_cache_length: int = 0,
) -> Tensor:
    """softmax(query key^T * scale + mask) value for each example's own lengths; zeros in the rows after its length.

    query, key, value: [batch, heads, length, width]; key and value may have fewer heads that divide query's. seq_lens, kv_seq_lens:
    one length for each example. mask: broadcasts to [batch, heads, length, keys], added. scale: 1 / sqrt(width) by default. causal:
    a place sees keys up to its own; with pre_cache_length keys more, which come before and are not counted in kv_seq_lens. Raises
    ValueError for shapes or lengths that do not fit.
    Source: paddle.incubate.nn.functional.variable_length_memory_efficient_attention.
    """
    check_floating(query, _VARIABLE)
    shapes = [list(t.shape) for t in (query, key, value)]
    fits = all(len(s) == 4 for s in shapes) and shapes[1] == shapes[2] and shapes[0][0] == shapes[1][0]
    if not fits or shapes[0][3] != shapes[1][3] or not shapes[1][1] or shapes[0][1] % shapes[1][1]:
        raise ValueError(
            f"{_VARIABLE}: expected query [batch, heads, length, width] and key and value of one shape with heads that divide "
            f"query's, received {shapes}"
        )
    batch, heads, rows, width = query.shape
    columns = key.shape[2]
    wide = computed_in(query.dtype)
    q, k, v = (as_dtype(t, wide) for t in (query, _spread(key, heads), _spread(value, heads)))
    scores = _C_ops.scale(
        _C_ops.matmul(q, k, False, True), 1.0 / math.sqrt(width) if scale is None else scale, 0.0, True
    )
    if mask is not None:
        scores = _C_ops.add(scores, as_dtype(mask, wide))
    row = _C_ops.reshape(_positions(rows), (1, 1, rows, 1))
    column = _C_ops.reshape(_positions(columns), (1, 1, 1, columns))
    seen = _lengths(kv_seq_lens, batch, columns - pre_cache_length, "kv_seq_lens")
    hidden = _C_ops.greater_equal(column, _C_ops.scale(seen, 1, pre_cache_length, True))
    hidden = _C_ops.logical_or(hidden, _C_ops.greater_equal(row, _lengths(seq_lens, batch, rows, "seq_lens")))
    if causal:
        hidden = _C_ops.logical_or(hidden, _C_ops.greater_than(column, _C_ops.scale(row, 1, pre_cache_length, True)))
    hidden = _C_ops.expand(hidden, (batch, 1, rows, columns))
    return as_dtype(_attended(scores, hidden, v), query.dtype)


def _refuse_unsupported(cum_offsets: Tensor | None, beam_cache_offset: Tensor | None) -> None:
    for argument, name in ((cum_offsets, "cum_offsets"), (beam_cache_offset, "beam_cache_offset")):
        if argument is not None:
            raise NotImplementedError(f"{_MASKED}: the argument '{name}' is not supported")


def _computed_dtype(x: Tensor, compute_dtype: str) -> DataType:
    if x.dtype is not dt.int32:
        check_floating(x, _MASKED)
        return x.dtype
    names = {"fp16": dt.float16, "bf16": dt.bfloat16, "fp32": dt.float32}
    if compute_dtype not in names:
        raise ValueError(
            f"{_MASKED}: expected compute_dtype 'fp16', 'bf16' or 'fp32' for an int32 x, received {compute_dtype!r}"
        )
    return names[compute_dtype]


def _steps(src_mask: Tensor | None, sequence_lengths: Tensor | None, batch: int, limit: int) -> Tensor:
    """For each example the place in the cache that the new key and value go to, as [batch, 1, 1, 1]."""
    if sequence_lengths is not None:
        if sequence_lengths.size != batch:
            raise ValueError(
                f"{_MASKED}: expected sequence_lengths of {batch} elements, received shape {list(sequence_lengths.shape)}"
            )
        steps = as_dtype(_C_ops.reshape(sequence_lengths, (batch, 1, 1, 1)), dt.int64)
    elif src_mask is not None:
        steps = _C_ops.full((batch, 1, 1, 1), src_mask.shape[-1] - 1, dt.int64)
    else:
        raise ValueError(f"{_MASKED}: expected src_mask or sequence_lengths, to know the step; received neither")
    values = steps.numpy()
    if values.size and not (values.min() >= 0 and values.max() < limit):
        raise ValueError(
            f"{_MASKED}: expected steps in [0, {limit}), the places of cache_kv, received {values.reshape(-1).tolist()}"
        )
    return steps


def _turned(x: Tensor, rotary_tensor: Tensor, dims: int, neox: bool) -> Tensor:
    """Query or key [batch, heads, 1, width] turned by the cosines and sines of its example."""
    batch, heads, _, width = x.shape
    if rotary_tensor.size != 2 * batch * width:
        raise ValueError(
            f"{_MASKED}: expected rotary_tensor of shape [2, {batch}, 1, 1, {width}], cosines and sines of this step, "
            f"received {list(rotary_tensor.shape)}"
        )
    tables = _C_ops.reshape(as_dtype(rotary_tensor, x.dtype), (2, batch, 1, dims, width // dims))
    cos, sin = _C_ops.unbind(tables, 0)
    parts = _C_ops.reshape(x, (batch, heads, dims, width // dims))
    return _C_ops.reshape(rotated(parts, cos, sin, not neox), tuple(x.shape))


def _step_inputs(
    x: Tensor, cache_kv: Tensor, bias: Tensor | None, qkv_out_scale: Tensor | None, wide: DataType
) -> list[Tensor]:
    """Query [batch, heads, 1, width], key and value [batch, groups, 1, width] of the step."""
    groups, width = cache_kv.shape[2], cache_kv.shape[4]
    heads = x.shape[1] // max(width, 1) - 2 * groups
    if heads < 1 or not groups or heads % groups or x.shape[1] != (heads + 2 * groups) * width:
        raise ValueError(
            f"{_MASKED}: expected x of (heads + 2 * {groups}) * {width} columns as cache_kv has them, received {x.shape[1]}"
        )
    value = as_dtype(x, wide)
    if qkv_out_scale is not None:
        value = _C_ops.multiply(value, _C_ops.reshape(as_dtype(qkv_out_scale, wide), (1, x.shape[1])))
    if bias is not None:
        value = _C_ops.add(value, _C_ops.reshape(as_dtype(bias, wide), (1, x.shape[1])))
    split = _C_ops.split(_C_ops.reshape(value, (x.shape[0], heads + 2 * groups, 1, width)), (heads, groups, groups), 1)
    return list(split)


def masked_multihead_attention(
    x: Tensor,
    cache_kv: Tensor | None = None,
    bias: Tensor | None = None,
    src_mask: Tensor | None = None,
    cum_offsets: Tensor | None = None,
    sequence_lengths: Tensor | None = None,
    rotary_tensor: Tensor | None = None,
    beam_cache_offset: Tensor | None = None,
    qkv_out_scale: Tensor | None = None,
    out_shift: Tensor | None = None,
    out_smooth: Tensor | None = None,
    seq_len: int = 1,
    rotary_emb_dims: int = 0,
    use_neox_rotary_style: bool = False,
    compute_dtype: str = "default",
    out_scale: float = -1,
    quant_round_type: int = 1,
    quant_max_bound: float = 127.0,
    quant_min_bound: float = -127.0,
) -> tuple[Tensor, Tensor]:
    """One step of generation: the new key and value go into the cache, and the new query attends to all up to it.

    x: [batch, (heads + 2 * groups) * width], queries, keys and values of the step; bias: as many elements. cache_kv:
    [2, batch, groups, places, width], keys and values, changed in place (plainly laid out). The step of an example is its entry of
    sequence_lengths, else src_mask's last length less one. src_mask: [batch, 1 or heads, 1, at least steps + 1], added.
    rotary_tensor: [2, batch, 1, 1, width], cosines and sines of the step, used where rotary_emb_dims > 0; use_neox_rotary_style pairs
    the two halves, otherwise neighbours are pairs. An int32 x needs qkv_out_scale and compute_dtype. out_shift and out_smooth: out
    becomes (out + out_shift) * out_smooth; out_scale > 0: then int8. seq_len has no effect, as in Paddle. Returns
    (out [batch, heads * width], cache_kv); gradients go to x, bias and src_mask, not through the cache. Raises ValueError for shapes
    and steps that do not fit, NotImplementedError for cum_offsets and beam_cache_offset.
    Source: paddle.incubate.nn.functional.masked_multihead_attention.
    """
    _refuse_unsupported(cum_offsets, beam_cache_offset)
    if cache_kv is None or cache_kv.ndim != 5 or cache_kv.shape[0] != 2 or x.ndim != 2:
        raise ValueError(
            f"{_MASKED}: expected x [batch, columns] and cache_kv [2, batch, heads, places, width], received "
            f"{list(x.shape)} and {None if cache_kv is None else list(cache_kv.shape)}"
        )
    if cache_kv.shape[1] != x.shape[0]:
        raise ValueError(f"{_MASKED}: expected a cache for {x.shape[0]} examples, received {cache_kv.shape[1]}")
    if (qkv_out_scale is None) == (x.dtype is dt.int32):
        raise ValueError(f"{_MASKED}: expected qkv_out_scale with an int32 x and only then")
    if (out_shift is None) != (out_smooth is None):
        raise ValueError(f"{_MASKED}: expected out_shift and out_smooth together, received one of them")
    dtype = _computed_dtype(x, compute_dtype)
    wide = computed_in(dtype)
    q, k, v = _step_inputs(x, cache_kv, bias, qkv_out_scale, wide)
    if rotary_emb_dims:
        if rotary_tensor is None:
            raise ValueError(f"{_MASKED}: expected rotary_tensor with rotary_emb_dims={rotary_emb_dims}, received None")
        q, k = (_turned(t, rotary_tensor, rotary_emb_dims, use_neox_rotary_style) for t in (q, k))
    places = cache_kv.shape[3]
    steps = _steps(src_mask, sequence_lengths, x.shape[0], places)
    keys, values = _updated(cache_kv, k, v, steps, wide)
    out = _step_attention(q, keys, values, src_mask, steps)
    if out_shift is not None and out_smooth is not None:
        out = _C_ops.multiply(_C_ops.add(out, as_dtype(out_shift, wide)), as_dtype(out_smooth, wide))
    if out_scale > 0:
        return quantized(out, out_scale, quant_round_type, quant_max_bound, quant_min_bound, _MASKED), cache_kv
    return as_dtype(out, dtype), cache_kv


def _updated(cache_kv: Tensor, k: Tensor, v: Tensor, steps: Tensor, wide: DataType) -> list[Tensor]:
    """Write the step's key and value into the cache; keys and values with their history."""
    places = cache_kv.shape[3]
    here = _C_ops.equal(_C_ops.reshape(_positions(places), (1, 1, places, 1)), steps)
    both = []
    for old, new in zip(_C_ops.unbind(cache_kv.detach(), 0), (k, v)):
        rounded = as_dtype(as_dtype(new, cache_kv.dtype), wide)
        both.append(_C_ops.where(here, rounded, as_dtype(old, wide)))
    stored = as_dtype(_C_ops.stack([t.detach() for t in both], 0), cache_kv.dtype)
    cache_kv.detach().copy_(stored)
    return both


def _step_attention(q: Tensor, keys: Tensor, values: Tensor, src_mask: Tensor | None, steps: Tensor) -> Tensor:
    batch, heads, _, width = q.shape
    places = keys.shape[2]
    keys, values = _spread(keys, heads), _spread(values, heads)
    scores = _C_ops.matmul(_C_ops.scale(q, 1.0 / math.sqrt(width), 0.0, True), keys, False, True)
    if src_mask is not None:
        scores = _C_ops.add(scores, _mask_for(as_dtype(src_mask, q.dtype), places, steps))
    hidden = _C_ops.greater_than(_C_ops.reshape(_positions(places), (1, 1, 1, places)), steps)
    return _C_ops.reshape(_attended(scores, hidden, values), (batch, heads * width))


def _mask_for(mask: Tensor, places: int, steps: Tensor) -> Tensor:
    """The mask with as many columns as the cache has places; those after the step are hidden anyway."""
    columns = mask.shape[-1]
    last = int(steps.numpy().max()) if steps.size else 0
    if mask.ndim != 4 or columns <= last:
        raise ValueError(
            f"{_MASKED}: expected src_mask of shape [batch, 1, 1, at least {last + 1}], received {list(mask.shape)}"
        )
    if columns >= places:
        return _C_ops.slice(mask, (3,), (0,), (places,))
    rest = _C_ops.full((*mask.shape[:3], places - columns), 0.0, mask.dtype)
    return _C_ops.concat([mask, rest], 3)
