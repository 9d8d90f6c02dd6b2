"""Public random functions, where Paddle's signature is not the entry's."""

from typing import Any

from wherry import _C_ops
from wherry.api.creation import DTypeLike, ShapeLike, finished, float_dtype, number
from wherry.core import dtype as dt
from wherry.core.default_dtype import get_default
from wherry.core.dtype import convert_dtype
from wherry.core.generator import get_cuda_rng_state, get_rng_state, seed, set_cuda_rng_state, set_rng_state
from wherry.tensor.tensor import Tensor

__all__ = [
    "bernoulli",
    "bernoulli_",
    "cauchy_",
    "geometric_",
    "get_cuda_rng_state",
    "get_rng_state",
    "log_normal",
    "log_normal_",
    "manual_seed",
    "normal",
    "normal_",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_cuda_rng_state",
    "set_rng_state",
    "standard_normal",
    "uniform",
]
METHODS = ["bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]

manual_seed = seed


def rand(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1) of a shape, in the default float unless dtype says otherwise. Source: paddle.rand."""
    return finished(_C_ops.uniform(shape, float_dtype(dtype), 0.0, 1.0, 0), out, device, requires_grad, pin_memory)


def randn(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1 of a shape, in the default float unless dtype says otherwise.

    A complex dtype shares the variance between its parts. Source: paddle.randn.
    """
    return finished(_C_ops.gaussian(shape, 0.0, 1.0, 0, float_dtype(dtype)), out, device, requires_grad, pin_memory)


def standard_normal(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The same as `randn`. Source: paddle.standard_normal."""
    return finished(_C_ops.gaussian(shape, 0.0, 1.0, 0, float_dtype(dtype)), out, device, requires_grad)


def rand_like(
    input: Tensor,
    name: str | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`rand` of input's shape and, unless dtype says otherwise, its dtype. Source: paddle.rand_like."""
    wanted = input.dtype if dtype is None else convert_dtype(dtype)
    return finished(_C_ops.uniform(input.shape, wanted, 0.0, 1.0, 0), None, device, requires_grad)


def randn_like(
    x: Tensor,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`randn` of x's shape and, unless dtype says otherwise, its dtype. Source: paddle.randn_like."""
    wanted = x.dtype if dtype is None else convert_dtype(dtype)
    return finished(_C_ops.gaussian(x.shape, 0.0, 1.0, 0, wanted), None, device, requires_grad)


def uniform(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    min: Any = 0.0,
    max: Any = 1.0,
    seed: int = 0,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [min, max) of a shape, in the default float unless dtype says otherwise.

    A `seed` other than 0 draws from a stream of its own that begins there. Source: paddle.uniform.
    """
    made = _C_ops.uniform(shape, float_dtype(dtype), number(min, "min"), number(max, "max"), seed)
    return finished(made, out, device, requires_grad)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    shape: ShapeLike | None = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Normal numbers of a mean and a standard deviation, each a number or a tensor.

    With a tensor, its shape and dtype are the result's and `shape` plays no part; with numbers only, `shape` is needed:
    the default float, or its complex for a complex mean. Raises TypeError without a shape. Source: paddle.normal.
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        draw = _C_ops.gaussian(like.shape, 0.0, 1.0, 0, like.dtype)
        made = draw * std + mean
    else:
        if shape is None:
            raise TypeError("expected a shape where mean and std are numbers, received none")
        mean = number(mean, "mean")
        dtype = _complex_default() if isinstance(mean, complex) else get_default()
        made = _C_ops.gaussian(shape, mean, float(number(std, "std")), 0, dtype)
    return finished(made, out, None, False)


def _complex_default() -> dt.DataType:
    return dt.complex128 if get_default() is dt.float64 else dt.complex64


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """Exponentials of what `normal` draws, with the same arguments. Source: paddle.log_normal."""
    return normal(mean, std, shape).exp()


def randint(
    low: int = 0,
    high: int | None = None,
    shape: ShapeLike = (1,),
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Integers in [low, high), or in [0, low) without `high`; int64 unless dtype says otherwise.

    Raises ValueError for an empty range. Source: paddle.randint.
    """
    low, high = _range(low, high)
    return _C_ops.randint(low, high, shape, dt.int64 if dtype is None else convert_dtype(dtype))


def randint_like(
    x: Tensor, low: int = 0, high: int | None = None, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """`randint` of x's shape and, unless dtype says otherwise, its dtype (floating ones too).

    Source: paddle.randint_like.
    """
    low, high = _range(low, high)
    wanted = x.dtype if dtype is None else convert_dtype(dtype)
    made = _C_ops.randint(low, high, x.shape, dt.int64)
    return made if wanted is dt.int64 else made.astype(wanted)


def _range(low: int, high: int | None) -> tuple[int, int]:
    if high is None:
        if low <= 0:
            raise ValueError(f"expected low > 0 where high is not given, received {low}")
        return 0, low
    return low, high


def randperm(
    n: int,
    dtype: DTypeLike = "int64",
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in random order. Raises ValueError for a negative n. Source: paddle.randperm."""
    return finished(_C_ops.randperm(n, convert_dtype(dtype)), out, device, requires_grad, pin_memory)


def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """1 with the probability that x says (or p, where given), else 0; shape and floating dtype of x, no gradient.

    Raises ValueError for a probability outside [0, 1]. Source: paddle.bernoulli.
    """
    return _C_ops.bernoulli(x if p is None else _C_ops.full_like(x, float(p)))


def bernoulli_(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """Overwrite x with 1 with probability p (a number or a tensor that broadcasts to x), else 0.

    Raises ValueError for a probability outside [0, 1]. Source: paddle.bernoulli_.
    """
    if isinstance(p, Tensor) and p.size != 1:
        x[...] = _C_ops.bernoulli(_C_ops.expand(p, x.shape))
        return x
    return _C_ops.bernoulli_inplace_(x, float(number(p, "p")))


def normal_(x: Tensor, mean: complex = 0.0, std: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrite x with normal numbers. Source: paddle.normal_."""
    return _C_ops.gaussian_inplace_(x, mean, float(std), 0)


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, name: str | None = None) -> Tensor:
    """Overwrite x with exponentials of normal numbers. Source: paddle.log_normal_."""
    return _C_ops.log_normal_inplace_(x, float(mean), float(std))


def uniform_(x: Tensor, min: float = 0.0, max: float = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Overwrite x with uniform numbers in [min, max).

    Raises ValueError unless min < max. Source: paddle.Tensor.uniform_.
    """
    return _C_ops.uniform_inplace_(x, float(min), float(max), seed)


def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrite x with exponential numbers of rate lam > 0. Source: paddle.Tensor.exponential_."""
    return _C_ops.exponential_inplace_(x, float(lam))


def cauchy_(x: Tensor, loc: float = 0, scale: float = 1, name: str | None = None) -> Tensor:
    """Overwrite x with Cauchy numbers around loc. Source: paddle.cauchy_."""
    return _C_ops.cauchy_inplace_(x, float(loc), float(scale))


def geometric_(x: Tensor, probs: Any, name: str | None = None) -> Tensor:
    """Overwrite x with log(u) / log(1 - probs) for uniform u, as Paddle does (not cut to integers).

    Raises ValueError for a probability outside [0, 1]. Source: paddle.geometric_.
    """
    return _C_ops.geometric_inplace_(x, float(number(probs, "probs")))


def random_(x: Tensor, from_: int = 0, to: int | None = None, *, generator: None = None) -> Tensor:
    """Overwrite x with integers in [from_, to), or with one bound in [0, from_), or with none in all that x's dtype
    counts exactly.

    Raises ValueError for an empty range. Source: paddle.Tensor.random_.
    """
    if generator is not None:
        raise NotImplementedError("the argument generator is not supported; seed the stream with paddle.seed")
    if to is None and from_ > 0:
        from_, to = 0, from_
    if to is None:
        to = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}.get(x.dtype.name, 0)
        to = to or (2 ** (8 * x.dtype.itemsize - (x.dtype.name != "uint8")) - 1)
    return _C_ops.randint_inplace_(x, from_, to)
