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
        frames = [
            Line(frame.f_code, frame.f_lasti)
            for frame, _ in traceback.walk_tb(error.__traceback__)
            # Compiled modules leave frames with file names of their own.
            if not str(frame.f_globals.get("__name__", "")).startswith("wherry.")
        ]
        notes = " ".join(getattr(error, "__notes__", ()))
        text = f"{type(error).__name__}: {error}" + (f" ({notes})" if notes else "")
        self.report("error", own_line(frames[::-1]), text, advice(text))


def advice(text: str) -> str:
    """What to do about a message, by what it says."""
    lower = text.lower()
    return next(
        (fix for words, fix in FIXES if all(w in lower for w in words)),
        "Do what the message asks for; the call is at this line.",
    )


FIXES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("matmul", "inner sizes"), "Transpose one of the two (transpose_y=True, or x.t()), or correct the layer's sizes."),
    (
        ("broadcast together",),
        "Give both the same shape, or sizes of 1 where one is to be repeated: reshape, unsqueeze or expand.",
    ),
    (("do not promote",), "Convert one of the two with astype."),
    (
        ("no kernel for the key",),
        "Cast to a dtype that has a kernel, or use an operation that is defined for this one (abs() or real() of a complex tensor).",
    ),
    (("out of range",), "Keep indices below the size of the axis, and labels below the number of classes."),
    (("retain_graph",), "Pass retain_graph=True to the earlier backward, or detach() what belongs to an earlier step."),
    (("leaf", "inplace"), "Change the leaf under no_grad, or a clone() of it."),
)
