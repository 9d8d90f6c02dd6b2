"""The peers: the same small models and functions in torch's and in Paddle's words (wherry speaks Paddle's)."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


def array(shape: tuple[int, ...]) -> np.ndarray:
    """Values near 1, so that long products stay finite."""
    return np.random.default_rng(0).uniform(0.99, 1.01, shape).astype("float32")


class TorchPeer:
    """PyTorch on the CPU."""

    def __init__(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.torch = torch
        self.version = torch.__version__

    def tensor(self, shape: tuple[int, ...], grad: bool = False) -> Any:
        return self.torch.from_numpy(array(shape)).requires_grad_(grad)

    def backward(self, out: Any, seed: Any = None) -> None:
        out.backward(seed)

    def exp(self, x: Any) -> Any:
        return self.torch.exp(x)

    def gelu(self, x: Any) -> Any:
        return self.torch.nn.functional.gelu(x)

    def softmax(self, x: Any) -> Any:
        return self.torch.softmax(x, -1)

    def layer_norm(self, x: Any) -> Any:
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:])

    def conv2d(self, x: Any, w: Any) -> Any:
        return self.torch.nn.functional.conv2d(x, w, padding=1)

    def mlp_step(self, batch: int) -> Callable[[], Any]:
        nn = self.torch.nn
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        return self._step(model, (batch, 64), batch)

    def lenet_step(self, batch: int) -> Callable[[], Any]:
        nn = self.torch.nn
        model = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip
        return self._step(model, (batch, 1, 28, 28), batch)

    def _step(self, model: Any, shape: tuple[int, ...], batch: int) -> Callable[[], Any]:
        torch = self.torch
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        loss_function = torch.nn.CrossEntropyLoss()
        x = torch.from_numpy(array(shape))
        y = torch.from_numpy(np.arange(batch) % 10)

        def step() -> None:
            loss = loss_function(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    def gpt_step(self, batch: int, length: int) -> Callable[[], Any]:
        torch = self.torch
        nn, F = torch.nn, torch.nn.functional
        width, heads, words = 64, 4, 96

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                b, t, c = x.shape
                q, k, v = self.qkv(self.ln1(x)).reshape(b, t, 3, heads, c // heads).unbind(2)
                q, k, v = (z.transpose(1, 2) for z in (q, k, v))
                a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
                x = x + self.out(a)
                return x + self.down(F.gelu(self.up(self.ln2(x))))

        class GPT(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
                self.blocks = nn.ModuleList([Block() for _ in range(2)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

            def forward(self, ids: Any) -> Any:
                x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x))

        model = GPT()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        ids = torch.from_numpy(np.random.default_rng(0).integers(0, words, (batch, length + 1)))

        def step() -> None:
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, words), ids[:, 1:].reshape(-1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return step


class PaddlePeer:
    """Paddle, or wherry under its own name."""

    def __init__(self, threads: int, module: str) -> None:
        paddle = importlib.import_module(module)
        self.nn = importlib.import_module(module + ".nn")
        self.F = importlib.import_module(module + ".nn.functional")
        self.optimizer = importlib.import_module(module + ".optimizer")
        paddle.seed(0)
        self.paddle = paddle
        self.version = paddle.__version__

    def tensor(self, shape: tuple[int, ...], grad: bool = False) -> Any:
        return self.paddle.to_tensor(array(shape), stop_gradient=not grad)

    def backward(self, out: Any, seed: Any = None) -> None:
        out.backward(seed)

    def exp(self, x: Any) -> Any:
        return self.paddle.exp(x)

    def gelu(self, x: Any) -> Any:
        return self.F.gelu(x)

    def softmax(self, x: Any) -> Any:
        return self.F.softmax(x, -1)

    def layer_norm(self, x: Any) -> Any:
        return self.F.layer_norm(x, x.shape[-1:])

    def conv2d(self, x: Any, w: Any) -> Any:
        return self.F.conv2d(x, w, padding=1)

    def mlp_step(self, batch: int) -> Callable[[], Any]:
        nn = self.nn
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        return self._step(model, (batch, 64), batch)

    def lenet_step(self, batch: int) -> Callable[[], Any]:
        nn = self.nn
        model = nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip
        return self._step(model, (batch, 1, 28, 28), batch)

    def _step(self, model: Any, shape: tuple[int, ...], batch: int) -> Callable[[], Any]:
        optimizer = self.optimizer.Adam(1e-3, parameters=model.parameters())
        loss_function = self.nn.CrossEntropyLoss()
        x = self.paddle.to_tensor(array(shape))
        y = self.paddle.to_tensor(np.arange(batch) % 10)

        def step() -> None:
            loss = loss_function(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()

        return step

    def gpt_step(self, batch: int, length: int) -> Callable[[], Any]:
        paddle, nn, F = self.paddle, self.nn, self.F
        width, heads, words = 64, 4, 96

        class Block(nn.Layer):
            def __init__(self) -> None:
                super().__init__()
                self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                b, t, c = x.shape
                q, k, v = self.qkv(self.ln1(x)).reshape([b, t, 3, heads, c // heads]).unbind(2)
                a = F.scaled_dot_product_attention(q, k, v, is_causal=True).reshape([b, t, c])
                x = x + self.out(a)
                return x + self.down(F.gelu(self.up(self.ln2(x))))

        class GPT(nn.Layer):
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
                self.blocks = nn.LayerList([Block() for _ in range(2)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

            def forward(self, ids: Any) -> Any:
                x = self.words(ids) + self.places(paddle.arange(ids.shape[1]))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.norm(x))

        model = GPT()
        optimizer = self.optimizer.AdamW(1e-3, parameters=model.parameters())
        ids = paddle.to_tensor(np.random.default_rng(0).integers(0, words, (batch, length + 1)))

        def step() -> None:
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.reshape([-1, words]), ids[:, 1:].reshape([-1]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()

        return step


def make_peer(name: str, threads: int) -> Any:
    """The peer of that name: "torch", "paddle" or "wherry"."""
    return TorchPeer(threads) if name == "torch" else PaddlePeer(threads, name)
