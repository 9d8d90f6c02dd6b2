"""Initial values: distributions, fixed values, defaults of the layers."""

import math

import numpy as np
import pytest

import wherry as paddle
from wherry import nn

init = nn.initializer


def drawn(initializer, shape, dtype="float32"):
    paddle.seed(0)
    return paddle.create_parameter(list(shape), dtype, default_initializer=initializer).numpy()


UNIFORM = [
    (init.Uniform(-0.5, 0.25), (200, 100), -0.5, 0.25),
    (init.XavierUniform(), (200, 100), -math.sqrt(6 / 300), math.sqrt(6 / 300)),
    (init.XavierUniform(gain=2.0), (20, 10, 5, 5), -2 * math.sqrt(6 / 750), 2 * math.sqrt(6 / 750)),
    (init.KaimingUniform(), (200, 100), -math.sqrt(6 / 200), math.sqrt(6 / 200)),
    (init.KaimingUniform(mode="fan_out"), (20, 10, 5, 5), -math.sqrt(6 / 500), math.sqrt(6 / 500)),
]
NORMAL = [
    (init.Normal(1.0, 0.5), (200, 100), 1.0, 0.5),
    (init.XavierNormal(), (200, 100), 0.0, math.sqrt(2 / 300)),
    (init.KaimingNormal(), (20, 40, 5, 5), 0.0, math.sqrt(2 / 1000)),
    (init.KaimingNormal(nonlinearity="leaky_relu", negative_slope=1.0), (200, 100), 0.0, math.sqrt(1 / 200)),
    # A normal distribution cut at two deviations has 0.8796 of its deviation.
    (init.TruncatedNormal(1.0, 0.5), (200, 100), 1.0, 0.5 * 0.87962566),
]


@pytest.mark.parametrize(("initializer", "shape", "low", "high"), UNIFORM)
def test_uniform(initializer, shape, low, high):
    values = drawn(initializer, shape)
    assert low <= values.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < values.max() <= high
    assert values.std() == pytest.approx((high - low) / math.sqrt(12), rel=0.03)


@pytest.mark.parametrize(("initializer", "shape", "mean", "std"), NORMAL)
def test_normal(initializer, shape, mean, std):
    values = drawn(initializer, shape)
    assert values.mean() == pytest.approx(mean, abs=0.03 * std)
    assert values.std() == pytest.approx(std, rel=0.03)


def test_truncated_values_stay_inside():
    values = drawn(init.TruncatedNormal(0.0, 1.0, -1.0, 0.5), (100, 100))
    assert values.min() >= -1.0 and values.max() <= 0.5


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 2, 3)])
def test_orthogonal(shape):
    flat = drawn(init.Orthogonal(gain=2.0), shape).reshape(shape[0], -1) / 2.0
    product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-6)


def test_fixed_values():
    assert (drawn(init.Constant(1.5), (2, 2)) == 1.5).all()
    np.testing.assert_array_equal(drawn(init.Assign([[1, 2]]), (1, 2)), [[1.0, 2.0]])
    np.testing.assert_array_equal(drawn(init.Assign(paddle.to_tensor([3.0])), (1,)), [3.0])
    with pytest.raises(ValueError, match=r"shape \[3\], received \[2\]"):
        drawn(init.Assign([1.0, 2.0]), (3,))


def test_dirac_hands_its_input_through():
    conv = nn.Conv2D(3, 3, 3, padding=1, weight_attr=init.Dirac(), bias_attr=False)
    x = paddle.randn([2, 3, 5, 5])
    np.testing.assert_allclose(conv(x).numpy(), x.numpy(), rtol=1e-6)


def test_bilinear_enlarges_evenly():
    conv = nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=init.Bilinear(), bias_attr=False)
    inner = conv(paddle.ones([1, 1, 4, 4])).numpy()[0, 0, 1:-1, 1:-1]
    np.testing.assert_allclose(inner, np.ones((6, 6)), rtol=1e-6)


def test_halves_are_drawn_wide():
    layer = nn.Layer(dtype="bfloat16")
    parameter = layer.create_parameter([100, 100])
    assert parameter.dtype == paddle.bfloat16
    assert parameter.astype("float32").numpy().std() == pytest.approx(math.sqrt(2 / 200), rel=0.05)


def test_defaults_of_layers():
    paddle.seed(0)
    weight = nn.Conv2D(16, 64, 5).weight.numpy()
    assert weight.std() == pytest.approx(math.sqrt(2 / 400), rel=0.03) and abs(weight).max() > 3 * math.sqrt(2 / 400)
    limit = math.sqrt(6 / 700)
    assert 0.99 * limit < abs(nn.Linear(400, 300).weight.numpy()).max() <= limit
    assert not nn.Linear(4, 3).bias.numpy().any()
    assert 0.99 * math.sqrt(6 / 500) < abs(nn.Embedding(300, 200).weight.numpy()).max() <= math.sqrt(6 / 500)
    assert (nn.LayerNorm(3).weight.numpy() == 1).all() and (nn.BatchNorm2D(3)._variance.numpy() == 1).all()


def test_the_seed_decides():
    paddle.seed(7)
    one = nn.Linear(3, 3).weight.numpy()
    paddle.seed(7)
    np.testing.assert_array_equal(one, nn.Linear(3, 3).weight.numpy())


def test_global_initializers():
    init.set_global_initializer(init.Constant(2.0), init.Constant(3.0))
    try:
        layer = nn.Conv2D(1, 1, 1)
        assert (layer.weight.item(), layer.bias.item()) == (2.0, 3.0)
        own = nn.Linear(1, 1, weight_attr=init.Constant(5.0))
        assert (own.weight.item(), own.bias.item()) == (5.0, 3.0)
    finally:
        init.set_global_initializer(None)
    assert not nn.Linear(1, 1).bias.numpy().any()
    with pytest.raises(TypeError, match="'weight_init', received int"):
        init.set_global_initializer(3)


def test_an_initializer_of_ones_own():
    class Counting(init.Initializer):
        def forward(self, param, block=None):
            param.set_value(np.arange(param.size, dtype="float32").reshape(param.shape))
            return param

    np.testing.assert_array_equal(drawn(Counting(), (2, 2)), [[0.0, 1.0], [2.0, 3.0]])


def test_gains():
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 2.0) == pytest.approx(math.sqrt(2 / 5))
    with pytest.raises(ValueError, match="expected a nonlinearity"):
        init.calculate_gain("none such")
