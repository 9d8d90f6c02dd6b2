"""no_grad, enable_grad, set_grad_enabled and saved_tensors_hooks: contexts and decorators, one state per thread."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from wherry.core import state


class _GradMode:
    """A context and a decorator that switches recording; a generator function keeps it to its own steps."""

    mode = True

    def __init__(self) -> None:
        self._before: list[bool] = []

    def _again(self) -> "_GradMode":
        return type(self)()

    def __enter__(self) -> None:
        self._before.append(state.set_grad_enabled_flag(self.mode))
        _tell(self)

    def __exit__(self, *exception: object) -> None:
        state.set_grad_enabled_flag(self._before.pop())
        _tell(self)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            step: Callable[..., Any] = generator.__next__
            arguments: tuple[Any, ...] = ()
            try:
                while True:
                    with self._again():
                        try:
                            value = step(*arguments)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        sent = yield value
                        step, arguments = generator.send, (sent,)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step, arguments = generator.throw, (error,)
            finally:
                with self._again():
                    generator.close()

        return wrapper


def _tell(block: _GradMode) -> None:
    for observer in state.observers():
        observer.mode_changed(type(block).__name__.rstrip("_"), state.is_grad_enabled())


class no_grad_(_GradMode):
    """Nothing is recorded inside: results have stop_gradient=True.

    A context manager and a decorator (of functions and generator functions). Source: paddle.no_grad.
    """

    mode = False


class enable_grad(_GradMode):
    """Operations are recorded inside, also within no_grad. Source: paddle.enable_grad."""

    mode = True


def no_grad(func: Callable[..., Any] | None = None) -> Any:
    """Switch recording off, as a context (`with no_grad():`) or a decorator, with or without parentheses.

    Source: paddle.no_grad.
    """
    return no_grad_() if func is None else no_grad_()(func)


class set_grad_enabled(_GradMode):
    """Switch recording on or off, at once; as a context it is undone at the end.

    mode: bool. Source: paddle.set_grad_enabled.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled: expected a bool, received {type(mode).__name__}")
        self.mode = mode
        self._outer = state.set_grad_enabled_flag(mode)
        _tell(self)

    def _again(self) -> "_GradMode":
        return enable_grad() if self.mode else no_grad_()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.set_grad_enabled_flag(self._outer)
        return super().__call__(function)

    def __enter__(self) -> None:
        state.set_grad_enabled_flag(self.mode)
        _tell(self)

    def __exit__(self, *exception: object) -> None:
        state.set_grad_enabled_flag(self._outer)
        _tell(self)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread now. Source: paddle.is_grad_enabled."""
    return state.is_grad_enabled()


class saved_tensors_hooks:
    """Inside, every tensor saved for backward goes through pack_hook, and through unpack_hook when it is needed.

    pack_hook: Tensor -> anything. unpack_hook: what pack_hook returned -> Tensor of the same shape and dtype.
    Source: paddle.autograd.saved_tensors_hooks.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(
                    f"saved_tensors_hooks: expected a callable for {name!r}, received {type(hook).__name__}"
                )
        self._pair = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        state.push_saved_tensors_hooks(self._pair)

    def __exit__(self, *exception: object) -> None:
        state.pop_saved_tensors_hooks()
