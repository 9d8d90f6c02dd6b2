"""Paddle's forms of window arguments: sizes, paddings and data formats, shared by convolution and pooling."""

from collections.abc import Sequence
from typing import Any

from wherry import _C_ops
from wherry.tensor.tensor import Tensor

Size = int | Sequence[int]
Padding = int | str | Sequence[Any]


def ints(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One number for all axes, or one for each."""
    if isinstance(value, int):
        return (value,) * count
    if isinstance(value, Tensor):
        value = value.tolist()
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise ValueError(f"expected one number or {count} in {name}, received {list(values)}")
    return values


def pairs(
    padding: Padding, spatial: Sequence[int], kernel: tuple[int, ...], stride: tuple[int, ...], last: bool
) -> tuple[int, ...]:
    """(before, after) of each spatial axis from any of Paddle's forms of padding."""
    count = len(spatial)
    if isinstance(padding, str):
        form = padding.upper()
        if form == "VALID":
            return (0,) * (2 * count)
        if form != "SAME":
            raise ValueError(f"expected padding 'SAME' or 'VALID', received {padding!r}")
        result: list[int] = []
        for size, k, s in zip(spatial, kernel, stride):
            total = max(0, ((size + s - 1) // s - 1) * s + k - size)
            result += [total // 2, total - total // 2]
        return tuple(result)
    if isinstance(padding, int):
        return (padding,) * (2 * count)
    values = list(padding)
    if values and isinstance(values[0], (list, tuple)):
        if len(values) != count + 2:
            raise ValueError(f"expected {count + 2} pairs in padding, received {padding}")
        batch_and_channel = [values[0], values[-1]] if last else values[:2]
        if any(list(p) != [0, 0] for p in batch_and_channel):
            raise ValueError(f"expected no padding of batch and channel, received {padding}")
        values = values[1:-1] if last else values[2:]
        return tuple(int(v) for pair in values for v in pair)
    numbers = [int(v) for v in values]
    if len(numbers) == 1:
        return (numbers[0],) * (2 * count)
    if len(numbers) == count:
        return tuple(v for v in numbers for _ in range(2))
    if len(numbers) == 2 * count:
        return tuple(numbers)
    raise ValueError(f"expected 1, {count} or {2 * count} numbers in padding, received {padding}")


def channel_last(data_format: str, count: int) -> bool:
    first, last = (("NCL", "NLC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC"))[count - 1]
    if data_format not in (first, last):
        raise ValueError(f"expected data_format {first} or {last}, received {data_format!r}")
    return data_format == last


def to_first(x: Tensor, last: bool) -> Tensor:
    return _C_ops.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1))) if last else x


def back(x: Tensor, last: bool) -> Tensor:
    return _C_ops.transpose(x, (0, *range(2, x.ndim), 1)) if last else x
