"""Initializers without chance."""

import math
from typing import Any

import numpy as np

from wherry.autograd.structures import TensorBase
from wherry.core.dtype import DataType
from wherry.nn.initializer.base import Initializer


class Constant(Initializer):
    """Every element `value`. Source: paddle.nn.initializer.Constant."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        return np.full(shape, self.value, dtype.numpy)


class Assign(Initializer):
    """The values given: a Tensor, an array or nested lists, of the parameter's shape (ValueError else).

    Source: paddle.nn.initializer.Assign.
    """

    def __init__(self, value: Any, name: str | None = None) -> None:
        if isinstance(value, TensorBase):
            self.value = np.array(value.impl.array)
        elif isinstance(value, (np.ndarray, list, tuple)):
            self.value = np.array(value)
        else:
            raise TypeError(f"Assign: expected a Tensor, an array or a list, received {type(value).__name__}")

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        if self.value.shape != shape:
            raise ValueError(
                f"Assign: expected a value of the parameter's shape {list(shape)}, received {list(self.value.shape)}"
            )
        return self.value.astype(dtype.numpy)


NumpyArrayInitializer = Assign


class Dirac(Initializer):
    """A convolution that hands its input through: ones at the middle of the kernel where output and input channel agree.

    groups: the output channels are cut into that many parts, each of which starts over. For weights of 3 to 5 dimensions (ValueError
    else). Source: paddle.nn.initializer.Dirac.
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if not isinstance(groups, int) or groups < 1:
            raise ValueError(f"Dirac: expected an int >= 1 for 'groups', received {groups!r}")
        self.groups = groups

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Dirac: expected a weight of 3, 4 or 5 dimensions, received shape {list(shape)}")
        if shape[0] % self.groups != 0:
            raise ValueError(
                f"Dirac: expected output channels divisible by groups={self.groups}, received shape {list(shape)}"
            )
        array = np.zeros(shape, dtype.numpy)
        each = shape[0] // self.groups
        middle = tuple(size // 2 for size in shape[2:])
        for group in range(self.groups):
            for channel in range(min(each, shape[1])):
                array[(group * each + channel, channel, *middle)] = 1
        return array


class Bilinear(Initializer):
    """A transposed convolution that enlarges images by bilinear interpolation; for square 4-D weights (ValueError else).

    Source: paddle.nn.initializer.Bilinear.
    """

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError(f"Bilinear: expected a weight of shape [out, in, k, k], received {list(shape)}")
        size = shape[3]
        half = math.ceil(size / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        line = 1 - np.abs(np.arange(size) / half - centre)
        return np.broadcast_to(line[:, None] * line, shape).astype(dtype.numpy)
