"""Where InferMeta functions register under the names that op entries use."""

from collections.abc import Callable
from typing import Any, Final

INFER_META: Final[dict[str, Callable[..., Any]]] = {}


def infer_meta(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that takes metas and attributes in an entry's order and returns the metas of its outputs."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if name in INFER_META:
            raise KeyError(f"the InferMeta function {name} is registered twice")
        INFER_META[name] = function
        return function

    return decorate
