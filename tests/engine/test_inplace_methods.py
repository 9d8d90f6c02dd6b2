"""Every public function that writes into its argument: value, gradient, version, refusals."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.core.errors import PermissionDeniedError

F = paddle.nn.functional
UNIT = np.array([[0.25, -0.5, 0.75], [0.5, 0.125, -0.25]])
POSITIVE = np.array([[0.5, 1.5, 2.5], [3.5, 0.25, 1.25]])
OTHER = np.array([[1.5, 0.5, 2.0], [-1.25, 0.75, 3.0]])
INTEGERS = np.array([[5, 3, 12], [7, 0, 9]])
FLAGS = np.array([[True, False, True], [False, False, True]])


@dataclass(frozen=True, eq=False)
class Call:
    """A function by name, what it is called on, and its other arguments; arrays of those become tensors.

    plain: what gives the same value without writing, where that is not the function of the name without the underscore.
    """

    name: str
    array: Any = field(default_factory=lambda: UNIT)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    plain: Callable[..., Any] | None = None
    module: Any = paddle.Tensor


UNARY = [
    "abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfinv", "exp", "expm1", "floor", "frac", "log1p",
    "nan_to_num", "neg", "reciprocal", "round", "scale", "sigmoid", "sin", "sinh", "square", "tan", "tanh", "tril", "triu", "trunc",
    "flatten", "t",
]  # fmt: skip
POSITIVE_UNARY = ["digamma", "gammaln", "lgamma", "log", "log10", "log2", "rsqrt", "sqrt"]
BINARY = [
    "add", "copysign", "div", "divide", "equal", "floor_divide", "floor_mod", "greater_equal", "greater_than", "hypot", "less",
    "less_equal", "less_than", "logical_and", "logical_or", "logical_xor", "mod", "mul", "multiply", "not_equal", "remainder", "sub",
    "subtract",
]  # fmt: skip
ON_INTEGERS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]
RANDOM = [
    Call("bernoulli_", args=(0.5,)),
    Call("bernoulli_", args=(np.abs(UNIT),)),
    Call("cauchy_"),
    Call("exponential_"),
    Call("geometric_", args=(0.5,)),
    Call("log_normal_"),
    Call("normal_"),
    Call("random_", args=(2, 7)),
    Call("uniform_"),
]
CALLS = [
    *(Call(f"{name}_") for name in UNARY),
    *(Call(f"{name}_", POSITIVE) for name in POSITIVE_UNARY),
    *(Call(f"{name}_", POSITIVE, (OTHER,)) for name in BINARY),
    *(Call(f"{name}_", INTEGERS, (np.array([[1, 2, 3], [0, 1, 2]]),)) for name in ON_INTEGERS),
    Call("bitwise_not_", INTEGERS),
    Call("bitwise_invert_", INTEGERS),
    Call("logical_not_", FLAGS),
    Call("logical_not_"),
    Call("acosh_", POSITIVE + 1.0),
    Call("polygamma_", POSITIVE, (1,)),
    Call("pow_", POSITIVE, (2.5,)),
    Call("pow_", POSITIVE, (OTHER,)),
    Call("ldexp_", UNIT, (np.array([1.0, 2.0, -1.0]),)),
    Call("sinc_"),
    Call("i0_"),
    Call("logit_", np.abs(UNIT)),
    Call("multigammaln_", POSITIVE + 1.0, (2,)),
    Call("gammainc_", POSITIVE, (POSITIVE[::-1].copy(),)),
    Call("gammaincc_", POSITIVE, (POSITIVE[::-1].copy(),)),
    Call("gcd_", INTEGERS, (np.array([[10, 6, 8], [0, 4, 6]]),)),
    Call("lcm_", INTEGERS, (np.array([[10, 6, 8], [0, 4, 6]]),)),
    Call("renorm_", OTHER, (2.0, 0, 1.5)),
    Call("masked_scatter_", UNIT, (FLAGS, OTHER)),
    Call("lerp_", UNIT, (OTHER, 0.25)),
    Call("lerp_", UNIT, (OTHER, np.array(0.75))),
    Call("divide_", POSITIVE, (OTHER,), {"rounding_mode": "floor"}),
    Call("divide_", POSITIVE, (OTHER,), {"rounding_mode": "trunc"}),
    Call("clip_", UNIT, (-0.25, 0.5)),
    Call("clamp_", UNIT, (-0.25, 0.5), plain=lambda x, low, high: paddle.clip(x, low, high)),
    Call("round_", UNIT * 10, (1,)),
    Call("scale_", UNIT, (2.0, 0.5, False)),
    Call("cumsum_", UNIT, (1,)),
    Call("cumprod_", POSITIVE, (1,)),
    Call("addmm_", UNIT, (OTHER[:, :2], OTHER[:2] * 0.5), {"beta": 0.5, "alpha": 2.0}),
    Call("baddbmm_", UNIT[None], (OTHER[None, :, :2], OTHER[None, :2]), {"beta": 0.5, "alpha": 2.0}),
    Call("cast_", UNIT, ("float32",)),
    Call("reshape_", UNIT, ([3, 2],)),
    Call("squeeze_", UNIT[None], (0,)),
    Call("unsqueeze_", UNIT, (1,)),
    Call("transpose_", UNIT, ([1, 0],)),
    Call("fill_", UNIT, (2.5,), plain=lambda x, value: paddle.full_like(x, value) + 0.0 * x),
    Call("zero_", UNIT, plain=lambda x: paddle.zeros_like(x) + 0.0 * x),
    Call("fill_diagonal_", UNIT, (5.0, 1), plain=lambda x, value, offset: diagonal_filled(x, value, offset)),
    Call("fill_diagonal_tensor_", UNIT, (np.array([7.0, 8.0]),), plain=lambda x, y: paddle.diagonal_scatter(x, y)),
    Call("masked_fill_", UNIT, (FLAGS, 3.0)),
    Call("masked_fill_", UNIT, (FLAGS, np.array(3.0))),
    Call("index_add_", UNIT, (np.array([1, 1]), 0, OTHER)),
    Call("index_fill_", UNIT, (np.array([2, 0]), 1, 4.0)),
    Call("index_put_", UNIT, ((np.array([0, 1]), np.array([2, 0])), np.array([8.0, 9.0]))),
    Call("index_put_", UNIT, ((np.array([0, 0]), np.array([2, 2])), np.array([8.0, 9.0]), True)),
    Call("put_along_axis_", UNIT, (np.array([[0], [2]]), np.array([[8.0], [9.0]]), 1)),
    Call("put_along_axis_", UNIT, (np.array([[0], [2]]), np.array([[8.0], [9.0]]), 1, "add")),
    Call("scatter_", UNIT, (np.array([1, 0]), OTHER)),
    Call("scatter_", UNIT, (np.array([1, 1]), OTHER, False)),
    Call("scatter_add_", UNIT, (0, np.array([[1, 0, 1], [0, 0, 1]]), OTHER)),
    Call("set_", UNIT, (OTHER,), plain=lambda x, source: source * 1.0),
    Call("resize_", UNIT, ([2, 2],), plain=lambda x, shape: x.flatten()[:4].reshape(shape)),
    Call("resize_", UNIT, ([2, 4],), plain=lambda x, shape: F.pad(x.flatten(), [0, 2]).reshape(shape)),
    Call("elu_", args=(0.5,), module=F),
    Call("hardtanh_", args=(-0.3, 0.3), module=F),
    Call("leaky_relu_", args=(0.1,), module=F),
    Call("relu_", module=F),
    Call("sigmoid_", module=F),
    Call("softmax_", module=F),
    Call("tanh_", module=F),
    Call("thresholded_relu_", args=(0.1,), module=F),
]
# Of other kinds: not recorded, or not of a value; each has tests of its own.
ELSEWHERE = {"Tensor": {"apply_", "copy_", "detach_", "requires_grad_", "where_"}, "functional": set[str]()}
# These give the tensor other memory, whose count of writes is its own.
REBOUND = {"set_", "resize_"}


def diagonal_filled(x: Any, value: float, offset: int) -> Any:
    diagonal = paddle.diagonal(x, offset)
    return paddle.diagonal_scatter(x, paddle.full_like(diagonal, value), offset)


def is_floating(call: Call) -> bool:
    return bool(np.array(call.array).dtype.kind == "f")


def name_of(call: Call) -> str:
    return f"{'F.' if call.module is F else ''}{call.name}{len(call.args)}"


def test_every_function_is_here() -> None:
    for module, label in ((paddle.Tensor, "Tensor"), (F, "functional")):
        names = {n for n in dir(module) if n.endswith("_") and not n.startswith("_")}
        here = {c.name for c in CALLS + RANDOM if c.module is module}
        assert names == here | ELSEWHERE[label]


def test_functions_of_the_package_are_the_methods() -> None:
    for name in dir(paddle):
        if name.endswith("_") and not name.startswith("_"):
            assert getattr(paddle, name) is getattr(paddle.Tensor, name)


def tensor(array: Any, needs_grad: bool) -> Any:
    array = np.array(array)
    return paddle.to_tensor(array, stop_gradient=not (needs_grad and array.dtype.kind == "f"))


def arguments(call: Call, needs_grad: bool) -> tuple[tuple[Any, ...], list[Any]]:
    """The other arguments as tensors, and those of them that need gradients."""
    made: list[Any] = []

    def one(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(one(i) for i in item)
        if not isinstance(item, np.ndarray):
            return item
        made.append(tensor(item, needs_grad))
        return made[-1]

    args = tuple(one(a) for a in call.args)
    return args, [t for t in made if not t.stop_gradient]


def twin(call: Call, target: Any, args: tuple[Any, ...]) -> Any:
    return getattr(call.module, call.name)(target, *args, **call.kwargs)


def plain(call: Call, target: Any, args: tuple[Any, ...]) -> Any:
    module = F if call.module is F else paddle
    function = call.plain or getattr(module, call.name[:-1])
    return function(target, *args, **call.kwargs)


def gradients(out: Any, leaves: list[Any]) -> list[np.ndarray]:
    """Gradients of a weighted sum; zeros where none flows."""
    if out.stop_gradient:
        return [np.zeros(t.shape) for t in leaves]
    weights = np.random.default_rng(5).standard_normal(out.shape)
    grads = paddle.grad((out * paddle.to_tensor(weights, dtype=out.dtype)).sum(), leaves, allow_unused=True)
    return [np.zeros(t.shape) if g is None else g.numpy() for g, t in zip(grads, leaves)]


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_value_version_and_identity(call: Call) -> None:
    x = tensor(call.array, False)
    args, _ = arguments(call, False)
    expected = plain(call, paddle.assign(x), args).numpy()
    alias = x.detach()
    assert twin(call, x, args) is x
    if call.name != "cast_":
        expected = expected.astype(np.array(call.array).dtype)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x.numpy().dtype == expected.dtype and tuple(x.shape) == expected.shape
    if call.name in REBOUND:
        np.testing.assert_array_equal(alias.numpy(), call.array)
    else:
        assert x.inplace_version == 1
        assert x.stop_gradient


@pytest.mark.parametrize("call", [c for c in CALLS if is_floating(c)], ids=name_of)
def test_gradients(call: Call) -> None:
    results = []
    for function in (plain, twin):
        x = tensor(call.array, True)
        args, leaves = arguments(call, True)
        results.append(gradients(function(call, paddle.assign(x), args), [x, *leaves]))
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("call", [c for c in CALLS + RANDOM if is_floating(c)], ids=name_of)
def test_a_leaf_refuses_and_is_left_alone(call: Call) -> None:
    x = tensor(call.array, True)
    args, _ = arguments(call, False)
    with pytest.raises(PermissionDeniedError, match=r"leaf Tensor float64\[.*can't use an inplace strategy") as refused:
        twin(call, x, args)
    assert "no_grad" in str(refused.value) or call.name in REBOUND
    np.testing.assert_array_equal(x.numpy(), call.array)
    assert x.inplace_version == 0 and x.is_leaf
    if call.name in REBOUND:
        return
    state = paddle.get_rng_state()
    with paddle.no_grad():
        assert twin(call, x, args) is x
    assert x.is_leaf and x.inplace_version == 1 and not x.stop_gradient
    if call in CALLS:
        y = tensor(call.array, False)
        twin(call, y, args)
        np.testing.assert_array_equal(x.numpy(), y.numpy())
    paddle.set_rng_state(state)


@pytest.mark.parametrize("call", [c for c in CALLS if arguments(c, True)[1]], ids=name_of)
def test_an_operand_that_needs_a_gradient_makes_the_result_need_one(call: Call) -> None:
    x = tensor(call.array, False)
    args, leaves = arguments(call, True)
    expected = plain(call, paddle.assign(x), args)
    out = twin(call, x, args)
    assert out is x and x.stop_gradient == expected.stop_gradient
    for want, got in zip(gradients(expected, leaves), gradients(x, leaves)):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    with paddle.no_grad():
        y = tensor(call.array, False)
        twin(call, y, args)
    assert y.stop_gradient


@pytest.mark.parametrize("call", RANDOM, ids=name_of)
def test_random_numbers_leave_no_gradient_to_what_they_replace(call: Call) -> None:
    x = tensor(UNIT, True)
    y = x * 2.1
    args, _ = arguments(call, False)
    assert twin(call, y, args) is y
    assert y.inplace_version == 1 and not y.stop_gradient
    assert (y.numpy() != 2.1 * UNIT).all()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 3)))
    # Through a view of a view the base's other elements keep theirs.
    z = x * 3.0
    twin(call, z[:, 1:][:], tuple(a[:, 1:] if isinstance(a, paddle.Tensor) else a for a in args))
    (grad,) = paddle.grad(z.sum(), x)
    np.testing.assert_array_equal(grad.numpy(), [[3, 0, 0], [3, 0, 0]])


def test_where_writes_into_its_second_argument() -> None:
    condition, x, y = tensor(FLAGS, False), tensor(UNIT, True), tensor(OTHER, True)
    target = x * 1.0
    assert paddle.where_(condition, target, y) is target
    np.testing.assert_array_equal(target.numpy(), np.where(FLAGS, UNIT, OTHER))
    assert target.inplace_version == 1 and condition.inplace_version == 0
    target.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), FLAGS * 1.0)
    np.testing.assert_array_equal(y.grad.numpy(), 1.0 - FLAGS)
    with pytest.raises(PermissionDeniedError, match="where_"):
        paddle.where_(condition, x, y)
    np.testing.assert_array_equal(x.numpy(), UNIT)


def test_apply_writes_what_the_function_returns() -> None:
    x = paddle.arange(3, dtype="float64")
    assert x.apply_(lambda v: v * 2 + 1) is x and x.tolist() == [1.0, 3.0, 5.0] and x.inplace_version == 1
    assert x.apply(lambda v: v - 1).tolist() == [0.0, 2.0, 4.0] and x.tolist() == [1.0, 3.0, 5.0]
    y = tensor(UNIT, True)
    for name in ("apply", "apply_"):
        for target in (y, y * 1.0):
            with pytest.raises(RuntimeError, match=f"{name}: expected a tensor that needs no gradient"):
                getattr(target, name)(lambda v: v)
    with pytest.raises(TypeError, match="apply_: expected func to return a Tensor, received float"):
        x.apply_(lambda v: 1.0)
    with pytest.raises(ValueError, match=r"broadcasts to the shape \[3\], received shape \[2\]"):
        x.apply_(lambda v: v[:2])
    assert x.tolist() == [1.0, 3.0, 5.0] and x.inplace_version == 1


def test_copy_is_not_recorded() -> None:
    x, source = tensor(UNIT, True), tensor(OTHER.astype(np.float32), True)
    y = x * 2.0
    assert y.copy_(source) is y
    np.testing.assert_array_equal(y.numpy(), OTHER)
    assert y.dtype is paddle.float64 and y.inplace_version == 1
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 2.0))
    assert source.grad is None
    x.copy_(source[0], True)
    np.testing.assert_array_equal(x.numpy(), np.broadcast_to(OTHER[0], (2, 3)))
    with pytest.raises(ValueError, match=r"copy_: expected a value that broadcasts to the shape \[2, 3\]"):
        x.copy_(paddle.zeros([4]))


def test_requires_grad_by_keyword() -> None:
    x = tensor(UNIT, False)
    assert x.requires_grad_(requires_grad=True) is x and not x.stop_gradient
    assert x.requires_grad_(False).stop_gradient


@pytest.mark.parametrize(
    ("shape", "offset", "wrap", "places"),
    [
        ((7, 3), 0, True, [0, 4, 8, 12, 16, 20]),
        ((7, 3), 0, False, [0, 4, 8]),
        ((7, 3), 1, True, [1, 5, 13, 17]),
        ((7, 3), -2, True, [6, 18]),
        ((3, 7), 2, True, [2, 10, 18]),
        ((3, 3, 3), 0, False, [0, 13, 26]),
        ((2, 3, 3), 0, False, [0, 13]),
        ((3, 3, 3), 1, False, [1, 14]),
        ((5, 2, 2), 0, True, [0, 7, 14]),
        ((2, 2), 5, False, []),
    ],
)
def test_diagonals_that_are_filled_are_those_of_paddle(
    shape: tuple[int, ...], offset: int, wrap: bool, places: list[int]
) -> None:
    x = paddle.ones(shape)
    x.fill_diagonal_(5.0, offset, wrap)
    expected = np.ones(shape).reshape(-1)
    expected[places] = 5
    np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))


def test_diagonals_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at least two dimensions, received shape \[3\]"):
        paddle.ones([3]).fill_diagonal_(1.0)
    x = paddle.zeros([2, 3])
    with pytest.raises(ValueError, match=r"y of the diagonal's shape \[2\], received \[3\]"):
        x.fill_diagonal_tensor_(paddle.ones([3]))
    assert x.sum().item() == 0.0 and x.inplace_version == 0
    assert x.fill_diagonal_tensor(paddle.ones([2])).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
