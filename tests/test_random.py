"""Random operations: distributions, seeds, states."""

import threading
from typing import Any

import numpy as np
import pytest

import wherry as paddle

N = 200_000


@pytest.fixture(autouse=True)
def _seeded() -> None:
    paddle.seed(1234)


def _near(values: Any, mean: float, std: float) -> None:
    """Mean and standard deviation within five standard errors (of a sample with kurtosis up to 9)."""
    values = np.asarray(values, np.float64)
    error = std / np.sqrt(values.size)
    assert abs(values.mean() - mean) < 5 * error
    assert abs(values.std() - std) < 5 * 1.5 * error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers(dtype: str) -> None:
    x = paddle.uniform([N], dtype, min=-2.0, max=3.0).numpy()
    assert x.dtype == dtype
    assert x.min() >= -2.0
    assert x.max() < 3.0
    _near(x, 0.5, 5.0 / np.sqrt(12.0))
    # Evenly over ten bins: five standard deviations of a bin's count.
    counts = np.histogram(x, 10, (-2, 3))[0]
    assert np.all(abs(counts - N / 10) < 5 * np.sqrt(N * 0.09))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_uniform_in_half_precision_stays_below_the_upper_bound(dtype: str) -> None:
    x = paddle.rand([N], dtype).numpy().astype(np.float64)
    assert x.min() >= 0.0
    assert x.max() < 1.0
    assert abs(x.mean() - 0.5) < 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_normal_numbers(dtype: str) -> None:
    x = paddle.randn([N], dtype).numpy().astype(np.float64)
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1.0) < 0.02
    assert abs(np.mean(x**3)) < 0.05
    assert abs(np.mean(x**4) - 3.0) < 0.1


def test_complex_normal_numbers_share_the_variance() -> None:
    x = paddle.randn([N], "complex128").numpy()
    _near(x.real, 0.0, np.sqrt(0.5))
    _near(x.imag, 0.0, np.sqrt(0.5))
    assert abs(np.mean(x.real * x.imag)) < 0.01


def test_normal_takes_tensors_and_numbers() -> None:
    x = paddle.normal(paddle.full([N], 3.0), 2.0)
    _near(x.numpy(), 3.0, 2.0)
    assert paddle.normal(0.0, paddle.to_tensor([0.0, 1.0])).numpy()[0] == 0.0
    assert paddle.normal(1.0, 0.0, [2]).numpy().tolist() == [1.0, 1.0]
    assert paddle.normal(1 + 1j, 1.0, [2]).dtype == paddle.complex64
    with pytest.raises(TypeError, match="shape"):
        paddle.normal(1.0, 2.0)


def test_integers_cover_their_range() -> None:
    x = paddle.randint(-3, 4, [N]).numpy()
    assert x.dtype == np.int64
    counts = np.bincount(x + 3)
    assert counts.size == 7
    assert np.all(abs(counts - N / 7) < 5 * np.sqrt(N / 7))
    assert paddle.randint(5, dtype="int32").dtype == paddle.int32
    like = paddle.randint_like(paddle.zeros([2, 3]), 7)
    assert like.dtype == paddle.float32
    assert like.shape == [2, 3]
    for low, high in ((0, None), (3, 3), (4, 2)):
        with pytest.raises(ValueError, match="low"):
            paddle.randint(low, high)


def test_permutations() -> None:
    x = paddle.randperm(1000)
    assert sorted(x.tolist()) == list(range(1000))
    assert x.tolist() != list(range(1000))
    assert paddle.randperm(0).shape == [0]
    assert paddle.randperm(3, "float32").dtype == paddle.float32
    with pytest.raises(ValueError, match="n >= 0"):
        paddle.randperm(-1)


def test_bernoulli() -> None:
    x = paddle.bernoulli(paddle.full([N], 0.3)).numpy()
    assert set(np.unique(x)) == {0.0, 1.0}
    _near(x, 0.3, np.sqrt(0.21))
    assert paddle.bernoulli(paddle.zeros([4]), p=1.0).tolist() == [1.0] * 4
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match="probabilit"):
            paddle.bernoulli(paddle.to_tensor([0.5, wrong]))


def test_multinomial_with_replacement_follows_the_weights() -> None:
    weights = paddle.to_tensor([[1.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.0, 2.0]])
    x = paddle.multinomial(weights, N, replacement=True).numpy()
    counts = np.bincount(x[0], minlength=4)
    assert counts[1] == 0
    expected = N * np.array([1, 0, 3, 4]) / 8
    assert np.all(abs(counts - expected) < 5 * np.sqrt(expected + 1))
    assert np.all(x[1] == 3)


def test_multinomial_without_replacement() -> None:
    weights = paddle.to_tensor(np.tile([1.0, 2.0, 0.0, 5.0], (20_000, 1)))
    x = paddle.multinomial(weights, 3).numpy()
    assert np.all(np.sort(x, axis=-1) == [0, 1, 3])
    first = np.bincount(x[:, 0], minlength=4) / 20_000
    assert np.all(abs(first - [0.125, 0.25, 0.0, 0.625]) < 0.02)
    # Given that 3 came first, 1 is twice as likely as 0 to come second.
    second = x[x[:, 0] == 3, 1]
    assert abs(np.mean(second == 1) - 2 / 3) < 0.02


@pytest.mark.parametrize(
    ("weights", "count"),
    [([0.0, 1.0], 2), ([1.0, 1.0], 3), ([-1.0, 1.0], 1), ([0.0, 0.0], 1), ([float("nan"), 1.0], 1), ([1.0], 0)],
)
def test_multinomial_refuses(weights: list[float], count: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        paddle.multinomial(paddle.to_tensor(weights), count)


def test_distributions_by_their_moments() -> None:
    full = paddle.full([N], 4.0, "float64")
    _near(paddle.poisson(full).numpy(), 4.0, 2.0)
    _near(paddle.standard_gamma(full).numpy(), 4.0, 2.0)
    binomial = paddle.binomial(paddle.full([N], 10, "int64"), paddle.full([N], 0.3))
    assert binomial.dtype == paddle.int64
    _near(binomial.numpy(), 3.0, np.sqrt(2.1))
    _near(np.log(paddle.log_normal(1.0, 2.0, [N]).numpy()), 1.0, 2.0)


def test_draws_in_place() -> None:
    x = paddle.zeros([N], "float64")
    same = x.normal_(2.0, 3.0)
    assert same is x
    _near(x.numpy(), 2.0, 3.0)
    x.uniform_(0.0, 2.0)
    _near(x.numpy(), 1.0, 2.0 / np.sqrt(12.0))
    x.exponential_(2.0)
    assert x.numpy().min() >= 0.0
    assert abs(x.numpy().mean() - 0.5) < 0.02
    x.bernoulli_(0.25)
    _near(x.numpy(), 0.25, np.sqrt(0.1875))
    x.cauchy_(1.0, 2.0)
    assert abs(np.median(x.numpy()) - 1.0) < 0.05
    assert abs(np.percentile(x.numpy(), 75) - 3.0) < 0.1
    x.log_normal_(0.0, 1.0)
    _near(np.log(x.numpy()), 0.0, 1.0)
    x.geometric_(0.5)
    # -log(u) is exponential, so the mean is -1 / log(1 - p).
    assert abs(x.numpy().mean() - 1.0 / np.log(2.0)) < 0.02
    for call in (lambda: x.uniform_(1.0, 1.0), lambda: x.exponential_(0.0), lambda: x.bernoulli_(2.0)):
        with pytest.raises(ValueError, match="expected"):
            call()


def test_a_draw_cuts_the_gradient() -> None:
    x = paddle.ones([3], "float64")
    x.stop_gradient = False
    y = x * 2.0
    y.normal_()
    (y * 3.0).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_truncated_normal_stays_inside() -> None:
    x = paddle._C_ops.truncated_gaussian_random([N], 1.0, 2.0, 0, -1.5, 0.5, "float64").numpy()
    assert x.min() >= 1.0 - 3.0
    assert x.max() <= 1.0 + 1.0


def test_the_same_seed_gives_the_same_numbers() -> None:
    paddle.seed(7)
    first = [paddle.rand([5]).tolist(), paddle.randn([5]).tolist(), paddle.randperm(9).tolist()]
    paddle.seed(7)
    assert first == [paddle.rand([5]).tolist(), paddle.randn([5]).tolist(), paddle.randperm(9).tolist()]
    paddle.seed(8)
    assert first[0] != paddle.rand([5]).tolist()


def test_a_seed_of_its_own_leaves_the_stream_alone() -> None:
    paddle.seed(7)
    expected = paddle.rand([3]).tolist()
    paddle.seed(7)
    own = paddle.uniform([3], seed=5).tolist()
    assert paddle.rand([3]).tolist() == expected
    assert own == paddle.uniform([3], seed=5).tolist()


def test_states_come_back() -> None:
    paddle.rand([3])
    state = paddle.get_rng_state()
    first = paddle.randn([4]).tolist()
    paddle.set_rng_state(state)
    assert paddle.randn([4]).tolist() == first
    assert paddle.get_cuda_rng_state() == []
    with pytest.raises(ValueError, match="one state"):
        paddle.set_rng_state([])
    with pytest.raises(TypeError, match="get_state"):
        paddle.set_rng_state([3])
    with pytest.raises(NotImplementedError, match="device"):
        paddle.get_rng_state("gpu")


def test_a_generator_says_where_it_began() -> None:
    generator = paddle.seed(42)
    assert generator.initial_seed() == 42
    assert generator.get_state().current_seed() == 42
    assert generator.random() != generator.random()
    paddle.seed(-1)
    assert paddle.rand([1]).shape == [1]


def test_threads_draw_different_numbers() -> None:
    drawn: list[list[float]] = []

    def draw() -> None:
        drawn.append(paddle.rand([1000]).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(values) for values in drawn}) == 4
