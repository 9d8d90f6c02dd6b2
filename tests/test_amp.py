"""Mixed precision: decorate, GradScaler, and training with both."""

import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import amp, nn
from wherry.amp import auto_cast as auto_cast_class
from wherry.amp.auto_cast import _last


@pytest.fixture(autouse=True)
def last_dtype() -> Iterator[None]:
    """Scalers go by the last auto_cast, whatever ran before."""
    before = dict(_last)
    with amp.auto_cast(dtype="float16"):
        pass
    yield
    _last.update(before)


def make_model() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2D(3, 2, 3),
        nn.BatchNorm2D(2),
        nn.LayerNorm(2),
        nn.InstanceNorm2D(2),
        nn.GroupNorm(1, 2),
        nn.Linear(2, 2),
    )


def dtypes(model: nn.Layer) -> dict[str, str]:
    return {name.split(".")[0]: p.dtype.name for name, p in model.named_parameters()}


def test_level_o1_changes_no_model() -> None:
    model = make_model()
    optimizer = paddle.optimizer.SGD(parameters=model.parameters())
    assert amp.decorate(model) is model
    models, optimizers = amp.decorate([model], [optimizer])
    assert models == [model] and optimizers == [optimizer]
    assert set(dtypes(model).values()) == {"float32"} and not optimizer._multi_precision


def test_norms_keep_float32() -> None:
    half = amp.decorate(make_model(), level="O2")
    assert dtypes(half) == {
        "0": "float16",
        "1": "float32",
        "2": "float32",
        "3": "float32",
        "4": "float16",
        "5": "float16",
    }
    bfloat = amp.decorate(make_model(), level="O2", dtype="bfloat16")
    assert dtypes(bfloat) == {
        "0": "bfloat16",
        "1": "float32",
        "2": "bfloat16",
        "3": "bfloat16",
        "4": "bfloat16",
        "5": "bfloat16",
    }
    assert {b.dtype.name for b in half[1]._buffers.values()} <= {"float32"}


@pytest.mark.parametrize("form", ["class", "instance", "list"])
def test_excluded_layers_keep_their_dtype(form: str) -> None:
    model = make_model()
    excluded: Any = {"class": nn.Linear, "instance": model[5], "list": [model[0], nn.Linear]}[form]
    amp.decorate(model, level="O2", excluded_layers=excluded)
    assert dtypes(model)["5"] == "float32"
    assert dtypes(model)["0"] == ("float32" if form == "list" else "float16")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"level": "O3"}, ValueError, "decorate: expected level O1 or O2, received 'O3'"),
        ({"dtype": "float32"}, ValueError, "decorate: expected dtype 'float16' or 'bfloat16', received 'float32'"),
        (
            {"save_dtype": "int8"},
            ValueError,
            "decorate: expected save_dtype float16, bfloat16, float32, float64 or None, received 'int8'",
        ),
        ({"master_weight": 3}, TypeError, "decorate: expected master_weight True, False or None, received 3"),
        ({"models": 3}, TypeError, "decorate: expected a Layer or a list of them for 'models', received int"),
        (
            {"optimizers": [3]},
            TypeError,
            "decorate: expected an Optimizer or a list of them for 'optimizers', received int",
        ),
        (
            {"excluded_layers": "x", "level": "O2"},
            TypeError,
            "decorate: expected excluded_layers of Layers, classes of Layers or a list of them, received str",
        ),
    ],
)
def test_wrong_arguments_of_decorate(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        amp.decorate(**{"models": nn.Linear(1, 1), **arguments})
    assert str(caught.value) == text


def test_saved_in_another_dtype() -> None:
    model = amp.decorate(nn.Linear(2, 2), level="O2", dtype="bfloat16", save_dtype="float32")
    assert {v.dtype.name for v in model.state_dict().values()} == {"float32"}
    assert [v.name for v in model.state_dict().values()] == [p.name for p in model.parameters()]
    assert model.weight.dtype is paddle.bfloat16


def train(master_grad: bool, master_weight: bool | None, steps: int = 20) -> tuple[nn.Layer, Any, list[str]]:
    """Small steps of a half model; each alone is lost beside a weight of 1 in bfloat16."""
    model = nn.Linear(4, 1, weight_attr=nn.initializer.Constant(1.0), bias_attr=False)
    optimizer: Any = paddle.optimizer.SGD(2.0**-10, parameters=model.parameters())
    model, optimizer = amp.decorate(
        model, optimizer, level="O2", dtype="bfloat16", master_weight=master_weight, master_grad=master_grad
    )
    x = paddle.ones([1, 4])
    seen = []
    for _ in range(steps):
        with amp.auto_cast(level="O2", dtype="bfloat16"):
            loss = model(x).sum()
        loss.backward()
        seen.append(model.weight.grad.dtype.name)
        optimizer.step()
        optimizer.clear_grad()
    return model, optimizer, seen


def test_small_steps_add_up_in_the_master_weights() -> None:
    model, optimizer, _ = train(False, None)
    masters = optimizer.state_dict()["master_weights"]
    np.testing.assert_allclose(masters[model.weight.name].numpy(), np.full((4, 1), 1 - 20 / 1024), rtol=1e-6)
    assert model.weight.dtype is paddle.bfloat16
    np.testing.assert_array_equal(model.weight.astype("float32").numpy(), np.float32(0.98046875))
    model, _, _ = train(False, False)
    # Without them each step of 1/1024 is rounded away.
    np.testing.assert_array_equal(model.weight.astype("float32").numpy(), np.float32(1.0))


def test_master_grad_adds_up_in_float32() -> None:
    model, _, seen = train(True, None, steps=2)
    assert set(seen) == {"float32"}
    x = paddle.full([1, 4], 2.0**-9)
    for value in (paddle.ones([1, 4]), x):
        with amp.auto_cast(level="O2", dtype="bfloat16"):
            loss = model(value).sum()
        loss.backward()
    # In bfloat16 the second gradient would be lost beside the first.
    np.testing.assert_array_equal(model.weight.grad.numpy(), np.float32(1 + 2.0**-9))


def test_master_grad_holds_no_parameter() -> None:
    model, _, _ = train(True, None, steps=1)
    gone = weakref.ref(model.weight)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def step(scaler: amp.GradScaler, factor: float) -> tuple[list[float], list[float]]:
    """One step on two weights of 1 with rate 1/2: the scaled gradient and the new weights."""
    weight = paddle.to_tensor([1.0, 1.0], stop_gradient=False)
    optimizer = paddle.optimizer.SGD(0.5, parameters=[weight])
    scaler.scale((weight * factor).sum()).backward()
    scaled = weight.grad.tolist()
    scaler.step(optimizer)
    scaler.update()
    return scaled, weight.tolist()


def test_the_factor_follows_the_gradients() -> None:
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
    inf, nan = float("inf"), float("nan")
    factors = []
    for factor in (1.0, 1.0, inf, nan, 1.0, inf, 1.0, inf, 1.0, 1.0):
        before = scaler.state_dict()["scale"].item()
        scaled, weights = step(scaler, factor)
        if factor == 1.0:
            assert scaled == [before, before] and weights == [0.5, 0.5]
        else:
            assert weights == [1.0, 1.0], "the step is left out"
        factors.append(scaler.state_dict()["scale"].item())
    assert factors == [8.0, 16.0, 16.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 16.0]


def test_one_of_two_optimizers_may_be_left_out() -> None:
    scaler = amp.GradScaler(init_loss_scaling=4.0)
    a, b = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    first, second = (paddle.optimizer.SGD(1.0, parameters=[p]) for p in (a, b))
    scaler.scale((a * float("inf") + b * 2.0).sum()).backward()
    scaler.unscale_(first)
    scaler.unscale_(second)
    assert b.grad.tolist() == [2.0]
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (a.tolist(), b.tolist()) == ([1.0], [-1.0])
    assert scaler.state_dict()["scale"].item() == 2.0, "one of the gradients was infinite"


def test_calls_out_of_order_are_refused() -> None:
    scaler = amp.GradScaler(init_loss_scaling=4.0)
    weight = paddle.to_tensor([1.0], stop_gradient=False)
    optimizer = paddle.optimizer.SGD(1.0, parameters=[weight])
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(
        RuntimeError, match=r"unscale_: has already been called for this optimizer since the last update\(\)"
    ):
        scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0]
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step: has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_: expected to be called before step\(\)"):
        scaler.unscale_(optimizer)
    assert weight.tolist() == [0.0]
    scaler.update()
    scaler.step(optimizer)


def test_minimize_is_step_and_update() -> None:
    scaler = amp.GradScaler(init_loss_scaling=4.0, incr_every_n_steps=1)
    weight = paddle.to_tensor([1.0], stop_gradient=False)
    optimizer = paddle.optimizer.SGD(0.5, parameters=[weight])
    loss = scaler.scale((weight * 3.0).sum())
    loss.backward()
    scaler.minimize(optimizer, loss)
    assert weight.tolist() == [-0.5]
    assert scaler.state_dict()["scale"].item() == 8.0


def test_a_scaler_that_is_off_passes_things_through() -> None:
    scaler = amp.GradScaler(enable=False)
    weight = paddle.to_tensor([1.0], stop_gradient=False)
    assert scaler.scale(weight) is weight and scaler.state_dict() == {}
    scaler.load_state_dict({"scale": 3.0})
    assert not scaler.is_enable() and not scaler.is_use_dynamic_loss_scaling()
    assert step(scaler, float("inf"))[1] == [-float("inf")] * 2


def test_bfloat16_switches_dynamic_scaling_off() -> None:
    with amp.auto_cast(dtype="bfloat16"):
        pass
    scaler = amp.GradScaler()
    with pytest.warns(UserWarning, match="dynamic loss scaling is for float16, and the last auto_cast was of bfloat16"):
        assert scaler.scale(paddle.ones([1])).item() == 1.0
    assert not scaler.is_enable()
    fixed = amp.GradScaler(init_loss_scaling=4.0, use_dynamic_loss_scaling=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fixed.scale(paddle.ones([1])).item() == 4.0


def test_state_goes_over() -> None:
    scaler = amp.GradScaler(init_loss_scaling=4.0, incr_every_n_steps=3, incr_ratio=4.0, decr_ratio=0.25)
    step(scaler, 1.0)
    step(scaler, 1.0)
    twin = amp.GradScaler()
    twin.load_state_dict(scaler.state_dict())
    assert twin.state_dict() == scaler.state_dict()
    step(twin, 1.0)
    assert twin.state_dict()["scale"].item() == 16.0
    with pytest.raises(RuntimeError, match="received an empty dict"):
        twin.load_state_dict({})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("incr_ratio", 1.0, "expected incr_ratio > 1, received 1.0"),
        ("decr_ratio", 1.0, "expected 0 < decr_ratio < 1, received 1.0"),
        ("init_loss_scaling", 0.0, "expected init_loss_scaling > 0, received 0.0"),
        ("incr_every_n_steps", 0, "expected incr_every_n_steps > 0, received 0"),
        ("decr_every_n_nan_or_inf", 0, "expected decr_every_n_nan_or_inf > 0, received 0"),
    ],
)
def test_settings(name: str, value: float, text: str) -> None:
    scaler = amp.GradScaler()
    with pytest.raises(ValueError, match=text):
        amp.GradScaler(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=text):
        getattr(scaler, f"set_{name}")(value)
    good = getattr(amp.GradScaler(), f"get_{name}")()
    getattr(scaler, f"set_{name}")(good)
    assert getattr(scaler, f"get_{name}")() == good
    with pytest.raises(TypeError, match="GradScaler.scale: expected a Tensor, received list"):
        scaler.scale([])  # type: ignore[arg-type]


def test_where_one_is() -> None:
    assert not amp.is_autocast_enabled() and amp.get_autocast_dtype() == "float16"
    with auto_cast_class(dtype="bfloat16"):
        assert amp.is_autocast_enabled("cpu") and amp.get_autocast_dtype("cpu") == "bfloat16"
        for function in (amp.is_autocast_enabled, amp.get_autocast_dtype):
            with pytest.raises(NotImplementedError, match="expected device_type None or 'cpu', received 'gpu'"):
                function("gpu")
        with auto_cast_class(enable=False):
            assert not amp.is_autocast_enabled()
    assert not amp.is_autocast_enabled()


def test_float16_training_that_overflows_at_first() -> None:
    paddle.seed(3)
    generator = np.random.default_rng(0)
    x = paddle.to_tensor(generator.standard_normal((64, 8)), dtype="float32")
    y = paddle.to_tensor(x.numpy() @ generator.standard_normal((8, 1)), dtype="float32")
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer: Any = paddle.optimizer.AdamW(0.02, parameters=model.parameters())
    model, optimizer = amp.decorate(model, optimizer, level="O2")
    scaler = amp.GradScaler(init_loss_scaling=2.0**24)
    losses = []
    for _ in range(60):
        with amp.auto_cast(level="O2"):
            loss = ((model(x) - y) ** 2).mean()
        scaler.scale(loss.astype("float32")).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert scaler.state_dict()["scale"].item() < 2.0**24, "it began too high"
    assert losses[-1] < 0.1 * losses[0]
