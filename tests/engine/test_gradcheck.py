"""gradcheck and gradgradcheck: right gradients pass, each kind of wrong one is named."""

import re

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import GradcheckError, PyLayer, gradcheck, gradgradcheck


def leaf(values, dtype="float64"):
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


class Custom(PyLayer):
    """y = x * x with a backward that a test chooses."""

    rule = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return Custom.rule(ctx.saved_tensor()[0], g)


@pytest.fixture
def square_with(monkeypatch):
    def make(rule):
        monkeypatch.setattr(Custom, "rule", staticmethod(rule))
        return Custom.apply

    return make


def conj_rule(x, g):
    return 2.0 * x.conj() * g


@pytest.mark.parametrize("fast", [False, True])
def test_right_gradients_pass(fast):
    x, y = leaf([[0.3, -1.2], [2.0, 0.7]]), leaf([1.5, -0.4])
    assert gradcheck(lambda a, b: (a * b, (a / b).sum(), paddle.sin(a)), [x, y], fast_mode=fast)
    assert gradgradcheck(lambda a, b: (a * a * b, paddle.exp(b)), [x, y], fast_mode=fast)
    z = leaf([0.3 + 1j, -0.2 - 0.5j], "complex128")
    assert gradcheck(lambda a, b: [a * a.conj() * b, paddle.abs(a)], [z, y], fast_mode=fast)
    assert gradgradcheck(lambda a, b: a * a.conj() * b, [z, y], fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_factor_is_found(square_with, fast):
    function = square_with(lambda x, g: 1.99 * x * g)
    with pytest.raises(GradcheckError, match="input 0"):
        gradcheck(function, leaf([1.0, 2.0]), fast_mode=fast)
    assert not gradcheck(function, leaf([1.0, 2.0]), fast_mode=fast, raise_exception=False)


def test_the_message_says_input_element_analytic_and_numeric(square_with):
    def rule(x, g):
        with paddle.no_grad():
            wrong = paddle.to_tensor([[2.0, 2.0], [2.0, 5.0]], dtype="float64")
        return wrong * x * g

    function = square_with(rule)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda a, b: function(b) + a, [leaf([[0.0, 0.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])])
    text = str(caught.value)
    found = re.search(r"input 1, element \[1, 1\] = 4.0: analytic (\S+), numeric (\S+)", text)
    assert found, text
    analytic, numeric = float(found[1]), float(found[2])
    assert analytic / numeric == pytest.approx(2.5, rel=1e-4)
    assert "1 of 4 elements" in text


def test_both_wirtinger_directions_count(square_with):
    z = leaf([0.7 + 0.4j, -1.1 + 0.2j], "complex128")
    assert gradcheck(square_with(conj_rule), z)
    for wrong in (
        lambda x, g: 2.0 * x * g,
        lambda x, g: (2.0 * x.conj() * g).conj(),
        lambda x, g: paddle.complex((2.0 * x.conj() * g).real(), paddle.zeros_like(x.real())),
    ):
        with pytest.raises(GradcheckError):
            gradcheck(square_with(wrong), z)


def test_a_wrong_second_derivative_is_found(square_with):
    # Right to the first order; the factor 2x is cut off from the graph.
    function = square_with(lambda x, g: 2.0 * x.detach() * g)
    x = leaf([1.0, -2.0, 0.5])
    assert gradcheck(function, x)
    with pytest.raises(GradcheckError, match="gradgradcheck"):
        gradgradcheck(function, x)
    assert gradgradcheck(square_with(lambda x, g: 2.0 * x * g), x)


def test_a_gradient_that_is_missing_is_found():
    with pytest.raises(GradcheckError, match=r"analytic -?0.0"):
        gradcheck(lambda a: a.detach() * 3.0 + 0.0 * a, leaf([1.0, 2.0]))
    # No gradient at all counts as zero.
    with pytest.raises(GradcheckError, match=r"analytic -?0.0"):
        gradcheck(lambda a: a.detach() * 3.0, leaf([1.0]))
    assert gradcheck(lambda a: paddle.floor(a), leaf([0.4, 1.3]))


def test_a_nan_gradient_never_passes(square_with):
    with pytest.raises(GradcheckError, match="nan"):
        gradcheck(square_with(lambda x, g: x * g * float("nan")), leaf([1.0]))


def test_inputs_that_cannot_be_checked_are_refused():
    with pytest.raises(ValueError, match="position 1.*cast") as caught:
        gradcheck(lambda a, b: a, [leaf([1.0]), leaf([1.0], "float32")])
    assert "float32" in str(caught.value)
    with pytest.raises(ValueError, match="stop_gradient=False"):
        gradcheck(lambda a: a, paddle.to_tensor([1.0], dtype="float64"))
    with pytest.raises(TypeError, match="list of Tensors, received float"):
        gradcheck(lambda a: 1.0, leaf([1.0]))


def test_a_random_function_is_refused():
    with pytest.raises(GradcheckError, match="deterministic"):
        gradcheck(lambda a: a * paddle.rand([2], dtype="float64"), leaf([1.0, 2.0]))


def test_other_arguments_are_passed_on():
    whole = paddle.to_tensor([2, 3])
    assert gradcheck(lambda a, n, axis: (a * n.astype("float64")).sum(axis), [leaf([[1.0, 2.0]]), whole, 1])


def test_the_inputs_stay_as_they_are_and_no_grad_appears():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    before = x.numpy()
    assert gradcheck(lambda a: a * a, x)
    assert gradgradcheck(lambda a: a * a, x)
    assert x.grad is None and x.inplace_version == 0
    np.testing.assert_array_equal(x.numpy(), before)


def test_it_works_inside_no_grad():
    with paddle.no_grad():
        assert gradcheck(lambda a: a * a, leaf([1.0, 2.0]))
        assert not paddle.is_grad_enabled()


def test_transposed_inputs_and_zero_size():
    x = leaf(np.arange(1.0, 7.0).reshape(2, 3)).detach().t()
    x.stop_gradient = False
    assert gradcheck(lambda a: a * a * a, x)
    assert gradcheck(lambda a: a * 2.0, leaf(np.zeros((0, 3))))
    assert gradgradcheck(lambda a: a * a, leaf(np.zeros((0, 3))))


def test_grad_outputs_of_the_second_order():
    x = leaf([1.0, 2.0])
    assert gradgradcheck(lambda a: a * a * a, x, leaf([0.5, 1.0]))
    with pytest.raises(ValueError, match="expected 1 tensors in 'grad_outputs'"):
        gradgradcheck(lambda a: a * a * a, x, [leaf([0.5, 1.0]), leaf([0.5, 1.0])])


def test_the_call_at_fault_is_named_with_its_line(square_with):
    function = square_with(lambda x, g: 3.0 * x * g)

    def model(a, b):
        c = paddle.exp(a) * b
        d = function(c)  # the fault
        return paddle.tanh(d).sum() + c.mean()

    with pytest.raises(GradcheckError) as caught:
        gradcheck(model, [leaf([0.1, 0.2]), leaf([0.3, -0.4])])
    last = str(caught.value).split("\n")[-1]
    line = model.__code__.co_firstlineno + 2
    assert re.fullmatch(
        rf"most likely at fault: Custom at .*test_gradcheck.py:{line}, in .*model: alone, "
        r"input 0, element \[0\] = 0\.33\S*: analytic \S+, numeric \S+",
        last,
    ), last


def test_a_cut_way_is_named():
    def model(a):
        return a * a.detach()

    with pytest.raises(
        GradcheckError,
        match=r"every operation alone is right; the history is left behind by detach\(\) at .*in .*model",
    ):
        gradcheck(model, leaf([1.0, 2.0]))


def test_a_subgradient_at_a_kink_is_right_and_a_value_outside_is_not(square_with):
    assert gradcheck(lambda a: paddle.abs(a) + paddle.nn.functional.relu(a), leaf([0.0, 1.0, -1.0]))

    class Ramp(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return paddle.nn.functional.relu(x)

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensor()[0]
            return g * ((x > 0).astype("float64") + 2.0 * (x == 0).astype("float64"))

    with pytest.raises(
        GradcheckError, match=r"the point is a kink \(slopes -?0 and \S+\), and the analytic value \S+ lies outside"
    ):
        gradcheck(Ramp.apply, leaf([0.0, 1.0]))


def test_edges_find_what_random_points_do_not():
    def norm(a):
        return paddle.sqrt((a * a).sum())

    class Silu(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return paddle.nn.functional.silu(x)

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensor()[0]
            e = paddle.exp(-x * 3.0)
            return g * (1.0 / (1.0 + paddle.exp(-x)) + x * paddle.exp(-x) / (1.0 + paddle.exp(-x)) ** 2 + 0.0 * e)

    x = leaf([0.7, -1.3])
    assert gradcheck(Silu.apply, x, edges=False)
    with pytest.raises(
        GradcheckError,
        match=r"agrees with finite differences at the given inputs, but not at large negative values: input 0, element",
    ):
        gradcheck(Silu.apply, x)
    # The root of a sum of squares has no gradient at the origin (paddle.norm has).
    with pytest.raises(GradcheckError, match="at zeros: .* analytic nan, though the function is finite with slopes"):
        gradcheck(norm, leaf([3.0]))
    assert gradcheck(paddle.linalg.norm, leaf([3.0, 4.0]))
    # Outside the domain there is nothing to compare.
    assert gradcheck(paddle.log, leaf([0.5, 2.0]))
    assert gradcheck(lambda a: paddle.sort(a) + paddle.cummax(a)[0], leaf([0.5, 2.0, -1.0]))
