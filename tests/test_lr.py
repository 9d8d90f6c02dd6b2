"""Learning-rate schedulers give the rates real Paddle gives."""

import json
import pathlib

import pytest

import wherry as paddle
from tests.reference import make_optimizer_reference as reference

RECORD = json.loads((pathlib.Path(__file__).resolve().parent / "reference" / "optimizer_steps.json").read_text())
lr = paddle.optimizer.lr


@pytest.mark.parametrize("name", reference.SCHEDULERS)
def test_rates_and_state_are_real_paddles(name):
    found = reference.run_scheduler(paddle, reference.SCHEDULERS[name])
    expected = RECORD["schedulers"][name]
    assert found["rates"] == pytest.approx(expected["rates"], rel=1e-9, abs=1e-12)
    assert found["state"] == pytest.approx(expected["state"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in reference.SCHEDULERS if n != "plateau"])
def test_a_jump_gives_the_rate_of_that_epoch(name):
    expected = RECORD["schedulers"][name]["rates"]
    scheduler = eval(f"lr.{reference.SCHEDULERS[name]}", {"lr": lr})
    for epoch in (5, 2, 9):
        scheduler.step(epoch)
        assert scheduler() == pytest.approx(expected[epoch], rel=1e-9, abs=1e-12)


def test_state_goes_over():
    first = lr.LinearWarmup(lr.StepDecay(0.5, 2), warmup_steps=2, start_lr=0.1, end_lr=0.5)
    for _ in range(5):
        first.step()
    second = lr.LinearWarmup(lr.StepDecay(0.5, 2), warmup_steps=2, start_lr=0.1, end_lr=0.5)
    second.set_state_dict(first.state_dict())
    assert second() == first()
    first.step()
    second.step()
    assert second() == first()
    with pytest.raises(RuntimeError, match="last_lr"):
        second.set_state_dict({"last_epoch": 3})


def test_own_schedulers():
    class Halving(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr / 2**self.last_epoch

    scheduler = Halving(0.8)
    scheduler.step()
    scheduler.step()
    assert scheduler() == pytest.approx(0.2)


def test_verbose_prints(capsys):
    lr.StepDecay(0.1, 2, verbose=True).step(4)
    assert capsys.readouterr().out.splitlines()[-1].startswith("Epoch 4: StepDecay set learning rate to 0.001")


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="'learning_rate', received str"):
        lr.StepDecay("x", 2)
    with pytest.raises(TypeError, match="'step_size', received str"):
        lr.StepDecay(0.1, "x")
    with pytest.raises(ValueError, match="milestones that increase"):
        lr.MultiStepDecay(0.1, [5, 2])
    with pytest.raises(ValueError, match="at most total_steps=2"):
        lr.OneCycleLR(1.0, 2).step(3)
    with pytest.raises(ValueError, match="one element"):
        lr.ReduceOnPlateau(0.1).step(paddle.ones([2]))
