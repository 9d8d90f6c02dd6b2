"""Record what real Paddle's losses are over 100 training steps of examples/train_digits.py's network.

Run it with a Python that has paddlepaddle and scikit-learn:

    python tests/reference/make_digits_reference.py

It writes digits_losses.json (the losses, and what made them) and digits_start.npz (initial weights by name, and the images of each
step). tests/test_faithful_digits.py takes the same steps and compares.
"""

import importlib.util
import json
import pathlib
import platform

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 100
BATCH = 32
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 0.01


def example():
    """examples/train_digits.py as a module."""
    path = HERE.parents[1] / "examples" / "train_digits.py"
    spec = importlib.util.spec_from_file_location("train_digits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(paddle, net, data, order):
    """The loss of every step from the network's present weights; each row of `order` says which images a step sees."""
    optimizer = paddle.optimizer.AdamW(
        learning_rate=LEARNING_RATE, parameters=net.parameters(), weight_decay=WEIGHT_DECAY
    )
    found = []
    for rows in order:
        images, labels = paddle.to_tensor(data.images[rows]), paddle.to_tensor(data.labels[rows])
        loss = paddle.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(float(loss))
    return found


def main():
    import paddle

    digits = example()
    data, _ = digits.split()
    net = digits.Net()
    digits.initialise(net, seed=0)
    random = np.random.RandomState(0)
    passes = -(-STEPS * BATCH // len(data))
    order = np.concatenate([random.permutation(len(data)) for _ in range(passes)])[: STEPS * BATCH].reshape(
        STEPS, BATCH
    )
    start = {name: value.numpy() for name, value in net.state_dict().items()}
    np.savez_compressed(HERE / "digits_start.npz", order=order.astype("int16"), **start)
    made_with = {
        "paddle": paddle.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    record = {"made_with": made_with, "steps": STEPS, "batch": BATCH, "losses": losses(paddle, net, data, order)}
    (HERE / "digits_losses.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"losses from {record['losses'][0]:.4f} to {record['losses'][-1]:.4f}")


if __name__ == "__main__":
    main()
