"""Handles of the hooks of layers."""

import warnings
import weakref
from collections import OrderedDict
from typing import Any

from wherry.core.state import observers
from wherry.core.where import definition, describe


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
    """Run a layer's forward with its hooks: before, after, and those that run even where it raises.

    Hooks that are added meanwhile wait for the next call; those that are removed are not called any more.
    """
    called: set[int] = set()
    outputs: Any = None
    try:
        for number, hook in list(layer._forward_pre_hooks.items()):
            if number in layer._forward_pre_hooks:
                inputs, kwargs = _before(layer, hook, inputs, kwargs)
        outputs = layer.forward(*inputs, **kwargs)
        for number, hook in list(layer._forward_post_hooks.items()):
            if number in layer._forward_post_hooks:
                called.add(number)
                outputs = _after(layer, hook, inputs, kwargs, outputs)
        return outputs
    except Exception:
        for number, hook in list(layer._forward_post_hooks.items()):
            if hook.always_call and number not in called:
                outputs = _after_error(layer, hook, inputs, kwargs, outputs)
        raise


def _before(
    layer: Any, hook: Hook, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        result = hook.function(layer, inputs)
        if result is None:
            return inputs, kwargs
        return (result if isinstance(result, tuple) else (result,)), kwargs
    result = hook.function(layer, inputs, kwargs)
    if result is None:
        return inputs, kwargs
    if not isinstance(result, tuple) or len(result) != 2:
        raise _refused(layer, hook, RuntimeError, "None or a tuple (inputs, kwargs)", _described(result))
    if not isinstance(result[0], (tuple, list)):
        raise _refused(layer, hook, TypeError, "a tuple as the inputs in its result", _described(result[0]))
    if not isinstance(result[1], dict):
        raise _refused(layer, hook, TypeError, "a dict as the kwargs in its result", _described(result[1]))
    return tuple(result[0]), result[1]


def _described(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__


def _refused(layer: Any, hook: Hook, kind: type[Exception], expected: str, received: str) -> Exception:
    name, code = definition(hook.function)
    text = f"forward pre-hook {name} of {type(layer).__name__}: expected {expected}, received {received}"
    return kind(text if code is None else f"{text}\n  the hook is defined at {describe(code, 0)}")


def _after(layer: Any, hook: Hook, inputs: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> Any:
    if hook.with_kwargs:
        result = hook.function(layer, inputs, kwargs, outputs)
    else:
        result = hook.function(layer, inputs, outputs)
    return outputs if result is None else result


def _after_error(layer: Any, hook: Hook, inputs: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> Any:
    try:
        return _after(layer, hook, inputs, kwargs, outputs)
    except Exception as error:
        # The first exception is the one to see.
        name, code = definition(hook.function)
        warnings.warn(
            f"the forward hook {name} (always_call=True) of {type(layer).__name__} raised {type(error).__name__}: {error}\n"
            f"  while another exception passed; the hook is defined at {describe(code, 0)}",
            RuntimeWarning,
            stacklevel=4,
        )
        return outputs
