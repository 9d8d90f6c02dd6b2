"""DataLoader: batches of a dataset as tensors, in this process. Source: paddle.io.DataLoader."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wherry.io.dataset import IterableDataset
from wherry.io.sampler import BatchSampler
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["DataLoader", "default_collate_fn", "default_convert_fn", "get_worker_info"]


def get_worker_info() -> None:
    """None: batches are made in the main process. Source: paddle.io.get_worker_info."""
    return None


def _to_tensor(array: np.ndarray) -> Any:
    return tensor_from_array(np.ascontiguousarray(array))


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Samples stacked along a new first axis: arrays, numbers and tensors become tensors; dicts and sequences are walked.

    Raises TypeError for anything else. Source: paddle.io.dataloader.collate.default_collate_fn.
    """
    sample = batch[0]
    if isinstance(sample, Tensor):
        return _to_tensor(np.stack([s.impl.array for s in batch]))
    if isinstance(sample, np.ndarray):
        return _to_tensor(np.stack(batch))
    if isinstance(sample, (bool, int, float, complex, np.number, np.bool_)):
        return _to_tensor(np.array(batch))
    if isinstance(sample, (str, bytes)):
        return list(batch)
    if isinstance(sample, Mapping):
        return {key: default_collate_fn([s[key] for s in batch]) for key in sample}
    if isinstance(sample, Sequence):
        if any(len(s) != len(sample) for s in batch):
            raise RuntimeError(f"expected samples of one length in a batch, received {[len(s) for s in batch]}")
        return [default_collate_fn(fields) for fields in zip(*batch)]
    raise TypeError(
        f"expected samples of arrays, numbers, tensors, dicts or sequences, received {type(sample).__name__}; "
        "pass a collate_fn"
    )


def default_convert_fn(sample: Any) -> Any:
    """One sample as it is, arrays and numbers as tensors (batch_size=None)."""
    if isinstance(sample, np.ndarray):
        return _to_tensor(sample.copy())
    if isinstance(sample, (bool, int, float, complex, np.number)):
        return _to_tensor(np.array(sample))
    if isinstance(sample, Mapping):
        return {key: default_convert_fn(value) for key, value in sample.items()}
    if isinstance(sample, (list, tuple)):
        return [default_convert_fn(value) for value in sample]
    return sample


class DataLoader:
    """Iterates over batches of a dataset.

    batch_size: samples a batch, None for single samples. shuffle, drop_last, batch_sampler, collate_fn as in Paddle. num_workers,
    use_shared_memory, prefetch_factor, persistent_workers and the like are accepted for scripts that set them and change nothing: batches are
    made in this process (worker_init_fn is not called). Raises ValueError for arguments that exclude each other.
    Source: paddle.io.DataLoader.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Sequence[Any]], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
        reader_buffer_size: int = 2,
    ) -> None:
        if feed_list is not None or not return_list:
            raise NotImplementedError("DataLoader: 'feed_list' and return_list=False belong to static graphs")
        self.dataset = dataset
        self.num_workers = num_workers
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.batch_sampler = None
        self._stream = isinstance(dataset, IterableDataset)
        if self._stream and (shuffle or batch_sampler is not None):
            raise ValueError("DataLoader: expected no shuffle and no batch_sampler for an IterableDataset")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise ValueError("DataLoader: expected no batch_size, shuffle or drop_last beside a batch_sampler")
            self.batch_sampler = batch_sampler
        elif batch_size is not None and not self._stream:
            self.batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
        single = batch_size is None
        self.collate_fn: Callable[[Any], Any] = collate_fn or (default_convert_fn if single else default_collate_fn)

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self._stream:
            raise RuntimeError("DataLoader: a stream has no length")
        return len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        if self.batch_sampler is not None:
            for indices in self.batch_sampler:
                yield self.collate_fn([self.dataset[i] for i in indices])
        elif self._stream and self.batch_size is not None:
            yield from self._batches_of_stream(self.batch_size)
        else:
            samples = iter(self.dataset) if self._stream else (self.dataset[i] for i in range(len(self.dataset)))
            for sample in samples:
                yield self.collate_fn(sample)

    def _batches_of_stream(self, size: int) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __call__(self) -> Iterator[Any]:
        return iter(self)
