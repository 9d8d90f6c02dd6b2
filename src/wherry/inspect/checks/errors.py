"""An exception that ends the program, as a finding."""

import traceback

from wherry.inspect.facts import Line, own_line
from wherry.inspect.findings import Check


class ErrorCheck(Check):
    """Reports the exception at the innermost of the user's own lines."""

    kind = "error"

    def failed(self, error: BaseException) -> None:
        if isinstance(error, (SystemExit, KeyboardInterrupt)):
            return
        if getattr(error, "wherry_kind", ""):
            # Another check knows more of it.
            return
        frames = [Line(frame.f_code, frame.f_lasti) for frame, _ in traceback.walk_tb(error.__traceback__)]
        notes = " ".join(getattr(error, "__notes__", ()))
        text = f"{type(error).__name__}: {error}" + (f" ({notes})" if notes else "")
        self.report("error", own_line(frames[::-1]), text, "See the message.")
