"""Faults that users of eager engines have met: forward and dtypes, backward, in-place. Each must stay away from here."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wherry as paddle

F = paddle.nn.functional


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def const(values: object) -> paddle.Tensor:
    return leaf(values).detach()


def slope(function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of a function by central differences."""
    result = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        result[place] = (function(up) - function(down)) / (2 * step)
    return result


# Forward: dtypes, 0-D, empty and strided tensors


def test_a_sum_of_integers_and_fractions_never_loses_the_fraction() -> None:
    counts, rates = paddle.to_tensor([4, 5]), paddle.to_tensor([0.75, 1.25])
    for a, b in ((counts, rates), (rates, counts)):
        with pytest.raises(TypeError, match=r"int64.*float32|float32.*int64"):
            a + b
    np.testing.assert_array_equal((counts.astype("float32") + rates).numpy(), [4.75, 6.25])


def test_a_float_beside_an_integer_tensor_is_not_cut() -> None:
    n = paddle.to_tensor([9, -4])
    np.testing.assert_array_equal((n + 0.25).numpy(), [9.25, -3.75])
    np.testing.assert_array_equal((0.25 - n).numpy(), [-8.75, 4.25])
    np.testing.assert_array_equal((n / 0.25).numpy(), [36.0, -16.0])
    np.testing.assert_array_equal((n**0.5)[0].numpy(), 3.0)
    assert (n // 4).numpy().tolist() == [2, -1] and (n % 4).numpy().tolist() == [1, 0]


def test_large_integers_stay_exact() -> None:
    big = paddle.to_tensor([2**53, -(2**62)])
    assert (big + 1).numpy().tolist() == [2**53 + 1, 1 - 2**62]
    assert (big * 1 - 1).numpy().tolist() == [2**53 - 1, -(2**62) - 1]


def test_masks_on_a_0d_tensor() -> None:
    s = paddle.to_tensor(4.0)
    s[s > 3] = 7.0
    assert s.shape == [] and s.item() == 7.0
    s[s < 0] = 1.0
    assert s.item() == 7.0
    assert s[s == 7].numpy().tolist() == [7.0]
    assert s[s != 7].shape == [0]


@pytest.mark.parametrize("trained", [(True, True), (True, False), (False, True)])
def test_a_product_over_an_empty_dimension(trained: tuple[bool, bool]) -> None:
    a, b = leaf(np.ones((3, 0))), leaf(np.ones((0, 2)))
    a.stop_gradient, b.stop_gradient = not trained[0], not trained[1]
    out = paddle.matmul(a, b)
    assert out.numpy().tolist() == [[0.0, 0.0]] * 3 and not out.stop_gradient
    out.sum().backward()
    for tensor, wanted in zip((a, b), trained):
        assert (None if tensor.grad is None else tensor.grad.shape) == (tensor.shape if wanted else None)


def test_a_row_broadcast_against_nothing_gets_zeros_of_its_own_shape() -> None:
    row = leaf([1.0, 2.0, 3.0])
    (paddle.zeros([3, 0], "float64") * row.unsqueeze(1)).sum().backward()
    assert row.grad.numpy().tolist() == [0.0, 0.0, 0.0]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "moved": lambda t: t.transpose([2, 0, 1]),
    "strided": lambda t: t[:, ::2, 1:],
    "reversed": lambda t: t[::-1, :, ::-2],
    "middle": lambda t: t.transpose([1, 0, 2])[1:, :, :2],
}
READERS: dict[str, Callable[[Any], Any]] = {
    "cumsum": lambda v: paddle.cumsum(v, axis=-1),
    "softmax": lambda v: F.softmax(v, axis=0),
    "max": lambda v: paddle.max(v, axis=1),
    "matmul": lambda v: paddle.matmul(v, paddle.ones([v.shape[-1], 2], "float64")),
    "flip": lambda v: paddle.flip(v, [0]),
    "flat": lambda v: v.reshape([-1]),
    "sort": lambda v: paddle.sort(v, axis=-1),
    "layer_norm": lambda v: F.layer_norm(v, v.shape[-1:]),
}


@pytest.mark.parametrize(("view", "reader"), list(itertools.product(VIEWS, READERS)))
def test_a_strided_view_reads_and_differentiates_like_its_copy(view: str, reader: str) -> None:
    data = np.sin(np.arange(24.0)).reshape(2, 3, 4)
    x = leaf(data)
    strided = VIEWS[view](x)
    assert not strided.is_contiguous()
    copy = leaf(np.ascontiguousarray(strided.numpy()))
    out, want = READERS[reader](strided), READERS[reader](copy)
    np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-12)
    weight = const(np.cos(np.arange(float(out.size))).reshape(out.shape))
    (out * weight).sum().backward()
    (want * weight).sum().backward()
    np.testing.assert_allclose(VIEWS[view](x.grad).numpy(), copy.grad.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_keeps_parameters_and_their_gradients(dtype: str) -> None:
    layer = paddle.nn.Linear(3, 3)
    x = paddle.to_tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"))
    with paddle.amp.auto_cast(dtype=dtype):
        inside = layer(x)
        loss = F.softmax(inside).square().mean()
        assert paddle.exp(inside).dtype == paddle.float32 and loss.dtype == paddle.float32
    loss.backward()
    assert paddle.matmul(x, x.T).dtype == paddle.float32
    half = [p.grad.numpy() for p in layer.parameters()]
    assert all(p.dtype == paddle.float32 and p.grad.dtype == paddle.float32 for p in layer.parameters())
    layer.clear_gradients()
    F.softmax(layer(x)).square().mean().backward()
    for g, parameter in zip(half, layer.parameters()):
        np.testing.assert_allclose(g, parameter.grad.numpy(), atol=2e-2)


# Backward: edges where a formula breaks down


def test_where_sends_an_exact_zero_to_the_side_not_taken() -> None:
    x, y = leaf([np.inf, -3.0, np.nan]), leaf([2.0, np.nan, np.inf])
    (paddle.where(paddle.to_tensor([False, True, True]), x, y) * const([3.0, 4.0, 5.0])).sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 4.0, 5.0]
    assert y.grad.numpy().tolist() == [3.0, 0.0, 0.0]


def test_where_keeps_an_infinite_gradient_from_the_side_not_taken() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = paddle.where(paddle.to_tensor([False, True]), x, y)
    out.backward(const([np.inf, np.nan]))
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, np.nan])
    np.testing.assert_array_equal(y.grad.numpy(), [np.inf, 0.0])


@pytest.mark.parametrize("p", [1, 2, 3, 2.5, float("inf"), "fro"])
def test_a_norm_at_the_origin_has_gradient_zero(p: Any) -> None:
    x = leaf(np.zeros((2, 3)))
    paddle.linalg.norm(x, p=p).backward()
    assert not x.grad.numpy().any() and np.isfinite(x.grad.numpy()).all()


def test_one_row_of_zeros_does_not_spoil_the_others() -> None:
    x = leaf([[0.0, 0.0], [5.0, 12.0]])
    paddle.linalg.norm(x, p=2, axis=1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.0, 0.0], [5 / 13, 12 / 13]])
    a = leaf([1.0, 2.0])
    paddle.dist(a, const([1.0, 2.0])).backward()
    assert a.grad.numpy().tolist() == [0.0, 0.0]


def test_powers_of_zero() -> None:
    x = leaf([0.0, -1.5, 2.0])
    (x**0).sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 0.0, 0.0]
    base, exponent = leaf([0.0, 0.0, 3.0]), leaf([1.0, 2.0, 2.0])
    (base**exponent).sum().backward()
    np.testing.assert_allclose(base.grad.numpy(), [1.0, 0.0, 6.0])
    np.testing.assert_allclose(exponent.grad.numpy(), [0.0, 0.0, 9 * np.log(3.0)])
    negative = leaf([-2.0])
    (negative**3).backward()
    assert negative.grad.item() == 12.0


@pytest.mark.parametrize("values", [[0.0], [3.0, 0.0, 2.0], [0.0, 5.0, 0.0, 2.0], [-1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
def test_running_and_whole_products_with_zeros(values: list[float]) -> None:
    at = np.array(values)
    weight = np.linspace(1.0, 2.0, at.size)
    x = leaf(at)
    (paddle.cumprod(x, dim=0) * const(weight)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: float(np.cumprod(v) @ weight), at), atol=1e-8)
    whole = leaf(at)
    paddle.prod(whole).backward()
    np.testing.assert_allclose(whole.grad.numpy(), slope(lambda v: float(np.prod(v)), at), atol=1e-8)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_ties_pass_on_no_more_than_what_arrived(name: str) -> None:
    sign = 1.0 if name.endswith("max") else -1.0
    x = leaf(sign * np.array([2.0, 6.0, 1.0, 6.0, 6.0]))
    getattr(paddle, name)(x).backward(const(9.0))
    g = x.grad.numpy()
    assert (g >= 0).all() and g.sum() == pytest.approx(9.0) and not g[[0, 2]].any()
    if name.startswith("a"):
        np.testing.assert_allclose(g[[1, 3, 4]], 3.0)


def test_maximum_of_equal_elements_shares() -> None:
    for function in (paddle.maximum, paddle.minimum, paddle.fmax, paddle.fmin):
        x, y = leaf([4.0]), leaf([4.0])
        function(x, y).backward()
        assert x.grad.item() >= 0 and y.grad.item() >= 0
        assert x.grad.item() + y.grad.item() == 1.0


def test_clip_learns_at_its_edges() -> None:
    points = [-3.0, -2.0, 0.0, 2.0, 3.0]
    for bounds, expected in (
        ({"min": -2.0, "max": 2.0}, [0, 1, 1, 1, 0]),
        ({"min": -2.0}, [0, 1, 1, 1, 1]),
        ({"max": 2.0}, [1, 1, 1, 1, 0]),
        ({"min": const(-2.0), "max": const(2.0)}, [0, 1, 1, 1, 0]),
    ):
        x = leaf(points)
        paddle.clip(x, **bounds).sum().backward()
        assert x.grad.numpy().tolist() == expected, bounds


def test_silu_at_the_end_of_the_range() -> None:
    x = leaf([-709.0, -40.0, 40.0, 709.0])
    F.silu(x).sum().backward()
    at = x.numpy()
    # exp(x) (1 + x) where x is far below zero, 1 where it is far above.
    expected = np.where(at < 0, np.exp(np.minimum(at, 0)) * (1 + at), 1.0)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=0)


def test_large_arguments_give_finite_slopes() -> None:
    for function in (F.sigmoid, paddle.tanh, F.softplus, F.gelu, F.silu, F.log_sigmoid):
        x = leaf([-1e4, -800.0, 800.0, 1e4])
        function(x).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), function.__name__
    for function in (paddle.logsumexp, lambda t: F.log_softmax(t)[0]):
        x = leaf([1000.0, -1000.0])
        out = function(x)
        out.backward()
        assert np.isfinite(out.item()) and np.isfinite(x.grad.numpy()).all()


READS: dict[str, Callable[[Any, Any], Any]] = {
    "gather": lambda w, i: paddle.gather(w, i),
    "index": lambda w, i: w[i],
    "index_select": lambda w, i: paddle.index_select(w, i),
    "embedding": lambda w, i: F.embedding(i, w),
    "gather_nd": lambda w, i: paddle.gather_nd(w, i.unsqueeze(1)),
    "take_along_axis": lambda w, i: paddle.take_along_axis(w, i.unsqueeze(1).expand([5, 2]), 0),
}


@pytest.mark.parametrize("name", READS)
def test_repeated_rows_add_up(name: str) -> None:
    w = leaf(np.zeros((4, 2)))
    rows = [2, 0, 2, 2, 0]
    weight = np.arange(1.0, 11.0).reshape(5, 2)
    (READS[name](w, paddle.to_tensor(rows)) * const(weight)).sum().backward()
    expected = np.zeros((4, 2))
    np.add.at(expected, rows, weight)
    np.testing.assert_array_equal(w.grad.numpy(), expected)


def test_the_padding_row_learns_nothing() -> None:
    w = leaf(np.zeros((3, 2)))
    F.embedding(paddle.to_tensor([0, 2, 2, 0]), w, padding_idx=2).sum().backward()
    assert w.grad.numpy().tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


# Backward: the graph


def test_roots_of_one_graph_in_any_order_with_their_own_seeds() -> None:
    for order in itertools.permutations(range(3)):
        x = leaf([1.0, 3.0])
        first = x * x
        second = first * 2.0
        third = second * x
        roots, seeds = [first, second, third], [100.0, 10.0, 1.0]
        paddle.autograd.backward([roots[i] for i in order], [const([seeds[i]] * 2) for i in order])
        # 100 x^2 + 10 * 2 x^2 + 2 x^3
        np.testing.assert_allclose(x.grad.numpy(), 240 * x.numpy() + 6 * x.numpy() ** 2)


def test_a_part_built_outside_the_loop_is_named_as_used_up() -> None:
    x = leaf([2.0])
    shared = paddle.exp(x)
    (shared * 2.0).backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        (shared * 3.0).backward()
    assert x.grad.item() == pytest.approx(2 * np.exp(2.0))


def test_inputs_out_of_reach() -> None:
    x = leaf([1.0])
    cut = x.detach() * 2.0
    cut.stop_gradient = False
    with pytest.raises(ValueError, match=r"position 0.*allow_unused"):
        paddle.grad(cut * 3.0, x)
    assert paddle.grad(cut * 3.0, [x, cut], allow_unused=True)[0] is None


def test_a_penalty_on_gradients_equals_differences() -> None:
    points = np.array([[0.5, -0.3], [-1.2, 0.8]])
    start = np.array([1.1, -0.6])

    def penalty(weight: np.ndarray) -> tuple[Any, Any]:
        x, w = leaf(points), leaf(weight)
        wide = x * w
        out = (paddle.sin(wide) * wide.sum(axis=1, keepdim=True)).mean()
        g = paddle.grad(out, x, create_graph=True)[0]
        return ((g.norm(axis=1) - 0.5) ** 2).sum(), w

    loss, w = penalty(start)
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), slope(lambda v: penalty(v)[0].item(), start), atol=1e-7)


@pytest.mark.parametrize("change", [lambda t: t.reshape([2, 1]), lambda t: t.clone(), lambda t: t, lambda t: t + 0.0])
def test_a_gradient_shares_no_memory_with_the_seed(change: Callable[[Any], Any]) -> None:
    x = leaf([1.0, 2.0])
    out = change(x)
    seed = paddle.full(out.shape, 3.0, "float64")
    out.backward(seed)
    assert not np.shares_memory(x.grad.impl.array, seed.impl.array)
    x.grad.scale_(10.0)
    assert seed.numpy().ravel().tolist() == [3.0, 3.0]


def test_a_leaf_may_be_the_root_and_accumulates() -> None:
    x, seed = leaf([1.0]), const([4.0])
    x.backward(seed)
    x.backward(seed)
    assert x.grad.item() == 8.0 and seed.item() == 4.0


# In-place


@pytest.mark.parametrize(
    ("change", "count"),
    [(lambda t: t.add_(const(1.0).expand([2]).clone()), 1), (lambda t: (t.scale_(2.0), t.__setitem__(0, 3.0)), 2)],
)
def test_a_value_that_backward_needs_was_overwritten(change: Callable[[Any], Any], count: int) -> None:
    x = leaf([1.0, 2.0])
    y = paddle.tanh(x)
    z = y * y
    before = y.inplace_version
    change(y)
    assert y.inplace_version == before + count
    with pytest.raises(RuntimeError, match=rf"inplace.*version {before}.*version {before + count}"):
        z.sum().backward()
    assert x.grad is None


def test_operations_that_do_not_need_the_old_value_are_not_blamed() -> None:
    x = leaf([1.0, 2.0])
    y = const([3.0, 5.0]) * x
    total = y.sum() + (y - 1.0).mean()
    y.add_(const([1.0, 1.0]))
    (total + y.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), [3.0 * 2.5, 5.0 * 2.5])


@pytest.mark.parametrize(
    "change", [lambda t: t.zero_(), lambda t: t.scale_(0.0), lambda t: t.__setitem__(slice(None), 0.0)]
)
def test_a_detached_tensor_cannot_falsify_a_gradient(change: Callable[[Any], Any]) -> None:
    x = leaf([0.5, 1.5])
    out = F.sigmoid(x)
    change(out.detach())
    assert not out.numpy().any(), "detached tensors share memory"
    with pytest.raises(RuntimeError, match="inplace"):
        out.sum().backward()
    safe = (x * 1.0).detach().clone()
    change(safe)
    assert x.numpy().tolist() == [0.5, 1.5]


def test_an_expanded_tensor_is_never_written_many_times_over() -> None:
    base = paddle.ones([1, 1])
    wide = base.expand([3, 4])
    for write in (lambda t: t.add_(paddle.ones([3, 4])), lambda t: t.scale_(2.0), lambda t: t.cos_()):
        with pytest.raises(RuntimeError, match="share memory"):
            write(wide)
    assert base.item() == 1.0 and base.inplace_version == 0


@pytest.mark.parametrize("finish", [lambda y: y.tanh_(), lambda y: y.tanh_().sum(), lambda y: y.tanh_().reshape([4])])
def test_the_result_of_an_in_place_operation_as_root(finish: Callable[[Any], Any]) -> None:
    x = leaf(np.full((2, 2), 0.3))
    finish(x * 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((2, 2), 2 * (1 - np.tanh(0.6) ** 2)))


def test_reshaping_in_place_keeps_earlier_results_right() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    early = paddle.exp(y)
    y.reshape_([3, 2])
    assert (y.shape, early.shape) == ([3, 2], [2, 3])
    (early.sum() + (y * y).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.numpy()) + 2 * x.numpy())


def test_reshaping_in_place_counts_as_a_write_to_what_was_saved() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    early = y * y
    y.reshape_([3, 2])
    with pytest.raises(RuntimeError, match=r"(?s)inplace.*changed by reshape_"):
        early.sum().backward()


def test_an_element_made_from_another_of_the_same_tensor() -> None:
    x = leaf([1.0, 2.0, 3.0])
    a = x * 1.0
    a[0] = paddle.exp(a[2])
    try:
        a.sum().backward()
    except RuntimeError as error:
        # One counter for all elements may refuse it; a wrong number may not come out.
        assert "inplace" in str(error)
        assert x.grad is None
    else:
        np.testing.assert_allclose(x.grad.numpy(), [0.0, 1.0, 1.0 + np.exp(3.0)])


def test_an_element_of_an_output_that_its_own_rule_needs() -> None:
    x = leaf([1.0, 2.0])
    y = F.sigmoid(x)
    y[1] = 0.0
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()
