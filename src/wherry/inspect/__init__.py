"""wherry.inspect: what a call did, where a gradient came from, who holds the memory.

Everything here is imported on first use; a program that does not ask pays nothing.
"""

import importlib
from typing import Any

_HOME = {
    "Doctor": "wherry.inspect.doctor",
    "Finding": "wherry.inspect.findings",
    "Tape": "wherry.inspect.tape",
    "check_complex": "wherry.inspect.wirtinger",
    "compare": "wherry.inspect.comparison",
    "explain": "wherry.inspect.explanation",
    "graph": "wherry.inspect.backward_graph",
    "inplace_history": "wherry.inspect.inplace",
    "leaks": "wherry.inspect.live_memory",
    "memory": "wherry.inspect.live_memory",
    "record": "wherry.inspect.recording",
    "why_grad": "wherry.inspect.gradients",
    "why_no_grad": "wherry.inspect.gradients",
}

__all__ = [
    "Doctor",
    "Finding",
    "Tape",
    "check_complex",
    "compare",
    "explain",
    "graph",
    "inplace_history",
    "leaks",
    "memory",
    "record",
    "why_grad",
    "why_no_grad",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'wherry.inspect' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
