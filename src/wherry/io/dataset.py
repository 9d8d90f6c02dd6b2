"""Datasets. Source: paddle.io."""

import bisect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class Dataset:
    """A collection with a length and items by number; subclasses write __getitem__ and __len__."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs a method __getitem__(self, idx)")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} needs a method __len__(self)")


class IterableDataset(Dataset):
    """A stream of items; subclasses write __iter__."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} needs a method __iter__(self)")

    def __getitem__(self, idx: int) -> Any:
        raise RuntimeError("IterableDataset: expected to be iterated over, received an index")

    def __len__(self) -> int:
        raise RuntimeError("IterableDataset: a stream has no length")


class TensorDataset(Dataset):
    """Rows of tensors of one length. Raises ValueError for lengths that differ."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        if len({len(t) for t in tensors}) > 1:
            raise ValueError(f"TensorDataset: expected tensors of one length, received {[len(t) for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, idx: int) -> tuple[Any, ...]:
        return tuple(t[idx] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def _flattened(sample: Any) -> list[Any]:
    return list(sample) if isinstance(sample, (list, tuple)) else [sample]


class ComposeDataset(Dataset):
    """Items of several datasets of one length side by side."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        if not datasets or len({len(d) for d in datasets}) > 1:
            raise ValueError("ComposeDataset: expected at least one dataset, all of one length")
        self.datasets = list(datasets)

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: int) -> tuple[Any, ...]:
        return tuple(item for d in self.datasets for item in _flattened(d[idx]))


class ChainDataset(IterableDataset):
    """Streams one after another."""

    def __init__(self, datasets: Sequence[IterableDataset]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from dataset


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        if not datasets:
            raise ValueError("ConcatDataset: expected at least one dataset")
        self.datasets = list(datasets)
        self.cumulative_sizes = np.cumsum([len(d) for d in self.datasets]).tolist()

    def __len__(self) -> int:
        return int(self.cumulative_sizes[-1])

    def __getitem__(self, idx: int) -> Any:
        if not -len(self) <= idx < len(self):
            raise IndexError(f"ConcatDataset: expected an index in [{-len(self)}, {len(self)}), received {idx}")
        idx %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """Chosen items of a dataset."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: int) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split at random into parts of the given lengths, or fractions that add up to 1.

    The order comes from NumPy's global state, as in Paddle. Raises ValueError for lengths that do not add up, NotImplementedError for a
    generator. Source: paddle.io.random_split.
    """
    if generator is not None:
        raise NotImplementedError("random_split: the argument 'generator' is not supported")
    count = len(dataset)
    if all(0 <= n <= 1 for n in lengths) and abs(sum(lengths) - 1) < 1e-9:
        sizes = [int(count * n) for n in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [int(n) for n in lengths]
    if sum(sizes) != count:
        raise ValueError(f"random_split: expected lengths that add up to {count}, received {list(lengths)}")
    order = np.random.permutation(count).tolist()
    starts = np.cumsum([0, *sizes]).tolist()
    return [Subset(dataset, order[a:b]) for a, b in zip(starts, starts[1:])]


__all__ = [
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]
