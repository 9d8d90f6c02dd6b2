"""Special functions, histograms and choices among tensors in torch."""

from typing import Any

from tests.oracle.torch_call import NotInTorch, TorchCall, torch

FIRST = "in the first argument torch has no derivative and raises"
LIMIT = "at infinity wherry has the limit 0, torch NaN"


def logit(x: Any, eps: float) -> Any:
    return torch.logit(x, eps if eps else None)


def mode(x: Any, axis: int, keepdim: bool) -> Any:
    # Which of several places torch names is not said.
    return torch.mode(x, axis, keepdim)[0], None


def histogram(input: Any, weight: Any, bins: int, min: float, max: float, density: bool) -> Any:
    if not input.is_floating_point() or input.numel() == 0:
        raise NotInTorch("integers, or nothing to take the range from")
    ends = None if min == max == 0 else (min, max)
    found = torch.histogram(input, bins, range=ends, weight=weight, density=density)[0]
    return found.to(torch.float32 if density or weight is not None else torch.int64)


def multiplex(inputs: list[Any], index: Any) -> Any:
    chosen = index.reshape(-1).long()
    return torch.stack(list(inputs))[chosen, torch.arange(chosen.numel())]


CALLS: dict[str, TorchCall] = {
    "i0": TorchCall("special.i0"),
    "i0e": TorchCall("special.i0e"),
    "i1": TorchCall("special.i1"),
    "i1e": TorchCall("special.i1e"),
    "logit": TorchCall(logit),
    "gammainc": TorchCall("special.gammainc", FIRST, ("gradients", "special gradients")),
    "gammaincc": TorchCall("special.gammaincc", FIRST, ("gradients", "special gradients")),
    "sinc": TorchCall("sinc", LIMIT, ("special values", "special gradients")),
    "gcd": TorchCall("gcd"),
    "lcm": TorchCall("lcm"),
    "frexp": TorchCall(
        lambda x: (torch.frexp(x)[0], torch.frexp(x)[1].to(x.dtype)),
        "of tiny numbers the slope is large, in torch its power of two overflows",
        ("special gradients",),
    ),
    "isin": TorchCall(lambda x, test_x: torch.isin(x, test_x)),
    "mode": TorchCall(mode),
    "histogram": TorchCall(histogram),
    "multiplex": TorchCall(multiplex),
}
