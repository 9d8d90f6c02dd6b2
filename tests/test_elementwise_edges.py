"""Element-wise operations where formulas fail: zeros, ties, infinities, integers, numbers beside tensors."""

import warnings

import numpy as np
import pytest

import wherry as paddle
from wherry.nn import functional as F

inf, nan = float("inf"), float("nan")


def derivatives(function, *values, dtype="float64", order=1):
    """Gradients of the (real) sum of function(*values), or of the sum of those, as arrays."""
    inputs = [paddle.to_tensor(np.asarray(v, dtype), stop_gradient=False) for v in values]
    out = function(*inputs)
    for step in range(order):
        if out.dtype.is_complex:
            out = paddle.real(out)
        grads = paddle.grad(out.sum(), inputs, create_graph=step + 1 < order, allow_unused=True)
        out = sum((g.sum() for g in grads if g is not None), paddle.zeros([], dtype))
    return [np.zeros(np.shape(v)) if g is None else g.numpy() for v, g in zip(values, grads)]


def check(got, *expected):
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("function", [paddle.maximum, paddle.minimum])
def test_ties_of_maximum_and_minimum_share_the_gradient(function):
    dx, dy = derivatives(function, [1.0, 1.0, -0.0, nan], [1.0, 2.0, 0.0, 1.0])
    np.testing.assert_array_equal((dx + dy)[:3], [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(dx[[0, 2]], [0.5, 0.5])
    np.testing.assert_array_equal([dx[3], dy[3]], [0.0, 0.0])


@pytest.mark.parametrize("function", [paddle.fmax, paddle.fmin])
def test_ties_of_fmax_and_fmin_go_to_x_and_numbers_beat_nan(function):
    dx, dy = derivatives(function, [1.0, nan, 0.0, nan], [1.0, 1.0, nan, nan])
    np.testing.assert_array_equal(dx, [1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(dy, [0.0, 1.0, 0.0, 0.0])


def test_pow_at_zero():
    for exponent, first, second in (
        (0, 0.0, 0.0),
        (1, 1.0, 0.0),
        (2, 0.0, 2.0),
        (3, 0.0, 0.0),
        (4, 0.0, 0.0),
        (2.5, 0.0, 0.0),
    ):
        check(derivatives(lambda x, e=exponent: paddle.pow(x, e), [0.0]), [first])
        check(derivatives(lambda x, e=exponent: paddle.pow(x, e), [0.0], order=2), [second])
    check(derivatives(lambda x: paddle.pow(x, 0.5), [0.0]), [inf])


def test_power_of_tensors_at_zero():
    dx, dy = derivatives(paddle.pow, [0.0, 0.0, 2.0, 0.0, -2.0], [0.0, 1.0, 0.0, 2.0, 2.0])
    np.testing.assert_array_equal(dx, [0.0, 1.0, 0.0, 0.0, -4.0])
    np.testing.assert_allclose(dy[:4], [0.0, 0.0, np.log(2.0), 0.0])
    # d2/dx2 of x^2 and of x^1 at 0.
    x = paddle.to_tensor([0.0, 0.0], dtype="float64", stop_gradient=False)
    y = paddle.to_tensor([2.0, 1.0], dtype="float64")
    (g,) = paddle.grad(paddle.pow(x, y).sum(), x, create_graph=True)
    check([paddle.grad(g.sum(), x)[0].numpy()], [2.0, 0.0])


def test_power_of_complex_tensors_at_zero():
    dx, dy = derivatives(paddle.pow, [0.0, 0.0], [1.0, 2.0], dtype="complex128")
    np.testing.assert_array_equal(dx, [1.0, 0.0])
    np.testing.assert_array_equal(dy, [0.0, 0.0])


def test_complex_exponent_of_a_real_tensor():
    for exponent in (2.0 + 0j, 1j, 1.0 + 0j):
        x = paddle.to_tensor([0.5, 2.0], dtype="float64", stop_gradient=False)
        out = paddle.pow(x, exponent)
        assert out.dtype == paddle.complex128
        (g,) = paddle.grad(paddle.real(out).sum(), x)
        assert g.dtype == paddle.float64
        slope = exponent * np.array([0.5, 2.0]) ** (exponent - 1)
        np.testing.assert_allclose(g.numpy(), slope.real, rtol=1e-12)


def test_abs_and_sign_at_zero():
    check(derivatives(paddle.abs, [0.0, -0.0, 2.0, -2.0]), [0.0, 0.0, 1.0, -1.0])
    (g,) = derivatives(paddle.abs, [0j, 3 + 4j], dtype="complex128")
    np.testing.assert_allclose(g, [0.0, 0.6 + 0.8j])
    (g,) = derivatives(paddle.sign, [0j, 3 + 4j], dtype="complex128")
    assert g[0] == 0 and abs(g[1]) > 0.0


def test_roots_at_zero():
    check(derivatives(paddle.sqrt, [0.0, 4.0]), [inf, 0.25])
    check(derivatives(paddle.rsqrt, [0.0, 4.0]), [-inf, -0.0625])
    check(derivatives(paddle.hypot, [3.0, 0.0], [4.0, 0.0]), [0.6, 0.0], [0.8, 0.0])
    check(derivatives(paddle.atan2, [1e200, 0.0], [1e200, 1.0]), [5e-201, 1.0], [-5e-201, 0.0])


def test_clip_lets_the_gradient_through_at_its_bounds():
    check(
        derivatives(lambda x: paddle.clip(x, 1.0, 2.0), [0.0, 1.0, 1.5, 2.0, 3.0, nan]), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    )
    dx, low, high = derivatives(paddle.clip, [0.0, 1.0, 1.5, 2.0, 3.0], [1.0], [2.0])
    np.testing.assert_array_equal(dx, [0.0, 1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal([low, high], [[1.0], [1.0]])


def test_where_gives_the_unchosen_side_exactly_zero():
    def safe_log(x):
        return paddle.where(x > 0, paddle.log(paddle.where(x > 0, x, 1.0)), x * 0)

    check(derivatives(safe_log, [-1.0, 0.0, 2.0]), [0.0, 0.0, 0.5])
    condition = paddle.to_tensor([True, False])
    dx, dy = derivatives(lambda x, y: paddle.where(condition, x, y), [nan, inf], [inf, nan])
    np.testing.assert_array_equal(dx, [1.0, 0.0])
    np.testing.assert_array_equal(dy, [0.0, 1.0])


def test_saturated_tails_have_finite_gradients():
    for function in (paddle.sigmoid, paddle.tanh):
        for order in (1, 2):
            (g,) = derivatives(function, [-800.0, 800.0, -inf, inf], order=order)
            np.testing.assert_array_equal(g, [0.0, 0.0, 0.0, 0.0])
    value = paddle.sigmoid(paddle.to_tensor([-700.0, -90.0], dtype="float64")).numpy()
    np.testing.assert_allclose(value, np.exp([-700.0, -90.0]), rtol=1e-14)
    assert paddle.sigmoid(paddle.to_tensor([-1000 + 1j, 1000 + 1j])).numpy().tolist() == [0j, 1 + 0j]
    dx, dy = derivatives(paddle.logaddexp, [1000.0, -inf, inf], [1000.0, 3.0, inf])
    np.testing.assert_array_equal(dx, [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(dy, [0.5, 1.0, 0.5])


def test_gradients_on_both_sides_of_the_branch_cuts():
    points = np.array([-2.0 + 0.5j, -2.0 - 0.5j, 2.0 + 0.5j, 2.0 - 0.5j, 0.3 + 2j, -0.3 - 2j])
    for name in ("acosh", "asin", "acos", "asinh", "atanh", "atan", "sqrt", "log"):
        function = getattr(paddle, name)
        reference = getattr(np, {"a": "arc"}.get(name[0], name[0]) + name[1:] if name[0] == "a" else name)
        (g,) = derivatives(function, points, dtype="complex128")
        slope = (reference(points + 1e-6) - reference(points - 1e-6)) / 2e-6
        np.testing.assert_allclose(g, slope.conj(), rtol=1e-8, err_msg=name)


def test_integers_are_never_divided_by_zero():
    for function in (paddle.floor_divide, paddle.mod):
        with pytest.raises(ValueError, match=r"received 0 in y at \[1\]"):
            function(paddle.to_tensor([5, 3]), paddle.to_tensor([1, 0]))
        with pytest.raises(ValueError, match="received 0"):
            function(paddle.to_tensor([5, 3]), paddle.to_tensor(0))
    assert paddle.divide(paddle.to_tensor([5, -3]), paddle.to_tensor([0, 0])).numpy().tolist() == [inf, -inf]
    lowest = paddle.to_tensor([-(2**31)], dtype="int32")
    assert paddle.floor_divide(lowest, paddle.to_tensor([-1], dtype="int32")).dtype == paddle.int32


def test_negative_powers_of_integers_are_refused():
    with pytest.raises(ValueError, match="exponent >= 0"):
        paddle.to_tensor([2, 3]) ** -1
    with pytest.raises(ValueError, match="exponents >= 0"):
        paddle.pow(paddle.to_tensor([2, 3]), paddle.to_tensor([1, -1]))
    assert paddle.pow(paddle.to_tensor([2, -3]), 3).numpy().tolist() == [8, -27]
    assert paddle.pow(paddle.to_tensor([2, 4]), 0.5).dtype == paddle.float32


def test_rounding_modes_of_divide():
    x, y = paddle.to_tensor([7, -7, 7, -7]), paddle.to_tensor([2, 2, -2, -2])
    assert paddle.divide(x, y, rounding_mode="floor").numpy().tolist() == [3, -4, -4, 3]
    assert paddle.divide(x, y, rounding_mode="trunc").numpy().tolist() == [3, -3, -3, 3]
    assert paddle.divide(x, y).numpy().tolist() == [3.5, -3.5, -3.5, 3.5]
    with pytest.raises(ValueError, match="rounding_mode"):
        paddle.divide(x, y, rounding_mode="up")


def test_scale_of_integers_drops_fractions_and_keeps_minus_zero():
    assert paddle.scale(paddle.to_tensor([1, 2, 3]), 2.5, 1.5).numpy().tolist() == [3, 5, 7]
    assert paddle.scale(paddle.to_tensor([3], dtype="uint8"), -1.0).numpy().tolist() == [253]
    assert np.signbit(paddle.scale(paddle.to_tensor([-0.0]), 2.0).numpy()).all()
    assert np.signbit((-paddle.to_tensor([0.0])).numpy()).all()
    factor = paddle.to_tensor(2.0, stop_gradient=False)
    (g,) = paddle.grad(paddle.scale(paddle.to_tensor([1.0, 2.0]), factor, 1.0).sum(), factor)
    assert float(g) == 3.0
    (g,) = paddle.grad(paddle.scale(paddle.to_tensor([1.0, 2.0]), factor, 1.0, bias_after_scale=False).sum(), factor)
    assert float(g) == 5.0


def test_clip_of_integers():
    x = paddle.to_tensor([1, 2, 3])
    assert paddle.clip(x, 0.5, 2.5).numpy().tolist() == [1.0, 2.0, 2.5]
    assert paddle.clip(x, 2, 2**40).dtype == paddle.int64
    assert paddle.clip(x.astype("int8"), -1000, 1000).numpy().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="min <= max"):
        paddle.clip(x, 3, 2)
    with pytest.raises(ValueError, match="min <= max"):
        paddle.clip(x.astype("float32"), paddle.to_tensor([1.0, 5.0, 1.0]), paddle.to_tensor([2.0, 2.0, 2.0]))


def test_casts():
    assert paddle.cast(paddle.to_tensor([1 + 2j, 0j, 1j]), "bool").numpy().tolist() == [True, False, True]
    assert paddle.cast(paddle.to_tensor([0.0, nan, 0.5]), "bool").numpy().tolist() == [False, True, True]
    assert paddle.to_tensor([1.7]).astype(float).dtype == paddle.float64
    assert paddle.to_tensor([1.7]).astype(complex).dtype == paddle.complex128
    with pytest.raises(TypeError, match="foo"):
        paddle.to_tensor([1.7]).astype("foo")
    z = paddle.to_tensor([1 + 2j, 3j], stop_gradient=False)
    (g,) = paddle.grad(z.astype("float64").sum(), z)
    assert g.dtype == paddle.complex64 and g.numpy().tolist() == [1 + 0j, 1 + 0j]
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (g,) = paddle.grad(paddle.imag(x.astype("complex64") * 1j).sum(), x)
    assert g.dtype == paddle.float32 and g.numpy().tolist() == [1.0, 1.0]


def test_cast_in_place_moves_the_gradient():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 2
    assert y.cast_("float64") is y and y.dtype == paddle.float64
    (g,) = paddle.grad((y * y).sum(), x)
    assert g.dtype == paddle.float32 and g.numpy().tolist() == [8.0, 16.0]


def test_where_of_numbers():
    condition = paddle.to_tensor([True, False])
    assert paddle.where(condition, 1, 2).dtype == paddle.int64
    assert paddle.where(condition, 1.0, 2).dtype == paddle.float32
    assert paddle.where(condition, paddle.ones([2], "float16"), 2.5).dtype == paddle.float16
    assert paddle.where(condition, 1j, paddle.ones([2], "float64")).dtype == paddle.complex128
    with pytest.raises(ValueError, match="both x and y"):
        paddle.where(condition, 1.0)
    with pytest.raises(ValueError, match="bool"):
        paddle.where(paddle.ones([2]), 1.0, 2.0)
    x = paddle.to_tensor([1.0, 2.0])
    assert paddle.where_(condition, x, 5.0) is x and x.numpy().tolist() == [1.0, 5.0]


def test_masked_fill_with_a_tensor_sums_its_gradient():
    value = paddle.to_tensor(5.0, stop_gradient=False)
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    out = paddle.masked_fill(x, paddle.to_tensor([True, False, True]), value)
    assert out.numpy().tolist() == [5.0, 2.0, 5.0]
    dx, dv = paddle.grad((out * paddle.to_tensor([1.0, 10.0, 100.0])).sum(), [x, value])
    assert dx.numpy().tolist() == [0.0, 10.0, 0.0] and float(dv) == 101.0
    y = x * 1
    y.masked_fill_(paddle.to_tensor([1, 0, 0]), 7)
    assert y.numpy().tolist() == [7.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="real value"):
        paddle.masked_fill(x, paddle.to_tensor([True, False, True]), 1j)


def test_bits_of_floating_tensors_are_refused():
    with pytest.raises((TypeError, NotImplementedError)):
        paddle.bitwise_and(paddle.ones([2]), paddle.ones([2]))
    with pytest.raises((TypeError, ValueError)):
        paddle.bitwise_or(paddle.ones([2], "int32"), paddle.ones([2], "int64"))


def test_polygamma_refuses_a_negative_order():
    with pytest.raises(ValueError, match="n >= 0"):
        paddle.polygamma(paddle.ones([2]), -1)


def test_increment_is_allowed_on_a_leaf_and_leaves_its_history():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    assert paddle.increment(x, 2.0) is x and x.numpy().tolist() == [3.0]
    with pytest.raises(ValueError, match="one element"):
        paddle.increment(paddle.ones([2]))


@pytest.mark.parametrize(
    "name", "abs exp sqrt rsqrt sin cos tanh sigmoid square reciprocal log floor neg erfinv atan".split()
)
def test_in_place_twins_have_the_right_gradient(name):
    values = [0.3, 0.6]
    plain = derivatives(lambda x: getattr(paddle, name)(x * 1), values)
    twin = derivatives(lambda x: getattr(x * 1, name + "_")(), values)
    check(twin, *plain)


def test_half_precision_rounds_once():
    x = np.linspace(-4, 4, 41)
    for name in ("sigmoid", "tanh", "exp", "erf", "lgamma", "expm1"):
        half = paddle.to_tensor(x, dtype="float16")
        exact = getattr(paddle, name)(half.astype("float64")).numpy().astype(np.float16)
        got = getattr(paddle, name)(half)
        assert got.dtype == paddle.float16
        np.testing.assert_allclose(got.numpy(), exact, rtol=1.1e-3, err_msg=name)


@pytest.mark.parametrize(
    "dtype", "bool uint8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
)
def test_large_choices_are_made_bit_by_bit(dtype):
    rng = np.random.default_rng(5)
    kind = paddle.ones([1], dtype).numpy().dtype
    x, y = (rng.normal(0, 50, (96, 100)).astype(kind) for _ in range(2))
    if kind.kind == "f":
        x.flat[:4] = [nan, inf, -0.0, -inf]
        y.flat[2:6] = [nan, inf, -0.0, -inf]
    masks = rng.random((96, 100)) > 0.5, rng.random((96, 1)) > 0.5, rng.random((3, 96, 100)) > 0.5
    for mask in masks:
        for left, right in (
            (x, y),
            (x, y[:1]),
            (x.T.copy().T, y[:, ::-1]),
            (x[0, 0], y),
            (np.zeros_like(x), y),
            (x, kind.type(0)),
        ):
            left, right = np.asarray(left, kind), np.asarray(right, kind)
            got = paddle.where(*(paddle.to_tensor(a) for a in (mask, left, right))).numpy()
            expected = np.where(mask, left, right)
            assert got.dtype == kind and got.shape == expected.shape
            assert got.tobytes() == np.ascontiguousarray(expected).tobytes()


def test_functions_made_of_others():
    x = paddle.to_tensor([inf, -inf, nan, -1.0])
    assert paddle.isposinf(x).numpy().tolist() == [True, False, False, False]
    assert paddle.isneginf(x).numpy().tolist() == [False, True, False, False]
    assert paddle.isreal(paddle.to_tensor([1 + 0j, 1j])).numpy().tolist() == [True, False]
    assert paddle.isreal(x).numpy().all()
    with pytest.raises(TypeError, match="real tensor"):
        paddle.isposinf(paddle.to_tensor([1j]))
    np.testing.assert_allclose(paddle.deg2rad(paddle.to_tensor([180, 90])).numpy(), [np.pi, np.pi / 2], rtol=1e-6)
    np.testing.assert_allclose(paddle.rad2deg(paddle.to_tensor([np.pi])).numpy(), [180.0], rtol=1e-6)
    exponents = paddle.to_tensor([0, 3, -2])
    assert paddle.ldexp(paddle.to_tensor([1, 3, 8]), exponents).numpy().tolist() == [1.0, 24.0, 2.0]
    y = paddle.to_tensor([1.0, 3.0, 8.0])
    assert paddle.ldexp_(y, exponents) is y and y.numpy().tolist() == [1.0, 24.0, 2.0]


def test_rrelu() -> None:
    x = paddle.to_tensor(np.array([-2.0, 0.0, 3.0] * 50), stop_gradient=False)
    assert F.rrelu(x, 0.25, 0.75, training=False)[:3].tolist() == [-1.0, 0.0, 3.0]
    paddle.seed(1)
    out = F.rrelu(x, 0.25, 0.75)
    slopes = (out.numpy() / np.where(x.numpy() == 0, 1, x.numpy()))[::3]
    assert slopes.min() >= 0.25 and slopes.max() <= 0.75 and len(set(slopes.tolist())) == 50
    assert out.numpy()[1::3].tolist() == [0.0] * 50 and out.numpy()[2::3].tolist() == [3.0] * 50
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[::3], slopes)
    for lower, upper in ((-0.1, 0.5), (0.5, 0.4), (0.5, 1.1)):
        with pytest.raises(ValueError) as caught:
            F.rrelu(x, lower, upper)
        assert str(caught.value) == f"rrelu: expected 0 <= lower <= upper <= 1, received lower={lower}, upper={upper}"


def test_the_sum_of_complex_numbers_in_a_real_dtype_is_that_of_the_real_parts() -> None:
    z = paddle.to_tensor(np.array([1 + 2j, 3 - 5j]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paddle.sum(z, dtype="float64").item() == 4.0
        assert paddle.sum(z, dtype="float16").item() == 4.0
