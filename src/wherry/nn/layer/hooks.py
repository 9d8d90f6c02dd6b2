"""Handles of the hooks of layers."""

import weakref
from collections import OrderedDict
from typing import Any

from wherry.core.state import observers


class _Numbers:
    """Numbers the hooks of the process."""

    def __init__(self) -> None:
        self.next = 0


_NUMBERS = _Numbers()


class HookRemoveHelper:
    """Takes a layer's hook away again. Source: paddle.nn.Layer.register_forward_pre_hook."""

    def __init__(self, hooks: "OrderedDict[int, Any]") -> None:
        self._hooks_ref = weakref.ref(hooks)
        self._hook_id = _NUMBERS.next
        _NUMBERS.next += 1

    def remove(self) -> None:
        """Take the hook away; no effect the second time."""
        hooks = self._hooks_ref()
        if hooks is not None:
            hooks.pop(self._hook_id, None)


class Hook:
    """A forward hook and how it wants to be called."""

    __slots__ = ("always_call", "function", "with_kwargs")

    def __init__(self, function: Any, with_kwargs: bool, always_call: bool = False) -> None:
        self.function = function
        self.with_kwargs = with_kwargs
        self.always_call = always_call


def add_hook(hooks: "OrderedDict[int, Any]", hook: Any, prepend: bool, caller: str) -> HookRemoveHelper:
    """Put a hook last, or first; raises TypeError for something not callable."""
    function = hook.function if isinstance(hook, Hook) else hook
    if not callable(function):
        raise TypeError(f"{caller}: expected a callable, received {type(function).__name__}")
    helper = HookRemoveHelper(hooks)
    hooks[helper._hook_id] = hook
    if prepend:
        hooks.move_to_end(helper._hook_id, last=False)
    return helper


def observed_call(layer: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a layer with its hooks, and tell the thread's observers of it."""
    watching = observers()
    for observer in watching:
        observer.layer_entered(layer)
    try:
        return call_with_hooks(layer, inputs, kwargs)
    finally:
        for observer in watching:
            observer.layer_left(layer)


def call_with_hooks(layer: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a layer's forward with its hooks: before, after, and those that run even where it raises."""
    called: set[int] = set()
    try:
        for hook in list(layer._forward_pre_hooks.values()):
            inputs, kwargs = _before(layer, hook, inputs, kwargs)
        outputs = layer.forward(*inputs, **kwargs)
        for number, hook in list(layer._forward_post_hooks.items()):
            called.add(number)
            outputs = _after(layer, hook, inputs, kwargs, outputs)
        return outputs
    except Exception:
        for number, hook in list(layer._forward_post_hooks.items()):
            if hook.always_call and number not in called:
                _after(layer, hook, inputs, kwargs, None)
        raise


def _before(
    layer: Any, hook: Hook, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if hook.with_kwargs:
        result = hook.function(layer, inputs, kwargs)
        if result is None:
            return inputs, kwargs
        if isinstance(result, tuple) and len(result) == 2:
            return result
        raise RuntimeError(
            f"forward pre-hook of {type(layer).__name__}: expected None or a tuple (inputs, kwargs), received {type(result).__name__}"
        )
    result = hook.function(layer, inputs)
    if result is None:
        return inputs, kwargs
    return (result if isinstance(result, tuple) else (result,)), kwargs


def _after(layer: Any, hook: Hook, inputs: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> Any:
    if hook.with_kwargs:
        result = hook.function(layer, inputs, kwargs, outputs)
    else:
        result = hook.function(layer, inputs, outputs)
    return outputs if result is None else result
