"""The checks of `wherry doctor`, by kind. Each is a module with one subclass of Check; importing them waits until they are asked for."""

import importlib
from typing import Final

from wherry.inspect.findings import Check

# kind: module below this package, class.
CHECKS: Final[dict[str, tuple[str, str]]] = {
    "error": ("errors", "ErrorCheck"),
    "nan": ("nonfinite", "NonFiniteCheck"),
    "inplace": ("overwritten", "OverwrittenCheck"),
    "none-grad": ("missing", "MissingGradientCheck"),
    "stale-grad": ("accumulation", "AccumulationCheck"),
    "retained-graph": ("retained", "RetainedCheck"),
    "broadcast": ("broadcasting", "BroadcastCheck"),
    "custom-backward": ("customs", "CustomBackwardCheck"),
    "leak": ("leaking", "LeakCheck"),
    "slow-kernel": ("slowness", "SlowKernelCheck"),
    "promotion": ("promotion", "PromotionCheck"),
    "wrong-axis": ("axes", "AxisCheck"),
    "complex": ("complexity", "ComplexCheck"),
}


def make(kinds: list[str] | None = None) -> list[Check]:
    """A new check of each kind (all of them by default); raises ValueError that lists the kinds for one that is not there."""
    chosen = list(CHECKS) if kinds is None else kinds
    unknown = [k for k in chosen if k not in CHECKS]
    if unknown:
        raise ValueError(f"unknown check {unknown[0]!r}; there are {', '.join(CHECKS)}")
    made = []
    for kind in chosen:
        module, name = CHECKS[kind]
        made.append(getattr(importlib.import_module(f"wherry.inspect.checks.{module}"), name)())
    return made
