"""Train with what backward needs kept on disk: saved_tensors_hooks that write each saved tensor to a file and read it back.

Prints how much memory the graph holds between forward and backward, with and without; the losses are the same.
"""

import tempfile
from pathlib import Path

import numpy as np
import paddle
from paddle import nn


class OnDisk:
    """A saved tensor as a file, which is removed when nobody can ask for it any more."""

    def __init__(self, tensor: paddle.Tensor, folder: Path, number: int) -> None:
        self.path = folder / f"{number}.npy"
        np.save(self.path, tensor.numpy())

    def load(self) -> paddle.Tensor:
        return paddle.to_tensor(np.load(self.path))

    def __del__(self) -> None:
        self.path.unlink(missing_ok=True)


def losses(folder: Path | None, steps: int = 5) -> tuple[list[float], int, int]:
    """The losses of a few steps, and how many files and bytes there were at the most."""
    paddle.seed(0)
    net = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)], nn.Linear(64, 1))
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
    found, most_files, most_bytes, count = [], 0, 0, 0

    def pack(tensor: paddle.Tensor) -> OnDisk:
        nonlocal count
        count += 1
        assert folder is not None
        return OnDisk(tensor, folder, count)

    for _ in range(steps):
        x = paddle.randn([256, 64])
        if folder is None:
            loss = net(x).square().mean()
        else:
            with paddle.autograd.saved_tensors_hooks(pack, OnDisk.load):
                loss = net(x).square().mean()
            files = list(folder.glob("*.npy"))
            most_files = max(most_files, len(files))
            most_bytes = max(most_bytes, sum(f.stat().st_size for f in files))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(float(loss))
    del loss
    return found, most_files, most_bytes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        plain, _, _ = losses(None)
        offloaded, files, size = losses(Path(name))
        left = len(list(Path(name).glob("*.npy")))
    assert plain == offloaded, "the same numbers come back from the disk"
    print(f"losses {', '.join(f'{x:.5f}' for x in offloaded)}")
    print(f"{size / 1e6:.1f} MB in {files} files between forward and backward, {left} files left at the end")
