"""paddle.incubate: what Paddle keeps apart as young; here it is imported when it is named."""

import importlib
from typing import Any

_PARTS = ("autograd", "distributed")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"wherry.incubate.{name}")
    raise AttributeError(f"module 'wherry.incubate' has no attribute {name!r}")
