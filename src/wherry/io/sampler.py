"""Samplers: in which order samples come, one by one or in batches. Random orders come from NumPy's generator, as in Paddle."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.autograd.structures import TensorBase
from wherry.io.dataset import IterableDataset


class Sampler:
    """Indices: subclasses define __iter__ and, where they can, __len__. Source: paddle.io.Sampler."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__()")


class SequenceSampler(Sampler):
    """0, 1, 2 ... Source: paddle.io.SequenceSampler."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """Indices in random order; with replacement num_samples of them, any more than once.

    generator: an iterator that gives the indices instead. Source: paddle.io.RandomSampler.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: expected a bool for 'replacement', received {type(replacement).__name__}")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"RandomSampler: expected num_samples > 0, received {num_samples!r}")
        if num_samples is not None and not replacement and num_samples > len(data_source):
            raise ValueError(
                f"RandomSampler: expected num_samples <= {len(data_source)} without replacement, received {num_samples}"
            )
        self.replacement = replacement
        self.generator = generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """How many indices there are."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.generator is not None:
            for _ in range(self.num_samples):
                try:
                    yield next(self.generator)
                except StopIteration:
                    return
            return
        if count:
            yield from np.random.choice(np.arange(count), self.num_samples, replace=self.replacement).tolist()

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """Indices drawn with weights. Source: paddle.io.WeightedRandomSampler."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: expected num_samples > 0, received {num_samples!r}")
        if not isinstance(replacement, bool):
            raise TypeError(
                f"WeightedRandomSampler: expected a bool for 'replacement', received {type(replacement).__name__}"
            )
        array = np.asarray(weights.impl.array if isinstance(weights, TensorBase) else weights, dtype=np.float64)
        if array.ndim != 1 or (array < 0).any() or not array.sum() > 0:
            raise ValueError("WeightedRandomSampler: expected a vector of weights >= 0 that are not all zero")
        if not replacement and num_samples > int((array > 0).sum()):
            raise ValueError("WeightedRandomSampler: expected at most as many samples as there are weights above zero")
        self.weights = array
        self.num_samples = num_samples
        self.replacement = replacement

    def __iter__(self) -> Iterator[int]:
        shares = self.weights / self.weights.sum()
        return iter(np.random.choice(len(shares), self.num_samples, self.replacement, shares).tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given indices in random order, from the process's generator (paddle.seed). Source: paddle.io.SubsetRandomSampler."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        if len(indices) == 0:
            raise ValueError("SubsetRandomSampler: expected at least one index, received none")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        for i in _C_ops.randperm(len(self.indices), "int64").impl.array.tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


def _checked_batch_size(kind: str, batch_size: Any, drop_last: Any) -> None:
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)) or batch_size <= 0:
        raise ValueError(f"{kind}: batch_size should be a positive integer, but got {batch_size!r}")
    if not isinstance(drop_last, bool):
        raise TypeError(f"{kind}: expected a bool for 'drop_last', received {type(drop_last).__name__}")


class BatchSampler(Sampler):
    """Lists of batch_size indices, of a dataset (shuffled or not) or a sampler. Source: paddle.io.BatchSampler."""

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        if (dataset is None) == (sampler is None):
            raise ValueError("BatchSampler: expected either 'dataset' or 'sampler'")
        if isinstance(dataset, IterableDataset):
            raise TypeError("BatchSampler: expected a dataset with indices, received an IterableDataset")
        if not isinstance(shuffle, bool):
            raise TypeError(f"BatchSampler: expected a bool for 'shuffle', received {type(shuffle).__name__}")
        if sampler is not None and shuffle:
            raise ValueError("BatchSampler: 'shuffle' is the sampler's affair where one is given")
        _checked_batch_size("BatchSampler", batch_size, drop_last)
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.shuffle = shuffle

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches that one of num_replicas processes gets; each gets as many, the first samples filling up. set_epoch(e) reshuffles.

    num_replicas and rank are 1 and 0 where they are not given. Source: paddle.io.DistributedBatchSampler.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        _checked_batch_size("DistributedBatchSampler", batch_size, drop_last)
        if not isinstance(shuffle, bool):
            raise TypeError(
                f"DistributedBatchSampler: expected a bool for 'shuffle', received {type(shuffle).__name__}"
            )
        self.nranks = 1 if num_replicas is None else num_replicas
        self.local_rank = 0 if rank is None else rank
        if self.nranks <= 0 or not 0 <= self.local_rank < self.nranks:
            raise ValueError(
                f"DistributedBatchSampler: expected 0 <= rank < num_replicas, received {self.local_rank} and {self.nranks}"
            )
        self.data_source = dataset
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def set_epoch(self, epoch: int) -> None:
        """The number that the shuffled order follows from."""
        self.epoch = epoch

    def _order(self) -> list[int]:
        order = list(range(len(self.dataset)))
        while order and len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        return order

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        order = self._order()
        mine = order
        if self.nranks > 1:
            # Batches go round the processes; what is left is cut in equal parts.
            mine = []
            left = self.total_size % (self.batch_size * self.nranks)
            whole = len(order) - left
            for start in range(self.local_rank * self.batch_size, whole, self.batch_size * self.nranks):
                mine += order[start : start + self.batch_size]
            part = left // self.nranks
            begin = whole + self.local_rank * part
            mine += order[begin : begin + part]
        for start in range(0, len(mine), self.batch_size):
            batch = mine[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        return self.num_samples // self.batch_size if self.drop_last else -(-self.num_samples // self.batch_size)
