# ruff: noqa: F403, F405
"""The functions of the top-level namespace: generated from the entries, and written by hand where signatures differ."""

import importlib
import pkgutil

from wherry._generated.api_paddle import *
from wherry._generated.api_paddle import __all__ as _generated_names

__all__: list[str] = list(_generated_names)

for _info in pkgutil.iter_modules(__path__):
    _module = importlib.import_module(f"{__name__}.{_info.name}")
    for _name in getattr(_module, "__all__", ()):
        globals()[_name] = getattr(_module, _name)
        __all__.append(_name)
