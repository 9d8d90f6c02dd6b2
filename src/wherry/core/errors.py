"""Error messages: the operation, its inputs and the user's line are added to an exception in one place."""

from typing import Any

from wherry.core import where
from wherry.core.state import STATE


class PermissionDeniedError(RuntimeError):
    """An in-place change that would make a gradient wrong. Source: paddle's PermissionDenied."""


def summary(value: Any) -> str:
    """A tensor as dtype and shape, a list of them, or the type of anything else."""
    impl = getattr(value, "impl", value)
    meta = getattr(impl, "meta", None)
    if meta is not None:
        return repr(meta)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(summary(v) for v in value[:8]) + (", ...]" if len(value) > 8 else "]")
    return "None" if value is None else type(value).__name__


def explained(error: Exception, op: Any, inputs: tuple[Any, ...], called: str = "") -> Exception:
    """The same exception with the operation (by the name it was called by), its inputs and the user's line in its message."""
    # The kernel that raised did not say that it had ended.
    STATE.in_kernel = False
    if getattr(error, "wherry_explained", False):
        return error
    received = ", ".join(f"{name}: {summary(v)}" for name, v in zip(op.inputs, inputs))
    text = str(error)
    called = called or op.name
    if not text.startswith(called):
        text = f"{called}: {text.removeprefix(op.name + ': ')}"
    if received:
        text += f"\n  inputs: {received}"
    text += f"\n  at {where.user_line()}"
    return reworded(error, text)


def reworded(error: Exception, text: str) -> Exception:
    """The exception with another message; one of a class that composes its own text becomes its nearest plain class."""
    plain = (
        ValueError,
        TypeError,
        IndexError,
        RuntimeError,
        NotImplementedError,
        ZeroDivisionError,
        OverflowError,
        MemoryError,
    )
    if type(error) in plain or type(error).__str__ is Exception.__str__:
        error.args = (text,)
        changed: Any = error
    else:
        kind = next((c for c in plain if isinstance(error, c)), RuntimeError)
        changed = kind(text)
        changed.__cause__ = error
    changed.wherry_explained = True
    return changed  # type: ignore[no-any-return]
