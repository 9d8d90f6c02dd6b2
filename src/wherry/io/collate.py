"""Making batches of samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.autograd.structures import TensorBase
from wherry.tensor.tensor import tensor_from_array


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Samples of one structure as one sample with a batch axis in front: arrays and Tensors are stacked, numbers become an array.

    Strings stay a list. Raises ValueError for arrays of different shapes or fields of different length, TypeError for samples of another
    kind. Source: paddle.io.dataloader.collate.default_collate_fn.
    """
    first = batch[0]
    if isinstance(first, np.ndarray):
        shapes = {np.shape(sample) for sample in batch}
        if len(shapes) > 1:
            raise ValueError(
                f"DataLoader: expected samples of one shape, received {sorted(shapes)}; pass a collate_fn that pads them"
            )
        return np.stack(batch, axis=0)
    if isinstance(first, TensorBase):
        return _C_ops.stack(list(batch), 0)
    if isinstance(first, (bool, int, float, complex, np.number, np.bool_)):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate_fn([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise ValueError(f"DataLoader: expected samples of as many fields each, received {sorted(lengths)}")
        return [default_collate_fn(list(field)) for field in zip(*batch, strict=True)]
    raise TypeError(
        f"DataLoader: expected samples of arrays, Tensors, numbers, strings, lists and dictionaries, received {type(first).__name__}; "
        "pass a collate_fn that makes batches of them"
    )


def default_convert_fn(batch: Any) -> Any:
    """A sample as it is."""
    return batch


def as_tensors(batch: Any, fresh: bool) -> Any:
    """The batch with Tensors for its arrays; `fresh` arrays belong to nobody else and are not copied."""
    if isinstance(batch, np.ndarray):
        if batch.dtype.kind not in "biufcV":
            return batch
        return tensor_from_array(batch if fresh else np.array(batch))
    if isinstance(batch, Mapping):
        return {key: as_tensors(value, fresh) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[as_tensors(value, fresh) for value in batch])
    if isinstance(batch, (list, tuple)):
        return [as_tensors(value, fresh) for value in batch]
    return batch
