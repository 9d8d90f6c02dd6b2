"""gradcheck at kinks, jumps, in noise, and at the further points: zeros, ties, large values, conjugates, other memory."""

import re

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import GradcheckError, PyLayer, gradcheck, gradgradcheck
from wherry.autograd.gradcheck.points import further_points
from wherry.autograd.gradcheck.problem import Problem

relu = paddle.nn.functional.relu


def leaf(values, dtype="float64"):
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


def message(check):
    with pytest.raises(GradcheckError) as caught:
        check()
    return str(caught.value)


class Ruled(PyLayer):
    """A function with a backward that a test chooses."""

    function = None
    rule = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Ruled.function(x)

    @staticmethod
    def backward(ctx, g):
        return g * Ruled.rule(ctx.saved_tensor()[0])


@pytest.fixture
def ruled(monkeypatch):
    def make(function, rule):
        monkeypatch.setattr(Ruled, "function", staticmethod(function))
        monkeypatch.setattr(Ruled, "rule", staticmethod(rule))
        return Ruled.apply

    return make


def at_zero(value, elsewhere):
    """A rule that gives a value at 0."""
    return lambda x: paddle.where(x == 0, paddle.full_like(x, value), elsewhere(x))


# Kinks and jumps at the given point.


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_subgradient_is_right_and_noted(ruled, value):
    function = ruled(relu, at_zero(value, lambda x: (x > 0).astype("float64")))
    result = gradcheck(function, leaf([0.0, 1.0, -1.0]), edges=False)
    assert result.points == ["the given inputs"]
    assert result.notes == [f"input 0, element [0] = 0.0, output[0]: a kink with slopes 0 and 1, analytic {value:g}"]


@pytest.mark.parametrize("value", [-0.2, 2.0])
def test_a_value_outside_of_the_slopes_is_refused(ruled, value):
    function = ruled(relu, at_zero(value, lambda x: (x > 0).astype("float64")))
    text = message(lambda: gradcheck(function, leaf([0.0, 1.0, -1.0])))
    assert text.split("\n")[1] == (
        f"  input 0, element [0] = 0.0, output[0]: analytic {value:g}, but the point is a kink with slope 0 on the left and 1 on the right; "
        "expected a value between them"
    )


def test_kinks_of_several_outputs_do_not_cancel():
    """The sum of the outputs with random weights may be smooth where none of them is."""
    for seed in range(8):
        assert gradcheck(lambda a: (relu(a), relu(-a), paddle.abs(a)), leaf([0.0, 1.0]), edges=False, seed=seed)


def test_kinks_inside_of_fn_that_do_not_make_a_slope_are_told_apart():
    def model(a):
        return relu(a) - relu(-a)  # this is a

    lines = message(lambda: gradcheck(model, leaf([0.0, 1.0]))).split("\n")
    assert lines[1] == "  input 0, element [0] = 0.0, output[0]: analytic 0, numeric 1"
    assert lines[2] == "  each recorded call of fn is right on its own (4 checked)"
    assert lines[3].startswith(
        "  at a kink, where each takes a slope of its own, and these need not make one of fn: relu at "
    )
    # At a further point that is no fault of fn's.
    result = gradcheck(model, leaf([0.5, 1.0]))
    assert "zeros everywhere: calls stand at kinks, and their subgradients do not make one of the whole" in result.notes


def test_ties_of_sorted_elements():
    """A middle element moves smoothly at a tie, and yet its gradient is that of one of the ways to break the tie."""
    for function in (
        paddle.sort,
        lambda a: paddle.topk(a, 2)[0],
        lambda a: paddle.cummax(a)[0],
        paddle.max,
        paddle.median,
    ):
        assert gradcheck(function, leaf([0.5, 0.5, 0.5, 0.5]))
    assert gradcheck(lambda a: paddle.sort(a), leaf(np.full(40, 0.25)), fast_mode=True)


def test_a_jump_is_noted_and_a_value_of_neither_side_refused(ruled):
    def step(x):
        return paddle.where(x >= 0, 1.0 + 2.0 * x, -x)

    rule = lambda x: paddle.where(x >= 0, paddle.full_like(x, 2.0), paddle.full_like(x, -1.0))  # noqa: E731
    result = gradcheck(ruled(step, rule), leaf([0.0, 1.0]), edges=False)
    assert result.notes == ["input 0, element [0] = 0.0, output[0]: a jump with slopes -1 and 2, analytic 2"]
    text = message(lambda: gradcheck(ruled(step, at_zero(7.0, rule)), leaf([0.0, 1.0])))
    assert text.split("\n")[1] == (
        "  input 0, element [0] = 0.0, output[0]: analytic 7, but fn jumps there, and its slopes on the two sides of the jump are -1 and 2"
    )
    text = message(lambda: gradcheck(ruled(step, at_zero(float("nan"), rule)), leaf([0.0, 1.0])))
    assert text == (
        "gradcheck: fn jumps at input 0, element [0] = 0.0, so that no gradient is right there, and backward gives nan; choose another point"
    )


def test_an_infinite_slope(ruled):
    result = gradcheck(paddle.sqrt, leaf([0.0, 1.0]), edges=False)
    assert result.notes == [
        "input 0, element [0] = 0.0, output[0]: an unbounded slope with slopes nan and inf, analytic inf"
    ]
    text = message(
        lambda: gradcheck(ruled(paddle.sqrt, at_zero(0.0, lambda x: 0.5 / paddle.sqrt(x))), leaf([0.0, 1.0]))
    )
    assert (
        text.split("\n")[1]
        == "  input 0, element [0] = 0.0, output[0]: analytic 0, numeric inf (fn is finite on the right only)"
    )
    # Where fn goes on as a constant, 0 is one of the slopes.
    masked = ruled(
        lambda x: paddle.sqrt(paddle.clip(x, 0.0)),
        lambda x: paddle.where(x > 0, 0.5 / paddle.sqrt(paddle.abs(x)), paddle.zeros_like(x)),
    )
    assert gradcheck(masked, leaf([0.0, 1.0]))


# What finite differences cannot tell.


def test_noise_is_not_called_a_wrong_gradient():
    def model(a):
        b = a.astype("float32")
        return paddle.sin(b).astype("float64")

    code = model.__code__
    lines = message(lambda: gradcheck(model, leaf([0.3, -1.2]))).split("\n")
    assert re.fullmatch(
        r"gradcheck: finite differences cannot tell at input 0, element \[\d\] = \S+: analytic \S+, numeric .* \(steps from 1.25e-07 to "
        r"0.004096\). That is numeric noise in fn, or a fn that bends within the step, and no sign of a wrong gradient; try another eps or "
        "other inputs",
        lines[0],
    )
    assert lines[1:] == [
        f"  {op} at {__file__}:{code.co_firstlineno + k}, in {code.co_qualname} computes in float32"
        for op, k in (("cast", 1), ("sin", 2))
    ]


def test_a_step_that_is_too_large_or_too_small_is_no_wrong_gradient():
    # Truncation at the step asked for, and rounding at it, are made up for by the other step sizes.
    for eps in (1e-3, 1e-4, 1e-8, 1e-10):
        assert gradcheck(lambda a: paddle.sin(30.0 * a) * paddle.exp(a), leaf([0.3, 1.2]), eps=eps, edges=False)
    assert gradcheck(lambda a: 1.0 / a, leaf([1e-4, 1e3, -1e6]), edges=False)


def test_a_point_on_its_own():
    text = message(lambda: gradcheck(lambda a: paddle.sqrt(-(a**2)), leaf([0.0])))
    assert text == (
        "gradcheck: fn is not finite, or raises, on both sides of input 0, element [0] = 0.0; expected a point with some room around it"
    )


# Further points.


def points_of(inputs, count=None):
    problem = Problem("gradcheck", lambda *a: [t * 1.0 for t in a], inputs, 0)
    given = [np.array(a) for a in problem.arrays]
    found = list(further_points(problem, len(given) if count is None else count))
    return given, found


def test_the_further_points():
    given, found = points_of([leaf([0.5, -1.5, 2.5, 3.5]), leaf([[1.0, 2.0]])])
    assert [name for name, _ in found] == [
        "0.0 in some places",
        "-0.0 in some places",
        "zeros everywhere",
        "zeros everywhere in input 0",
        "zeros everywhere in input 1",
        "all elements equal",
        "large positive values in some places",
        "large negative values in some places",
    ]
    at = dict(found)
    for name, value in (("0.0", 0.0), ("-0.0", -0.0), ("large positive values", 1e3), ("large negative values", -1e3)):
        for before, now in zip(given, at[f"{name} in some places"][0]):
            changed = (now != before) | (np.signbit(now) != np.signbit(before))
            assert (
                changed.any()
                and (now[changed] == value).all()
                and (np.signbit(now[changed]) == np.signbit(value)).all()
            )
            assert now.shape == before.shape and now.dtype == before.dtype
    assert all((a == 0.5).all() for a in at["all elements equal"][0])
    assert (at["zeros everywhere in input 0"][0][1] == given[1]).all()
    # Where fn is infinite at a thousand, the tail is tried at 30.
    assert [float(np.max(c[0])) for c in at["large positive values in some places"]] == [1e3, 30.0]


def test_the_further_points_of_complex_inputs():
    given, found = points_of([leaf([0.5 + 1j, -1.5 - 2j], "complex128"), leaf([1.0])])
    at = {name: candidates[0] for name, candidates in found}
    assert (at["conjugates"][0] == np.conj(given[0])).all()
    for name, sign in (("from above", False), ("from below", True)):
        moved = at[f"the negative real axis, {name}"][0]
        assert (moved.real == -np.abs(given[0])).all() and (np.signbit(moved.imag) == sign).all()
    zero = at["-0.0 in some places"][0]
    assert (np.signbit(zero.real) & np.signbit(zero.imag)).any()


def test_the_output_gradients_of_the_second_order_stay():
    given, found = points_of([leaf([0.5, -1.5]), leaf([1.0, 2.0])], count=1)
    assert all((arrays[1] == given[1]).all() for _, candidates in found for arrays in candidates)


def test_what_a_result_says():
    result = gradcheck(paddle.log, leaf([0.5, 2.0]))
    assert result and result.error is None
    assert result.points == [
        "the given inputs",
        "all elements equal",
        "large positive values in some places",
        "inputs in memory with gaps",
        "inputs without elements",
    ]
    skipped = ["0.0 in some places", "-0.0 in some places", "zeros everywhere", "large negative values in some places"]
    assert [name for name, _ in result.skipped] == [
        s for s in skipped if s != "zeros everywhere" or len(result.skipped) == 4
    ]
    assert {reason for _, reason in result.skipped} == {"fn is not finite there"}
    assert str(result) == "right at " + "; ".join(result.points) + "".join(
        f"\nskipped: {n} ({r})" for n, r in result.skipped
    )


def test_points_at_which_fn_raises_are_skipped():
    def positive(a):
        if float(a.min()) <= 0.0:
            raise ValueError("expected positive values")
        return paddle.sqrt(a)

    result = gradcheck(positive, leaf([0.5, 2.0]))
    assert ("0.0 in some places", "fn raises ValueError there") in result.skipped
    assert ("large negative values in some places", "fn raises ValueError there") in result.skipped


def test_points_at_which_differences_cannot_tell_are_skipped():
    # Within 1e-12 of the origin x / max(norm, 1e-12) is linear; no step is that small.
    result = gradcheck(lambda a: paddle.nn.functional.normalize(a, axis=0), leaf([0.5, 2.0]))
    assert ("zeros everywhere", "finite differences cannot tell there") in result.skipped
    assert "zeros everywhere" not in result.points and "0.0 in some places" in result.points


def test_points_that_backward_refuses_are_skipped():
    result = gradcheck(lambda a: paddle.linalg.qr(a)[1], leaf([[1.0, 2.0], [3.0, 5.0]]))
    assert ("zeros everywhere", "backward raises ValueError there") in result.skipped


@pytest.mark.parametrize(
    ("function", "point", "numbers"),
    [
        # The root of a sum of squares has no gradient at the origin.
        (
            lambda a: paddle.sqrt((a * a).sum()),
            "zeros everywhere",
            "nan, but the point is a kink with slope -1 on the left and 1 on the right",
        ),
        # exp overflows in the tail, and 0 * inf is nan.
        (lambda a: a / (1.0 + paddle.exp(-a)) ** 2, "large negative values in some places", "nan, numeric 0"),
        # where keeps the value of one side but not its gradient from the other.
        (
            lambda a: paddle.where(a == 0, paddle.ones_like(a), paddle.sin(a) / a),
            "0.0 in some places",
            "nan, numeric 0",
        ),
        # A guard against division by zero that is too coarse.
        (lambda a: a / paddle.clip(paddle.abs(a), 1e-3).detach(), "large positive values in some places", None),
    ],
)
def test_faults_at_further_points_are_found(function, point, numbers):
    x = leaf([0.7, -1.3])
    if numbers is None:
        with pytest.raises(GradcheckError):
            gradcheck(function, x)
        return
    assert gradcheck(function, x, edges=False)
    text = message(lambda: gradcheck(function, x))
    assert re.match(
        rf"gradcheck: at a further point \({re.escape(point)}: input 0 = \[\S+, \S+\]\): the gradient of input 0 \(float64, shape \[2\]\) does not "
        "agree with finite differences in ",
        text,
    )
    assert f": analytic {numbers}" in text
    assert text.endswith("\n  The given inputs are right; edges=False checks those alone.")


def test_calls_through_which_zero_becomes_nan_are_named():
    def model(a):
        ratio = paddle.sin(a) / a
        return paddle.where(a == 0, paddle.ones_like(a), ratio)

    code = model.__code__
    lines = message(lambda: gradcheck(model, leaf([0.7, -1.3]))).split("\n")
    at = f"divide at {__file__}:{code.co_firstlineno + 1}, in {code.co_qualname}"
    assert lines[-3:] == [
        "  each recorded call of fn is right on its own (2 checked)",
        f"  {at} gives nan or inf, and a gradient of 0 that meets it becomes nan",
        "  The given inputs are right; edges=False checks those alone.",
    ]


def test_a_branch_cut_is_no_fault_and_a_wrong_side_is(ruled):
    z = leaf([0.3 + 1j, -0.2 - 0.5j], "complex128")
    for function in (paddle.sqrt, paddle.log, paddle.angle, paddle.abs, paddle.acosh):
        assert gradcheck(function, z)
    # 1 / (2 sqrt) from the principal root of the conjugate: right off the axis, on the other side of the cut on it.
    wrong = ruled(paddle.sqrt, lambda x: 0.5 / paddle.sqrt(paddle.conj(x) + 0j))
    assert gradcheck(wrong, z, edges=False)
    assert "the negative real axis, from above" in message(lambda: gradcheck(wrong, z))


def test_memory_with_gaps():
    class Flat(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensor()[0]
            array = x.impl.array
            # The first elements of the memory, whatever the strides are.
            base = array if array.base is None or array.flags.c_contiguous else array.base
            taken = np.array(base).reshape(-1)[: x.size].reshape(x.shape)
            return g * paddle.to_tensor(2.0 * taken)

    text = message(lambda: gradcheck(Flat.apply, leaf([1.0, 2.0, 3.0])))
    assert re.fullmatch(
        r"gradcheck: the gradient of input 0 changes when the inputs lie in memory with gaps \(as x.t\(\) or x\[::2\] do\): \S+ before, \S+ then; "
        r"look for code that takes an array's memory without its strides\n  The given inputs are right; edges=False checks those alone.",
        text,
    )


def test_a_backward_that_fails_without_elements():
    class First(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensor()[0]
            assert x.size, "no elements"
            return g * 2.0 * x

    text = message(lambda: gradcheck(First.apply, leaf([[1.0, 2.0]])))
    assert text.startswith(
        "gradcheck: backward raises AssertionError for inputs without elements (shapes [0, 2]), where fn does not: no elements\n"
    )


def test_the_second_order_at_further_points(ruled):
    result = gradgradcheck(lambda a: paddle.abs(a) * a, leaf([0.3, -1.2]))
    assert any("a kink with slopes" in note for note in result.notes)
    # Second derivatives of a difference that is taken for zero at a tie.
    assert gradgradcheck(paddle.logaddexp, [leaf([0.3, -1.2]), leaf([0.3, 0.5])])
    tied = lambda a, b: paddle.where(a == b, paddle.zeros_like(a), a - b) ** 2  # noqa: E731
    text = message(lambda: gradgradcheck(tied, [leaf([0.3, -1.2]), leaf([0.1, 0.5])]))
    assert text.startswith("gradgradcheck: at a further point (")


def test_large_outputs_do_not_hide_small_ones_nor_accuse_them():
    # Beside 1e99 the other terms of a sum vanish in rounding: nothing can be said of them.
    result = gradcheck(lambda a: (a**33).sum(), leaf([1.5, 0.5]))
    assert result
    # In outputs of their own they stay visible.
    text = message(lambda: gradcheck(lambda a: (paddle.exp(30.0 * a[0]), a[1].detach() * 2.0 + a[1]), leaf([1.0, 0.5])))
    assert "output 1: analytic 1, numeric 3" in text


def test_further_points_of_large_inputs_cost_little():
    calls = []

    def model(a):
        calls.append(1)
        return paddle.tanh(a)

    assert gradcheck(model, leaf(np.linspace(-2.0, 2.0, 900).reshape(30, 30)), fast_mode=True)
    assert len(calls) < 300
