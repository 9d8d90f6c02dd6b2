"""Where InferMeta functions register under the names that op entries use."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

INFER_META: Final[dict[str, Callable[..., Any]]] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def infer_meta(name: str) -> Callable[[_Function], _Function]:
    """Register a function that takes metas and attributes in an entry's order and returns the metas of its outputs."""

    def decorate(function: _Function) -> _Function:
        if name in INFER_META:
            raise KeyError(f"the InferMeta function {name} is registered twice")
        INFER_META[name] = function
        return function

    return decorate
