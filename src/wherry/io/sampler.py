"""Samplers: in which order, and in which batches. Source: paddle.io."""

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

__all__ = [
    "BatchSampler",
    "DistributedBatchSampler",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


class Sampler:
    """An order of a dataset's indices; subclasses write __iter__."""

    def __init__(self, data_source: Sized | None = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} needs a method __iter__(self)")


class SequenceSampler(Sampler):
    """0, 1, 2, ..."""

    def __iter__(self) -> Iterator[int]:
        assert self.data_source is not None
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        assert self.data_source is not None
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order, or draws with replacement, from NumPy's global state as in Paddle."""

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if num_samples is not None and num_samples <= 0:
            raise ValueError(f"RandomSampler: expected a positive num_samples, received {num_samples}")
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        assert self.data_source is not None
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        assert self.data_source is not None
        count = len(self.data_source)
        if self.generator is not None:
            for _, index in zip(range(self.num_samples), self.generator):
                yield index
        elif self.replacement:
            yield from np.random.choice(np.arange(count), self.num_samples, replace=True).tolist()
        else:
            yield from np.random.choice(np.arange(count), self.num_samples, replace=False).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Chosen indices in a random order."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        if not len(indices):
            raise ValueError("SubsetRandomSampler: expected at least one index")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in np.random.permutation(len(self.indices)))

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with probabilities in proportion to weights. Raises ValueError for weights that cannot be drawn by."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        if num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: expected a positive num_samples, received {num_samples}")
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim != 1 or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ValueError("WeightedRandomSampler: expected a list of weights of at least 0 with a positive sum")
        if not replacement and num_samples > int((self.weights > 0).sum()):
            raise ValueError("WeightedRandomSampler: expected num_samples of at most the positive weights")
        self.num_samples = num_samples
        self.replacement = replacement

    def __iter__(self) -> Iterator[int]:
        p = self.weights / self.weights.sum()
        return iter(np.random.choice(len(p), self.num_samples, self.replacement, p).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices of at most batch_size."""

    def __init__(
        self,
        dataset: Sized | None = None,
        sampler: Iterable[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        super().__init__(dataset)
        if (dataset is None) == (sampler is None):
            raise ValueError("BatchSampler: expected either a dataset or a sampler")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"BatchSampler: expected a positive batch_size, received {batch_size!r}")
        if sampler is not None:
            if shuffle:
                raise ValueError("BatchSampler: expected shuffle=False with a sampler, which has its own order")
            self.sampler = sampler
        else:
            assert dataset is not None
            self.sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several processes; here of one by default."""

    def __init__(
        self,
        dataset: Sized,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        self.nranks = 1 if num_replicas is None else num_replicas
        self.local_rank = 0 if rank is None else rank
        self.dataset = dataset
        self.shuffle = shuffle
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        super().__init__(sampler=range(self.num_samples), batch_size=batch_size, drop_last=drop_last)

    def set_epoch(self, epoch: int) -> None:
        """The epoch seeds the order, so that all processes have the same."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        indices = list(range(len(self.dataset)))
        indices += indices[: self.num_samples * self.nranks - len(indices)]
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(indices)
            self.epoch += 1
        mine = indices[self.local_rank :: self.nranks]
        starts = range(0, len(mine), self.batch_size)
        for start in starts:
            batch = mine[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch
