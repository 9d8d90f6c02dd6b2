"""Record what real Paddle's optimizers and learning-rate schedulers do.

Run it with a Python that has paddlepaddle:

    python tests/reference/make_optimizer_reference.py

It writes optimizer_steps.json; tests/test_optimizer.py and tests/test_lr.py take the same steps and compare.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 6

# Name of the case -> class, arguments (as source, evaluated with `paddle`).
OPTIMIZERS = {
    "sgd": ("SGD", "learning_rate=0.1"),
    "sgd_decay": ("SGD", "learning_rate=0.1, weight_decay=0.05"),
    "sgd_l1": ("SGD", "learning_rate=0.1, weight_decay=paddle.regularizer.L1Decay(0.05)"),
    "momentum": ("Momentum", "learning_rate=0.1, momentum=0.8"),
    "momentum_nesterov": ("Momentum", "learning_rate=0.1, momentum=0.8, use_nesterov=True, weight_decay=0.02"),
    "adam": ("Adam", "learning_rate=0.05"),
    "adam_decay": ("Adam", "learning_rate=0.05, beta1=0.8, beta2=0.95, epsilon=1e-4, weight_decay=0.1"),
    "adam_amsgrad": ("Adam", "learning_rate=0.05, amsgrad=True"),
    "adamw": ("AdamW", "learning_rate=0.05"),
    "adamw_fun": (
        "AdamW",
        "learning_rate=0.05, weight_decay=0.3, apply_decay_param_fun=lambda name: name.endswith('w')",
    ),
    "adagrad": ("Adagrad", "learning_rate=0.1"),
    "adagrad_start": ("Adagrad", "learning_rate=0.1, epsilon=1e-3, initial_accumulator_value=0.2, weight_decay=0.1"),
    "rmsprop": ("RMSProp", "learning_rate=0.05"),
    "rmsprop_centered": (
        "RMSProp",
        "learning_rate=0.05, rho=0.9, epsilon=1e-3, momentum=0.7, centered=True, weight_decay=0.1",
    ),
    "adadelta": ("Adadelta", "learning_rate=0.5"),
    "adadelta_decay": ("Adadelta", "learning_rate=0.5, epsilon=1e-4, rho=0.8, weight_decay=0.1"),
    "adamax": ("Adamax", "learning_rate=0.05"),
    "lamb": ("Lamb", "learning_rate=0.05, lamb_weight_decay=0.05"),
    "lamb_exclude": ("Lamb", "learning_rate=0.05, exclude_from_weight_decay_fn=lambda p: p.name.endswith('b')"),
    "clip_global": ("SGD", "learning_rate=0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.7)"),
    "clip_global_idle": ("SGD", "learning_rate=0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1000.0)"),
    "clip_norm": ("Adam", "learning_rate=0.1, grad_clip=paddle.nn.ClipGradByNorm(0.5), weight_decay=0.1"),
    "clip_value": ("Momentum", "learning_rate=0.1, grad_clip=paddle.nn.ClipGradByValue(0.3)"),
    "scheduled": ("Adam", "learning_rate=paddle.optimizer.lr.StepDecay(0.1, 2)"),
}

SCHEDULERS = {
    "noam": "NoamDecay(d_model=64, warmup_steps=5, learning_rate=2.0)",
    "piecewise": "PiecewiseDecay(boundaries=[3, 6], values=[0.1, 0.5, 0.2])",
    "natural_exp": "NaturalExpDecay(0.5, gamma=0.1)",
    "inverse_time": "InverseTimeDecay(0.5, gamma=0.1)",
    "polynomial": "PolynomialDecay(0.5, decay_steps=5, power=2.0)",
    "polynomial_cycle": "PolynomialDecay(0.5, decay_steps=4, end_lr=0.01, cycle=True)",
    "linear_warmup": "LinearWarmup(0.5, warmup_steps=4, start_lr=0.0, end_lr=0.5)",
    "linear_warmup_then": "LinearWarmup(lr.StepDecay(0.5, 2), warmup_steps=3, start_lr=0.1, end_lr=0.5)",
    "exponential": "ExponentialDecay(0.5, gamma=0.9)",
    "multi_step": "MultiStepDecay(0.5, milestones=[2, 5], gamma=0.3)",
    "step": "StepDecay(0.5, step_size=3, gamma=0.2)",
    "lambda": "LambdaDecay(0.5, lr_lambda=lambda e: 0.95 ** e)",
    "cosine": "CosineAnnealingDecay(0.5, T_max=5, eta_min=0.01)",
    "cosine_restarts": "CosineAnnealingWarmRestarts(0.5, T_0=3, T_mult=2, eta_min=0.01)",
    "multiplicative": "MultiplicativeDecay(0.5, lr_lambda=lambda e: 0.95)",
    "one_cycle": "OneCycleLR(max_learning_rate=1.0, total_steps=12, divide_factor=5, end_learning_rate=0.01)",
    "one_cycle_linear": "OneCycleLR(1.0, 12, phase_pct=0.25, anneal_strategy='linear', three_phase=True)",
    "cyclic": "CyclicLR(base_learning_rate=0.1, max_learning_rate=1.0, step_size_up=3, step_size_down=2)",
    "cyclic_exp": "CyclicLR(0.1, 1.0, 2, mode='exp_range', exp_gamma=0.9)",
    "cyclic_triangular2": "CyclicLR(0.1, 1.0, 2, mode='triangular2')",
    "linear": "LinearLR(0.5, total_steps=5, start_factor=0.25)",
    "plateau": "ReduceOnPlateau(0.5, factor=0.5, patience=1, cooldown=1)",
}
PLATEAU_LOSSES = [1.0, 0.9, 0.95, 0.94, 0.96, 0.97, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
SCHEDULER_STEPS = 12


def run_optimizer(paddle, kind, arguments):
    """Parameters after each step, and the final state by name."""
    random = np.random.RandomState(0)
    values = {"w": random.standard_normal((3, 2)).astype("float32"), "b": random.standard_normal(2).astype("float32")}
    with paddle.utils.unique_name.guard():
        parameters = []
        for name, value in values.items():
            attr = paddle.ParamAttr(name=name, learning_rate=2.0 if name == "b" else 1.0)
            parameter = paddle.create_parameter(list(value.shape), "float32", attr=attr)
            parameter.set_value(value)
            parameters.append(parameter)
        optimizer = eval(
            f"paddle.optimizer.{kind}(parameters=parameters, {arguments})", {"paddle": paddle, "parameters": parameters}
        )
        trail = []
        for _ in range(STEPS):
            grads = [random.standard_normal(p.shape).astype("float32") for p in parameters]
            loss = sum((p * paddle.to_tensor(g)).sum() for p, g in zip(parameters, grads))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            trail.append([p.numpy().ravel().tolist() for p in parameters])
            if "Decay(" in arguments and "optimizer.lr." in arguments:
                optimizer._learning_rate.step()
        state = {}
        for name, value in optimizer.state_dict().items():
            state[name] = value.numpy().ravel().tolist() if hasattr(value, "numpy") else value
    return {"trail": trail, "state": state}


def run_scheduler(paddle, source):
    """The rate at the start and after each step, then the state."""
    lr = paddle.optimizer.lr
    scheduler = eval(f"lr.{source}", {"lr": lr})
    rates = [scheduler()]
    for i in range(SCHEDULER_STEPS):
        if source.startswith("ReduceOnPlateau"):
            scheduler.step(PLATEAU_LOSSES[i])
        else:
            scheduler.step()
        rates.append(scheduler())
    return {"rates": rates, "state": {k: v for k, v in scheduler.state_dict().items() if not isinstance(v, dict)}}


def main():
    import paddle

    record = {
        "made_with": {"paddle": paddle.__version__, "numpy": np.__version__},
        "optimizers": {name: run_optimizer(paddle, *case) for name, case in OPTIMIZERS.items()},
        "schedulers": {name: run_scheduler(paddle, source) for name, source in SCHEDULERS.items()},
    }
    (HERE / "optimizer_steps.json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
