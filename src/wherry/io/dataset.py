"""Datasets: things with samples."""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.autograd.structures import TensorBase
from wherry.tensor.tensor import tensor_from_array


class NoLength(RuntimeError, ValueError, TypeError):
    """A stream, or its loader, was asked for its length: an error of Paddle's kind, and a TypeError so that list() does without."""


class Dataset:
    """Samples by index: subclasses define __getitem__ and __len__. Source: paddle.io.Dataset."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError(f"'__getitem__' not implement in class {type(self).__name__}")

    def __len__(self) -> int:
        raise NotImplementedError(f"'__len__' not implement in class {type(self).__name__}")


class IterableDataset(Dataset):
    """Samples in an order of its own: subclasses define __iter__. Source: paddle.io.IterableDataset."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"'__iter__' not implement in class {type(self).__name__}")

    def __getitem__(self, idx: Any) -> Any:
        raise RuntimeError(f"'__getitem__' should not be called for IterableDataset {type(self).__name__}")

    def __len__(self) -> int:
        raise NoLength(f"'__len__' should not be called for IterableDataset {type(self).__name__}")


class TensorDataset(Dataset):
    """Sample i is row i of every tensor; they must have as many rows (ValueError). Source: paddle.io.TensorDataset."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = list(tensors)
        for tensor in self.tensors:
            if not isinstance(tensor, TensorBase) or tensor.impl.meta.ndim == 0:
                raise TypeError(
                    f"TensorDataset: expected Tensors of at least one dimension, received {type(tensor).__name__}"
                )
        sizes = [t.shape[0] for t in self.tensors]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"TensorDataset: expected tensors of the same size in the first dimension, received {sizes}"
            )

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0]) if self.tensors else 0

    def batch(self, indices: list[int]) -> list[Any]:
        """What collating the samples of these indices gives, in one step a tensor."""
        return [tensor_from_array(np.take(t.impl.array, indices, axis=0)) for t in self.tensors]


def _joined(sample: Any) -> list[Any]:
    return list(sample) if isinstance(sample, (list, tuple)) else [sample]


class ComposeDataset(Dataset):
    """Sample i is the fields of sample i of every dataset; they must be as long (ValueError). Source: paddle.io.ComposeDataset."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ComposeDataset: expected at least one dataset, received none")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError("ComposeDataset: expected datasets with indices, received an IterableDataset")
        lengths = [len(d) for d in self.datasets]
        if len(set(lengths)) > 1:
            raise ValueError(f"ComposeDataset: expected datasets of the same length, received {lengths}")

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: int) -> tuple[Any, ...]:
        return tuple(itertools.chain.from_iterable(_joined(dataset[idx]) for dataset in self.datasets))


class ChainDataset(IterableDataset):
    """The samples of one IterableDataset after those of another. Source: paddle.io.ChainDataset."""

    def __init__(self, datasets: Sequence[IterableDataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ChainDataset: expected at least one dataset, received none")
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(f"ChainDataset: expected IterableDatasets, received {type(dataset).__name__}")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class ConcatDataset(Dataset):
    """The samples of one dataset after those of another. Source: paddle.io.ConcatDataset."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: expected at least one dataset, received none")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError("ConcatDataset: expected datasets with indices, received an IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Sequence[Any]) -> list[int]:
        """Lengths, added up."""
        return list(itertools.accumulate(len(item) for item in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        count = len(self)
        if not -count <= idx < count:
            raise ValueError(f"ConcatDataset: expected an index in [{-count}, {count}), received {idx}")
        idx = idx + count if idx < 0 else idx
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """The samples of a dataset at some indices. Source: paddle.io.Subset."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: int) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Subsets of given lengths (or shares that add up to 1) at random; drawn from the process's generator (paddle.seed).

    Raises ValueError where the lengths are not the dataset's together. Source: paddle.io.random_split.
    """
    if generator is not None:
        raise NotImplementedError("random_split: 'generator' is not supported; use paddle.seed")
    total = len(dataset)
    if sum(lengths) <= 1 and abs(sum(lengths) - 1) < 1e-9:
        sizes = _sizes_of(lengths, total)
    else:
        sizes = [int(length) for length in lengths]
        if sum(sizes) != total or list(sizes) != list(lengths):
            raise ValueError(
                f"random_split: expected lengths that add up to the dataset's {total}, received {list(lengths)}"
            )
    order = _C_ops.randperm(total, "int64").impl.array.tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes)]


def _sizes_of(shares: Sequence[float], total: int) -> list[int]:
    for share in shares:
        if not 0 <= share <= 1:
            raise ValueError(f"random_split: expected shares in [0, 1], received {list(shares)}")
    sizes = [int(total * share) for share in shares]
    # What rounding down leaves goes to the first subsets, one each.
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    return sizes
