"""Datasets, samplers and loaders. Orders are those real Paddle 3.3.1 gives from the same NumPy seed."""

import numpy as np
import pytest

import wherry as paddle
from wherry import io
from wherry.metric import Accuracy, Precision, Recall, accuracy


class Numbers(io.Dataset):
    def __init__(self, count=5, sample=lambda i: i):
        self.count = count
        self.sample = sample

    def __getitem__(self, index):
        return self.sample(index)

    def __len__(self):
        return self.count


class Stream(io.IterableDataset):
    def __iter__(self):
        yield from range(5)


def lists(loader):
    return [batch.numpy().tolist() for batch in loader]


def test_orders_from_numpys_seed():
    np.random.seed(0)
    assert list(io.RandomSampler(range(10))) == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]
    np.random.seed(0)
    assert list(io.RandomSampler(range(10), replacement=True, num_samples=6)) == [5, 0, 3, 3, 7, 9]
    np.random.seed(0)
    assert list(io.RandomSampler(range(10), num_samples=6)) == [2, 8, 4, 9, 1, 6]
    np.random.seed(0)
    assert list(io.WeightedRandomSampler([0.1, 0.9, 0.5], 5)) == [1, 2, 1, 1, 1]
    np.random.seed(0)
    assert lists(io.DataLoader(Numbers(8), batch_size=4, shuffle=True)) == [[6, 2, 1, 7], [3, 0, 5, 4]]
    assert list(io.SequenceSampler(range(3))) == [0, 1, 2]
    assert sorted(io.SubsetRandomSampler([5, 6, 7])) == [5, 6, 7]


def test_batches():
    assert lists(io.DataLoader(Numbers(), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(io.DataLoader(Numbers(), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert [len(io.DataLoader(Numbers(), batch_size=2, drop_last=d)) for d in (False, True)] == [3, 2]
    sampler = io.BatchSampler(Numbers(), batch_size=3)
    assert lists(io.DataLoader(Numbers(), batch_sampler=sampler)) == [[0, 1, 2], [3, 4]]
    assert lists(io.DataLoader(Numbers(), batch_size=2, num_workers=2)) == [[0, 1], [2, 3], [4]]
    assert lists(io.DataLoader(list(range(3)), batch_size=2)) == [[0, 1], [2]]
    assert list(io.BatchSampler(sampler=io.SequenceSampler(range(5)), batch_size=2)) == [[0, 1], [2, 3], [4]]


def test_streams():
    assert lists(io.DataLoader(Stream(), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(io.DataLoader(Stream(), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(io.DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    assert list(io.ChainDataset([Stream(), Stream()])) == [0, 1, 2, 3, 4] * 2
    with pytest.raises(ValueError, match="length of IterableDataset not supported"):
        len(io.DataLoader(Stream()))


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (lambda i: i, ("int64", [2])),
        (lambda i: float(i), ("float64", [2])),
        (lambda i: True, ("bool", [2])),
        (lambda i: np.float32(i), ("float32", [2])),
        (lambda i: np.ones(3), ("float64", [2, 3])),
        (lambda i: paddle.ones([2]), ("float32", [2, 2])),
    ],
)
def test_kinds_of_samples(sample, expected):
    batch = next(iter(io.DataLoader(Numbers(sample=sample), batch_size=2)))
    assert (batch.dtype.name, batch.shape) == expected


def test_structures_of_samples():
    loader = io.DataLoader(Numbers(sample=lambda i: {"a": i, "b": [np.ones(2), "s"]}), batch_size=2)
    batch = next(iter(loader))
    assert batch["a"].shape == [2] and batch["b"][0].shape == [2, 2] and batch["b"][1] == ["s", "s"]
    images, labels = next(iter(io.DataLoader(Numbers(sample=lambda i: (np.ones(3, "float32"), i)), batch_size=2)))
    assert images.shape == [2, 3] and labels.numpy().tolist() == [0, 1]
    single = next(iter(io.DataLoader(Numbers(sample=lambda i: (np.ones(3), i)), batch_size=None)))
    assert single[0].shape == [3] and single[1] == 0
    own = next(iter(io.DataLoader(Numbers(), batch_size=2, collate_fn=lambda batch: [np.array(batch), "x"])))
    assert own[0].numpy().tolist() == [0, 1] and own[1] == "x"


def test_a_batch_shares_no_memory_with_what_a_collate_fn_keeps():
    kept = np.zeros(2)
    batch = next(iter(io.DataLoader(Numbers(), collate_fn=lambda batch: kept)))
    kept[:] = 5
    assert batch.numpy().tolist() == [0.0, 0.0]


def test_samples_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="samples of one shape"):
        next(iter(io.DataLoader(Numbers(sample=lambda i: np.ones(i + 1)), batch_size=2)))
    with pytest.raises(TypeError, match="received NoneType"):
        next(iter(io.DataLoader(Numbers(sample=lambda i: None), batch_size=2)))
    with pytest.raises(ZeroDivisionError):
        next(iter(io.DataLoader(Numbers(sample=lambda i: 1 / 0))))


def test_datasets():
    rows = io.TensorDataset([paddle.arange(6).reshape([3, 2]), paddle.arange(3)])
    assert [t.numpy().tolist() for t in rows[1]] == [[2, 3], 1] and len(rows) == 3
    for loader in (io.DataLoader(rows, batch_size=2), io.DataLoader(io.Subset(rows, [0, 1, 2]), batch_size=2)):
        x, y = next(iter(loader))
        assert x.numpy().tolist() == [[0, 1], [2, 3]] and y.numpy().tolist() == [0, 1]
    joined = io.ConcatDataset([Numbers(), Numbers(3, lambda i: -i)])
    assert (len(joined), joined[4], joined[6], joined[-1]) == (8, 4, -1, -2)
    assert io.ComposeDataset([Numbers(), Numbers(sample=lambda i: (-i, 2))])[1] == (1, -1, 2)
    assert io.Subset(Numbers(sample=lambda i: i * 10), [3, 1])[0] == 30
    with pytest.raises(ValueError, match="same size in the first dimension"):
        io.TensorDataset([paddle.ones([2, 3]), paddle.ones([3])])
    with pytest.raises(ValueError, match="index in"):
        joined[8]
    with pytest.raises(NotImplementedError, match="__getitem__"):
        io.Dataset()[0]


def test_random_split():
    parts = io.random_split(Numbers(6), [2, 4])
    assert sorted(i for part in parts for i in part.indices) == list(range(6))
    assert [len(p) for p in parts] == [2, 4]
    assert [len(p) for p in io.random_split(Numbers(5), [0.5, 0.5])] == [3, 2]
    with pytest.raises(ValueError, match="add up to the dataset's 6"):
        io.random_split(Numbers(6), [2, 3])
    paddle.seed(1)
    one = io.random_split(Numbers(20), [10, 10])[0].indices
    paddle.seed(1)
    assert io.random_split(Numbers(20), [10, 10])[0].indices == one


def test_batches_of_several_processes():
    def batches(rank, **options):
        sampler = io.DistributedBatchSampler(Numbers(7), 2, num_replicas=2, rank=rank, **options)
        sampler.set_epoch(3)
        return list(sampler)

    assert batches(0) == [[0, 1], [4, 5]]
    assert batches(1) == [[2, 3], [6, 0]]
    assert batches(1, shuffle=True) == [[4, 6], [0, 2]]
    assert len(io.DistributedBatchSampler(Numbers(7), 2)) == 4


def test_wrong_arguments_are_named():
    for call, text in (
        (lambda: io.DataLoader(Stream(), shuffle=True), "not support shuffle"),
        (lambda: io.DataLoader(Numbers(), batch_sampler=io.BatchSampler(Numbers()), batch_size=2), "should not be set"),
        (lambda: io.DataLoader(Numbers(), num_workers=-1), "non-negative"),
        (lambda: io.BatchSampler(Numbers(), batch_size=0), "positive integer"),
        (lambda: io.BatchSampler(), "either 'dataset' or 'sampler'"),
        (lambda: io.RandomSampler(range(3), num_samples=5), "num_samples <= 3"),
        (lambda: io.WeightedRandomSampler([0.0, -1.0], 2), "weights >= 0"),
        (lambda: io.DistributedBatchSampler(Numbers(), 2, num_replicas=2, rank=2), "0 <= rank"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(NotImplementedError, match="return_list"):
        io.DataLoader(Numbers(), return_list=False)


def test_accuracy():
    scores = paddle.to_tensor([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    metric = Accuracy(topk=(1, 2))
    assert metric.update(metric.compute(scores, paddle.to_tensor([1, 1, 0]))) == pytest.approx([1 / 3, 2 / 3])
    assert metric.update(metric.compute(scores, paddle.to_tensor([[1], [0], [2]]))) == [1.0, 1.0]
    assert metric.accumulate() == pytest.approx([4 / 6, 5 / 6])
    assert metric.name() == ["acc_top1", "acc_top2"]
    metric.reset()
    assert metric.accumulate() == [0.0, 0.0]
    assert float(accuracy(scores, paddle.to_tensor([[1], [1], [0]]), k=2)) == pytest.approx(2 / 3)
    one_hot = paddle.to_tensor([[0, 1, 0], [1, 0, 0], [1, 0, 0]])
    single = Accuracy()
    assert single.update(single.compute(scores, one_hot)) == pytest.approx(2 / 3)


def test_precision_and_recall():
    for metric, expected in ((Precision(), 2 / 3), (Recall(), 2 / 4)):
        metric.update(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), np.array([1, 1, 0, 1, 1]))
        assert metric.accumulate() == pytest.approx(expected)
