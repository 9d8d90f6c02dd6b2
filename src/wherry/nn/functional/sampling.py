"""Reading an image or a volume between its cells, for grid_sample and deform_conv2d."""

from collections.abc import Sequence

import numpy as np

from wherry import _C_ops
from wherry.tensor.tensor import Tensor, tensor_from_array


def sampled(
    x: Tensor,
    location: Tensor,
    sizes: Sequence[int],
    steps: Sequence[int],
    nearest: bool = False,
    factor: Tensor | None = None,
) -> Tensor:
    """[batch * points, channels]: x [batch, channels, *spatial] at the places location [batch, points, axes], zeros outside x.

    A place is in cells. sizes: how many cells there are along each of location's axes; steps: how far apart they are in the flattened
    spatial axes. By linear interpolation, or with `nearest` the nearest cell's value (halves to the even cell), which has no derivative
    by the place. factor [batch, points]: what each point is multiplied with. Every step is an operation, so there are derivatives of any order.
    """
    batch, channels = x.shape[:2]
    area = int(np.prod(x.shape[2:]))
    order = (0, *range(2, x.ndim), 1)
    rows = _C_ops.reshape(_C_ops.transpose(x, order), (batch * area, channels))
    index, weights = _nearest(location, sizes, steps) if nearest else _linear(location, sizes, steps)
    first = np.repeat(np.arange(batch, dtype=np.int64) * area, location.shape[1])[:, None]
    index = np.where(index < 0, -1, index + first)
    if factor is not None:
        weights = _C_ops.multiply(weights, _C_ops.reshape(factor, (batch * location.shape[1], 1)))
    if weights.dtype is not x.dtype:
        weights = _C_ops.cast(weights, x.dtype)
    return _C_ops.embedding_bag(tensor_from_array(index), rows, weights)


def _cells(cells: np.ndarray, sizes: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """[points, products]: every combination of [points, axes, choices], flat in the image; -1 where one of them is outside."""
    index = np.zeros((cells.shape[0], 1), np.int64)
    inside = np.ones((cells.shape[0], 1), np.bool_)
    for axis, (size, step) in enumerate(zip(sizes, steps)):
        chosen = cells[:, axis]
        good = (chosen >= 0) & (chosen < size)
        width = index.shape[1] * chosen.shape[1]
        index = (index[:, :, None] + (chosen * step)[:, None]).reshape(-1, width)
        inside = (inside[:, :, None] & good[:, None]).reshape(-1, width)
    return np.where(inside, index, -1)


def _whole(places: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """As integers; what is far outside stays outside without overflow, and NaN reads the first cell, so that it shows in the result."""
    return np.clip(np.nan_to_num(places), -2, np.array(sizes) + 1).astype(np.int64)


def _linear(location: Tensor, sizes: Sequence[int], steps: Sequence[int]) -> tuple[np.ndarray, Tensor]:
    axes = len(sizes)
    location = _C_ops.reshape(location, (location.shape[0] * location.shape[1], axes))
    low = np.nan_to_num(np.floor(location.detach().numpy()))
    index = _cells(_whole(low, sizes)[:, :, None] + np.arange(2), sizes, steps)
    rest = _C_ops.subtract(location, tensor_from_array(low))
    shares = _C_ops.unbind(_C_ops.stack([_C_ops.subtract(tensor_from_array(low + 1), location), rest], -1), 1)
    weights = shares[0]
    for share in shares[1:]:
        product = _C_ops.multiply(_C_ops.unsqueeze(weights, (2,)), _C_ops.unsqueeze(share, (1,)))
        weights = _C_ops.reshape(product, (product.shape[0], product.shape[1] * 2))
    return index, weights


def _nearest(location: Tensor, sizes: Sequence[int], steps: Sequence[int]) -> tuple[np.ndarray, Tensor]:
    location = _C_ops.reshape(location, (location.shape[0] * location.shape[1], len(sizes)))
    places = location.detach().numpy()
    index = _cells(_whole(np.rint(places), sizes)[:, :, None], sizes, steps)
    index[np.isnan(places).any(axis=1)] = -1
    ones = _C_ops.full_like(location, 1.0, None)
    # The place has a derivative, zero: it is in the graph without being read.
    never = tensor_from_array(np.zeros(places.shape, np.bool_))
    weights = _C_ops.where(never, location, ones)
    return index, _C_ops.slice(weights, [1], [0], [1])
