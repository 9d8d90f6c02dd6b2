"""Numeric slopes: what kind of point it is, and the slopes on both sides, for functions whose slopes are known."""

import math

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd.gradcheck.problem import Problem, Settings
from wherry.autograd.gradcheck.slopes import STEPS, Slope, element_moves, limit, measure

SETTINGS = Settings(eps=1e-6, atol=1e-5, rtol=1e-3, nondet_tol=0.0, fast=False, seed=0, function="gradcheck")
INF, NAN = math.inf, math.nan


def slope_of(function, x, settings=SETTINGS) -> Slope:
    """The slope of a function of one number, without the random factor of the output."""
    problem = Problem("gradcheck", function, paddle.to_tensor(float(x), dtype="float64", stop_gradient=False), 0)
    problem.cotangents[0] = np.asarray(1.0)
    return measure(problem, problem.terms(problem.arrays), element_moves(problem, 0, 0)[0], settings)


def zero_below(inner):
    return lambda x: paddle.where(x > 0, inner(paddle.where(x > 0, x, paddle.ones_like(x))), paddle.zeros_like(x))


KNOWN = {
    "sin": (paddle.sin, 0.3, "smooth", math.cos(0.3), math.cos(0.3)),
    "exp at 30": (paddle.exp, 30.0, "smooth", math.exp(30.0), math.exp(30.0)),
    "log close to 0": (paddle.log, 1e-4, "smooth", 1e4, 1e4),
    "1/x close to 0": (lambda x: 1.0 / x, 1e-3, "smooth", -1e6, -1e6),
    "x^2 far out": (paddle.square, 1e6, "smooth", 2e6, 2e6),
    "a steep tanh": (
        lambda x: paddle.tanh(x * 1e4),
        2e-5,
        "smooth",
        1e4 / math.cosh(0.2) ** 2,
        1e4 / math.cosh(0.2) ** 2,
    ),
    "constant": (lambda x: x * 0.0, 1.0, "smooth", 0.0, 0.0),
    "abs": (paddle.abs, 0.0, "kink", -1.0, 1.0),
    "relu from -0.0": (paddle.nn.functional.relu, -0.0, "kink", 0.0, 1.0),
    "a kink on a curve": (lambda x: paddle.exp(x) + paddle.abs(x - 1.0), 1.0, "kink", math.e - 1.0, math.e + 1.0),
    "a small kink": (lambda x: 3.0 * x + 0.01 * paddle.abs(x), 0.0, "kink", 2.99, 3.01),
    "floor": (paddle.floor, 2.0, "jump", 0.0, 0.0),
    "x - floor": (lambda x: 3.0 * x - paddle.floor(x), 2.0, "jump", 3.0, 3.0),
    "a jump between slopes": (lambda x: paddle.where(x >= 0, 1.0 + 2.0 * x, -x), 0.0, "jump", -1.0, 2.0),
    "sqrt": (paddle.sqrt, 0.0, "infinite", NAN, INF),
    "sqrt of abs": (lambda x: paddle.sqrt(paddle.abs(x)), 0.0, "infinite", -INF, INF),
    "cube root": (lambda x: paddle.sign(x) * paddle.abs(x) ** (1 / 3), 0.0, "infinite", INF, INF),
    "x log x": (zero_below(lambda x: x * paddle.log(x)), 0.0, "infinite", 0.0, -INF),
    "x^1.5, one side": (lambda x: x**1.5, 0.0, "smooth", NAN, 0.0),
    "acos at its end": (paddle.acos, 1.0, "infinite", -INF, NAN),
    "x^1.1 of abs": (lambda x: paddle.abs(x) ** 1.1, 0.0, "smooth", 0.0, 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions(name):
    function, x, kind, left, right = KNOWN[name]
    found = slope_of(function, x)
    assert found.kind == kind
    np.testing.assert_allclose([found.left, found.right], [left, right], rtol=1e-5, atol=1e-6)
    assert found.isolated is False


def test_a_value_that_is_nobodys_neighbour():
    found = slope_of(paddle.sign, 0.0)
    assert (found.kind, found.left, found.right, found.isolated) == ("jump", 0.0, 0.0, True)


@pytest.mark.parametrize("size", [1e8, 1e10, 1e12])
def test_numeric_noise_is_settled_rightly_or_not_at_all(size):
    """Adding and subtracting a large number rounds x to a grid: a staircase with steps of 1e-8, 1e-6, 1e-4."""
    points = np.linspace(-2.0, 2.0, 41) + 0.0123
    verdicts = [slope_of(lambda x: paddle.sin((x + size) - size), x).verdict(math.cos(x), SETTINGS) for x in points]
    assert "wrong" not in verdicts
    assert verdicts.count("unsettled") > 30 if size >= 1e10 else verdicts.count("right") > 30


def test_a_wrong_value_beside_noise_is_still_wrong():
    points = np.linspace(-1.0, 1.0, 21) + 0.0123
    slopes = [slope_of(lambda x: paddle.sin((x + 1e6) - 1e6), x) for x in points]
    assert {s.verdict(1.01 * math.cos(x), SETTINGS) for s, x in zip(slopes, points)} == {"wrong"}
    assert {s.verdict(math.cos(x), SETTINGS) for s, x in zip(slopes, points)} == {"right"}


def test_a_point_without_neighbours():
    found = slope_of(lambda x: paddle.sqrt(-paddle.square(x)), 0.0)
    assert found.kind == "undefined" and found.verdict(0.0, SETTINGS) == "unsettled"


def test_a_function_that_raises_on_one_side():
    def guarded(x):
        assert float(x) >= 0.0
        return 2.0 * x

    found = slope_of(guarded, 0.0)
    assert found.kind == "smooth" and math.isnan(found.left)
    assert found.right == pytest.approx(2.0)


def verdict(low, high, analytic, kind="kink", isolated=False):
    nothing = np.zeros(0)
    return Slope(kind, low, high, low, high, 1e-9, nothing, nothing, nothing, isolated).verdict(analytic, SETTINGS)


def test_verdicts():
    assert [verdict(-1.0, 1.0, a) for a in (-1.0005, 0.0, 1.0005)] == ["right"] * 3
    assert [verdict(-1.0, 1.0, a) for a in (-1.1, 1.1, NAN, INF)] == ["wrong"] * 4
    assert [verdict(0.0, INF, a, "infinite") for a in (0.0, 5.0, INF)] == ["right"] * 3
    assert [verdict(0.0, INF, a, "infinite") for a in (-1.0, NAN)] == ["wrong"] * 2
    # At a zero of negative sign the infinity has another sign.
    assert verdict(INF, INF, -INF, "infinite") == "right"
    assert verdict(INF, INF, 5.0, "infinite") == "wrong"
    # Where fn jumps no gradient is right, so that none is wrong for being nan; one that belongs to neither side is.
    assert [verdict(0.0, 1.0, a, "jump") for a in (0.5, 3.0, NAN)] == ["right", "wrong", "unsettled"]
    assert verdict(0.0, 0.0, 3.0, "jump", isolated=True) == "unsettled"
    assert verdict(0.0, 0.0, 0.0, "unsettled") == "unsettled"


@pytest.mark.parametrize("power", [1.0, 0.5, 1.5, 2.0])
def test_limits_of_sequences_that_come_together_at_any_rate(power):
    steps = np.array(STEPS)[:, None] * 1e-6
    values = 2.0 + 3.0 * steps**power
    estimate, doubt = limit(values, np.full_like(values, 1e-12), steps[:, 0], SETTINGS)
    assert estimate[0] == pytest.approx(2.0, abs=1e-9)
    assert abs(estimate[0] - 2.0) <= doubt[0] <= 1e-6


def test_a_complex_element_moves_along_both_directions_and_keeps_its_zeros():
    point = paddle.to_tensor([complex(-1.0, -0.0), complex(-0.0, 2.0)], dtype="complex128", stop_gradient=False)
    problem = Problem("gradcheck", lambda z: z, point, 0)
    along = [[m.applied(problem.arrays, 0.5)[0] for m in element_moves(problem, 0, k)] for k in (0, 1)]
    assert [complex(a[0]) for a in along[0]] == [complex(-0.5, -0.0), complex(-1.0, 0.5)]
    assert math.copysign(1.0, along[0][0][0].imag) == -1.0
    # The other element's bits stay, and the step grows with the element.
    assert all(math.copysign(1.0, a[1].real) == -1.0 for a in along[0])
    assert [complex(a[1]) for a in along[1]] == [complex(1.0, 2.0), complex(-0.0, 3.0)]
