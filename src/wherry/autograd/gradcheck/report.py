"""What a failed check says: which input, which element, which output, both numbers, and what kind of point it is."""

from typing import Any

import numpy as np

from wherry.autograd.gradcheck.comparison import SHOWN, Comparison
from wherry.autograd.gradcheck.entries import Entry, Finding, combined, entries, entry_of
from wherry.autograd.gradcheck.problem import Problem, Recording, Settings


def place_of(index: tuple[int, ...] | None) -> str:
    """An element in a message; nothing for a tensor without dimensions."""
    return f", element {list(index)}" if index else ""


def number(value: Any) -> str:
    """A number in a message; a part of a complex one that is nothing beside the other is 0."""
    return f"{plain(value):.6g}"


def plain(value: Any) -> Any:
    """A number without negative zeros, and without rounding in one of its parts."""
    if not np.iscomplexobj(value):
        return value + 0.0
    least = 1e-9 * max(1e-300, abs(value)) if np.isfinite(value) else 0.0
    return complex(*[0.0 if abs(p) <= least else float(p) + 0.0 for p in (value.real, value.imag)])


def numbers(first: Any, second: Any) -> tuple[str, str]:
    """Two numbers in a message, with enough digits to tell them apart."""
    for digits in (6, 12, 17):
        texts = f"{plain(first):.{digits}g}", f"{plain(second):.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def worst_entry(problem: Problem, recording: Recording | None, finding: Finding, settings: Settings) -> Entry:
    """The entry that shows a finding best; of the random combination of all outputs where no single one does."""
    if recording is not None and finding.index is not None:
        try:
            found = entries(problem, recording, finding, settings)
        except Exception:
            # A backward that does not take single outputs; the combination remains.
            found = []
        best = max(found, key=lambda e: e.excess, default=None)
        if best is not None and best.excess > 1.0:
            return best
    is_complex = len(finding.slopes) == 2
    left = combined([s.left for s in finding.slopes], is_complex)
    right = combined([s.right for s in finding.slopes], is_complex)
    return Entry("", finding.analytic, left, right, finding.kind, np.inf)


def entry_text(entry: Entry) -> str:
    """Both numbers, and what kind of point it is."""
    if entry.kind == "jump":
        return (
            f"analytic {number(entry.analytic)}, but fn jumps there, and its slopes on the two sides of the jump are "
            f"{number(entry.left)} and {number(entry.right)}"
        )
    if entry.kind in ("kink", "infinite") and entry.left != entry.right:
        if np.isnan(entry.left) or np.isnan(entry.right):
            side, slope = ("right", entry.right) if np.isnan(entry.left) else ("left", entry.left)
            return f"analytic {number(entry.analytic)}, numeric {number(slope)} (fn is finite on the {side} only)"
        return (
            f"analytic {number(entry.analytic)}, but the point is a kink with slope {number(entry.left)} on the left and "
            f"{number(entry.right)} on the right; expected a value between them"
        )
    numeric = entry.right if np.isnan(entry.left) else entry.left
    analytic, text = numbers(entry.analytic, numeric)
    return f"analytic {analytic}, numeric {text}"


def finding_text(problem: Problem, recording: Recording | None, finding: Finding, settings: Settings) -> str:
    """One line for a finding."""
    label = problem.labels[finding.which]
    entry = worst_entry(problem, recording, finding, settings)
    if finding.index is None:
        return f"{label}, along a random direction: {entry_text(entry)}"
    output = f", {entry.output}" if entry.output else ", outputs combined at random"
    return f"{label}{place_of(finding.index)} = {finding.value}{output}: {entry_text(entry)}"


def wrong_text(problem: Problem, recording: Recording | None, found: Comparison, settings: Settings) -> str:
    """The message for wrong gradients: a heading and some elements for each input."""
    lines: list[str] = []
    for which in sorted({f.which for f in found.wrong}):
        array, label = problem.arrays[which], problem.labels[which]
        count = found.count[which]
        lines.append(
            f"the gradient of {label} ({array.dtype.name}, shape {list(array.shape)}) does not agree with finite differences"
            + (f" in {count} of {array.size} elements" if not settings.fast else "")
        )
        shown = [f for f in found.wrong if f.which == which][:SHOWN]
        lines += ["  " + finding_text(problem, recording, f, settings) for f in shown]
        if count > len(shown):
            lines.append("  ...")
    lines += [
        f"  {label} of fn has stop_gradient=True: nothing of it reaches the inputs. Where that is meant, leave it out of what fn returns"
        for label in problem.dead
    ]
    return "\n".join(lines)


def unsettled_text(problem: Problem, found: Comparison, settings: Settings) -> str:
    """The message where the numbers cannot tell."""
    finding = found.unsettled[0]
    place = f"{problem.labels[finding.which]}{place_of(finding.index)}" + (
        f" = {finding.value}" if finding.index is not None else ""
    )
    if finding.kind == "undefined":
        return f"fn is not finite, or raises, on both sides of {place}; expected a point with some room around it"
    if finding.kind == "jump":
        return f"fn jumps at {place}, so that no gradient is right there, and backward gives {number(finding.analytic)}; choose another point"
    slope = next((s for s in finding.slopes if s.kind == "unsettled"), finding.slopes[0])
    text = f"finite differences cannot tell at {place}: analytic {number(finding.analytic)}, numeric "
    if slope.coarse is not None:
        text += f"{number(slope.coarse[0])} over the largest step and {number(slope.low)} over the smallest"
    else:
        text += f"about {number((slope.low + slope.high) / 2.0)} give or take {number(slope.uncertainty)}"
    return (
        f"{text} (steps from {number(settings.eps / 8)} to {number(settings.eps * 4096)}). That is numeric noise in fn, or a fn that bends "
        "within the step, and no sign of a wrong gradient; try another eps or other inputs"
    )


def note_text(problem: Problem, recording: Recording, finding: Finding, settings: Settings) -> str:
    """One line for a point that is not smooth and whose gradient is accepted."""
    name = {"kink": "a kink", "jump": "a jump"}.get(finding.kind, "an unbounded slope")
    label = problem.labels[finding.which]
    if finding.index is None:
        return f"{label}, along a random direction: {name}"
    columns = [c for s in finding.slopes for c, left, right in zip(s.columns, s.lefts, s.rights) if left != right]
    text = f"{label}{place_of(finding.index)} = {finding.value}"
    if not columns:
        return f"{text}: {name}"
    entry = entry_of(problem, recording, finding, int(columns[0]), settings)
    return f"{text}, {entry.output}: {name} with slopes {number(entry.left)} and {number(entry.right)}, analytic {number(entry.analytic)}"
