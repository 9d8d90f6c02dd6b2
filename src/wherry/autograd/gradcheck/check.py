"""The steps of a check, at the given point and at the further ones."""

import warnings
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from wherry.autograd.gradcheck.at_fault import Diagnosis, diagnose, first_difference
from wherry.autograd.gradcheck.comparison import Comparison, compare_directions, compare_elements, every_element
from wherry.autograd.gradcheck.points import compare_at, differs, further_points
from wherry.autograd.gradcheck.problem import GradcheckError, Problem, Recording, Settings
from wherry.autograd.gradcheck.report import note_text, unsettled_text, wrong_text

# How many outputs are left without a gradient in turn.
_OUTPUTS: Final = 8
# How many lines on narrow dtypes a message has.
_NOTES: Final = 5


@dataclass
class GradcheckResult:
    """What a check found; true where the gradients are right.

    points: the names of the points that were checked, the given inputs first. skipped: further points that were not, or not wholly,
    with the reason. notes: kinks, jumps and unbounded slopes at which a subgradient was accepted. error: the GradcheckError, with
    raise_exception=False.
    """

    points: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: GradcheckError | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def __str__(self) -> str:
        if self.error is not None:
            return str(self.error)
        lines = ["right at " + "; ".join(self.points)]
        lines += [f"skipped: {name} ({reason})" for name, reason in self.skipped]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = __str__


class Check:
    """One check: its problem and settings, and what has been found so far."""

    def __init__(self, problem: Problem, first: Problem, settings: Settings) -> None:
        self.problem: Final = problem
        # The problem of the first order; another one than `problem` in gradgradcheck.
        self.first: Final = first
        self.settings: Final = settings
        self.result: Final = GradcheckResult()

    def fail(self, text: str, found: Comparison | None = None, diagnosis: Diagnosis | None = None) -> GradcheckError:
        """The error for a text."""
        return GradcheckError(
            f"{self.settings.function}: {text}",
            [] if found is None else found.wrong,
            [] if diagnosis is None else diagnosis.calls,
        )

    def given_point(self, check_undefined_grad: bool) -> None:
        """Check at the given inputs; raises GradcheckError at the first step that fails."""
        problem, settings = self.problem, self.settings
        center = problem.terms(problem.arrays)
        if not bool(np.isfinite(center).all()):
            column = int(np.flatnonzero(~np.isfinite(center))[0])
            j, flat, _ = problem.place(column)
            index = tuple([int(i) for i in np.unravel_index(flat, problem.metas[j].shape)])
            raise self.fail(
                f"fn gives nan or inf at the inputs of the check, in {problem.output_labels[j]}{list(index) if index else ''}; expected a point where "
                "the outputs are finite"
            )
        recording = problem.record()
        gradients = recording.gradients(problem.cotangents)
        self.repeatable(center, gradients)
        if check_undefined_grad:
            self.missing_gradients(recording, gradients)
        if settings.fast:
            found = compare_directions(problem, center, gradients, settings, range(len(problem.arrays)))
        else:
            found = compare_elements(problem, center, gradients, settings, every_element(problem))
        if found.wrong:
            diagnosis = diagnose(problem, self.first, {f.which for f in found.wrong}, settings)
            text = wrong_text(problem, recording, found, settings)
            raise self.fail(f"{text}\n{diagnosis.text()}", found, diagnosis)
        if found.unsettled:
            narrow = diagnose(problem, self.first, set(), settings).narrow
            lines = [unsettled_text(problem, found, settings)] + [f"  {text}" for text in narrow[:_NOTES]]
            raise self.fail("\n".join(lines))
        self.result.points.append("the given inputs")
        self.note("", recording, found)

    def note(self, name: str, recording: Recording, found: Comparison) -> None:
        """Keep notes of kinks and the like."""
        for kind in dict.fromkeys(f.kind for f in found.notes):
            alike = [f for f in found.notes if f.kind == kind]
            text = note_text(recording.problem, recording, alike[0], self.settings)
            text += f"; {len(alike) - 1} more" if len(alike) > 1 else ""
            self.result.notes.append(f"{name}: {text}" if name else text)

    def repeatable(self, center: Any, gradients: list[Any]) -> None:
        """fn and its backward give the same again, else finite differences mean nothing."""
        problem, allowed = self.problem, self.settings.nondet_tol
        again = problem.terms(problem.arrays)
        if not bool(np.all(np.abs(again - center) <= allowed)):
            raise self.fail(
                "fn gives another value for the same inputs each time it is called; expected a deterministic function (seed random "
                f"numbers inside fn, and leave no state behind){first_difference(problem)}"
            )
        for label, one, other in zip(problem.labels, gradients, problem.record().gradients(problem.cotangents)):
            with np.errstate(all="ignore"):
                difference = np.abs(np.asarray(other - one))
            if not bool(np.all((difference <= allowed) | ~np.isfinite(difference))):
                raise self.fail(
                    f"the gradient of {label} differs by {float(np.nanmax(difference)):.6g} between two runs of backward; expected at "
                    f"most nondet_tol={allowed}"
                )

    def missing_gradients(self, recording: Recording, gradients: list[Any]) -> None:
        """A backward that no gradient reaches at some output takes it for zeros: the gradient is the sum of parts of it."""
        problem = self.problem
        used = [j for j, v in enumerate(problem.cotangents) if v is not None]
        if len(used) < 2:
            return
        for j in used[:_OUTPUTS]:
            alone = [v if i == j else None for i, v in enumerate(problem.cotangents)]
            others = [v if i != j else None for i, v in enumerate(problem.cotangents)]
            try:
                parts = list(zip(problem.labels, gradients, recording.gradients(alone), recording.gradients(others)))
            except GradcheckError:
                raise
            except Exception as error:
                raise self.fail(
                    f"backward raises {type(error).__name__} where no gradient reaches {problem.output_labels[j]}, or only that one: {error}\n"
                    "  expected a backward that takes a missing output gradient (None) for zeros"
                ) from error
            for label, whole, one, rest in parts:
                with np.errstate(all="ignore"):
                    difference = np.abs(np.asarray(one + rest - whole))
                    limit = 1e-6 * (1.0 + np.abs(one) + np.abs(rest))
                if not bool(np.all((difference <= limit) | ~np.isfinite(difference))):
                    raise self.fail(
                        f"the gradient of {label} is not the sum of that from {problem.output_labels[j]} alone and that from the other "
                        f"outputs: they differ by {float(np.nanmax(difference)):.6g}; expected a backward that takes a missing output "
                        "gradient (None) for zeros"
                    )

    # Further points.

    def further(self, count: int) -> None:
        """Check at further points, at which the first `count` checked inputs are moved."""
        with warnings.catch_warnings():
            # fn's own NumPy code may warn of what happens there.
            warnings.simplefilter("ignore")
            seen = [self.problem.arrays]
            for name, candidates in further_points(self.problem, count):
                reason = ""
                for arrays in candidates:
                    if not all(differs(arrays, other) for other in seen):
                        continue
                    seen.append(arrays)
                    reason = self.further_point(name, arrays)
                    if not reason:
                        break
                if reason:
                    self.result.skipped.append((name, reason))

    def other_memory(self, count: int) -> None:
        """Check the given inputs in other memory, and, where all checked inputs may be moved, inputs without elements."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.memory_with_gaps()
            if count == len(self.problem.arrays):
                self.without_elements()

    def further_point(self, name: str, arrays: list[Any]) -> str:
        """Check at one further point; returns why not, where fn is not defined there."""
        try:
            problem = self.problem.at(arrays)
            center = problem.terms(problem.arrays)
            if not bool(np.isfinite(center).all()):
                return "fn is not finite there"
            recording = problem.record()
        except Exception as error:
            return f"fn raises {type(error).__name__} there"
        try:
            gradients = recording.gradients(problem.cotangents)
        except (ValueError, ArithmeticError, NotImplementedError, np.linalg.LinAlgError) as error:
            # A backward may refuse a point (a singular matrix); nobody gets a wrong gradient.
            return f"backward raises {type(error).__name__} there"
        except Exception as error:
            raise self.fail(
                f"backward raises {type(error).__name__} at {self.described(name, problem)}, where fn is finite: {error}\n{_FURTHER}"
            ) from error
        try:
            found = compare_at(problem, center, gradients, self.problem.arrays, self.settings)
        except GradcheckError:
            return "fn returns other outputs close by"
        if found.wrong:
            first = problem if self.first is self.problem else self.first.at(arrays[: len(self.first.arrays)])
            diagnosis = diagnose(problem, first, {f.which for f in found.wrong}, self.settings)
            if diagnosis.only_kinks:
                self.result.points.append(name)
                self.result.notes.append(
                    f"{name}: calls stand at kinks, and their subgradients do not make one of the whole"
                )
                return ""
            text = wrong_text(problem, recording, found, self.settings)
            raise self.fail(
                f"at {self.described(name, problem)}: {text}\n{diagnosis.text()}\n{_FURTHER}", found, diagnosis
            )
        if len(found.unsettled) == found.compared > 0:
            return "finite differences cannot tell there"
        if found.unsettled:
            # The others of its elements are right.
            self.result.skipped.append(
                (name, f"finite differences cannot tell at {len(found.unsettled)} of its elements")
            )
        self.result.points.append(name)
        self.note(name, recording, found)
        return ""

    def described(self, name: str, problem: Problem) -> str:
        """A further point in a message: its name, and the values where they are few."""
        if sum(a.size for a in problem.arrays) > 12:
            return f"a further point ({name})"
        values = ", ".join(f"{label} = {a.tolist()}" for label, a in zip(problem.labels, problem.arrays))
        return f"a further point ({name}: {values})"

    def memory_with_gaps(self) -> None:
        """The gradient does not depend on how the inputs lie in memory."""
        problem, name = self.problem, "inputs in memory with gaps"
        if not any(a.size > 1 for a in problem.arrays):
            return
        plain = problem.record().gradients(problem.cotangents)
        try:
            recording = problem.record(strided=True)
        except Exception as error:
            self.result.skipped.append((name, f"fn raises {type(error).__name__} there"))
            return
        values = problem.weighted(recording.outputs)
        pairs = [("the value of fn", problem.terms(problem.arrays), values)]
        for label, one, other in zip(problem.labels, plain, recording.gradients(problem.cotangents)):
            pairs.append((f"the gradient of {label}", one, other))
        for what, one, other in pairs:
            if not np.allclose(one, other, rtol=1e-9, atol=1e-9 + self.settings.nondet_tol, equal_nan=True):
                at = np.unravel_index(int(np.nanargmax(np.abs(np.asarray(other - one)))), np.shape(one))
                raise self.fail(
                    f"{what} changes when the inputs lie in memory with gaps (as x.t() or x[::2] do): {one[at]:.6g} before, {other[at]:.6g} "
                    f"then; look for code that takes an array's memory without its strides\n{_FURTHER}"
                )
        self.result.points.append(name)

    def without_elements(self) -> None:
        """An fn that takes inputs without elements has gradients without elements."""
        problem, name = self.problem, "inputs without elements"
        if any(a.ndim == 0 or a.size == 0 for a in problem.arrays):
            return
        try:
            empty = problem.at([a[:0] for a in problem.arrays])
            recording = empty.record()
        except Exception as error:
            self.result.skipped.append((name, f"fn raises {type(error).__name__} there"))
            return
        try:
            recording.gradients(empty.cotangents)
        except (ValueError, ArithmeticError, NotImplementedError) as error:
            self.result.skipped.append((name, f"backward raises {type(error).__name__} there"))
            return
        except Exception as error:
            shapes = ", ".join(str(list(a.shape)) for a in empty.arrays)
            raise self.fail(
                f"backward raises {type(error).__name__} for inputs without elements (shapes {shapes}), where fn does not: {error}\n{_FURTHER}"
            ) from error
        self.result.points.append(name)


_FURTHER: Final = "  The given inputs are right; edges=False checks those alone."
