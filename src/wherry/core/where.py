"""Provenance: which line of the user's program made a thing.

Frames are never kept (they hold the user's locals); a code object and an instruction offset are, and they are resolved to file:line
only when someone asks. Compiled functions have no frames of their own, so the nearest frame is the user's unless the call
came through the package's interpreted files, which are skipped.
"""

import functools
import os
import sys
from types import CodeType
from typing import Any, Final

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Whether a file is the package's own, by the name in its code objects; filled as files are met.
_INTERNAL: Final[dict[str, bool]] = {}


def _is_internal(filename: str) -> bool:
    known = _INTERNAL.get(filename)
    if known is None:
        known = os.path.abspath(filename).startswith(_PACKAGE)
        _INTERNAL[filename] = known
    return known


def is_users(code: CodeType) -> bool:
    """Whether code was written outside the package."""
    return not _is_internal(code.co_filename)


def user_frame() -> Any:
    """The innermost frame outside the package, or the innermost one where all are inside."""
    # No local may keep hold of this function's own frame: frame and local would keep each other, and the user's frame, alive.
    frame: Any = sys._getframe(0)
    while frame is not None:
        filename: str = frame.f_code.co_filename
        known = _INTERNAL.get(filename)
        if known is None:
            known = _is_internal(filename)
        if not known:
            return frame
        frame = frame.f_back
    return sys._getframe(0)


def line_of(code: CodeType | None, lasti: int) -> int:
    """The source line of an instruction offset; 0 where the code object does not say."""
    if code is None:
        return 0
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def describe(code: CodeType | None, lasti: int) -> str:
    """ "file:line, in function" of an instruction, or "an unknown line"."""
    if code is None:
        return "an unknown line"
    return f"{code.co_filename}:{line_of(code, lasti)}, in {code.co_qualname}"


def user_line() -> str:
    """ "file:line, in function" of the user's current line."""
    frame = user_frame()
    return describe(frame.f_code, frame.f_lasti)


def definition(function: Any) -> tuple[str, Any]:
    """A callable's name, and the code object that says where it is defined (None for one that is not written in Python).

    What decorators and functools.partial wrap stands for the whole; an object with `__call__` goes by its class.
    """
    for _ in range(100):
        inner = function.func if isinstance(function, functools.partial) else getattr(function, "__wrapped__", None)
        if inner is None or not callable(inner):
            break
        function = inner
    name = getattr(function, "__qualname__", None)
    code = getattr(function, "__code__", None)
    if not isinstance(name, str):
        name = type(function).__qualname__
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004
    return name, code if isinstance(code, CodeType) else None
