"""Modes that change what a call does, each kept per thread.

The hot path asks one counter: as long as no thread has a mode on, nothing thread-local is looked up.
"""

import threading
from typing import Any, Final


class State:
    """How many threads are inside a mode now; zero of all means the plain path."""

    def __init__(self) -> None:
        self.no_grad_threads = 0
        self.special = 0
        self.observers = 0
        self.in_kernel = False


STATE: Final = State()
LOCAL: Final[Any] = threading.local()


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    if STATE.no_grad_threads == 0:
        return True
    return bool(getattr(LOCAL, "grad_enabled", True))


def set_grad_enabled_flag(mode: bool) -> bool:
    """Switch recording in this thread; returns what it was."""
    before = bool(getattr(LOCAL, "grad_enabled", True))
    if before != mode:
        LOCAL.grad_enabled = mode
        STATE.no_grad_threads += -1 if mode else 1
    return before


def amp_state() -> Any:
    """The innermost auto_cast of this thread, or None."""
    return getattr(LOCAL, "amp", None)


def set_amp_state(value: Any) -> Any:
    """Enter or leave an auto_cast; returns what was before."""
    before = getattr(LOCAL, "amp", None)
    LOCAL.amp = value
    STATE.special += (value is not None) - (before is not None)
    return before


def saved_tensors_hooks() -> Any:
    """The innermost (pack, unpack) pair of this thread, or None."""
    stack = getattr(LOCAL, "saved_tensors_hooks", None)
    return stack[-1] if stack else None


def push_saved_tensors_hooks(pair: tuple[Any, Any]) -> None:
    """Enter a saved_tensors_hooks block."""
    stack = getattr(LOCAL, "saved_tensors_hooks", None)
    if stack is None:
        stack = []
        LOCAL.saved_tensors_hooks = stack
    stack.append(pair)
    STATE.special += 1


def pop_saved_tensors_hooks() -> None:
    """Leave it."""
    LOCAL.saved_tensors_hooks.pop()
    STATE.special -= 1


def observers() -> tuple[Any, ...]:
    """Who is told of what this thread does (core/observer.py)."""
    if STATE.observers == 0:
        return ()
    return getattr(LOCAL, "observers", ())


def set_observers(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set this thread's observers; returns those before."""
    before: tuple[Any, ...] = getattr(LOCAL, "observers", ())
    LOCAL.observers = value
    change = bool(value) - bool(before)
    STATE.observers += change
    STATE.special += change
    return before
