"""no_grad, enable_grad, set_grad_enabled and saved_tensors_hooks: contexts and decorators, one state per thread."""

import functools
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wherry.core import state


class _GradMode:
    """A context and a decorator that switches recording; generators and coroutines keep it to their own steps."""

    mode = True

    def __init__(self) -> None:
        # The modes to go back to, each with the thread that entered: one object may be entered again, and in several threads.
        self._before: list[tuple[int, bool]] = []

    def _again(self) -> "_GradMode":
        return type(self)()

    def __enter__(self) -> None:
        self._before.append((threading.get_ident(), state.set_grad_enabled_flag(self.mode)))
        _tell(self)

    def __exit__(self, *exception: object) -> None:
        thread = threading.get_ident()
        for i in range(len(self._before) - 1, -1, -1):
            if self._before[i][0] == thread:
                state.set_grad_enabled_flag(self._before.pop(i)[1])
                _tell(self)
                return
        if not self._before:
            raise RuntimeError(f"{type(self).__name__.rstrip('_')}: left without having been entered")
        # A suspended generator that is closed in another thread: the mode of this one is none of its business.
        self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            name = type(self).__name__.rstrip("_")
            raise TypeError(f"{name}: expected a function to decorate, received {type(function).__name__}")
        plain = _plain_function(function)
        if inspect.isgeneratorfunction(plain):
            return self._wrap_generator(function)
        if inspect.iscoroutinefunction(plain):
            return self._wrap_coroutine(function)
        if inspect.isasyncgenfunction(plain):
            return self._wrap_async_generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapper

    def _steps(self, generator: Any) -> Any:
        """The steps of a generator or coroutine, each in the mode; its caller keeps its own."""
        method: Callable[..., Any] = generator.send
        argument: Any = None
        try:
            while True:
                with self._again():
                    try:
                        value = method(argument)
                    except StopIteration as stop:
                        return stop.value
                try:
                    argument = yield value
                    method = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    method, argument = generator.throw, error
        finally:
            with self._again():
                generator.close()

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return (yield from self._steps(function(*args, **kwargs)))

        return wrapper

    def _wrap_coroutine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        awaitable_steps: Any = types.coroutine(self._steps)

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await awaitable_steps(function(*args, **kwargs))

        return wrapper

    def _wrap_async_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        awaitable_steps: Any = types.coroutine(self._await_steps)

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            step: Any = generator.asend(None)
            try:
                while True:
                    try:
                        value = await awaitable_steps(step)
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                        step = generator.asend(sent)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step = generator.athrow(error)
            finally:
                await awaitable_steps(generator.aclose())

        return wrapper

    def _await_steps(self, awaitable: Any) -> Any:
        return (yield from self._steps(_Steps(awaitable.__await__())))


class _Steps:
    """What an asynchronous generator's awaitables offer, with the methods of a generator."""

    def __init__(self, iterator: Any) -> None:
        self.send = iterator.send
        self.throw = iterator.throw
        self.close = iterator.close


def _plain_function(function: Any) -> Any:
    """The function that a partial or an object with `__call__` runs."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return getattr(type(function), "__call__", function)  # noqa: B004


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
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(f"set_grad_enabled: expected a bool, received {type(mode).__name__}")
        self.mode = bool(mode)
        self._outer: bool | None = state.set_grad_enabled_flag(self.mode)
        self._maker = threading.get_ident()
        _tell(self)

    def _again(self) -> "_GradMode":
        return enable_grad() if self.mode else no_grad_()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        outer, self._outer = self._outer, None
        if outer is not None:
            state.set_grad_enabled_flag(outer)
        return super().__call__(function)

    def __enter__(self) -> None:
        super().__enter__()
        if self._outer is not None and self._before[-1][0] == self._maker:
            # The first time it goes back to what was before the call.
            self._before[-1] = (self._maker, self._outer)
            self._outer = None


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
