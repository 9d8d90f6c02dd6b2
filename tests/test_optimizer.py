"""Optimizers take the steps real Paddle takes, and keep its state."""

import json
import pathlib

import numpy as np
import pytest

import wherry as paddle
from tests.reference import make_optimizer_reference as reference

RECORD = json.loads((pathlib.Path(__file__).resolve().parent / "reference" / "optimizer_steps.json").read_text())


@pytest.mark.parametrize("name", reference.OPTIMIZERS)
def test_steps_and_state_are_real_paddles(name):
    found = reference.run_optimizer(paddle, *reference.OPTIMIZERS[name])
    expected = RECORD["optimizers"][name]
    for step, (mine, real) in enumerate(zip(found["trail"], expected["trail"], strict=True)):
        for a, b in zip(mine, real, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6, err_msg=f"step {step}")
    assert list(found["state"]) == list(expected["state"])
    for key, value in expected["state"].items():
        if isinstance(value, dict):
            assert found["state"][key] == pytest.approx(value)
        else:
            np.testing.assert_allclose(found["state"][key], value, rtol=2e-5, atol=2e-6, err_msg=key)


def parameter(values, dtype="float32", **attr):
    made = paddle.create_parameter(list(np.shape(values)), "float32", attr=paddle.ParamAttr(**attr))
    made.set_value(np.asarray(values, "float32"))
    return made if dtype == "float32" else paddle.nn.Parameter(made.astype(dtype).detach())


def set_grad(p, values):
    p.grad = paddle.to_tensor(np.asarray(values, "float32")).astype(p.dtype)


def test_groups_have_settings_of_their_own():
    a, b = parameter([1.0]), parameter([1.0])
    optimizer = paddle.optimizer.SGD(
        1.0, parameters=[{"params": [a]}, {"params": [b], "learning_rate": 0.1, "weight_decay": 0.5}]
    )
    set_grad(a, [0.5])
    set_grad(b, [0.5])
    optimizer.step()
    assert a.item() == pytest.approx(0.5)
    assert b.item() == pytest.approx(1.0 - 0.1 * (0.5 + 0.5))


def test_a_group_may_set_beta():
    a = parameter([1.0])
    optimizer = paddle.optimizer.Adam(0.1, parameters=[{"params": [a], "beta1": 0.5}])
    set_grad(a, [2.0])
    optimizer.step()
    state = optimizer.state_dict()
    assert state[f"{a.name}_moment1_0"].item() == pytest.approx(1.0)
    assert state[f"{a.name}_beta1_pow_acc_0"].item() == pytest.approx(0.25)


@pytest.mark.parametrize("kind", ["SGD", "Momentum", "Adam", "AdamW", "Lamb"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_master_weights_keep_small_steps(kind, dtype):
    start = np.full(3, 1.0)
    full, half = parameter(start), parameter(start, dtype)
    arguments = {"learning_rate": 1e-4}
    plain = getattr(paddle.optimizer, kind)(parameters=[full], **arguments)
    mixed = getattr(paddle.optimizer, kind)(parameters=[half], multi_precision=True, **arguments)
    for _ in range(40):
        for p, optimizer in ((full, plain), (half, mixed)):
            set_grad(p, [0.5, 1.0, 2.0])
            optimizer.step()
    masters = mixed.state_dict()["master_weights"]
    np.testing.assert_allclose(masters[half.name].numpy(), full.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(half.numpy(), full.astype(dtype).numpy())
    assert any(name.startswith(f"{half.name}_fp32_master_0_") for name in mixed.state_dict()) or kind == "SGD"


def test_half_parameters_without_master_are_rounded_once():
    p = parameter([1.0], "bfloat16")
    optimizer = paddle.optimizer.Adam(1e-2, parameters=[p])
    set_grad(p, [1.0])
    optimizer.step()
    assert p.dtype == paddle.bfloat16
    assert float(p) == pytest.approx(0.99, abs=4e-3)
    assert optimizer.state_dict()[f"{p.name}_moment1_0"].dtype == paddle.float32


def by_hand(values, grads, rate, decay=0.0):
    """AdamW in float64."""
    m = v = np.zeros_like(values)
    for step, g in enumerate(grads, 1):
        values = values * (1 - rate * decay)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        values = values - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return values


@pytest.mark.parametrize("leave", ["none", "a gradient", "the optimizer", "its state", "equal rates"])
def test_small_parameters_are_stepped_together_and_apart_alike(leave):
    random = np.random.RandomState(0)
    starts = [random.standard_normal(shape) for shape in ((3, 4), (), (5,))]
    params = [parameter(s, name=f"together_{leave}_{i}", learning_rate=2.0 if i and leave == "equal rates" else 1.0)
              for i, s in enumerate(starts)]  # fmt: skip
    optimizer = paddle.optimizer.AdamW(0.1, parameters=params, weight_decay=0.3)
    grads = [[] for _ in params]
    for step in range(6):
        for i, p in enumerate(params):
            p.clear_gradient(False)
            if leave == "a gradient" and step == 2 and i == 1:
                continue
            grads[i].append(random.standard_normal(p.shape))
            set_grad(p, grads[i][-1])
        optimizer.step()
        if step == 3 and leave == "the optimizer":
            state = {k: v.numpy() for k, v in optimizer.state_dict().items()}
            optimizer = paddle.optimizer.AdamW(0.1, parameters=params[::-1], weight_decay=0.3)
            optimizer.set_state_dict(state)
        if step == 3 and leave == "its state":
            optimizer.set_state_dict({k: v.numpy() for k, v in optimizer.state_dict().items()})
    for i, (p, start) in enumerate(zip(params, starts, strict=True)):
        rate = 0.2 if i and leave == "equal rates" else 0.1
        np.testing.assert_allclose(p.numpy(), by_hand(start, grads[i], rate, 0.3), rtol=1e-4, atol=1e-5)
        assert (
            optimizer.state_dict()[f"{p.name}_moment1_0" if leave != "the optimizer" else f"{p.name}_moment1_1"].shape
            == p.shape
        )


def test_large_and_strided_parameters_agree_with_small_ones():
    random = np.random.RandomState(0)
    values, grads = random.standard_normal((300, 400)), random.standard_normal((300, 400))
    whole = parameter(values)
    rows = [parameter(v) for v in values[:3]]
    strided = paddle.nn.Parameter(paddle.to_tensor(values.astype("float32").T).t())
    assert not strided.is_contiguous()
    for params in ([whole], rows, [strided]):
        optimizer = paddle.optimizer.Adam(0.1, parameters=params)
        for _ in range(3):
            for i, p in enumerate(params):
                set_grad(p, grads if p.ndim == 2 else grads[i])
            optimizer.step()
    np.testing.assert_array_equal(whole.numpy()[:3], np.stack([r.numpy() for r in rows]))
    np.testing.assert_array_equal(whole.numpy(), strided.numpy())


def test_a_step_counts_as_a_write():
    p = parameter([1.0, 2.0])
    y = p * p
    optimizer = paddle.optimizer.SGD(0.1, parameters=[p])
    set_grad(p, [1.0, 1.0])
    before = p.inplace_version
    optimizer.step()
    assert p.inplace_version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_frozen_and_unused_parameters_stay():
    frozen, unused, used = parameter([1.0]), parameter([1.0]), parameter([1.0])
    frozen.stop_gradient = True
    optimizer = paddle.optimizer.Adam(0.1, parameters=[frozen, unused, used])
    (frozen * used).sum().backward()
    optimizer.step()
    assert (frozen.item(), unused.item()) == (1.0, 1.0)
    assert used.item() == pytest.approx(0.9)
    assert f"{unused.name}_moment1_0" not in optimizer.state_dict()


def test_clear_grad():
    p = parameter([1.0])
    optimizer = paddle.optimizer.SGD(0.1, parameters=[p])
    p.sum().backward()
    optimizer.clear_grad()
    assert p.grad.item() == 0.0
    optimizer.clear_grad(set_to_zero=False)
    assert p.grad is None


def test_minimize_uses_the_gradients_there_are():
    p = parameter([1.0])
    optimizer = paddle.optimizer.SGD(0.1, parameters=[p])
    loss = (p * 3.0).sum()
    loss.backward()
    _, pairs = optimizer.minimize(loss)
    assert pairs[0][0] is p
    assert p.item() == pytest.approx(0.7)


def test_clipping_leaves_the_gradients_of_the_user():
    p = parameter([3.0, 4.0])
    optimizer = paddle.optimizer.SGD(1.0, parameters=[p], grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    set_grad(p, [30.0, 40.0])
    optimizer.step()
    np.testing.assert_allclose(p.numpy(), [2.4, 3.2], rtol=1e-6)
    np.testing.assert_array_equal(p.grad.numpy(), [30.0, 40.0])


def test_parameters_that_need_no_clip_are_left_out():
    clipped, free = parameter([0.0]), parameter([0.0], need_clip=False)
    optimizer = paddle.optimizer.SGD(1.0, parameters=[clipped, free], grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    set_grad(clipped, [10.0])
    set_grad(free, [10.0])
    optimizer.step()
    assert (clipped.item(), free.item()) == (pytest.approx(-1.0), pytest.approx(-10.0))


def test_rescale_grad_is_applied():
    # Real Paddle 3.3.1's CPU kernel leaves the gradient as it is.
    p = parameter([1.0])
    optimizer = paddle.optimizer.Momentum(0.1, parameters=[p], rescale_grad=0.5)
    set_grad(p, [2.0])
    optimizer.step()
    assert p.item() == pytest.approx(0.9)


def test_state_goes_over_to_another_optimizer():
    schedule = paddle.optimizer.lr.StepDecay(0.1, 2)
    p = parameter([1.0, 2.0], name="goes_over")
    first = paddle.optimizer.Adam(schedule, parameters=[p])
    for _ in range(3):
        set_grad(p, [1.0, -1.0])
        first.step()
        schedule.step()
    state = {k: v if isinstance(v, dict) else v.numpy() for k, v in first.state_dict().items()}
    q = paddle.nn.Parameter(p.detach().clone())
    q.name = p.name
    second = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=[q])
    second.set_state_dict(state)
    for target, optimizer in ((p, first), (q, second)):
        set_grad(target, [0.5, 0.5])
        optimizer.step()
    assert second.get_lr() == first.get_lr() == pytest.approx(0.01)
    np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_state_of_another_shape_is_refused():
    p = parameter([1.0, 2.0], name="refuses")
    optimizer = paddle.optimizer.Adam(0.1, parameters=[p])
    with pytest.raises(ValueError, match=r"expected the shape \[2\] for 'refuses_moment1_0', received \[3\]"):
        optimizer.set_state_dict({"refuses_moment1_0": np.zeros(3, "float32")})
    with pytest.warns(UserWarning, match="no parameter has the state \\['other'\\]"):
        optimizer.set_state_dict({"other": np.zeros(3, "float32")})


def test_wrong_arguments_are_named():
    p = parameter([1.0])
    with pytest.raises(AttributeError, match="parameters=layer.parameters"):
        paddle.optimizer.SGD(0.1)
    with pytest.raises(TypeError, match="iterable of Tensors"):
        paddle.optimizer.SGD(0.1, parameters=p)
    with pytest.raises(TypeError, match="'learning_rate', received str"):
        paddle.optimizer.SGD("0.1", parameters=[p])
    with pytest.raises(TypeError, match="'weight_decay', received str"):
        paddle.optimizer.SGD(0.1, parameters=[p], weight_decay="x")
    with pytest.raises(TypeError, match="'grad_clip', received int"):
        paddle.optimizer.SGD(0.1, parameters=[p], grad_clip=3)
    with pytest.raises(ValueError, match="beta1 in"):
        paddle.optimizer.Adam(0.1, beta1=1.5, parameters=[p])
    with pytest.raises(ValueError, match="more than one group"):
        paddle.optimizer.SGD(0.1, parameters=[{"params": [p]}, {"params": [p]}])


def test_set_lr():
    p = parameter([1.0])
    optimizer = paddle.optimizer.SGD(0.1, parameters=[p])
    optimizer.set_lr(0.5)
    assert optimizer.get_lr() == 0.5
    optimizer.set_lr_scheduler(paddle.optimizer.lr.StepDecay(0.2, 3))
    assert optimizer.get_lr() == 0.2
    with pytest.raises(RuntimeError, match="LRScheduler"):
        optimizer.set_lr(0.3)


def test_squared_l2_norm_and_clip_by_norm_match_numpy():
    x = np.random.RandomState(0).standard_normal((3, 4)).astype("float32")
    clip = paddle.nn.ClipGradByNorm(1.5)
    p = parameter(x)
    ((_, g),) = clip([(p, paddle.to_tensor(x))])
    np.testing.assert_allclose(g.numpy(), x * 1.5 / np.linalg.norm(x), rtol=1e-6)
    ((_, g),) = paddle.nn.ClipGradByNorm(100.0)([(p, paddle.to_tensor(x))])
    np.testing.assert_array_equal(g.numpy(), x)
