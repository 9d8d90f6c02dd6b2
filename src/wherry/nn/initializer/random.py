"""Initializers that draw from the process's generator (paddle.seed)."""

import math
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.core.dtype import DataType, complex128
from wherry.nn.initializer.base import Initializer, calculate_gain, drawn_dtype, fans


class Normal(Initializer):
    """Normal numbers. Source: paddle.nn.initializer.Normal."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean = mean
        self.std = std

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        mean: Any = complex(self.mean) if dtype.is_complex else float(self.mean)
        return _C_ops.gaussian(shape, mean, float(self.std), 0, drawn_dtype(dtype)).impl.array.astype(
            dtype.numpy, copy=False
        )


class TruncatedNormal(Initializer):
    """Normal numbers, drawn again until they lie in [a, b] standard deviations around the mean.

    Source: paddle.nn.initializer.TruncatedNormal.
    """

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        self.mean = mean
        self.std = std
        self.a = a
        self.b = b

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        drawn = _C_ops.truncated_gaussian_random(
            shape, float(self.mean), float(self.std), 0, float(self.a), float(self.b), drawn_dtype(dtype)
        )
        return drawn.impl.array.astype(dtype.numpy, copy=False)


class Uniform(Initializer):
    """Uniform numbers in [low, high). Source: paddle.nn.initializer.Uniform."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        if high < low:
            raise ValueError(f"Uniform: expected low <= high, received low={low}, high={high}")
        self.low = low
        self.high = high

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        return _uniform(shape, self.low, self.high, dtype)


def _uniform(shape: tuple[int, ...], low: float, high: float, dtype: DataType) -> Any:
    return _C_ops.uniform(shape, drawn_dtype(dtype), float(low), float(high), 0).impl.array.astype(
        dtype.numpy, copy=False
    )


class XavierInitializer(Initializer):
    """Numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out)), uniform or normal."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
        gain: float = 1.0,
    ) -> None:
        if seed != 0:
            raise NotImplementedError("XavierInitializer: 'seed' is not supported; use paddle.seed")
        self.uniform = uniform
        self.fan_in = fan_in
        self.fan_out = fan_out
        self.gain = gain

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        found_in, found_out = fans(shape)
        total = (found_in if self.fan_in is None else self.fan_in) + (
            found_out if self.fan_out is None else self.fan_out
        )
        if total == 0:
            return np.zeros(shape, dtype.numpy)
        if self.uniform:
            limit = self.gain * math.sqrt(6.0 / total)
            return _uniform(shape, -limit, limit, dtype)
        return Normal(0.0, self.gain * math.sqrt(2.0 / total)).values(shape, dtype)


class XavierUniform(XavierInitializer):
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out)). Source: paddle.nn.initializer.XavierUniform."""

    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ) -> None:
        super().__init__(True, fan_in, fan_out, 0, gain)


class XavierNormal(XavierInitializer):
    """Normal of standard deviation gain * sqrt(2 / (fan_in + fan_out)). Source: paddle.nn.initializer.XavierNormal."""

    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ) -> None:
        super().__init__(False, fan_in, fan_out, 0, gain)


class MSRAInitializer(Initializer):
    """Numbers of standard deviation gain / sqrt(fan), uniform or normal."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if seed != 0:
            raise NotImplementedError("MSRAInitializer: 'seed' is not supported; use paddle.seed")
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"{type(self).__name__}: expected mode 'fan_in' or 'fan_out', received {mode!r}")
        self.uniform = uniform
        self.fan_in = fan_in
        self.negative_slope = negative_slope
        self.nonlinearity = nonlinearity
        self.mode = mode

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        found_in, found_out = fans(shape)
        fan = found_out if self.mode == "fan_out" else found_in if self.fan_in is None else self.fan_in
        if fan == 0:
            return np.zeros(shape, dtype.numpy)
        gain = calculate_gain(self.nonlinearity, self.negative_slope)
        if self.uniform:
            limit = gain * math.sqrt(3.0 / fan)
            return _uniform(shape, -limit, limit, dtype)
        return Normal(0.0, gain / math.sqrt(fan)).values(shape, dtype)


class KaimingUniform(MSRAInitializer):
    """Uniform in +-gain * sqrt(3 / fan). Source: paddle.nn.initializer.KaimingUniform."""

    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ) -> None:
        super().__init__(True, fan_in, 0, negative_slope, nonlinearity, mode)


class KaimingNormal(MSRAInitializer):
    """Normal of standard deviation gain / sqrt(fan). Source: paddle.nn.initializer.KaimingNormal."""

    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ) -> None:
        super().__init__(False, fan_in, 0, negative_slope, nonlinearity, mode)


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, times gain; dimensions after the first are taken together.

    Raises ValueError for fewer than two dimensions. Source: paddle.nn.initializer.Orthogonal.
    """

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = gain

    def values(self, shape: tuple[int, ...], dtype: DataType) -> Any:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: expected at least 2 dimensions, received shape {list(shape)}")
        rows, columns = shape[0], math.prod(shape[1:])
        flat = (max(rows, columns), min(rows, columns))
        wide = "float64" if dtype is not complex128 and not dtype.is_complex else "complex128"
        q, r = np.linalg.qr(_C_ops.gaussian(flat, 0.0, 1.0, 0, wide).impl.array)
        # Without the signs of r's diagonal, the matrices would not be spread evenly.
        diagonal = np.diagonal(r)
        q = q * np.where(diagonal == 0, 1, diagonal / np.where(diagonal == 0, 1, np.abs(diagonal)))
        return (self.gain * (q.T if rows < columns else q)).reshape(shape).astype(dtype.numpy)
