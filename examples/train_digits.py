"""Train a small convolutional network on scikit-learn's handwritten digits: 1,797 real 8x8 images.

python examples/train_digits.py [--epochs N] [--seed N] [--quick]
"""

import argparse
import sys
import time

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, Dataset
from sklearn.datasets import load_digits

HELD_OUT = 360


class Digits(Dataset):
    """Images as float32 [1, 8, 8] in [0, 1], labels as int64."""

    def __init__(self, images, labels):
        super().__init__()
        self.images = (images[:, None] / 16.0).astype("float32")
        self.labels = labels.astype("int64")

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


class Net(nn.Layer):
    """Two convolutions with batch normalisation, then two linear layers.

    GELU and mean pooling are smooth: runs that differ in the last digit stay together, which kinks and maxima do not promise.
    """

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 16, 3, padding=1, bias_attr=False),  # the normalisation has one
            nn.BatchNorm2D(16),
            nn.GELU(),
            nn.AvgPool2D(2),
            nn.Conv2D(16, 32, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(32),
            nn.GELU(),
            nn.AvgPool2D(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 10))

    def forward(self, images):
        return self.head(self.features(images))


def initialise(net, seed):
    """He-normal weights drawn by NumPy, so that a seed means the same start whatever runs the script."""
    random = np.random.RandomState(seed)
    for parameter in net.parameters():
        shape = parameter.shape
        if len(shape) < 2:
            continue  # biases and normalisation start as they are
        fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        parameter.set_value((random.standard_normal(list(shape)) * np.sqrt(2.0 / fan_in)).astype("float32"))


def split():
    """Training and held-out sets: always the same."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    train, test = order[HELD_OUT:], order[:HELD_OUT]
    return Digits(digits.images[train], digits.target[train]), Digits(digits.images[test], digits.target[test])


class Progress:
    """A bar on standard error, where that is a terminal."""

    def __init__(self, epoch, epochs, steps):
        self.label = f"epoch {epoch:2d}/{epochs}"
        self.steps = steps
        self.shown = sys.stderr.isatty()

    def show(self, step, loss):
        if self.shown:
            full = 30 * step // self.steps
            sys.stderr.write(f"\r{self.label} [{'#' * full}{'.' * (30 - full)}] {step}/{self.steps} loss {loss:.4f} ")
            sys.stderr.flush()

    def close(self):
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Stopwatch:
    """Seconds by part of the training step."""

    def __init__(self):
        self.seconds = {}
        self.started = time.perf_counter()

    def lap(self, part):
        """Book the time since the last lap on a part."""
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self.started
        self.started = now

    def report(self):
        total = sum(self.seconds.values())
        print(f"where the time went ({total:.2f} s):")
        for part, seconds in self.seconds.items():
            print(f"  {part:<10} {seconds:7.2f} s  {100 * seconds / total:5.1f} %")


def accuracy(net, loader):
    """Share of images whose largest output is at the label."""
    net.eval()
    right = total = 0
    with paddle.no_grad():
        for images, labels in loader:
            guess = paddle.argmax(net(images), axis=1)
            right += int((guess == labels).astype("int64").sum())
            total += len(labels)
    net.train()
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images (default: 12)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batch order (default: 0)")
    parser.add_argument("--quick", action="store_true", help="two passes, to see that it runs")
    options = parser.parse_args()
    epochs = 2 if options.quick else options.epochs

    paddle.seed(options.seed)
    np.random.seed(options.seed)  # the data loader shuffles with NumPy's global generator
    train, test = split()
    loader = DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, batch_size=HELD_OUT)

    net = Net()
    initialise(net, options.seed)
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=2e-3, T_max=epochs * len(loader))
    optimizer = paddle.optimizer.AdamW(learning_rate=schedule, parameters=net.parameters(), weight_decay=0.01)
    count = sum(int(np.prod(p.shape)) for p in net.parameters())
    print(f"{len(train)} training and {len(test)} held-out images, {count:,} parameters, {len(loader)} steps an epoch")

    watch = Stopwatch()
    share = 0.0
    for epoch in range(1, epochs + 1):
        progress = Progress(epoch, epochs, len(loader))
        losses = []
        for step, (images, labels) in enumerate(loader, 1):
            watch.lap("data")
            loss = F.cross_entropy(net(images), labels)
            watch.lap("forward")
            loss.backward()
            watch.lap("backward")
            optimizer.step()
            optimizer.clear_grad()
            schedule.step()
            watch.lap("optimizer")
            losses.append(float(loss))
            progress.show(step, losses[-1])
        progress.close()
        watch.lap("data")
        share = accuracy(net, test_loader)
        watch.lap("evaluation")
        print(f"epoch {epoch:2d}/{epochs}  train loss {np.mean(losses):.5f}  held-out accuracy {100 * share:.2f} %")
    watch.report()
    if not options.quick and share < 0.97:
        sys.exit(f"held-out accuracy {100 * share:.2f} % is below 97 %")


if __name__ == "__main__":
    main()
