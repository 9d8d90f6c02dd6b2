"""Attention with masks by columns. Source: paddle.nn.functional.flashmask_attention."""

import math
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn.functional.attention import _repeated
from wherry.nn.functional.common import dropout as dropped
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["flashmask_attention"]


def _hidden(indices: Any, rows: int, causal: bool) -> Any:
    """Which scores [batch, heads, rows, columns] the rows named for each column hide."""
    row = np.arange(rows)[:, None]
    parts = [np.moveaxis(indices, 3, 0)[i][:, :, None, :] for i in range(indices.shape[3])]
    if causal:
        first = row >= parts[0]
        return first & (row < parts[1]) if len(parts) == 2 else first
    if len(parts) == 2:
        return (row >= parts[0]) | (row < parts[1])
    return ((row >= parts[0]) & (row < parts[1])) | ((row >= parts[2]) & (row < parts[3]))


def _window(window_size: int | tuple[int, int], rows: int, columns: int) -> Any:
    """Which scores [rows, columns] lie outside a window of so many places to the left and to the right."""
    left, right = (window_size, window_size) if isinstance(window_size, int) else window_size
    distance = np.arange(rows)[:, None] - np.arange(columns)
    return (distance > left) | (distance < -right)


def _checked(indices: Tensor, query: Tensor, key: Tensor, causal: bool) -> Any:
    heads = {1, query.shape[2], key.shape[2]}
    shape = list(indices.shape)
    if indices.dtype.name != "int32":
        raise TypeError(f"flashmask_attention: expected startend_row_indices of int32, received {indices.dtype.name}")
    if len(shape) != 4 or shape[0] != key.shape[0] or shape[1] not in heads or shape[2] != key.shape[1]:
        raise ValueError(
            f"flashmask_attention: expected startend_row_indices [{key.shape[0]}, heads {sorted(heads)}, {key.shape[1]}, numbers], received {shape}"
        )
    allowed = (1, 2) if causal else (2, 4)
    if shape[3] not in allowed:
        raise ValueError(
            f"flashmask_attention: expected {allowed[0]} or {allowed[1]} numbers for each column with causal={causal}, received {shape[3]}"
        )
    return indices.impl.array


def flashmask_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    startend_row_indices: Tensor | None = None,
    *,
    dropout: float = 0.0,
    causal: bool = False,
    window_size: int | tuple[int, int] | None = None,
    return_softmax_lse: bool = False,
    return_seed_offset: bool = False,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
    softmax_scale: float | None = None,
    block_mask: Tensor | None = None,
) -> Any:
    """softmax(query key^T * softmax_scale) value, head by head, where for each key (column) some queries (rows) are hidden.

    query, key, value: [batch, length, heads, width]; key and value may have fewer heads that divide query's. startend_row_indices: int32 [batch, 1 or heads, keys,
    numbers]; with causal a column hides rows from the first number on (up to the second); without it rows from the first on and those before the
    second, or from first to second and from third to fourth. window_size: hides what is further away than that, in place of indices. softmax_scale: 1 / sqrt(width)
    by default. A row that sees nothing gives 0. return_softmax_lse: gives also the logarithms of the softmax's sums [batch, heads, rows], float32. Raises
    ValueError for shapes that do not fit, NotImplementedError for return_seed_offset, fixed_seed_offset, rng_name, block_mask.
    Source: paddle.nn.functional.flashmask_attention.
    """
    unsupported = {
        "return_seed_offset": return_seed_offset,
        "fixed_seed_offset": fixed_seed_offset is not None,
        "rng_name": rng_name != "",
        "block_mask": block_mask is not None,
    }
    for argument, given in unsupported.items():
        if given:
            raise NotImplementedError(f"flashmask_attention: the argument {argument!r} is not supported")
    if any(t.ndim != 4 for t in (query, key, value)) or key.shape[2] == 0 or query.shape[2] % key.shape[2]:
        raise ValueError(
            "flashmask_attention: expected [batch, length, heads, width] with heads that key's divide, received shapes "
            f"{list(query.shape)}, {list(key.shape)}, {list(value.shape)}"
        )
    if window_size is not None and startend_row_indices is not None:
        raise ValueError("flashmask_attention: expected window_size or startend_row_indices, received both")
    drops = dropout > 0.0 and training
    if (
        startend_row_indices is None
        and window_size is None
        and softmax_scale is None
        and not drops
        and not return_softmax_lse
    ):
        return _C_ops.flash_attn(query, key, value, causal)
    rows, columns = query.shape[1], key.shape[1]
    hidden = np.triu(np.ones((rows, columns), bool), 1) if causal else np.zeros((rows, columns), bool)
    if window_size is not None:
        hidden = hidden | _window(window_size, rows, columns)
    if startend_row_indices is not None:
        named = _hidden(_checked(startend_row_indices, query, key, causal), rows, causal)
        if named.shape[1] not in (1, query.shape[2]):
            named = np.repeat(named, query.shape[2] // named.shape[1], axis=1)
        hidden = hidden | named
    out, lse = _attention(query, key, value, hidden, dropout if drops else 0.0, softmax_scale)
    return [out, lse] if return_softmax_lse else out


def _attention(
    query: Tensor, key: Tensor, value: Tensor, hidden: Any, dropout: float, softmax_scale: float | None
) -> tuple[Tensor, Tensor]:
    q, k, v = (_C_ops.transpose(t, (0, 2, 1, 3)) for t in (query, key, value))
    times = query.shape[2] // key.shape[2]
    if times != 1:
        k, v = _repeated(k, times), _repeated(v, times)
    factor = 1.0 / math.sqrt(query.shape[3]) if softmax_scale is None else softmax_scale
    scores = _C_ops.matmul(_C_ops.scale(q, factor, 0.0, True), k, False, True)
    blind = hidden.all(axis=-1, keepdims=True)
    # Rows that see nothing see all here, and give 0 below: a softmax of nothing would be NaN.
    low = _C_ops.full_like(scores, float("-inf"))
    scores = _C_ops.where(tensor_from_array(hidden & ~blind), low, scores)
    weights = dropped(_C_ops.softmax(scores, -1), dropout)
    out = _C_ops.matmul(weights, v, False, False)
    lse = _C_ops.cast(_C_ops.logsumexp(scores, (-1,), False), "float32")
    if blind.any():
        out = _C_ops.where(tensor_from_array(blind), _C_ops.full_like(out, 0.0), out)
        lse = _C_ops.where(tensor_from_array(blind[..., 0]), _C_ops.full_like(lse, float("-inf")), lse)
    return _C_ops.transpose(out, (0, 2, 1, 3)), lse
