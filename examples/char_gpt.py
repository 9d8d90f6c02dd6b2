"""Train a two-layer transformer, character by character, on the language reference that ships with Python.

    python examples/char_gpt.py [--steps N] [--seed N] [--quick]

The text is `pydoc_data.topics`, what `help("for")` prints. The bar to pass is the entropy of the single characters: the loss of
a model that knows how frequent each is and nothing else.
"""

import argparse
import sys
import time

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

CONTEXT = 64
WIDTH = 64
HEADS = 4
BATCH = 16


class Attention(nn.Layer):
    """Causal self-attention with several heads."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", paddle.triu(paddle.full([context, context], -1e9), 1), persistable=False)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape([batch, length, 3, self.heads, width // self.heads]).transpose([2, 0, 3, 1, 4])
        q, k, v = qkv.unbind(0)
        scores = paddle.matmul(q, k, transpose_y=True) * (width // self.heads) ** -0.5
        weights = F.softmax(scores + self.mask[:length, :length], axis=-1)
        return self.out(paddle.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([batch, length, width]))


class Block(nn.Layer):
    """Attention, then a two-layer perceptron, each added to what came in."""

    def __init__(self, width, heads, context):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, context)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class CharGPT(nn.Layer):
    """Logits of the next character at every position."""

    def __init__(self, letters, width=WIDTH, heads=HEADS, context=CONTEXT, layers=2):
        super().__init__()
        small = paddle.ParamAttr(initializer=nn.initializer.Normal(0.0, 0.02))
        self.token = nn.Embedding(letters, width, weight_attr=small)
        self.position = nn.Embedding(context, width, weight_attr=small)
        self.blocks = nn.LayerList([Block(width, heads, context) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(paddle.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def corpus():
    """The text as character numbers, and the characters."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    return np.array([number[letter] for letter in text], "int64"), letters


def batch_of(data, random, count):
    """`count` stretches of the text, and the same moved on by one character."""
    starts = random.randint(0, len(data) - CONTEXT - 1, count)
    rows = np.stack([data[s : s + CONTEXT + 1] for s in starts])
    return paddle.to_tensor(rows[:, :-1]), paddle.to_tensor(rows[:, 1:])


def evaluate(net, data, letters):
    """Loss on fixed stretches of text."""
    random = np.random.RandomState(1)
    net.eval()
    with paddle.no_grad():
        tokens, following = batch_of(data, random, 64)
        loss = F.cross_entropy(net(tokens).reshape([-1, letters]), following.reshape([-1]))
    net.train()
    return float(loss)


def sample(net, letters, start, length, random):
    """Continue a text."""
    number = {letter: i for i, letter in enumerate(letters)}
    tokens = [number[letter] for letter in start]
    net.eval()
    with paddle.no_grad():
        for _ in range(length):
            logits = net(paddle.to_tensor(np.array([tokens[-CONTEXT:]], "int64")))[0, -1]
            chances = F.softmax(logits / 0.8).numpy().astype("float64")
            tokens.append(int(random.choice(len(letters), p=chances / chances.sum())))
    net.train()
    return "".join(letters[t] for t in tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=600, help="training steps (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches (default: 0)")
    parser.add_argument("--quick", action="store_true", help="60 steps, to see that it runs")
    options = parser.parse_args()
    steps = 60 if options.quick else options.steps

    paddle.seed(options.seed)
    random = np.random.RandomState(options.seed)
    data, letters = corpus()
    held_out, data = data[-len(data) // 10 :], data[: -len(data) // 10]
    shares = np.bincount(data, minlength=len(letters)) / len(data)
    entropy = float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    net = CharGPT(len(letters))
    count = sum(int(np.prod(p.shape)) for p in net.parameters())
    print(f"{len(data):,} characters of {len(letters)} kinds, unigram entropy {entropy:.3f} nats, {count:,} parameters")

    schedule = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=steps), warmup_steps=20, start_lr=1e-4, end_lr=3e-3
    )
    optimizer = paddle.optimizer.AdamW(
        learning_rate=schedule,
        parameters=net.parameters(),
        weight_decay=0.01,
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    started = time.perf_counter()
    for step in range(1, steps + 1):
        tokens, following = batch_of(data, random, BATCH)
        loss = F.cross_entropy(net(tokens).reshape([-1, len(letters)]), following.reshape([-1]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        if step % (steps // 10) == 0:
            speed = step * BATCH * CONTEXT / (time.perf_counter() - started)
            print(f"step {step:4d}/{steps}  loss {float(loss):.4f}  {speed:,.0f} characters/s", flush=True)

    final = evaluate(net, held_out, len(letters))
    print(f"held-out loss {final:.4f} nats, unigram entropy {entropy:.4f}")
    print("sample:", repr(sample(net, letters, "The ", 120 if not options.quick else 20, random)))
    if not options.quick and final > 0.75 * entropy:
        sys.exit("the held-out loss is not well under the unigram entropy")


if __name__ == "__main__":
    main()
