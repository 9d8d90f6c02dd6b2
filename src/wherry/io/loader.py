"""`DataLoader`: a dataset in batches."""

from collections.abc import Callable, Iterator
from typing import Any

from wherry.io.collate import as_tensors, default_collate_fn, default_convert_fn
from wherry.io.dataset import IterableDataset, NoLength, TensorDataset
from wherry.io.sampler import BatchSampler


def get_worker_info() -> None:
    """None: samples are made in the main process. Source: paddle.io.get_worker_info."""


class DataLoader:
    """Batches of a dataset's samples, as Tensors.

    dataset: with indices, or an IterableDataset (which cannot be shuffled). batch_size None: samples one by one, without a batch axis;
    batch_sampler takes the place of batch_size, shuffle and drop_last. collate_fn: makes a batch of a list of samples.

    Samples are made in this process, whatever num_workers says; what only steers worker processes (use_buffer_reader, prefetch_factor,
    use_shared_memory, timeout, worker_init_fn, persistent_workers) is accepted and changes nothing. Raises ValueError for arguments that
    exclude each other. Source: paddle.io.DataLoader.
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
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if feed_list is not None:
            raise NotImplementedError("DataLoader: 'feed_list' belongs to static graph mode, which there is not")
        if not return_list:
            raise NotImplementedError("DataLoader: return_list=False belongs to static graph mode, which there is not")
        if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
            raise ValueError(f"DataLoader: num_workers should be a non-negative value, but got {num_workers!r}")
        if timeout < 0:
            raise ValueError(f"DataLoader: timeout should be a non-negative value, but got {timeout!r}")
        self.dataset = dataset
        self.return_list = return_list
        self.num_workers = num_workers
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.auto_collate_batch = batch_sampler is not None or batch_size is not None
        self._own_collate = collate_fn is not None
        self.collate_fn = collate_fn or (default_collate_fn if self.auto_collate_batch else default_convert_fn)
        iterable = isinstance(dataset, IterableDataset)
        if iterable and shuffle:
            raise ValueError(f"DataLoader: IterableDataset not support shuffle, but got shuffle={shuffle}")
        if iterable and batch_sampler is not None:
            raise ValueError("DataLoader: IterableDataset expect unspecified batch_sampler")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise ValueError("DataLoader: batch_size/shuffle/drop_last should not be set when batch_sampler is given")
        if batch_size is not None and batch_sampler is None and (not isinstance(batch_size, int) or batch_size <= 0):
            raise ValueError(f"DataLoader: batch_size should be None or a positive value, but got {batch_size!r}")
        if batch_size is None and (shuffle or drop_last):
            raise ValueError("DataLoader: shuffle and drop_last need a batch_size")
        self.batch_sampler = batch_sampler
        if batch_sampler is None and batch_size is not None and not iterable:
            self.batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
        if batch_sampler is not None:
            self.batch_size = getattr(batch_sampler, "batch_size", None)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            raise NoLength("DataLoader: length of IterableDataset not supported")
        return len(self.batch_sampler) if self.auto_collate_batch else len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            return self._from_iterable()
        if not self.auto_collate_batch:
            return (self._finished(self.dataset[i]) for i in range(len(self.dataset)))
        return self._from_indices()

    def __call__(self) -> Iterator[Any]:
        return iter(self)

    def _from_indices(self) -> Iterator[Any]:
        dataset = self.dataset
        # Rows of tensors can be taken together.
        if type(dataset) is TensorDataset and not self._own_collate:
            for indices in self.batch_sampler:
                yield dataset.batch(list(indices))
            return
        for indices in self.batch_sampler:
            yield self._finished([dataset[i] for i in indices])

    def _from_iterable(self) -> Iterator[Any]:
        if self.batch_size is None:
            for sample in self.dataset:
                yield self._finished(sample)
            return
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self._finished(batch)
                batch = []
        if batch and not self.drop_last:
            yield self._finished(batch)

    def _finished(self, samples: Any) -> Any:
        return as_tensors(self.collate_fn(samples), fresh=self.collate_fn is default_collate_fn)

    @staticmethod
    def from_generator(*args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: it belongs to static graph mode."""
        raise NotImplementedError(
            "DataLoader.from_generator belongs to static graph mode, which there is not; use an IterableDataset"
        )
