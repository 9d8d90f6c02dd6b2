"""Kernel selection: from a KernelKey to a Kernel, step by step."""

from typing import Any

from wherry.core import dtype as dt
from wherry.dispatch.kernel_factory import FACTORY, Kernel
from wherry.dispatch.kernel_key import ANY_LAYOUT, CPU, KernelKey
from wherry.dispatch.op_def import OpDef


def fallback_steps(key: KernelKey) -> list[tuple[str, KernelKey]]:
    """The keys asked in turn, each with the reason: as given, any layout, then the CPU."""
    steps = [("the key itself", key)]
    if key.layout != ANY_LAYOUT:
        steps.append(("any layout", KernelKey(key.backend, ANY_LAYOUT, key.dtype)))
    if key.backend != CPU:
        steps.append(("the CPU", KernelKey(CPU, ANY_LAYOUT, key.dtype)))
    return steps


def candidates(op: OpDef, key: KernelKey) -> list[Kernel]:
    """Every kernel that may serve the key, in the order they are asked. Raises NotImplementedError where there is none."""
    found: list[Kernel] = []
    for _, step in fallback_steps(key):
        found += FACTORY.find(op.kernel, step)
    if not found:
        raise NotImplementedError(missing_kernel_message(op, key))
    return found


def missing_kernel_message(op: OpDef, key: KernelKey) -> str:
    """What was asked, which steps were tried, and what is registered."""
    steps = ", then ".join(f"{step} ({reason})" for reason, step in fallback_steps(key))
    registered = FACTORY.registered(op.kernel)
    names = sorted({d.name for d in dt.ALL for k in registered if k.dtype == d.code})
    have = (
        f"registered are kernels for {', '.join(names)}"
        if registered
        else f"no kernel {op.kernel!r} is registered at all"
    )
    return f"no kernel for the key {key}; tried {steps}; {have}. Cast the input to one of those dtypes first"


def choose(kernels: list[Kernel], arguments: list[Any]) -> Kernel:
    """The first kernel that has no predicate or whose predicate accepts the arguments."""
    for kernel in kernels:
        if kernel.predicate is None or kernel.predicate(*arguments):
            return kernel
    raise NotImplementedError("every registered kernel declined these arguments")


def preferred_key(dtype_code: int) -> KernelKey:
    """The key of a call on this machine: its preferred backend, any layout."""
    return KernelKey(CPU, ANY_LAYOUT, dtype_code)
