"""Element-wise operations, comparisons, activations and reductions in torch."""

from typing import Any

from tests.oracle.torch_call import NotInTorch, TorchCall, dims, torch, torch_dtype, vjp

POLES = "at its poles wherry gives infinity, torch what its reflection formula rounds to"
SAME_NAME = """abs acos acosh angle asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor frac isfinite isinf isnan
lgamma log log10 log1p log2 neg reciprocal rsqrt sigmoid signbit sin sinh sqrt square tan tanh trunc logical_not bitwise_not
subtract multiply divide floor_divide remainder maximum minimum fmax fmin atan2 hypot copysign nextafter logaddexp
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor relu add""".split()

OTHER_NAME = {
    "sign": "sgn",
    "elementwise_pow": "pow",
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_equal": "le",
    "greater_than": "gt",
    "greater_equal": "ge",
    "relu6": "nn.functional.relu6",
    "hardswish": "nn.functional.hardswish",
    "silu": "nn.functional.silu",
    "mish": "nn.functional.mish",
    "logsigmoid": "nn.functional.logsigmoid",
    "softsign": "nn.functional.softsign",
    "tanh_shrink": "nn.functional.tanhshrink",
    "complex": "complex",
    "as_real": "view_as_real",
    "as_complex": "view_as_complex",
    "real": "real",
    "imag": "imag",
    "conj": "conj_physical",
    "assign": "clone",
}


def scaled(x: Any, scale: complex, bias: complex, bias_after_scale: bool) -> Any:
    return x * scale + bias if bias_after_scale else (x + bias) * scale


def shift_bits(name: str) -> Any:
    def call(x: Any, y: Any, is_arithmetic: bool) -> Any:
        if not is_arithmetic:
            raise NotInTorch("logical shifts")
        return getattr(torch, name)(x, y)

    return call


def gelu(x: Any, approximate: bool) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh" if approximate else "none")


def round_to(x: Any, decimals: int) -> Any:
    return torch.round(x, decimals=decimals) if decimals else torch.round(x)


def functional(name: str, **renamed: str) -> Any:
    """torch.nn.functional's function, with attributes under other names."""

    def call(*tensors: Any, **attrs: Any) -> Any:
        return getattr(torch.nn.functional, name)(*tensors, **{renamed.get(k, k): v for k, v in attrs.items()})

    return call


ACTIVATIONS: dict[str, Any] = {
    "hardtanh": functional("hardtanh", t_min="min_val", t_max="max_val"),
    "leaky_relu": functional("leaky_relu"),
    "threshold": functional("threshold"),
    "hardshrink": functional("hardshrink", threshold="lambd"),
    "softshrink": functional("softshrink", threshold="lambd"),
    "hardsigmoid": lambda x, slope, offset: torch.clamp(x * slope + offset, 0.0, 1.0),
    "elu": functional("elu"),
    "celu": functional("celu"),
    "selu": lambda x, scale, alpha: scale * torch.nn.functional.elu(x, alpha),
    "softplus": functional("softplus"),
    "gelu": gelu,
    "softmax": lambda x, axis: torch.softmax(x, axis),
    "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
}
ENDS = "the ends of the zero interval are kept (Paddle), in torch they are zero"
AT_ZERO = "the slope at 0 is 1 (Paddle), in torch negative_slope"
# name: (what differs, what is not compared because of it)
DIFFERENT: dict[str, tuple[str, tuple[str, ...]]] = {
    "hardshrink": (ENDS, ("special values",)),
    "hardshrink_grad": (ENDS, ("special values",)),
    "leaky_relu": (AT_ZERO, ("special gradients",)),
    "leaky_relu_grad": (AT_ZERO, ("special values",)),
    "digamma": (POLES, ("special gradients",)),
    "sign": ("of NaN it is NaN, in torch 0", ("special values",)),
}
# The fused kernels of first derivatives: torch's gradient of the operation. Those of `out` are told it in place of x.
OF_INPUT = "hardtanh leaky_relu hardshrink softshrink elu celu selu softplus gelu".split()


def cumulative(name: str) -> Any:
    def call(x: Any, axis: int, **attrs: Any) -> Any:
        if attrs.get("reverse") and x.ndim:
            return torch.flip(getattr(torch, name)(torch.flip(x, (axis,)), axis), (axis,))
        return getattr(torch, name)(x, axis)

    return call


def cumulative_extremum(name: str) -> Any:
    def call(x: Any, axis: int, dtype: Any) -> Any:
        values, indices = getattr(torch, name)(x, axis)
        return values, indices.to(torch_dtype(dtype))

    return call


def product(x: Any, axis: Any, keepdim: bool) -> Any:
    if not axis:
        total = torch.prod(x)
        return total.reshape((1,) * x.ndim) if keepdim else total
    for a in sorted((a % max(x.ndim, 1) for a in axis), reverse=True):
        x = torch.prod(x, a, keepdim=keepdim)
    return x


def extremum(name: str) -> Any:
    return lambda x, axis, keepdim: getattr(torch, name)(x, dims(x, axis), keepdim)


def logical(name: str) -> Any:
    return lambda x, axis, keepdim: getattr(torch, name)(x != 0, dims(x, axis), keepdim)


def place_of(name: str) -> Any:
    def call(x: Any, axis: int, keepdims: bool, flatten: bool, dtype: Any) -> Any:
        if flatten:
            found = getattr(torch, name)(x)
            found = found.reshape((1,) * x.ndim) if keepdims else found
        else:
            found = getattr(torch, name)(x, axis, keepdims)
        return found.to(torch_dtype(dtype))

    return call


def total(x: Any, axis: Any, dtype: Any, keepdim: bool) -> Any:
    return torch.sum(x, dims(x, axis), keepdim, dtype=torch_dtype(dtype) if dtype else None)


def norm(x: Any, porder: float, axis: Any, keepdim: bool) -> Any:
    return torch.linalg.vector_norm(x, porder, dims(x, axis), keepdim)


def clipped_norm(x: Any, max_norm: float) -> Any:
    length = torch.linalg.vector_norm(x)
    return x * (max_norm / length) if length > max_norm else x.clone()


FIRST = "where several elements are equal torch may give another of their places"
INF_SUM = "of an infinite maximum wherry gives the limit, torch NaN"

CALLS: dict[str, TorchCall] = {
    **{name: TorchCall(name, *DIFFERENT.get(name, ())) for name in SAME_NAME},
    **{name: TorchCall(path, *DIFFERENT.get(name, ())) for name, path in OTHER_NAME.items()},
    **{name: TorchCall(call, *DIFFERENT.get(name, ())) for name, call in ACTIVATIONS.items()},
    **{f"{name}_grad": TorchCall(vjp(ACTIVATIONS[name]), *DIFFERENT.get(f"{name}_grad", ())) for name in OF_INPUT},
    "silu_grad": TorchCall(vjp(lambda x: torch.nn.functional.silu(x))),
    "mish_grad": TorchCall(vjp(lambda x: torch.nn.functional.mish(x))),
    "logsigmoid_grad": TorchCall(vjp(lambda x: torch.nn.functional.logsigmoid(x))),
    "softsign_grad": TorchCall(vjp(lambda x: torch.nn.functional.softsign(x))),
    "tanh_shrink_grad": TorchCall(vjp(lambda x: torch.nn.functional.tanhshrink(x))),
    "hardswish_grad": TorchCall(vjp(lambda x: torch.nn.functional.hardswish(x))),
    "threshold_grad": TorchCall(vjp(lambda x, threshold: torch.nn.functional.threshold(x, threshold, 0.0))),
    "relu_grad": TorchCall(lambda out, out_grad: torch.ops.aten.threshold_backward(out_grad, out, 0)),
    "hardsigmoid_grad": TorchCall(lambda out, out_grad, slope: torch.where((out > 0) & (out < 1), out_grad * slope, 0)),
    "softmax_grad": TorchCall(
        lambda out, out_grad, axis: torch.ops.aten._softmax_backward_data(out_grad, out, axis, out.dtype)
    ),
    "log_softmax_grad": TorchCall(
        lambda out, out_grad, axis: torch.ops.aten._log_softmax_backward_data(out_grad, out, axis, out.dtype)
    ),
    "polygamma": TorchCall(lambda x, n: torch.polygamma(n, x), POLES, ("special values",)),
    "round": TorchCall(round_to),
    "heaviside": TorchCall(
        lambda x, y: torch.where(x == 0, y, torch.heaviside(x.detach(), y.detach())),
        "torch has no gradient of heaviside; here its values, and that of y by torch.where",
    ),
    "trunc_divide": TorchCall(lambda x, y: torch.div(x, y, rounding_mode="trunc")),
    "bitwise_left_shift": TorchCall(shift_bits("bitwise_left_shift")),
    "bitwise_right_shift": TorchCall(shift_bits("bitwise_right_shift")),
    "isclose": TorchCall(lambda x, y, rtol, atol, equal_nan: torch.isclose(x, y, float(rtol), float(atol), equal_nan)),
    "allclose": TorchCall(
        lambda x, y, rtol, atol, equal_nan: torch.tensor(torch.allclose(x, y, float(rtol), float(atol), equal_nan))
    ),
    "equal_all": TorchCall(lambda x, y: torch.tensor(torch.equal(x, y))),
    "pow": TorchCall(
        lambda x, y: torch.pow(x, y),
        "(-0.0) ** -0.5 is inf as in C, in torch -inf, so the gradient of the square root of -0.0 differs",
        ("special gradients",),
    ),
    "scale": TorchCall(scaled),
    "clip": TorchCall(lambda x, min, max: torch.clamp(x, min, max)),
    "lerp": TorchCall(lambda x, y, weight: torch.lerp(*torch.broadcast_tensors(x, y, weight))),
    "nan_to_num": TorchCall(lambda x, nan, posinf, neginf: torch.nan_to_num(x, nan, posinf, neginf)),
    "cast": TorchCall(lambda x, dtype: x.to(torch_dtype(dtype))),
    "where": TorchCall(lambda condition, x, y: torch.where(condition != 0, x, y)),
    "masked_fill": TorchCall(lambda x, mask, value: torch.masked_fill(x, mask != 0, value)),
    "sum": TorchCall(total),
    "mean": TorchCall(lambda x, axis, keepdim: torch.mean(x, dims(x, axis), keepdim)),
    "max": TorchCall(extremum("amax")),
    "min": TorchCall(extremum("amin")),
    "prod": TorchCall(product),
    "any": TorchCall(logical("any")),
    "all": TorchCall(logical("all")),
    "logsumexp": TorchCall(lambda x, axis, keepdim: torch.logsumexp(x, dims(x, axis), keepdim)),
    "p_norm": TorchCall(norm),
    "squared_l2_norm": TorchCall(lambda x: (x.abs() ** 2).sum().reshape(1)),
    "clip_by_norm": TorchCall(clipped_norm),
    "cumsum": TorchCall(cumulative("cumsum")),
    "cumprod": TorchCall(cumulative("cumprod")),
    "logcumsumexp": TorchCall(cumulative("logcumsumexp")),
    "cummax": TorchCall(cumulative_extremum("cummax")),
    "cummin": TorchCall(cumulative_extremum("cummin")),
    "argmax": TorchCall(place_of("argmax")),
    "argmin": TorchCall(place_of("argmin")),
}
