# ruff: noqa: F401, F403
"""wherry: an eager deep-learning engine with Paddle's API.

`import wherry as paddle` runs Paddle dygraph scripts. Operations come from the entries in ops/ (layer 1 is generated from them) and from the
api modules; the engine is in core, dispatch and autograd.
"""

import importlib as _importlib
from typing import Any as _Any

from wherry import _assembly
from wherry._assembly import Tensor, show_config
from wherry._version import __version__
from wherry.api import *
from wherry.core.dtype import (
    DataType as dtype,
)
from wherry.core.dtype import (
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from wherry.core.dtype import (
    bool_ as bool,
)

_assembly.finish(globals())

# Subpackages that few programs use: imported when they are named.
_LATE = ("audio", "distributed", "geometric", "incubate", "inspect", "library", "signal", "sparse")


def __getattr__(name: str) -> _Any:
    if name in _LATE:
        return _importlib.import_module(f"wherry.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
